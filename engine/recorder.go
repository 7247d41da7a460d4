package engine

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Recorder records the commands of a program in order. Barriers between dependent commands are derived from the reads and writes of
// their kernels. Record returns the first error.
type Recorder struct {
	eng       *Engine
	prog      *vk.Program
	err       error
	counters  *State // of repeated blocks; nil if there are none
	repeating bool   // a block is being recorded
}

// Program is a recorded sequence of commands on fixed tensors. A run is one submission, or a few if the program is so long that
// it is split into time slices.
type Program struct {
	prog     *vk.Program
	counters *State // nil if there are none
}

// Record makes a program from what f records. Its kernels are compiled in the background: Build, or the first run, waits for them.
func (e *Engine) Record(name string, f func(*Recorder)) (*Program, error) {
	if err := Require(map[string]any{"engine": e, "recording function": f}); err != nil {
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	r := &Recorder{eng: e, prog: e.dev.NewProgram(name)}
	f(r)
	err := r.err
	if err == nil {
		err = r.prog.Compile()
	}
	p := &Program{r.prog, r.counters}
	if err != nil {
		p.Free()
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	return p, nil
}

// Engine returns the engine of the recording.
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

// Fail stores a recording error, if it is the first.
func (r *Recorder) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Build waits until the kernels are compiled and prepares the program for its runs. Runs do so without an earlier Build.
func (p *Program) Build() error { return p.prog.Build() }

// Submit queues the program after all earlier submissions, and returns a ticket to wait for it.
func (p *Program) Submit(ctx context.Context) (*vk.Ticket, error) {
	if err := p.prog.Build(); err != nil {
		return nil, err
	}
	return p.prog.Submit(ctx)
}

// Run submits and waits.
func (p *Program) Run(ctx context.Context) error {
	if err := p.prog.Build(); err != nil {
		return err
	}
	return p.prog.Run(ctx)
}

// Profile runs the program once and returns the device time of each kernel.
func (p *Program) Profile(ctx context.Context) ([]vk.KernelTime, error) {
	if err := p.prog.Build(); err != nil {
		return nil, err
	}
	return p.prog.Profile(ctx)
}

// Free releases the program. Calling it twice, or on nil, is allowed.
func (p *Program) Free() {
	if p == nil {
		return
	}
	p.prog.Free()
	if p.counters != nil {
		_ = p.counters.Close() // frees memory, nothing more
	}
}

// Workgroup returns a workgroup size for kernels that reduce within a workgroup: one subgroup on software drivers, where every
// further one costs time, and 256 on GPUs.
func (r *Recorder) Workgroup() uint32 {
	info := r.eng.dev.Info()
	if info.Type.GPU() {
		return max(256, info.SubgroupSize)
	}
	return info.SubgroupSize
}

// Invocations returns a workgroup size, and the number of workgroups along x, for kernels in which one invocation computes one of count
// elements: Workgroup, or larger if there would be more workgroups than the device allows.
func (r *Recorder) Invocations(count int) (size, groups uint32) {
	limits := r.eng.dev.Info().Limits
	size = r.Workgroup()
	for groups = ceil(count, size); groups > limits.MaxGroups[0] && 2*size <= limits.MaxInvocations; groups = ceil(count, size) {
		size *= 2
	}
	return size, groups
}

func ceil(count int, size uint32) uint32 { return uint32((count + int(size) - 1) / int(size)) }

// WorkgroupFor is Workgroup for kernels in which one workgroup loops over count elements. It returns a larger size if an invocation would
// otherwise exceed 65535 iterations, after which Mesa's software driver silently leaves all loops.
func (r *Recorder) WorkgroupFor(count int) uint32 {
	const most = 1024 // elements per invocation, since loops inside a step also count
	size := r.Workgroup()
	for count > most*int(size) && 2*size <= r.eng.dev.Info().Limits.MaxInvocations {
		size *= 2
	}
	return size
}

// Share returns a number of workgroups per member to share count elements, for kernels whose invocations loop over the remaining
// elements: enough to fill the device, and on software drivers few more.
func (r *Recorder) Share(members, count int) uint32 {
	info := r.eng.dev.Info()
	n := (count + int(r.Workgroup()) - 1) / int(r.Workgroup())
	if !info.Type.GPU() {
		n = min(n, (softwareGroups+members-1)/max(members, 1))
	}
	return uint32(max(n, 1))
}

// softwareGroups is the number of workgroups that keeps every core of a software driver busy.
const softwareGroups = 64
