// Package processor says what of the host's processor, and of how a software driver uses it, the choice of kernels depends on.
package processor

import (
	"fmt"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// upperWaits reports whether what is loaded from the upper half of a vector of 512 bits waits for the store just before, as on Intel's processors. Measured
// on Emerald Rapids: 32 loads of 64 bits, each right after the store of its vector, take 130 ns from both halves, and 28 ns from the lower one.
var upperWaits = cpuid.CPU.VendorID == cpuid.Intel && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512VL)

// HalvedStores reports whether kernels that store 64 bits a lane should do so in two halves (engine/halved.glsl), or store 32 bits: on such processors, with a
// driver (vk.Info.Driver) that stores lane by lane in a loop, in subgroups of eight lanes. Mesa's before version 23 do, unless patched (tools/mesa/fast.patch);
// those from 25 on do not, and between no version was looked at.
func HalvedStores(driver string, lanes uint32) bool {
	major := 0
	if _, err := fmt.Sscanf(driver, "llvmpipe Mesa %d.", &major); err != nil {
		return false
	}
	loops := major < 23 && !strings.Contains(driver, "vector stores")
	return upperWaits && lanes == 8 && loops
}

// Assume makes HalvedStores answer as for a processor whose upper halves wait, or do not, for tests of both. The function that it returns ends that.
func Assume(waits bool) (end func()) {
	was := upperWaits
	upperWaits = waits
	return func() { upperWaits = was }
}

// UpperWaits reports whether HalvedStores answers as for a processor whose upper halves wait.
func UpperWaits() bool { return upperWaits }

// Cache returns the bytes of a core's first-level data cache, 32 KiB if the processor does not say.
func Cache() int {
	if n := cpuid.CPU.Cache.L1D; n > 0 {
		return n
	}
	return 32 << 10
}
