package vk

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The options are set where the driver has LLVM in a library of its own.
func TestSchedulingIsSet(t *testing.T) {
	d := openTest(t)
	if d.Info().Type != CPU {
		t.Skip("GPUs do not compile by this LLVM")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("libraries of the process: %v", err)
	}
	if want := strings.Contains(string(maps), "/libLLVM"); setScheduling(d.Info().Name) != want {
		t.Errorf("options set: %v; LLVM is a library of its own: %v", !want, want)
	}
}

// Only new versions of LLVM lose their machine scheduler.
func TestSchedulingOptions(t *testing.T) {
	for device, want := range map[string]int{
		"llvmpipe (LLVM 15.0.6, 256 bits)": 15, "llvmpipe (LLVM 22.1.8, 512 bits)": 22, "SwiftShader Device (LLVM)": 0, "": 0,
	} {
		version := llvmVersion(device)
		if version != want {
			t.Errorf("%q: LLVM %d, want %d", device, version, want)
		}
		if off := slices.Contains(schedulingOptions(version), "-enable-misched=false"); off != (version == 22) {
			t.Errorf("%q: the machine scheduler is off: %v", device, off)
		}
	}
}
