package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// schedulingOptions returns options of LLVM for what its schedulers of instructions do to one basic block. Results do not depend on them.
//
// They keep the dependencies between loads and stores of a block in maps that they reduce by reductionSize entries when they have more than
// hugeRegion (ScheduleDAGInstrs::buildSchedGraph), and their time is quadratic in the maps. Blocks of unrolled networks have thousands of
// loads and stores. With LLVM's own limits, 1000 and 500, scheduling takes three quarters of the time that LLVM needs for PPO's update.
//
// The machine scheduler, which orders instructions before registers are assigned, is off in new versions. LLVM 22 places a row's sums of
// products one pair after the other (shaders/engine/nn/gemm_panel.comp), each product waiting for the one before, and keeps the broadcast
// values of the row on the stack: products of matrices take 1.5 to 1.8 times as long. The order of the source, as in the
// expressions, has independent sums side by side. LLVM 15's code is not faster without that scheduler, and up to a sixth slower; versions
// between the two have not been measured, and keep it.
func schedulingOptions(version int) []string {
	options := []string{"-dag-maps-huge-region=100", "-dag-maps-reduction-size=50"}
	if version >= llvmPairs {
		options = append(options, "-enable-misched=false")
	}
	return options
}

// llvmPairs is the version of LLVM whose machine scheduler was found to order products in pairs.
const llvmPairs = 22

// llvmVersion returns the major version of the LLVM that a driver names in its device's name, as in "llvmpipe (LLVM 15.0.6, 256 bits)"; 0 if
// it names none.
func llvmVersion(device string) int {
	_, after, _ := strings.Cut(device, "LLVM ")
	digits, _, _ := strings.Cut(after, ".")
	version, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return version
}

var scheduling struct {
	once sync.Once
	set  bool
}

// setScheduling sets schedulingOptions for a device, once in a process. Drivers whose LLVM is not a shared library of its own keep LLVM's
// defaults. It must run after the driver is loaded, and before it compiles. It reports whether the options are set.
func setScheduling(device string) bool {
	scheduling.once.Do(func() {
		argv := append([]string{"evorl"}, schedulingOptions(llvmVersion(device))...)
		options := (*[8]*C.char)(C.calloc(8, C.size_t(unsafe.Sizeof(uintptr(0)))))
		defer C.free(unsafe.Pointer(options))
		for i, a := range argv {
			options[i] = C.CString(a)
			defer C.free(unsafe.Pointer(options[i]))
		}
		scheduling.set = C.evk_llvm_options(C.int(len(argv)), &options[0]) != 0
	})
	return scheduling.set
}
