package vk

import (
	"os"
	"testing"
)

func TestPrepareMoltenVK(t *testing.T) {
	const variable = "MVK_CONFIG_FAST_MATH_ENABLED"
	t.Setenv(variable, "2") // restores it at the end
	if prepareMoltenVK("darwin"); os.Getenv(variable) != "2" {
		t.Errorf("the user's value became %q", os.Getenv(variable))
	}
	for system, want := range map[string]string{"linux": "", "darwin": "0"} {
		if err := os.Unsetenv(variable); err != nil {
			t.Fatal(err)
		}
		if prepareMoltenVK(system); os.Getenv(variable) != want {
			t.Errorf("%s: %q; want %q", system, os.Getenv(variable), want)
		}
	}
}
