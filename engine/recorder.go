package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/vk"
)

// Recorder records the commands of a program in order. Barriers between dependent commands are derived from the reads and writes of
// their kernels. Record returns the first error.
type Recorder struct {
	eng      *Engine
	name     string
	prog     *vk.Program // takes the commands outside of repeated blocks
	body     *body       // of the repeated block that is being recorded; nil: none
	stages   []stage     // before prog
	all      []*vk.Program
	err      error
	counters *State // of repeated blocks; nil if there are none
}

// Program is a recorded sequence of commands on fixed tensors. A run is one submission, or a few if the program is so long that
// it is split into time slices. If it has host stages (Recorder.Host), a run is a submission for each sequence of commands between them.
type Program struct {
	prog     *vk.Program   // the commands of a program without host stages
	stages   []stage       // of one with host stages; nil: it has none
	all      []*vk.Program // of all stages
	running  sync.Mutex    // runs with host stages follow each other
	counters *State        // nil if there are none
}

// Record makes a program from what f records. Its kernels are compiled in the background: Build, or the first run, waits for them.
func (e *Engine) Record(name string, f func(*Recorder)) (*Program, error) {
	if err := Require(map[string]any{"engine": e, "recording function": f}); err != nil {
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	r := &Recorder{eng: e, name: name}
	r.prog = r.open()
	f(r)
	p := &Program{prog: r.prog, all: r.all, counters: r.counters}
	if len(r.stages) > 0 {
		r.cut()
		p.prog, p.stages, p.all = nil, r.stages, r.all
	}
	err := r.err
	for _, prog := range p.all {
		if err == nil {
			err = prog.Compile()
		}
	}
	if err != nil {
		p.Free()
		return nil, fmt.Errorf("engine: recording %q: %w", name, err)
	}
	return p, nil
}

// open begins a sequence of commands.
func (r *Recorder) open() *vk.Program {
	p := r.eng.dev.NewProgram(r.name)
	r.all = append(r.all, p)
	return p
}

// command records commands: now or, in a repeated block, when it is known whether the block has host stages.
func (r *Recorder) command(c func(*vk.Program)) {
	if r.body == nil {
		c(r.prog)
		return
	}
	r.body.commands = append(r.body.commands, c)
}

// Engine returns the engine of the recording.
func (r *Recorder) Engine() *Engine { return r.eng }

// Dispatch records a kernel.
func (r *Recorder) Dispatch(c vk.Call) { r.command(func(p *vk.Program) { p.Dispatch(c) }) }

// Copy records a copy of all elements; the tensors must have the same length.
func (r *Recorder) Copy(dst, src *Tensor) {
	if dst.Len() != src.Len() {
		r.Fail(fmt.Errorf("engine: copying %v, of %d elements, to %v, of %d; want the same number", src, src.Len(), dst, dst.Len()))
		return
	}
	to, from := dst.Range(), src.Range()
	r.command(func(p *vk.Program) { p.Copy(to, from) })
}

// Fill records setting every 32-bit element to one word.
func (r *Recorder) Fill(dst *Tensor, word uint32) {
	to := dst.Range()
	r.command(func(p *vk.Program) { p.Fill(to, word) })
}

// Fail stores a recording error, if it is the first.
func (r *Recorder) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Build waits until the kernels are compiled and prepares the program for its runs. Runs do so without an earlier Build.
func (p *Program) Build() error {
	for _, prog := range p.all {
		if err := prog.Build(); err != nil {
			return err
		}
	}
	return nil
}

// Submit queues the program after all earlier submissions, and returns a ticket to wait for it. With host stages it returns when the last of them is
// done; the ticket is for the commands after it.
//
// Errors: as vk.Program.Submit; of a host stage a *HostError. The program then ran up to that stage.
func (p *Program) Submit(ctx context.Context) (*vk.Ticket, error) {
	if err := p.Build(); err != nil {
		return nil, err
	}
	if p.stages != nil {
		return p.submit(ctx)
	}
	return p.prog.Submit(ctx)
}

// Run submits and waits.
func (p *Program) Run(ctx context.Context) error {
	if p.stages == nil {
		if err := p.prog.Build(); err != nil {
			return err
		}
		return p.prog.Run(ctx)
	}
	t, err := p.Submit(ctx)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// Profile runs the program once and returns the device time of each kernel, and the host's time of each host stage under its name.
func (p *Program) Profile(ctx context.Context) ([]vk.KernelTime, error) {
	if err := p.Build(); err != nil {
		return nil, err
	}
	if p.stages != nil {
		return p.profile(ctx)
	}
	return p.prog.Profile(ctx)
}

// Free releases the program. Calling it twice, or on nil, is allowed.
func (p *Program) Free() {
	if p == nil {
		return
	}
	for _, prog := range p.all {
		prog.Free()
	}
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

// WideStores reports whether kernels should store 64 bits at once on a device (shaders/engine/store.glsl): software drivers do in the time of 32, unless the
// processor is slow at it.
func WideStores(info vk.Info) bool {
	return info.Type == vk.CPU && info.Features.Has(vk.Int64) && !processor.HalvedStores(info.Driver, info.SubgroupSize)
}

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

// MaxIterations is the most iterations of all loops of an invocation, with a margin: Mesa's software driver silently leaves them after 65535.
const MaxIterations = 65000

// WorkgroupForLoops is WorkgroupFor for elements that take so many loop iterations each: an invocation takes at most MaxIterations, if the device has
// workgroups that are large enough.
func (r *Recorder) WorkgroupForLoops(count, iterations int) uint32 {
	size := r.WorkgroupFor(count)
	for int(ceil(count, size))*iterations > MaxIterations && 2*size <= r.eng.dev.Info().Limits.MaxInvocations {
		size *= 2
	}
	return size
}

// Share returns a number of workgroups per member to share count elements, for kernels that loop over the remaining
// elements: enough to fill the device, and on software drivers few more; at most as many as the device allows.
func (r *Recorder) Share(members, count int) uint32 {
	info := r.eng.dev.Info()
	n := min((count+int(r.Workgroup())-1)/int(r.Workgroup()), int(info.Limits.MaxGroups[0]))
	if !info.Type.GPU() {
		n = min(n, (softwareGroups+members-1)/max(members, 1))
	}
	return uint32(max(n, 1))
}

// softwareGroups is the number of workgroups that keeps every core of a software driver busy.
const softwareGroups = 64
