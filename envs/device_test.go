package envs

import (
	"testing"

	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Open(t)
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
