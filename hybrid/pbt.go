// Package hybrid composes evolution and reinforcement learning: population based training (PBT) evolves the hyperparameters and the states of
// the members of any engine.Trainable, such as agents of package rl and searches of package ec; PBT-CSO does so as a competitive swarm. ERL lets
// agents learn from the episodes of a population, which their actors join; in CEM-RL some of a search's candidates learn before all are evaluated.
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

// PBTConfig are the settings of population based training.
type PBTConfig struct {
	Warmup   int `min:"0" doc:"Iterations before the first exchange."`
	Interval int `min:"1" doc:"Iterations from one exchange to the next."`
	Episodes int `min:"1" max:"65536" doc:"Evaluation episodes of each member whose mean return is its fitness."`

	Top      float64 `min:"0" max:"1" doc:"Share of the population that is copied from; at least the best member."`
	Bottom   float64 `min:"0" max:"1" doc:"Share of the population that is replaced; at least the worst member, unless 0."`
	Perturb  float64 `min:"0" below:"1" doc:"A replaced member's hyperparameters are multiplied by 1 - perturb or 1 + perturb."`
	Resample float64 `min:"0" max:"1" doc:"Probability that a hyperparameter is drawn anew instead."`

	// Search is DefaultSearch of the workflow's configuration where it is nil.
	Search map[string]Prior `doc:"The hyperparameters that are searched, by name."`
}

// DefaultPBT is EvoRL's PBT-PPO (B. Zheng et al., 2025, table 5), with exchanges early enough for small problems. What is searched is what
// the workflow's configuration declares.
func DefaultPBT() PBTConfig {
	return PBTConfig{
		Warmup: 20, Interval: 10, Episodes: 16,
		Top: 0.2, Bottom: 0.2, Perturb: 0.2,
	}
}

// Validate says what is wrong with the shares together.
func (c PBTConfig) Validate() error {
	if c.Top+c.Bottom > 1 {
		return config.Invalid("bottom", "top and bottom are %g and %g; want at most 1 together", c.Top, c.Bottom)
	}
	return nil
}

// PBT is population based training (M. Jaderberg et al., "Population Based Training of Neural Networks", 2017) over the members of a
// workflow. An iteration is one of the workflow's; some of them begin with an exchange: the members are evaluated, the worst become
// copies of the best with everything they have, and explore other hyperparameters. All of that is recorded and stays on the device.
type PBT struct {
	engine.Workflow // the inner one; what follows differs from it
	inner           engine.Trainable
	cfg             PBTConfig
	names           []string // of the searched hyperparameters, sorted

	scope     *engine.State // of its tensors and streams
	exchanger exchanger

	fitness  *engine.Tensor // [P]: of the last evaluation, before the exchange; NaN before the first
	parent   *engine.Tensor // [P] u32: the member that each was copied from at the last exchange
	ancestor *engine.Tensor // [P] u32: the member of the first generation that it descends from
	rank     *engine.Tensor // [P] u32
	evaluate engine.Fitness

	rows      []row
	parentRow *engine.Tensor // [P]
	step      *engine.Program
	exchange  *engine.Program
}

// row is a metric that is a copy of a tensor [P].
type row struct{ metric, from *engine.Tensor }

// exchanger is how members are chosen and how hyperparameters move: what PBT and PBT-CSO differ in.
type exchanger interface {
	// name is the workflow's.
	name() string
	// choose records which member each becomes a copy of, parent [P], from rank [P].
	choose(r *engine.Recorder, p *PBT)
	// explore records the change of one hyperparameter of the replaced members, after they have been copied.
	explore(r *engine.Recorder, p *PBT, name string, values *engine.Tensor)
}

// NewPBT makes PBT over a workflow, which it owns from then on: it is closed with the PBT, or here when there is an error.
//
// Errors: settings out of range, a population of less than two, a *HyperError for a hyperparameter that the workflow has not, and
// *vk.OutOfMemoryError.
func NewPBT(ctx context.Context, inner engine.Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, _ *engine.State) exchanger {
		return newTruncation(inner.Describe().Members, cfg.Top, cfg.Bottom)
	})
}

func newPBT(ctx context.Context, inner engine.Trainable, cfg PBTConfig, by func(*PBT, *engine.State) exchanger) (*PBT, error) {
	if err := engine.Require(map[string]any{"workflow": inner}); err != nil {
		return nil, fmt.Errorf("hybrid: PBT: %w", err)
	}
	p := &PBT{Workflow: inner, inner: inner, cfg: cfg}
	if err := p.build(ctx, by); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: PBT over %s: %w", inner.Describe().Workflow, err), p.Close())
	}
	return p, nil
}

func (p *PBT) build(ctx context.Context, by func(*PBT, *engine.State) exchanger) (err error) {
	if p.cfg.Search == nil {
		if p.cfg.Search, err = DefaultSearch(p.inner.Config()); err != nil {
			return err
		}
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
		return fmt.Errorf("a population of %d has nobody to learn from; want at least 2 members", members)
	}
	s, n := p.inner.State().Sub("pbt"), engine.Members(members)
	p.scope = s
	p.fitness = s.Tensor("fitness", engine.Float32, n).Own()
	p.parent = s.Tensor("parent", engine.Uint32, n).Own()
	p.ancestor = s.Tensor("ancestor", engine.Uint32, n)
	p.rank = s.Scratch("rank", engine.Uint32, n)
	p.exchanger = by(p, s)
	if p.evaluate, err = p.inner.Fitness(ctx, s.Sub("evaluation"), p.cfg.Episodes); err != nil {
		return err
	}
	p.rows = []row{{p.inner.Metrics().Row(fitnessRow), p.fitness}}
	for _, name := range p.names {
		p.rows = append(p.rows, row{p.inner.Metrics().Row(hyperRow + name), p.inner.Hyper().Lookup(name)})
	}
	p.parentRow = p.inner.Metrics().Row(parentRow)
	return s.Allocate()
}

// record records the programs of Step, once.
func (p *PBT) record() (err error) {
	if p.exchange != nil {
		return nil
	}
	eng := p.State().Engine()
	if p.step, err = eng.Record("pbt: "+p.inner.Describe().Workflow, func(r *engine.Recorder) { p.inner.Record(r, p.recordRows) }); err != nil {
		return err
	}
	p.exchange, err = eng.Record("pbt: exchange", func(r *engine.Recorder) {
		p.evaluate(r, p.fitness)
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

// recordExchange records selection by fitness, the copying of members and exploration.
func (p *PBT) recordExchange(r *engine.Recorder) {
	engine.Rank(r, p.fitness, p.rank)
	p.exchanger.choose(r, p)
	engine.Gather(r, p.parent, p.State().Inherited()...)
	for _, name := range p.names {
		p.exchanger.explore(r, p, name, p.inner.Hyper().Lookup(name))
	}
}

// stream is the random stream of one purpose of one hyperparameter.
func (p *PBT) stream(purpose, name string) uint32 {
	return p.scope.Stream(purpose + "/" + name)
}

// Describe implements engine.Workflow.
func (p *PBT) Describe() engine.Description {
	d := p.inner.Describe()
	d.Workflow = p.exchanger.name()
	return d
}

// Inner is the workflow that it is made over.
func (p *PBT) Inner() engine.Trainable { return p.inner }

// Init implements engine.Workflow: the searched hyperparameters are drawn from their priors, each from a stream of its own.
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
	return errors.Join(p.fitness.Fill(ctx, float32(math.NaN())), p.parent.WriteUint32(ctx, self), p.ancestor.WriteUint32(ctx, self))
}

// Step implements engine.Workflow: an iteration, after an exchange when one is due.
func (p *PBT) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := p.record(); err != nil {
		return nil, err
	}
	if err := p.State().Advance(ctx, iteration); err != nil {
		return nil, err
	}
	if p.exchanges(iteration) {
		if _, err := p.exchange.Submit(ctx); err != nil {
			return nil, err
		}
	}
	return p.step.Submit(ctx)
}

// exchanges says whether the iteration that follows so many others begins with an exchange.
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
	p.exchange.Free()
	return p.inner.Close()
}
