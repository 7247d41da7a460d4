package engine

import (
	"context"
	"errors"

	"github.com/evorl/evorl/vk"
)

// Base is the life cycle that workflows share. A workflow embeds a Base, makes its tensors, hyperparameters and metrics on it, and
// passes the rest to Complete.
type Base struct {
	state   *State
	clock   Clock
	hyper   *Hyper
	metrics *Metrics
	parts   Parts
	step    *Program
}

// Parts are the parts that a workflow gives to its Base.
type Parts struct {
	Description Description
	// Record records one iteration and ends with Base.End. The first Step or Prepare calls it.
	Record func(r *Recorder, rows func(*Recorder))
	// Init writes the initial state, after the state was cleared and the hyperparameters were set to their initial values.
	Init func(ctx context.Context) error
	// Evaluator evaluates the members.
	Evaluator Evaluator
}

// Evaluator runs evaluation episodes of every member, apart from training.
type Evaluator interface {
	// Prepare makes what Run needs for the given number of episodes.
	Prepare(ctx context.Context, clock Clock, episodes int) error
	// Run evaluates every member for the given number of episodes. The same run at the same clock count gets the same episodes.
	Run(ctx context.Context, clock Clock, episodes int) (Evaluation, error)
	// Close frees everything. Calling it twice is allowed.
	Close()
}

// NewBase makes the state, clock and hyperparameters for the given number of members, with capacity for rows metrics.
func NewBase(eng *Engine, members, rows int) Base {
	s := eng.NewState()
	return Base{state: s, clock: NewClock(s), hyper: NewHyper(s, members), metrics: NewMetrics(s, members, rows)}
}

// Complete stores the workflow's parts and allocates the memory of all tensors made so far.
func (b *Base) Complete(p Parts) error {
	b.parts = p
	return b.state.Allocate()
}

// Describe implements Workflow.
func (b *Base) Describe() Description { return b.parts.Description }

// State implements Workflow.
func (b *Base) State() *State { return b.state }

// Clock implements Workflow.
func (b *Base) Clock() Clock { return b.clock }

// Metrics implements Workflow.
func (b *Base) Metrics() *Metrics { return b.metrics }

// Hyper returns the hyperparameters that may differ between members.
func (b *Base) Hyper() *Hyper { return b.hyper }

// Evaluations implements Trainable.
func (b *Base) Evaluations() Evaluator { return b.parts.Evaluator }

// Init implements Workflow.
func (b *Base) Init(ctx context.Context) error {
	if err := b.state.Zero(ctx); err != nil {
		return err
	}
	return errors.Join(b.hyper.Init(ctx), b.parts.Init(ctx))
}

// End records the end of an iteration of the given steps of every environment: it calls rows, unless nil, for further metrics, writes all
// metrics to their ring, and advances the clock.
func (b *Base) End(r *Recorder, rows func(*Recorder), steps int) {
	if rows != nil {
		rows(r)
	}
	b.metrics.Record(r, b.clock)
	b.clock.Tick(r, 1, steps)
}

// record records the program of Step, once.
func (b *Base) record() (err error) {
	if err := b.state.Err(); err != nil {
		return err
	}
	if b.step == nil {
		b.step, err = b.state.eng.Record(b.parts.Description.Workflow, func(r *Recorder) { b.parts.Record(r, nil) })
	}
	return err
}

// Step implements Workflow.
func (b *Base) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := b.record(); err != nil {
		return nil, err
	}
	if err := b.state.Advance(ctx, iteration); err != nil {
		return nil, err
	}
	t, err := b.step.Submit(ctx)
	b.state.tear(iteration+1, err)
	return t, err
}

// Prepare implements Workflow. The evaluator's kernels may still be compiled when it returns, as the first iterations do without them.
func (b *Base) Prepare(ctx context.Context, episodes int) error {
	if err := b.record(); err != nil {
		return err
	}
	if err := b.parts.Evaluator.Prepare(ctx, b.clock, episodes); err != nil {
		return err
	}
	return b.step.Build()
}

// Evaluate implements Workflow.
func (b *Base) Evaluate(ctx context.Context, episodes int) (Evaluation, error) {
	if err := b.state.Ready(); err != nil {
		return Evaluation{}, err
	}
	return b.parts.Evaluator.Run(ctx, b.clock, episodes)
}

// Close implements Workflow.
func (b *Base) Close() error {
	b.step.Free()
	if b.parts.Evaluator != nil {
		b.parts.Evaluator.Close()
	}
	return b.state.Close()
}
