package engine

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/vk"
)

// The test device misses nothing; one with less of each limit is told which kernel needs more.
func TestMissing(t *testing.T) {
	info := testDevice(t).Info()
	if missing, err := Missing(info); err != nil || len(missing) > 0 {
		t.Errorf("%s misses %q, %v", info.Name, missing, err)
	}
	for want, change := range map[string]func(*vk.Info){
		"storage buffers; the device allows 4":                 func(i *vk.Info) { i.Limits.MaxBindings = 4 },
		"texel buffers; the device allows 4":                   func(i *vk.Info) { i.Limits.MaxTexelBindings = 4 },
		"bytes of push constants; the device allows 64":        func(i *vk.Info) { i.Limits.MaxPushBytes = 64 },
		"workgroups of 256 invocations; the device allows 128": func(i *vk.Info) { i.Limits.MaxInvocations = 128 },
		"needs the SPIR-V capability GroupNonUniformShuffle":   func(i *vk.Info) { i.SubgroupOps &^= vk.SubgroupShuffle },
		"kernel envs/seats_rollout.":                           func(i *vk.Info) { i.Limits.MaxBindings = 4 },
		"Vulkan 1.1 is needed; the device has 1.0":             func(i *vk.Info) { i.API = vk.MakeVersion(1, 0, 200) },
	} {
		less := info
		change(&less)
		missing, err := Missing(less)
		if err != nil || len(missing) != 1 || !strings.Contains(missing[0], want) {
			t.Errorf("got %q, %v; want one sentence with %q", missing, err, want)
		}
	}
}
