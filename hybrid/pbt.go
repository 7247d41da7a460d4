// Package hybrid composes evolution and reinforcement learning.
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
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Trainable is a workflow whose members PBT can compare, copy and vary.
type Trainable interface {
	engine.Workflow
	// Record records an iteration; rows is called before the metrics are put into their ring.
	Record(r *engine.Recorder, rows func(*engine.Recorder))
	// Hyper are the hyperparameters that may differ between members.
	Hyper() *rl.Hyper
	// Evaluator runs the members' policies.
	Evaluator() *envs.Evaluator
}

// PBTConfig are the settings of population based training.
type PBTConfig struct {
	Warmup   int `min:"0" doc:"Iterations before the first exchange."`
	Interval int `min:"1" doc:"Iterations from one exchange to the next."`
	Episodes int `min:"1" max:"65536" doc:"Evaluation episodes of each member whose mean return is its fitness."`

	Top      float64 `above:"0" max:"1" doc:"Share of the population that is copied from."`
	Bottom   float64 `min:"0" max:"1" doc:"Share of the population that is replaced."`
	Perturb  float64 `min:"0" below:"1" doc:"A replaced member's hyperparameters are multiplied by 1 - perturb or 1 + perturb."`
	Resample float64 `min:"0" max:"1" doc:"Probability that a hyperparameter is drawn anew instead."`

	Search map[string]Prior `doc:"The hyperparameters that are searched, by name."`
}

// DefaultPBT is EvoRL's PBT-PPO (X. Zheng et al., 2025, table 5), its search space included, with exchanges early enough for small
// problems.
func DefaultPBT() PBTConfig {
	return PBTConfig{
		Warmup: 20, Interval: 10, Episodes: 16,
		Top: 0.2, Bottom: 0.2, Perturb: 0.2,
		Search: map[string]Prior{
			"learning_rate":  {LogUniform, 3e-5, 3e-3},
			"discount":       {Horizon, 2, 12},
			"gae_lambda":     {Horizon, 1, 12},
			"clip_epsilon":   {LogUniform, 0.01, 0.5},
			"entropy_weight": {LogUniform, 1e-5, 1},
			"critic_weight":  {LogUniform, 0.01, 10},
			"actor_weight":   {LogUniform, 0.01, 10},
		},
	}
}

// Validate says what the fields cannot say alone.
func (c PBTConfig) Validate() error {
	if c.Top+c.Bottom > 1 {
		return config.Invalid("bottom", "top and bottom are %g and %g; want at most 1 together", c.Top, c.Bottom)
	}
	return nil
}

// PBT is population based training (M. Jaderberg et al., "Population Based Training of Neural Networks", 2017) over the members of a
// workflow. An iteration is one of the workflow's; after some of them the members are evaluated, the worst become copies of the
// best with everything they have, and explore other hyperparameters. All of that is recorded and stays on the device.
type PBT struct {
	inner Trainable
	cfg   PBTConfig
	eng   *engine.Engine
	names []string // of the searched hyperparameters, sorted
	seed  uint32

	exchanger exchanger

	fitness  *engine.Tensor // [P]: of the last evaluation; NaN before the first
	parent   *engine.Tensor // [P] u32: whom the member was copied from at the last exchange
	ancestor *engine.Tensor // [P] u32: the member of the first generation that it descends from
	rank     *engine.Tensor // [P] u32
	returns  *envs.Rollout

	rows     []row
	step     *engine.Program
	exchange *engine.Program
}

// row is a metric that is a copy of a tensor [P].
type row struct{ metric, from *engine.Tensor }

// exchanger is how members are chosen and how hyperparameters move: what PBT and PBT-CSO differ in.
type exchanger interface {
	// choose records source [P] from rank [P].
	choose(r *engine.Recorder, p *PBT)
	// explore records the change of one hyperparameter of the replaced members. copied says whether it is the copy of the source's.
	explore(r *engine.Recorder, p *PBT, name string, values *engine.Tensor)
	// inherits says whether a replaced member first gets its source's hyperparameters.
	inherits() bool
}

// NewPBT makes PBT over a workflow, which it owns from then on.
func NewPBT(ctx context.Context, inner Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, _ *engine.State) exchanger {
		n := inner.Describe().Members
		return &truncation{top: max(1, int(cfg.Top*float64(n))), bottom: int(cfg.Bottom * float64(n))}
	})
}

func newPBT(ctx context.Context, inner Trainable, cfg PBTConfig, make func(*PBT, *engine.State) exchanger) (*PBT, error) {
	p := &PBT{inner: inner, cfg: cfg, eng: inner.State().Engine(), names: slices.Sorted(maps.Keys(cfg.Search))}
	if err := p.build(ctx, make); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: PBT over %s: %w", inner.Describe().Workflow, err), p.Close())
	}
	return p, nil
}

func (p *PBT) build(ctx context.Context, make func(*PBT, *engine.State) exchanger) (err error) {
	for _, name := range p.names {
		if p.inner.Hyper().Lookup(name) == nil {
			return &HyperError{Name: name, Known: p.inner.Hyper().Names()}
		}
		if err := p.cfg.Search[name].Validate(); err != nil {
			return fmt.Errorf("search.%s: %w", name, err)
		}
	}
	s := p.inner.State().Sub("pbt")
	n := engine.Population(p.inner.Describe().Members)
	p.fitness = s.Tensor("fitness", engine.Float32, n)
	p.parent = s.Tensor("parent", engine.Uint32, n)
	p.ancestor = s.Tensor("ancestor", engine.Uint32, n)
	p.rank = s.Scratch("rank", engine.Uint32, n)
	p.exchanger = make(p, s)
	if p.returns, err = p.inner.Evaluator().NewFitness(ctx, s.Sub("evaluation"), p.cfg.Episodes); err != nil {
		return err
	}
	p.rows = append(p.rows, row{p.inner.Metrics().Row("pbt/fitness"), p.fitness})
	for _, name := range p.names {
		p.rows = append(p.rows, row{p.inner.Metrics().Row("hyper/" + name), p.inner.Hyper().Lookup(name)})
	}
	if err := s.Allocate(); err != nil {
		return err
	}
	if p.step, err = p.eng.Record("pbt: "+p.inner.Describe().Workflow, func(r *engine.Recorder) {
		p.inner.Record(r, func(r *engine.Recorder) {
			for _, row := range p.rows {
				r.Copy(row.metric, row.from)
			}
		})
	}); err != nil {
		return err
	}
	p.exchange, err = p.eng.Record("pbt: exchange", p.recordExchange)
	return err
}

// recordExchange records evaluation, selection, the copying of members and exploration.
func (p *PBT) recordExchange(r *engine.Recorder) {
	p.returns.Record(r, p.inner.Clock(), p.inner.Evaluator().Policy())
	p.returns.RecordReturns(r, p.fitness, nil)
	engine.Rank(r, p.fitness, p.rank)
	p.exchanger.choose(r, p)
	engine.Gather(r, p.parent, p.inherited()...)
	for _, name := range p.names {
		p.exchanger.explore(r, p, name, p.inner.Hyper().Lookup(name))
	}
}

// inherited are the tensors that a replaced member takes over: all of the workflow's that have members, and the ancestor.
func (p *PBT) inherited() []*engine.Tensor {
	own := map[*engine.Tensor]bool{p.fitness: true, p.parent: true}
	if !p.exchanger.inherits() {
		for _, name := range p.names {
			own[p.inner.Hyper().Lookup(name)] = true
		}
	}
	if swarm, ok := p.exchanger.(*swarm); ok {
		for _, t := range swarm.velocity {
			own[t] = true
		}
	}
	return slices.DeleteFunc(p.inner.State().Tensors(), func(t *engine.Tensor) bool { return own[t] })
}

// stream is the random stream of one purpose of one hyperparameter.
func (p *PBT) stream(purpose, name string) uint32 {
	return engine.Stream("pbt/" + purpose + "/" + name)
}

// Describe implements engine.Workflow.
func (p *PBT) Describe() engine.Description {
	d := p.inner.Describe()
	d.Workflow = "pbt"
	if _, ok := p.exchanger.(*swarm); ok {
		d.Workflow = "pbt-cso"
	}
	return d
}

func (p *PBT) State() *engine.State     { return p.inner.State() }
func (p *PBT) Clock() engine.Clock      { return p.inner.Clock() }
func (p *PBT) Metrics() *engine.Metrics { return p.inner.Metrics() }

// Constants writes what is neither saved nor changes, before a checkpoint is loaded.
func (p *PBT) Constants(ctx context.Context) error {
	return errors.Join(p.inner.Constants(ctx), p.returns.Init(ctx))
}

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
			values[i] = p.cfg.Search[name].draw(engine.NewRng(p.eng.Seed(), p.stream("init", name), uint32(i), 0, 0))
		}
		if err := p.inner.Hyper().Lookup(name).WriteFloat32(ctx, values); err != nil {
			return err
		}
	}
	return errors.Join(
		p.Constants(ctx), p.fitness.Fill(ctx, float32(math.NaN())), p.parent.WriteUint32(ctx, self), p.ancestor.WriteUint32(ctx, self),
	)
}

// Step implements engine.Workflow.
func (p *PBT) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	ticket, err := p.step.Submit(ctx)
	if err != nil || !p.exchanges(iteration+1) {
		return ticket, err
	}
	return p.exchange.Submit(ctx)
}

// exchanges says whether the members are exchanged after so many iterations.
func (p *PBT) exchanges(done int) bool {
	return done >= p.cfg.Warmup && done > 0 && (done-p.cfg.Warmup)%p.cfg.Interval == 0
}

// Evaluate implements engine.Workflow.
func (p *PBT) Evaluate(ctx context.Context, episodes int) (engine.Evaluation, error) {
	return p.inner.Evaluate(ctx, episodes)
}

// Close implements engine.Workflow.
func (p *PBT) Close() error {
	p.step.Free()
	p.exchange.Free()
	return p.inner.Close()
}
