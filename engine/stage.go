package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evorl/evorl/vk"
)

// stage is a part of a program that has host stages: commands of the device, a function of the host, or a loop over stages.
type stage interface {
	run(ctx context.Context, p *pass) error
}

// pass is one run of a program with host stages.
type pass struct {
	last     *vk.Ticket      // of the last commands submitted
	profiled bool            // commands are timed instead of queued
	times    []vk.KernelTime // of a profiled run
}

// ErrEndBlock is returned by a host stage to leave the repeated block in which it is.
var ErrEndBlock = errors.New("end of a repeated block")

// Host records a host stage: f runs when all commands before it have finished on the device, and commands after it see what f wrote. Inside, f may read
// and write tensors, submit other programs and wait for them: whatever has a part in a step but is not on the device is a host stage, such as an
// environment in another process, a second device, or another machine. name appears in errors and profiles.
//
// A repeated block with a host stage is a loop of the host over its stages; the block is recorded once, and its counter is on the device as
// otherwise.
//
// ErrEndBlock as the error of f ends the innermost repeated block around the stage: the rest of the iteration, and further ones, are left out. Any other
// error of f, and the end of the run's context before it or in it, end the run of the program with a *HostError. f should return
// soon after its context has ended.
func (r *Recorder) Host(name string, f func(context.Context) error) {
	if f == nil {
		r.Fail(fmt.Errorf("engine: host stage %q: %w", name, &NilError{"function"}))
		return
	}
	r.host(hostStage{name, f})
}

// host ends the commands so far and adds a stage after them.
func (r *Recorder) host(s stage) {
	if r.body != nil {
		r.body.hosted = true
	}
	r.cut()
	r.add(s)
}

// cut makes the commands since the last stage a stage of their own. A program begins with one even without commands: the host stage that follows
// waits for it, and so for earlier programs.
func (r *Recorder) cut() {
	if b := r.body; b != nil {
		if len(b.commands) > 0 {
			p := r.open()
			for _, c := range b.commands {
				c(p)
			}
			b.commands = nil
			r.add(commandStage{p})
		}
		return
	}
	if r.prog.Stats().Commands > 0 || len(r.stages) == 0 {
		r.add(commandStage{r.prog})
		r.prog = r.open()
	}
}

func (r *Recorder) add(s stage) {
	if r.body != nil {
		r.body.stages = append(r.body.stages, s)
		return
	}
	r.stages = append(r.stages, s)
}

// submit runs all stages.
func (p *Program) submit(ctx context.Context) (*vk.Ticket, error) {
	p.running.Lock()
	defer p.running.Unlock()
	var run pass
	if err := run.all(ctx, p.stages); err != nil {
		return nil, err
	}
	return run.last, nil
}

// profile runs all stages, timed.
func (p *Program) profile(ctx context.Context) ([]vk.KernelTime, error) {
	p.running.Lock()
	defer p.running.Unlock()
	run := pass{profiled: true}
	if err := run.all(ctx, p.stages); err != nil {
		return nil, err
	}
	slices.SortStableFunc(run.times, func(a, b vk.KernelTime) int { return cmp.Compare(b.Time, a.Time) })
	return run.times, nil
}

func (p *pass) all(ctx context.Context, stages []stage) error {
	for _, s := range stages {
		if err := s.run(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// count adds to the times of a label.
func (p *pass) count(t vk.KernelTime) {
	for i := range p.times {
		if p.times[i].Label == t.Label {
			p.times[i].Calls += t.Calls
			p.times[i].Time += t.Time
			return
		}
	}
	p.times = append(p.times, t)
}

// commandStage is a sequence of commands.
type commandStage struct{ prog *vk.Program }

func (s commandStage) run(ctx context.Context, p *pass) (err error) {
	if !p.profiled {
		p.last, err = s.prog.Submit(ctx)
		return err
	}
	times, err := s.prog.Profile(ctx)
	for _, t := range times {
		p.count(t)
	}
	return err
}

// hostStage is a function of the host.
type hostStage struct {
	name string
	f    func(context.Context) error
}

func (s hostStage) run(ctx context.Context, p *pass) error {
	if p.last != nil {
		if err := p.last.Wait(ctx); err != nil {
			return s.failed(ctx, err)
		}
	}
	began := time.Now()
	err := ctx.Err()
	if err == nil {
		err = s.f(ctx)
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	if p.profiled {
		p.count(vk.KernelTime{Label: s.name, Calls: 1, Time: time.Since(began)})
	}
	return nil
}

// failed is the error of the stage. If the end of ctx caused it, it wraps ctx's error, too.
func (s hostStage) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(ctx.Err(), err)
	}
	return &HostError{Stage: s.name, Err: err}
}

// HostError is the error of a host stage, or of waiting for the commands before it. The commands after the stage did not run, so that a workflow's
// state lies between two iterations: Step, Learn and Save refuse it until Init or State.Load.
type HostError struct {
	Stage string // its name
	Err   error
}

func (e *HostError) Error() string { return fmt.Sprintf("host stage %q: %v", e.Stage, e.Err) }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// loop is a repeated block that has host stages.
type loop struct {
	n      int
	stages []stage
}

func (l loop) run(ctx context.Context, p *pass) error {
	for range l.n {
		switch err := p.all(ctx, l.stages); {
		case errors.Is(err, ErrEndBlock):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}
