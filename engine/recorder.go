package engine

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Recorder takes the commands of a program in order; barriers between dependent ones are derived from what their kernels read
// and write. The first error is kept and returned by Record.
type Recorder struct {
	eng       *Engine
	prog      *vk.Program
	err       error
	counters  *State // of repeated blocks; nil: there are none
	repeating bool   // a block is being recorded
}

// Program is a recorded sequence of commands on fixed tensors. Running it is one submission, or a few where it is so long that
// it is cut into time slices.
type Program struct {
	prog     *vk.Program
	counters *State // nil: there are none
}

// Record makes a program of what f records. Pipelines are compiled here.
func (e *Engine) Record(name string, f func(*Recorder)) (*Program, error) {
	if err := Require(map[string]any{"engine": e}); err != nil {
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	r := &Recorder{eng: e, prog: e.dev.NewProgram(name)}
	f(r)
	err := r.err
	if err == nil {
		err = r.prog.Build()
	}
	p := &Program{r.prog, r.counters}
	if err != nil {
		p.Free()
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	return p, nil
}

// Engine is the engine recorded for.
func (r *Recorder) Engine() *Engine { return r.eng }

// Dispatch records a kernel.
func (r *Recorder) Dispatch(c vk.Call) { r.prog.Dispatch(c) }

// Copy records a copy of all elements; the tensors must have the same length.
func (r *Recorder) Copy(dst, src *Tensor) {
	if dst.Len() != src.Len() {
		r.Fail(fmt.Errorf("engine: copying %v, of %d elements, to %v, of %d; want the same number", src, src.Len(), dst, dst.Len()))
		return
	}
	r.prog.Copy(dst.Range(), src.Range())
}

// Fill records setting every 32-bit element to one word.
func (r *Recorder) Fill(dst *Tensor, word uint32) { r.prog.Fill(dst.Range(), word) }

// Fail keeps an error of the recording, if it is the first.
func (r *Recorder) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Submit starts the program after all that was submitted before, and returns a ticket to wait with.
func (p *Program) Submit(ctx context.Context) (*vk.Ticket, error) { return p.prog.Submit(ctx) }

// Run submits and waits.
func (p *Program) Run(ctx context.Context) error { return p.prog.Run(ctx) }

// Profile runs the program once and returns the device time of each kernel.
func (p *Program) Profile(ctx context.Context) ([]vk.KernelTime, error) { return p.prog.Profile(ctx) }

// Free releases the program. It may be called twice, and on nil.
func (p *Program) Free() {
	if p == nil {
		return
	}
	p.prog.Free()
	if p.counters != nil {
		_ = p.counters.Close() // frees memory, nothing more
	}
}

// Workgroup is a good number of invocations for kernels that reduce within a workgroup: one subgroup on software drivers, which pay
// for every further one, and 256 on GPUs.
func (r *Recorder) Workgroup() uint32 {
	info := r.eng.dev.Info()
	if info.Type.GPU() {
		return max(256, info.SubgroupSize)
	}
	return info.SubgroupSize
}

// WorkgroupFor is Workgroup for kernels whose one workgroup loops over count elements: larger where an invocation would else take so
// many of them that Mesa's software driver, after 65535 iterations in all, silently left its loops.
func (r *Recorder) WorkgroupFor(count int) uint32 {
	const most = 1024 // elements an invocation; loops inside a step count too
	size := r.Workgroup()
	for count > most*int(size) && 2*size <= r.eng.dev.Info().Limits.MaxInvocations {
		size *= 2
	}
	return size
}

// Share is a good number of workgroups to share count elements of one member, of the given number of members, for kernels whose
// invocations loop over what the grid leaves: enough to fill the device, and on software drivers not many more.
func (r *Recorder) Share(members, count int) uint32 {
	info := r.eng.dev.Info()
	n := (count + int(r.Workgroup()) - 1) / int(r.Workgroup())
	if !info.Type.GPU() {
		n = min(n, (softwareGroups+members-1)/members)
	}
	return uint32(max(n, 1))
}

// softwareGroups is how many workgroups keep every core of a software driver busy.
const softwareGroups = 64
