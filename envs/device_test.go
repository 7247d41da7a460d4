package envs

import (
	"testing"

	"github.com/evorl/evorl/vk"
)

// open opens the default device for a test, by default with core and synchronization validation. Validation messages
// fail the test.
func open(t testing.TB, options ...vk.Option) *vk.Device {
	t.Helper()
	if len(options) == 0 {
		options = []vk.Option{vk.Validate(true)}
	}
	dev, err := vk.Open(append(options, vk.CacheDir(""))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		for _, message := range dev.ValidationErrors() {
			t.Error(message)
		}
	})
	return dev
}

func lookup(t testing.TB, name string) *Environment {
	t.Helper()
	env, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func newBatch(t testing.TB, dev *vk.Device, name string, members, environments int, options Options) *Batch {
	t.Helper()
	b, err := NewBatch(t.Context(), dev, lookup(t, name), members, environments, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}
