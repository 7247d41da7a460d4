package vk

import (
	"os"
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
	if want := strings.Contains(string(maps), "/libLLVM"); setScheduling() != want {
		t.Errorf("options set: %v; LLVM is a library of its own: %v", setScheduling(), want)
	}
}
