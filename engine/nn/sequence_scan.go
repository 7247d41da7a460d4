package nn

import (
	"runtime"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// scanForm is how the steps of a cell are taken in one dispatch: the rows are independent, and a workgroup takes some of them through all steps.
// There is one form for GPUs (cell_scan.comp), by workgroups that keep the memory of four rows in shared memory, and one for software drivers
// (cell_scan_lanes.comp), for which barriers and shared memory are slow, by subgroups that keep it in their lanes.
type scanForm struct {
	rows  int // of a workgroup
	steps int // most of a dispatch: software drivers bound the iterations of all loops

	lanes, quads int // of software drivers: the subgroup size, and fours of units of a lane

	workgroup, slices int  // of GPUs: invocations, and how many of them share the sum over a column of the weights
	held              bool // they hold the weights
}

// chooseScan chooses a form for a cell; nil: none, and steps are dispatches of their own.
func chooseScan(info vk.Info, c cell, rows int) *scanForm {
	if c.Precision != Float32 {
		return nil // whose products are of the device's matrices
	}
	if info.Type == vk.CPU {
		return scanInLanes(info, c, rows)
	}
	return scanInGroups(info, c, rows)
}

// scanInLanes returns the form for software drivers.
func scanInLanes(info vk.Info, c cell, rows int) *scanForm {
	const (
		most    = 128 // units
		tallest = 4   // rows: as many sums as the processor has registers for
	)
	lanes := int(info.SubgroupSize)
	if lanes != 4 && lanes != 8 && lanes != 16 || c.Out > most || !info.Features.Has(vk.Int64) || !info.SubgroupOps.Has(vk.SubgroupShuffle) {
		return nil
	}
	f := &scanForm{lanes: lanes, quads: ceil(c.Out, 4*lanes), rows: 1}
	// Rows of a workgroup share the loads of weights, once all processors have some.
	for f.rows < tallest && ceil(rows, 2*f.rows)*c.networks >= runtime.NumCPU() && 2*f.rows <= rows {
		f.rows *= 2
	}
	f.steps = f.most(c)
	return f
}

// scanInGroups returns the form for GPUs, whose limits are estimates: registers by RADV's figures for 64 units, bytes by what the second-level cache of
// a large GPU delivers in the time of two dispatches.
func scanInGroups(info vk.Info, c cell, rows int) *scanForm {
	const (
		most    = 256      // units
		working = 64       // registers of a lane besides weights
		read    = 64 << 20 // bytes of weights that all workgroups read in a step
	)
	if c.Out > most {
		return nil
	}
	f := &scanForm{rows: 4, workgroup: min(256, int(info.Limits.MaxInvocations)), slices: 4}
	for f.slices > 1 && f.workgroup/f.slices < c.Out {
		f.slices /= 2
	}
	for f.workgroup/2 >= max(64, f.slices*c.Out) {
		f.workgroup /= 2
	}
	held := c.Kind.gates() * ceil(f.pitch(c.Out), f.slices) * ceil(f.pitch(c.Out), f.workgroup/f.slices)
	f.held = working+held <= Registers(info)
	if !f.held && ceil(rows, f.rows)*c.networks*4*c.Kind.gates()*c.Out*c.Out > read {
		return nil
	}
	if f.shared(c) > int(info.Limits.MaxSharedBytes) {
		return nil
	}
	f.steps = f.most(c)
	return f
}

// shared returns the bytes of shared memory of a workgroup.
func (f *scanForm) shared(c cell) int {
	gates, pitch, parts := c.Kind.gates(), f.pitch(c.Out), c.Memory()/c.Out
	forward, backward := max(parts, 1)*pitch+f.slices*gates*pitch, (gates+1)*pitch+f.slices*pitch
	return 16*max(forward, backward) + 16
}

// pitch is the number of rows and columns of the packed weights of a gate: see cell_pack.comp.
func (f *scanForm) pitch(units int) int {
	if f.lanes > 0 {
		return 4 * f.lanes * f.quads
	}
	return ceil(units, 4*f.slices) * 4 * f.slices
}

// most returns how many steps a dispatch may take.
func (f *scanForm) most(c cell) int {
	gates, pitch, iterations := c.Kind.gates(), f.pitch(c.Out), 0
	if f.lanes > 0 {
		iterations = f.quads * (2 + gates*f.quads)
	} else {
		iterations = ceil(pitch, f.workgroup/f.slices)*(1+gates*pitch/f.slices) + ceil(4*pitch, f.workgroup)
	}
	return max(1, shaders.MaxIterations/(iterations+1)-1)
}

// pack records the copy of the cell's recurrent weights that the form reads.
func (q *Sequence) pack(r *engine.Recorder, b batch, transpose bool) {
	c, pitch := q.cell, q.scan.pitch(q.cell.Out)
	size, groups := r.Invocations((c.Kind.gates()*pitch + 1) * pitch)
	r.Dispatch(cellPackKernel{
		Params: b.weights.Params.Range(), Packed: q.packed.Range(), Units: uint32(c.Out), Pitch: uint32(pitch), Row: uint32(b.row),
		Weight: uint32(b.weights.Base + c.Recurrent), Bias: uint32(b.weights.Base + c.RecurrentBias),
		LocalSizeX: size, Gru: c.Kind == GRU, Transpose: transpose,
	}.call(groups, uint32(c.networks), 1))
}

// scanParts calls f for the steps of each dispatch.
func (q *Sequence) scanParts(f func(first, last uint32)) {
	parts := ceil(q.steps, q.scan.steps)
	for i := range parts {
		f(uint32(q.steps*i/parts), uint32(q.steps*(i+1)/parts))
	}
}

// scanEnds sets the fields of a kernel that looks where episodes end.
func (q *Sequence) scanEnds(words *vk.Range, step, network, shared *uint32) {
	*shared = uint32(q.batch.stack)
	if q.done != nil {
		*words = q.done.Range()
		*step, *network = q.words()
	}
}

// scanForward records the steps of the cell, in one dispatch or a few.
func (q *Sequence) scanForward(r *engine.Recorder, b batch) {
	c, f := q.cell, q.scan
	q.pack(r, b, false)
	q.scanParts(func(first, last uint32) {
		if f.lanes > 0 {
			k := cellScanLanesKernel{
				Weights: q.packed.Range(), Inputs: q.gates.Range(), Memory: q.memory.Range(), Next: q.memory.Range(),
				Hidden: q.hidden.Range(), Kept: q.kept.Range(),
				Before: q.memories.Range(),
				Units:  uint32(c.Out), Rows: uint32(q.rows), Steps: uint32(q.steps), First: first, Last: last,
				Lanes: uint32(f.lanes), Gru: c.Kind == GRU, ScanRows: uint32(f.rows), Quads: uint32(f.quads), Aligned: c.Out%4 == 0,
				Halved: processor.HalvedStores(r.Engine().Device().Info().Driver, uint32(f.lanes)),
			}
			q.scanEnds(&k.Ends, &k.EndsStep, &k.EndsNetwork, &k.EndsShared)
			q.scanDispatch(r, k.call)
			return
		}
		k := cellScanKernel{
			Weights: q.packed.Range(), Inputs: q.gates.Range(), Memory: q.memory.Range(), Next: q.memory.Range(),
			Hidden: q.hidden.Range(), Kept: q.kept.Range(), Before: q.memories.Range(),
			Units: uint32(c.Out), Rows: uint32(q.rows), Steps: uint32(q.steps), First: first, Last: last,
			Workgroup: uint32(f.workgroup), Gru: c.Kind == GRU, Pitch: uint32(f.pitch(c.Out)), Slices: uint32(f.slices), Held: f.held,
		}
		q.scanEnds(&k.Ends, &k.EndsStep, &k.EndsNetwork, &k.EndsShared)
		q.scanDispatch(r, k.call)
	})
}

// scanBackward records the steps of the cell back through time, in one dispatch or a few.
func (q *Sequence) scanBackward(r *engine.Recorder, b batch) {
	c, f := q.cell, q.scan
	q.pack(r, b, true)
	q.scanParts(func(first, last uint32) {
		if f.lanes > 0 {
			k := cellScanBackwardLanesKernel{
				Weights: q.packed.Range(), AtHidden: q.atHidden.Range(), Kept: q.kept.Range(), Before: q.memories.Range(),
				AtInputs: q.gates.Range(), AtInner: optional(q.inner),
				Carried: q.carried.Range(), ToCarried: q.carried.Range(),
				Direct: q.direct.Range(), ToDirect: q.direct.Range(),
				Units: uint32(c.Out), Rows: uint32(q.rows), Steps: uint32(q.steps), First: first, Last: last,
				Lanes: uint32(f.lanes), Gru: c.Kind == GRU, ScanRows: uint32(f.rows), Quads: uint32(f.quads), Aligned: c.Out%4 == 0,
				Halved: processor.HalvedStores(r.Engine().Device().Info().Driver, uint32(f.lanes)),
			}
			q.scanEnds(&k.Ends, &k.EndsStep, &k.EndsNetwork, &k.EndsShared)
			q.scanDispatch(r, k.call)
			return
		}
		k := cellScanBackwardKernel{
			Weights: q.packed.Range(), AtHidden: q.atHidden.Range(), Kept: q.kept.Range(), Before: q.memories.Range(),
			AtInputs: q.gates.Range(), AtInner: optional(q.inner), Carried: q.carried.Range(), Direct: q.direct.Range(),
			Units: uint32(c.Out), Rows: uint32(q.rows), Steps: uint32(q.steps), First: first, Last: last,
			Workgroup: uint32(f.workgroup), Gru: c.Kind == GRU, Pitch: uint32(f.pitch(c.Out)), Slices: uint32(f.slices), Held: f.held,
		}
		q.scanEnds(&k.Ends, &k.EndsStep, &k.EndsNetwork, &k.EndsShared)
		q.scanDispatch(r, k.call)
	})
}

// scanDispatch records a call for all rows.
func (q *Sequence) scanDispatch(r *engine.Recorder, of func(x, y, z uint32) vk.Call) {
	call := of(uint32(ceil(q.rows, q.scan.rows)), uint32(q.cell.networks), 1)
	if q.scan.lanes > 0 {
		call.Subgroup = uint32(q.scan.lanes)
	}
	r.Dispatch(call)
}
