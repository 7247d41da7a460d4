// Package hybrid composes evolution and reinforcement learning. Population based training (PBT) evolves
// hyperparameters and states of the members of any engine.Trainable, such as agents of package rl and searches of
// package ec; PBT-CSO does so as a competitive swarm. In ERL, agents learn from the episodes of a population, which
// their actors join; in CEM-RL, some of a search's candidates learn before all are evaluated. PGA-ME and QD-PG add
// gradients to MAP-Elites, DvD-ES searches for agents that act differently, EMOGI selects agents by two objectives,
// and SelfPlay trains agents in games of two.
package hybrid

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// PBT is population based training (M. Jaderberg et al., "Population Based Training of Neural Networks", 2017) of the
// members of a workflow. An iteration is one of that workflow, and some begin with an exchange: members are evaluated,
// worse ones become copies of better ones, and their hyperparameters change. All of that is recorded and stays on the
// device.
type PBT struct {
	engine.Workflow // the inner workflow; some of its methods are replaced
	inner           engine.Trainable
	cfg             PBTConfig
	names           []string // of the searched hyperparameters, sorted

	scope    *engine.State // of PBT's tensors and random streams
	exchange exchange
	ranking  *ranking

	fitness  *engine.Tensor // [M]: of the last evaluation, before the exchange; NaN before the first
	parent   *engine.Tensor // [M] u32: the member copied in the last exchange
	ancestor *engine.Tensor // [M] u32: the member of the first generation that it descends from
	rank     *engine.Tensor // [M] u32

	rows      []row
	parentRow *engine.Tensor // [M]
	step      *engine.Program
	exchanged *engine.Program

	emogi   *emogi          // nil: not EMOGI
	settled *engine.Program // of EMOGI: an iteration that a selection follows
}

// row is a metric copied from a tensor [M].
type row struct{ metric, from *engine.Tensor }

// exchange combines a way of selecting members with a way of changing hyperparameters.
type exchange struct {
	name string // the workflow's
	chooser
	explorer
}

// chooser selects the members that become copies.
type chooser interface {
	// choose records the parent [M] that each member becomes a copy of, from fitness and rank [M]. A parent is its
	// own parent.
	choose(r *engine.Recorder, p *PBT)
}

// explorer changes hyperparameters.
type explorer interface {
	// observe records learning from the fitness, before members are copied.
	observe(r *engine.Recorder, p *PBT)
	// explore records changing the replaced members' hyperparameters, after they have been copied.
	explore(r *engine.Recorder, p *PBT)
}

// initializer is implemented by parts of an exchange with state.
type initializer interface {
	init(ctx context.Context) error
}

// NewPBT makes PBT over a workflow, which it owns: the workflow is closed with the PBT, or here if there is an error.
//
// Errors: settings out of range, a population of less than two, a league, a *HyperError for a hyperparameter that the
// workflow does not have, policy inheritance with a workflow that is not an engine.PolicyInheritor, and *vk.OutOfMemoryError.
func NewPBT(ctx context.Context, inner engine.Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, s *engine.State) (exchange, error) {
		members := inner.Describe().Members
		e := exchange{"pbt", newTruncation(members, cfg.Top, cfg.Bottom), &perturbation{factor: cfg.Perturb, resample: cfg.Resample}}
		if cfg.Exploit != Truncation {
			e.chooser = newDuel(s, cfg)
		}
		if cfg.Explore == PB2 {
			bandit, err := newPB2(p, s)
			if err != nil {
				return exchange{}, err
			}
			e.explorer = bandit
		}
		return e, nil
	})
}

func newPBT(ctx context.Context, inner engine.Trainable, cfg PBTConfig, by func(*PBT, *engine.State) (exchange, error)) (*PBT, error) {
	if err := engine.Require(map[string]any{"workflow": inner}); err != nil {
		return nil, fmt.Errorf("hybrid: PBT: %w", err)
	}
	p := &PBT{Workflow: inner, inner: inner, cfg: cfg}
	if err := p.build(ctx, by); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: PBT over %s: %w", inner.Describe().Workflow, err), p.Close())
	}
	return p, nil
}

func (p *PBT) build(ctx context.Context, by func(*PBT, *engine.State) (exchange, error)) (err error) {
	if p.cfg.Search == nil {
		if p.cfg.Search, err = DefaultSearch(p.inner.Config()); err != nil {
			return err
		}
		// Some keys are hyperparameters only in some environments, such as SAC's target entropy of continuous actions.
		maps.DeleteFunc(p.cfg.Search, func(name string, _ Prior) bool { return p.inner.Hyper().Lookup(name) == nil })
	}
	if err := config.Check(p.cfg); err != nil {
		return err
	}
	p.names = slices.Sorted(maps.Keys(p.cfg.Search))
	for _, name := range p.names {
		if p.inner.Hyper().Lookup(name) == nil {
			return &HyperError{Name: name, Known: p.inner.Hyper().Names()}
		}
	}
	p.inner.Hyper().Vary(p.names...)
	members := p.inner.Describe().Members
	if members < 2 {
		return fmt.Errorf("a population of %d; want at least 2 members", members)
	}
	if of, ok := p.inner.(*SelfPlay); ok && of.cfg.League {
		return config.Invalid("self-play.league", "members of a league have roles, and are not copied; want self-play without one")
	}
	if p.cfg.Inherit == PolicyOnly && !inheritsPolicies(p.inner) {
		return config.Invalid("pbt.inherit", "%s does not support copying the policy alone; want everything, or an off-policy agent",
			p.inner.Describe().Workflow)
	}
	s, n := p.inner.State().Sub("pbt"), engine.Members(members)
	p.scope = s
	p.fitness = s.Tensor("fitness", engine.Float32, n).Own()
	p.parent = s.Tensor("parent", engine.Uint32, n).Own()
	p.ancestor = s.Tensor("ancestor", engine.Uint32, n)
	p.rank = s.Scratch("rank", engine.Uint32, n)
	if p.exchange, err = by(p, s); err != nil {
		return err
	}
	evaluate, err := p.inner.Fitness(ctx, s.Sub("evaluation"), p.cfg.Episodes)
	if err != nil {
		return err
	}
	p.rows = []row{{p.inner.Metrics().Row(FitnessMetric), p.fitness}}
	for _, name := range p.names {
		p.rows = append(p.rows, row{p.inner.Metrics().Row(hyperRow + name), p.inner.Hyper().Lookup(name)})
	}
	p.parentRow = p.inner.Metrics().Row(parentRow)
	if p.ranking, err = newRanking(ctx, p, s, evaluate); err != nil {
		return err
	}
	if p.emogi != nil {
		if err := p.emogi.build(p, s); err != nil {
			return err
		}
	} else if p.cfg.Crossover != BestCrossover {
		return config.Invalid("pbt.crossover", "%v in pbt, whose copies have one parent; want best, or emogi", p.cfg.Crossover)
	}
	return s.Allocate()
}

// record records the programs of Step, once.
func (p *PBT) record() (err error) {
	if err := p.State().Err(); err != nil || p.exchanged != nil {
		return err
	}
	eng := p.State().Engine()
	if p.step, err = eng.Record("pbt: "+p.inner.Describe().Workflow, func(r *engine.Recorder) { p.inner.Record(r, p.recordRows) }); err != nil {
		return err
	}
	if p.emogi != nil {
		return p.emogi.recordPrograms(p, eng)
	}
	p.exchanged, err = eng.Record("pbt: exchange", func(r *engine.Recorder) {
		p.ranking.recordFitness(r, p)
		p.recordExchange(r)
	})
	return err
}

// recordRows records the metrics.
func (p *PBT) recordRows(r *engine.Recorder) {
	for _, row := range p.rows {
		r.Copy(row.metric, row.from)
	}
	engine.CopyCounts(r, p.parentRow, p.parent)
}

// recordExchange records the evaluation, selection, copying and exploration of members.
func (p *PBT) recordExchange(r *engine.Recorder) {
	p.ranking.recordRank(r, p)
	p.exchange.observe(r, p)
	p.exchange.choose(r, p)
	p.inherit(r)
	p.exchange.explore(r, p)
}

// inherit records the copying of parents' state to replaced members.
func (p *PBT) inherit(r *engine.Recorder) {
	if p.cfg.Inherit == Everything {
		p.State().Inherit(r, p.parent)
		return
	}
	engine.Gather(r, p.parent, p.ancestor)
	for _, t := range p.State().Inherited() {
		if slices.ContainsFunc(p.inner.Hyper().Names(), func(name string) bool { return p.inner.Hyper().Lookup(name) == t }) {
			engine.Gather(r, p.parent, t)
		}
	}
	switch of := p.inner.(type) {
	case *Slices:
		of.inheritPolicies(r, p.parent)
	case engine.PolicyInheritor:
		engine.Gather(r, p.parent, of.Policies()...)
		of.RenewPolicy(r, p.parent)
	}
}

// inheritsPolicies reports whether policies of a workflow can be copied alone.
func inheritsPolicies(w engine.Trainable) bool {
	if s, ok := w.(*Slices); ok {
		w = s.all[0].of
	}
	_, ok := w.(engine.PolicyInheritor)
	return ok
}

// stream returns the random stream of a purpose and a hyperparameter.
func (p *PBT) stream(purpose, name string) uint32 {
	return p.scope.Stream(purpose + "/" + name)
}

// Describe implements engine.Workflow.
func (p *PBT) Describe() engine.Description {
	d := p.inner.Describe()
	d.Workflow = p.exchange.name
	return d
}

// Inner returns the workflow that PBT trains.
func (p *PBT) Inner() engine.Trainable { return p.inner }

// Innermost returns the workflow that learns: of PBT the one that it trains.
func Innermost(w engine.Workflow) engine.Workflow {
	if p, ok := w.(*PBT); ok {
		return p.inner
	}
	return w
}

// Init implements engine.Workflow: the searched hyperparameters are drawn from their priors, each with its own stream.
func (p *PBT) Init(ctx context.Context) error {
	if err := p.inner.Init(ctx); err != nil {
		return err
	}
	n := p.fitness.Len()
	self := make([]uint32, n)
	for i := range self {
		self[i] = uint32(i)
	}
	for _, name := range p.names {
		values := make([]float32, n)
		for i := range values {
			values[i] = p.cfg.Search[name].draw(engine.NewRng(p.State().Engine().Seed(), p.stream("init", name), uint32(i), 0, 0))
		}
		if err := p.inner.Hyper().Lookup(name).WriteFloat32(ctx, values); err != nil {
			return err
		}
	}
	if err := errors.Join(p.fitness.Fill(ctx, float32(math.NaN())), p.parent.WriteUint32(ctx, self), p.ancestor.WriteUint32(ctx, self)); err != nil {
		return err
	}
	if p.emogi != nil {
		return p.emogi.init(ctx, p, self)
	}
	if e, ok := p.exchange.explorer.(initializer); ok {
		return e.init(ctx)
	}
	return nil
}

// Step implements engine.Workflow: an iteration, after an exchange if one is due.
func (p *PBT) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := p.record(); err != nil {
		return nil, err
	}
	if err := p.State().Advance(ctx, iteration); err != nil {
		return nil, err
	}
	if p.exchanges(iteration) {
		if _, err := p.exchanged.Submit(ctx); err != nil {
			return nil, err
		}
	}
	if p.emogi != nil && p.exchanges(iteration+1) {
		return p.settled.Submit(ctx)
	}
	return p.step.Submit(ctx)
}

// exchanges reports whether the iteration after `done` others begins with an exchange.
func (p *PBT) exchanges(done int) bool {
	return done > 0 && done >= p.cfg.Warmup && (done-p.cfg.Warmup)%p.cfg.Interval == 0
}

// Prepare implements engine.Workflow.
func (p *PBT) Prepare(ctx context.Context, episodes int) error {
	if err := p.record(); err != nil {
		return err
	}
	if err := p.inner.Evaluations().Prepare(ctx, p.Clock(), episodes); err != nil {
		return err
	}
	return p.step.Build()
}

// Close implements engine.Workflow.
func (p *PBT) Close() error {
	p.step.Free()
	p.exchanged.Free()
	p.settled.Free()
	return p.inner.Close()
}
