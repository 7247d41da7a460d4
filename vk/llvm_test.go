package vk

import (
	"os"
	"strings"
	"testing"
)

// The limits are set where the driver has LLVM in a library of its own.
func TestSchedulingIsLimited(t *testing.T) {
	d := openTest(t)
	if d.Info().Type != CPU {
		t.Skip("GPUs do not compile by LLVM's schedulers")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("libraries of the process: %v", err)
	}
	if want := strings.Contains(string(maps), "/libLLVM"); limitScheduling() != want {
		t.Errorf("limits set: %v; LLVM is a library of its own: %v", limitScheduling(), want)
	}
}
