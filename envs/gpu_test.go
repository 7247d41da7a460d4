package envs

import (
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestGroupOfGPUs: a workgroup holds networks of [256, 256] in registers and shared memory, and acts as in float64; on AMD's GPUs with
// subgroups of 32 and 64 lanes it has 512 invocations.
func TestGroupOfGPUs(t *testing.T) {
	dev := open(t)
	info := dev.Info()
	net := nn.MLP{Hidden: []int{256, 256}, Activation: nn.Tanh}
	workgroup, inputs := uint32(256), uint32(2)
	switch {
	case info.VendorID == 0x8086:
		net.Hidden, inputs = []int{64, 64}, 1 // one subgroup of 32 lanes has no registers for weights, nor for the sums of two inputs
	case info.VendorID == 0x1002 && info.MinSubgroupSize == 32:
		workgroup = 512
	}
	cfg := RolloutConfig{Members: 2, Environments: 3, Horizon: 4, Trajectory: true, Mode: true}
	f := newFixture(t, engine.New(dev, engine.Seed(6)), "CartPole-v1", cfg, &net, func(p *Policy) {
		if p.Placement = PlacementGroup; info.Type.GPU() && info.VendorID != 0x8086 {
			p.Placement = Automatic
		}
	})
	n, err := f.ro.network(f.policy, info)
	if err != nil || n.placement != PlacementGroup {
		t.Fatalf("network %v is placed in %v, %v; want workgroup", f.policy.Network, n.placement, err)
	}
	g := n.group
	t.Logf("%d blocks of 16 weights a lane: %d in registers, %d in shared memory, %d read at every step", g.Blocks, g.Held, g.Kept, g.Blocks-g.Held-g.Kept)
	// 512 lanes have registers for all weights, and 32 KiB hold no block of theirs.
	if g.Workgroup != workgroup && g.Workgroup != info.Limits.MaxSubgroups*info.SubgroupSize || g.Kept == 0 && g.Workgroup != 512 || g.Rows < inputs {
		t.Errorf("a group of %d lanes for %d inputs, %d of %d blocks in shared memory; want %d lanes, %d inputs, and some",
			g.Workgroup, g.Rows, g.Kept, g.Blocks, workgroup, inputs)
	}
	f.advance()
	f.checkActions()
}
