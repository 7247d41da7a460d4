package nn

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Group is the shape of a network that a workgroup of several subgroups holds on chip (shaders/engine/nn/mlp_group.glsl), in the form its
// specialization constants take.
type Group struct {
	Workgroup, Lanes             uint32 // lanes of the workgroup, and of a subgroup
	Hidden1, Hidden2, Activation uint32
	LayerNorm, Aligned           bool
	Rows                         uint32 // inputs evaluated together
	Slices1, Slices2             uint32 // lanes among which the inputs of a unit are shared out
	Held, Kept                   uint32 // blocks of 16 weights a lane: in registers, in shared memory

	Blocks     uint32 // all of a lane's: those neither held nor kept are read from memory at every evaluation
	Iterations int    // of loops that an evaluation takes an invocation through
}

// groupWeights are the weights of a block: from four inputs to four units.
const groupWeights = 16

// Group says how a workgroup of the device holds the network, which begins at a multiple of four floats, for so many inputs at a time; its kernel keeps
// so many floats of its own in each lane's registers. It is an error for a network of no or more than two hidden layers, or of which registers and shared
// memory have no room for half.
func (m MLP) Group(info vk.Info, inputs, floats int) (Group, error) {
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
	// Inputs evaluated together share barriers and what is read from memory, and each takes registers for its sums.
	const most = 4
	for 2*int(g.Rows) <= min(most, inputs) {
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
	const votes = 5 * 16 // bytes of what is left, and of the elements that keep arrays from being empty
	rows := int(g.Rows)
	free := int(info.Limits.MaxSharedBytes) - votes - 16*rows*units - 4*(last+1)*m.Out - 4*rows*m.Out
	if free < 0 {
		return Group{}, fmt.Errorf("nn: network %v: activations and outputs of %d inputs take %d bytes of shared memory "+
			"more than the %d of a workgroup: %w",
			m, rows, -free, info.Limits.MaxSharedBytes, ErrNoRoom)
	}
	const (
		working = 52 // registers of addresses, random numbers and whatever else compilers keep, by what RADV tells of classic control
		row     = 5  // registers of sums and activations
	)
	g.Held = min(g.Blocks, uint32(max(0, on.registers-working-row*rows-floats)/groupWeights))
	g.Kept = min(g.Blocks-g.Held, uint32(free/(4*groupWeights*on.workgroup)))
	if left := g.Blocks - g.Held - g.Kept; 2*left > g.Blocks {
		return Group{}, fmt.Errorf("nn: network %v has %d weights; a workgroup of %d lanes holds %d in registers and %d in shared memory: %w",
			m, weights, on.workgroup, on.workgroup*int(g.Held)*groupWeights, on.workgroup*int(g.Kept)*groupWeights, ErrNoRoom)
	}
	turns, subgroups := (min(on.lanes, inputs)+rows-1)/rows, on.workgroup/on.lanes
	iterations := 1 + (rows*m.Out+subgroups-1)/subgroups
	if m.LayerNorm {
		iterations += len(m.Hidden) * (rows + subgroups - 1) / subgroups
	}
	g.Iterations = turns * iterations
	return g, nil
}

// Left is how many bytes of weights an evaluation of the rows reads from memory.
func (g Group) Left() int {
	return int(g.Blocks-g.Held-g.Kept) * 4 * groupWeights * int(g.Workgroup)
}

func fours(n int) int { return (n + 3) / 4 }

// workgroup is what a device's workgroup has room for.
type workgroup struct {
	lanes, workgroup int // of a subgroup, of the workgroup
	registers        int // of a lane
}

// slices is among how many lanes the inputs of a layer's units are shared out: as many as make use of all lanes.
func (w workgroup) slices(units int) uint32 {
	slices := 4
	for 2*slices <= w.lanes && 2*slices*fours(units) <= w.workgroup {
		slices *= 2
	}
	return uint32(slices)
}

// blocks is how many blocks of a layer a lane has.
func (w workgroup) blocks(ins, units int, slices uint32) uint32 {
	n := int(slices)
	turns, passes := (fours(ins)+n-1)/n, (fours(units)*n+w.workgroup-1)/w.workgroup
	return uint32(turns * passes)
}

// Vendors by Vulkan's numbers.
const (
	vendorAMD    = 0x1002
	vendorNVIDIA = 0x10de
	vendorIntel  = 0x8086
)

// groupOn is what a workgroup of the device holds. Vulkan does not tell how many registers of 32 bits there are. The vendors do:
//
//	NVIDIA     255 a lane, 65,536 of a multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities")
//	AMD, GCN   256 a lane, 65,536 of a compute unit ("Vega" Instruction Set Architecture)
//	AMD, RDNA  256 a lane, 131,072 of a workgroup processor ("RDNA 2" Instruction Set Architecture); subgroups may have 32 lanes, unlike GCN's
//	Intel      1024 of a hardware thread, which has a subgroup (oneAPI GPU Optimization Guide, "Intel Xe GPU Architecture")
//	others     64 a lane, as Arm's GPUs, which have among the fewest (Arm GPU Best Practices Developer Guide)
//
// 256 lanes have them all, of RDNA 512. The registers of a software driver are memory; it is given as many.
func groupOn(info vk.Info) workgroup {
	lanes, registers := 256, laneRegisters
	switch {
	case !info.Type.GPU(), info.VendorID == vendorNVIDIA:
	case info.VendorID == vendorAMD:
		if info.MinSubgroupSize == 32 {
			lanes = 512
		}
	case info.VendorID == vendorIntel:
		registers = min(laneRegisters, 1024/int(info.SubgroupSize))
	default:
		registers = 64
	}
	lanes = min(lanes, int(info.Limits.MaxInvocations))
	subgroup := int(info.SubgroupSize)
	return workgroup{lanes: subgroup, workgroup: lanes / subgroup * subgroup, registers: registers}
}
