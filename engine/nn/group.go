package nn

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Group is the layout of a network that a workgroup of several subgroups holds on chip. Its fields are specialization
// constants of shaders/engine/nn/mlp_group.glsl.
type Group struct {
	Workgroup, Lanes             uint32 // lanes per workgroup and per subgroup
	Hidden1, Hidden2, Activation uint32
	LayerNorm, Aligned           bool
	Rows                         uint32 // inputs evaluated together
	Slices1, Slices2             uint32 // per layer: lanes among which the inputs of a unit are divided
	Held, Kept                   uint32 // blocks of 16 weights per lane: in registers, in shared memory

	Blocks     uint32 // all blocks of a lane; those neither held nor kept are read from memory at every evaluation
	Iterations int    // loop iterations of an invocation per evaluation
}

// groupWeights is the number of weights in a block: four inputs by four units.
const groupWeights = 16

// GroupOf plans how a workgroup of the device holds a model while it evaluates the given number of inputs at a
// time. The model's parameters must begin at a multiple of four floats. floats is the number of registers per lane
// that the kernel needs for itself. It fails if the network has not one or two hidden layers, or if registers and
// shared memory hold less than half of its weights.
func GroupOf(model Model, info vk.Info, inputs, floats int) (Group, error) {
	m, err := perceptron(model)
	if err != nil {
		return Group{}, err
	}
	if n := len(m.Hidden); n < 1 || n > 2 {
		return Group{}, fmt.Errorf("nn: network %v has %d hidden layers; a workgroup holds one or two", m, n)
	}
	on := groupOn(info)
	if on.lanes < 4 {
		return Group{}, fmt.Errorf("nn: a workgroup holds no network in subgroups of %d lanes; want at least 4: %w", on.lanes, ErrNoRoom)
	}
	g := Group{
		Workgroup: uint32(on.workgroup), Lanes: uint32(on.lanes), Hidden1: uint32(m.Hidden[0]), Activation: uint32(m.Activation),
		Rows: 1, Slices1: on.slices(m.Hidden[0]), Slices2: 4, Aligned: m.aligned(), LayerNorm: m.LayerNorm,
	}
	// Inputs evaluated together share barriers and the weights read from memory; each needs registers for its sums.
	const most = 4
	for 2*int(g.Rows) <= min(most, inputs) && workingRegisters+2*int(g.Rows)*rowRegisters+groupWeights+floats <= Registers(info) {
		g.Rows *= 2
	}
	last, units, weights := m.Hidden[0], fours(m.In)+fours(m.Hidden[0]), m.In*m.Hidden[0]
	g.Blocks = on.blocks(m.In, m.Hidden[0], g.Slices1)
	if len(m.Hidden) == 2 {
		last = m.Hidden[1]
		g.Hidden2, g.Slices2 = uint32(last), on.slices(last)
		g.Blocks += on.blocks(m.Hidden[0], last, g.Slices2)
		units, weights = units+fours(last), weights+m.Hidden[0]*last
	}
	const votes = 5 * 16 // bytes of the remaining shared arrays, and of the elements that keep arrays from being empty
	rows := int(g.Rows)
	free := int(info.Limits.MaxSharedBytes) - votes - 16*rows*units - 4*(last+1)*m.Out - 4*rows*m.Out
	if free < 0 {
		return Group{}, fmt.Errorf("nn: network %v: activations and outputs of %d inputs take %d bytes of shared memory "+
			"more than the %d of a workgroup: %w",
			m, rows, -free, info.Limits.MaxSharedBytes, ErrNoRoom)
	}
	const row = 5 // registers for sums and activations
	g.Held = min(g.Blocks, uint32(max(0, on.registers-workingRegisters-row*rows-floats)/groupWeights))
	g.Kept = min(g.Blocks-g.Held, uint32(free/(4*groupWeights*on.workgroup)))
	if left := g.Blocks - g.Held - g.Kept; 2*left > g.Blocks {
		return Group{}, fmt.Errorf("nn: network %v has %d weights; a workgroup of %d lanes holds %d in registers and %d in shared memory: %w",
			m, weights, on.workgroup, on.workgroup*int(g.Held)*groupWeights, on.workgroup*int(g.Kept)*groupWeights, ErrNoRoom)
	}
	batches, subgroups := (min(on.lanes, inputs)+rows-1)/rows, on.workgroup/on.lanes
	iterations := 1 + (rows*m.Out+subgroups-1)/subgroups
	if m.LayerNorm {
		iterations += len(m.Hidden) * (rows + subgroups - 1) / subgroups
	}
	g.Iterations = batches * iterations
	return g, nil
}

// Left returns how many bytes of weights an evaluation of Rows inputs reads from memory.
func (g Group) Left() int {
	return int(g.Blocks-g.Held-g.Kept) * 4 * groupWeights * int(g.Workgroup)
}

func fours(n int) int { return (n + 3) / 4 }

// workgroup describes the workgroup size and registers available to a network.
type workgroup struct {
	lanes, workgroup int // per subgroup, per workgroup
	registers        int // per lane
}

// slices returns among how many lanes the inputs of a unit are divided: enough to use all lanes.
func (w workgroup) slices(units int) uint32 {
	slices := 4
	for 2*slices <= w.lanes && 2*slices*fours(units) <= w.workgroup {
		slices *= 2
	}
	return uint32(slices)
}

// blocks returns how many blocks of a layer each lane has.
func (w workgroup) blocks(ins, units int, slices uint32) uint32 {
	n := int(slices)
	rows, columns := (fours(ins)+n-1)/n, (fours(units)*n+w.workgroup-1)/w.workgroup
	return uint32(rows * columns)
}

// groupOn returns what a workgroup of the device offers. 256 lanes, or 512 on RDNA, use all registers of its processor (see registers);
// devices with narrow subgroups may allow fewer lanes. The registers of a software driver are memory; as many as of a GPU are assumed.
func groupOn(info vk.Info) workgroup {
	lanes := 256
	if info.Type.GPU() && info.VendorID == vendorAMD && info.MinSubgroupSize == 32 {
		lanes = 512
	}
	subgroup := int(info.SubgroupSize)
	lanes = min(lanes, int(info.Limits.MaxInvocations))
	if most := int(info.Limits.MaxSubgroups); most > 0 {
		lanes = min(lanes, most*subgroup)
	}
	return workgroup{lanes: subgroup, workgroup: lanes / subgroup * subgroup, registers: min(Registers(info), laneRegisters)}
}
