package vk

import (
	"runtime"
	"strings"
	"testing"
)

func TestLoaderNames(t *testing.T) {
	for system, want := range map[string]string{"linux": "libvulkan.so.1", "freebsd": "libvulkan.so.1", "windows": "vulkan-1.dll", "darwin": "libvulkan.1.dylib"} {
		if got := loaderNames(system); got[0] != want {
			t.Errorf("%s: %q; want %s first", system, got, want)
		}
	}
	if !strings.Contains(installAdvice("darwin"), "molten-vk") || strings.Contains(installAdvice("windows"), "apt") || advice != installAdvice(runtime.GOOS) {
		t.Errorf("advice: %q, %q", installAdvice("darwin"), installAdvice("windows"))
	}
}
