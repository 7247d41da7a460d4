package nn

import (
	"errors"
	"testing"

	"github.com/evorl/evorl/vk"
)

// gpuInfo is a GPU with subgroups of the given size, and of at least the other.
func gpuInfo(vendor, subgroup, least uint32) vk.Info {
	return vk.Info{
		Type: vk.DiscreteGPU, VendorID: vendor, SubgroupSize: subgroup, MinSubgroupSize: least, MaxSubgroupSize: 64,
		Limits: vk.Limits{MaxSharedBytes: 48 << 10, MaxInvocations: 1024},
	}
}

// Layouts of one or two hidden layers refuse networks with none or three.
func TestLayoutsOfHiddenLayers(t *testing.T) {
	software := vk.Info{Type: vk.CPU, SubgroupSize: 8, MinSubgroupSize: 8, MaxSubgroupSize: 8, Limits: vk.Limits{MaxSharedBytes: 48 << 10, MaxInvocations: 1024}}
	for _, info := range []vk.Info{software, gpuInfo(vendorAMD, 64, 32)} {
		for _, hidden := range [][]int{nil, {8}, {8, 8}, {8, 8, 8}} {
			net, fits := MLP{In: 4, Out: 2, Hidden: hidden}, len(hidden) == 1 || len(hidden) == 2
			_, lanes := LanesOf(net, info)
			_, forward := LanesForwardOf(net, info, 1)
			_, columns := ColumnsOf(net, info)
			_, group := GroupOf(net, info, 1, 1)
			_, own := OwnOf(net)
			for name, err := range map[string]error{"Lanes": lanes, "LanesForward": forward, "Columns": columns, "Group": group, "Own": own} {
				if fits != (err == nil) {
					t.Errorf("%s of %d hidden layers: %v", name, len(hidden), err)
				}
			}
		}
	}
}

// What lanes hold follows the registers that a vendor's lanes have at a width: beyond them a GPU's compiler spills, or crashes. A software driver's
// bound is its caches.
func TestLanesFit(t *testing.T) {
	const inputs, outputs = 8, 2
	software := vk.Info{Type: vk.CPU, SubgroupSize: 8, MinSubgroupSize: 8, MaxSubgroupSize: 8}
	wide := software
	wide.SubgroupSize = 16
	for _, c := range []struct {
		name           string
		info           vk.Info
		learn, forward int // the largest of the widths below of two hidden layers that fit, 0 for none: learning, evaluation
		rows           uint32
	}{
		{"software, 8 lanes", software, 64, 128, 8},
		{"software, 16 lanes", wide, 128, 128, 16},
		{"AMD, 64 lanes", gpuInfo(vendorAMD, 64, 32), 64, 64, 16},
		{"AMD, 32 lanes", gpuInfo(vendorAMD, 32, 32), 32, 64, 16},
		{"NVIDIA", gpuInfo(vendorNVIDIA, 32, 32), 32, 64, 16},
		{"Intel, 8 lanes", gpuInfo(vendorIntel, 8, 8), 0, 16, 2},
		{"Intel, 16 lanes", gpuInfo(vendorIntel, 16, 8), 0, 0, 1},
		{"Intel, 32 lanes", gpuInfo(vendorIntel, 32, 8), 0, 0, 1},
		{"Intel, Xe2", gpuInfo(vendorIntel, 16, 16), 0, 16, 2},
		{"others", gpuInfo(0x13b5, 16, 16), 0, 16, 1},
	} {
		var learn, forward int
		for _, n := range []int{16, 32, 64, 128, 256} {
			net := MLP{In: inputs, Out: outputs, Hidden: []int{n, n}}
			if _, err := LanesOf(net, c.info); err == nil {
				learn = n
			} else if !errors.Is(err, ErrNoRoom) {
				t.Errorf("%s, learning with %v: %v", c.name, net, err)
			}
			if _, err := LanesForwardOf(net, c.info, 10); err == nil {
				forward = n
			}
		}
		if learn != c.learn || forward != c.forward {
			t.Errorf("%s: holds [%d, %d] in learning, [%d, %d] in evaluation; want %d, %d", c.name, learn, learn, forward, forward, c.learn, c.forward)
		}
		if s, err := StreamOf(MLP{In: inputs, Out: outputs, Hidden: []int{64, 64}}, c.info, 64); err != nil || s.Rows != c.rows {
			t.Errorf("%s: streams for %d inputs at once, %v; want %d", c.name, s.Rows, err, c.rows)
		}
	}
}

// Environments take registers too: what a lane keeps besides the network counts.
func TestLanesBeside(t *testing.T) {
	net, info := MLP{In: 8, Out: 2, Hidden: []int{64, 64}}, gpuInfo(vendorAMD, 32, 32)
	if _, err := LanesForwardOf(net, info, 60); err != nil {
		t.Error(err)
	}
	if _, err := LanesForwardOf(net, info, 120); !errors.Is(err, ErrNoRoom) {
		t.Errorf("beside 120 floats: %v; want no room", err)
	}
	if _, err := LanesForwardOf(net, vk.Info{Type: vk.CPU, SubgroupSize: 8}, 10000); err != nil {
		t.Errorf("on a software driver: %v", err)
	}
}

// Products have tiles with sums that fit the registers.
func TestTilesFit(t *testing.T) {
	g := Gemm{Members: 64, M: 512, N: 512, K: 64}
	for _, c := range []struct {
		info vk.Info
		want uint32
	}{{gpuInfo(vendorAMD, 64, 32), 8}, {gpuInfo(vendorNVIDIA, 32, 32), 8}, {gpuInfo(vendorIntel, 8, 8), 4}, {gpuInfo(0x13b5, 16, 16), 4}} {
		if f, ok := chooseGemm(c.info, g).(tiledForm); !ok || f.rows != c.want || f.columns != c.want {
			t.Errorf("vendor %#x: %+v; want %d × %d sums", c.info.VendorID, f, c.want, c.want)
		}
	}
}
