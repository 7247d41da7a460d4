package nn

import (
	"errors"
	"testing"

	"github.com/evorl/evorl/vk"
)

// Registers are filled first, then shared memory, within the limits of the device and its vendor.
func TestGroup(t *testing.T) {
	wide := MLP{In: 5, Out: 1, Hidden: []int{256, 256}}
	for _, c := range []struct {
		name                    string
		vendor, subgroup, least uint32
		shared                  uint32
		net                     MLP
		inputs                  int
		want                    Group // Workgroup, Rows, Slices1, Slices2, Held, Kept, Blocks
	}{
		{"NVIDIA", vendorNVIDIA, 32, 32, 48 << 10, wide, 1, Group{Workgroup: 256, Rows: 1, Slices1: 4, Slices2: 4, Held: 11, Kept: 2, Blocks: 17}},
		{"NVIDIA, four inputs", vendorNVIDIA, 32, 32, 48 << 10, wide, 5, Group{Workgroup: 256, Rows: 4, Slices1: 4, Slices2: 4, Held: 10, Kept: 2, Blocks: 17}},
		{"RDNA", vendorAMD, 64, 32, 64 << 10, wide, 1, Group{Workgroup: 512, Rows: 1, Slices1: 8, Slices2: 8, Held: 9, Blocks: 9}},
		{"GCN", vendorAMD, 64, 64, 64 << 10, wide, 1, Group{Workgroup: 256, Rows: 1, Slices1: 4, Slices2: 4, Held: 11, Kept: 3, Blocks: 17}},
		{"a wide layer", vendorNVIDIA, 32, 32, 48 << 10, MLP{In: 8, Out: 2, Hidden: []int{1025}}, 1,
			Group{Workgroup: 256, Rows: 1, Slices1: 4, Slices2: 4, Held: 5, Blocks: 5}},
		{"no room in registers", vendorIntel, 32, 8, 64 << 10, MLP{In: 8, Out: 2, Hidden: []int{64, 64}}, 1,
			Group{Workgroup: 256, Rows: 1, Slices1: 16, Slices2: 16, Kept: 2, Blocks: 2}},
	} {
		info := vk.Info{
			Type: vk.DiscreteGPU, VendorID: c.vendor, SubgroupSize: c.subgroup, MinSubgroupSize: c.least,
			Limits: vk.Limits{MaxSharedBytes: c.shared, MaxInvocations: 1024},
		}
		g, err := GroupOf(c.net, info, c.inputs, 9)
		got := Group{Workgroup: g.Workgroup, Rows: g.Rows, Slices1: g.Slices1, Slices2: g.Slices2, Held: g.Held, Kept: g.Kept, Blocks: g.Blocks}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	narrow := vk.Info{
		Type: vk.CPU, SubgroupSize: 4, MinSubgroupSize: 4, Limits: vk.Limits{MaxSharedBytes: 32 << 10, MaxInvocations: 1024, MaxSubgroups: 32},
	}
	if g, err := GroupOf(MLP{In: 5, Out: 1, Hidden: []int{64, 64}}, narrow, 1, 9); err != nil || g.Workgroup != 32*4 {
		t.Errorf("on a device of 32 subgroups of 4: a workgroup of %d, %v; want %d", g.Workgroup, err, 32*4)
	}
	nvidia := vk.Info{
		Type: vk.DiscreteGPU, VendorID: vendorNVIDIA, SubgroupSize: 32, MinSubgroupSize: 32,
		Limits: vk.Limits{MaxSharedBytes: 48 << 10, MaxInvocations: 1024},
	}
	for _, net := range []MLP{{In: 5, Out: 1, Hidden: []int{512, 512}}, {In: 5, Out: 300, Hidden: []int{256}}} {
		if _, err := GroupOf(net, nvidia, 1, 9); !errors.Is(err, ErrNoRoom) {
			t.Errorf("network %v: error %v; want one of no room", net, err)
		}
	}
	for _, net := range []MLP{{In: 5, Out: 1}, {In: 5, Out: 1, Hidden: []int{8, 8, 8}}} {
		if _, err := GroupOf(net, nvidia, 1, 9); err == nil {
			t.Errorf("network %v: no error", net)
		}
	}
}
