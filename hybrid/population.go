package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// PopulationConfig holds the settings of a population of actors. Their episodes fill the agents' replay.
type PopulationConfig struct {
	Episodes int  `min:"1" max:"65536" doc:"Episodes per candidate; the mean return is its fitness, and all steps go into the replay."`
	Common   bool `doc:"All candidates of a generation are evaluated with the same random numbers."`
}

// partsOf returns the parts of agents.
func partsOf(agents *rl.OffPolicy) rl.Parts {
	return rl.Parts{
		Network: agents.Network(), Replay: agents.Replay().Config(), Agents: agents.Describe().Members, Schedule: agents.Schedule(),
		Noise: agents.Exploration(),
	}
}

// check checks what agents of an algorithm are made with.
func (c PopulationConfig) check(agent string, with rl.Parts) error {
	if with.Network.NormalizeObs {
		return config.Invalid("network.normalize_obs", "agents have separate moments, and candidates have none; want false")
	}
	// The clock of a hybrid counts the steps of candidates' episodes at their longest, not the agents' own.
	const constant = "%d steps of the agents, whose number in an iteration depends on the candidates' episodes; want 0, learning rates that are constant"
	switch of := with.Schedule; {
	case of.AnnealSteps > 0:
		return config.Invalid(agent+".anneal_steps", constant, of.AnnealSteps)
	case of.WarmupSteps > 0:
		return config.Invalid(agent+".warmup_steps", constant, of.WarmupSteps)
	}
	return nil
}

// checkStill is check for agents that do not act themselves, but where a run goes on without its replay.
func (c PopulationConfig) checkStill(agent string, with rl.Parts) error {
	const still = "%v of agents that do not act: candidates do, without noise; want %v"
	switch of := with.Noise; {
	case !with.Replay.Save:
	case of.Noise != of.Usual:
		return config.Invalid(agent+".exploration_noise", still, of.Noise, of.Usual)
	case of.Levels > 1:
		return config.Invalid(agent+".exploration_levels", still, of.Levels, 1)
	}
	return c.check(agent, with)
}

// population is a search with one member per group of agents. Its candidates are actors of the agents.
type population struct {
	agents     *rl.OffPolicy
	each       int           // agents per group
	state      *engine.State // of the population's tensors and streams
	hyper      *engine.Hyper // of the algorithm
	problem    ec.Problem
	space      ec.Space
	generation *ec.Generation
	candidates *evaluated
	rows       func(*engine.Recorder) // records the generation's metrics
}

// newPopulation makes the searches for groups of `each` agents.
//
// Errors: agents with actors that cannot be candidates, an algorithm that learns only from its own candidates, a replay
// that is too small.
func newPopulation(ctx context.Context, agents *rl.OffPolicy, each int, algorithm ec.Algorithm, cfg PopulationConfig) (*population, error) {
	return newDescribedPopulation(ctx, agents, each, algorithm, cfg, nil)
}

// newDescribedPopulation is newPopulation for quality-diversity algorithms; behaviour selects descriptors; nil: none.
func newDescribedPopulation(
	ctx context.Context, agents *rl.OffPolicy, each int, algorithm ec.Algorithm, cfg PopulationConfig, behaviour *problem.BehaviourConfig,
) (*population, error) {
	members, policy := agents.Describe().Members, agents.Policy()
	if policy.Head.Parameters() > 0 {
		return nil, fmt.Errorf("actors with a %v head, which has parameters; want agents of ddpg, td3 or sac", policy.Head.Kind)
	}
	p := &population{agents: agents, each: each, state: agents.State().Sub("population")}
	p.hyper = engine.NewHyper(p.state, members/each)
	var err error
	if p.problem, err = actors(agents, policy, cfg, behaviour); err != nil {
		return nil, err
	}
	p.space = p.problem.Space(members / each)
	if row := policy.Params.Size("parameter"); row != p.space.Row() {
		return nil, fmt.Errorf("actors of %d numbers, where candidates have %d; want agents of ddpg, td3 or sac", row, p.space.Row())
	}
	if p.generation, err = ec.NewGeneration(p.state, agents.Clock(), p.hyper, algorithm, p.space); err != nil {
		return nil, err
	}
	if err := p.generation.CheckCandidates(); err != nil {
		return nil, err
	}
	if p.candidates, err = p.evaluate(ctx, "candidates", p.generation.Population()); err != nil {
		return nil, err
	}
	p.rows = p.generation.Rows(agents.Metrics().Sub("", each))
	return p, nil
}

// actors returns the problem of finding actors for the agents.
func actors(agents *rl.OffPolicy, policy *envs.Policy, cfg PopulationConfig, behaviour *problem.BehaviourConfig) (ec.Problem, error) {
	own, network, of := agents.Network(), problem.DefaultNetwork(), problem.DefaultPolicy()
	network.Config, network.OutputGain = own.Config, own.ActorGain
	of.Episodes, of.Common = cfg.Episodes, cfg.Common
	head := policy.Head
	head.Noise = nil
	if behaviour != nil {
		return problem.DescribedActors(agents.Environment(), agents.Options(), network, head, of, *behaviour)
	}
	return problem.Actors(agents.Environment(), agents.Options(), network, head, of), nil
}

// init starts the searches.
func (p *population) init(ctx context.Context) error {
	return errors.Join(p.hyper.Init(ctx), p.candidates.Init(ctx), p.generation.Init(ctx, p.start()))
}

// start returns the searches' starts [M, Founders, dim].
func (p *population) start() []float32 {
	return p.problem.Start(p.state.Engine().Seed(), p.state.Stream("init"), p.space.Members*p.generation.Founders())
}

// last makes a constant [M, n] u32, the indices of n candidates of every population, beginning with the from-th last.
func (p *population) last(name string, from, n int) *engine.Tensor {
	index := func() (index []uint32) {
		for i := range p.space.Members * n {
			index = append(index, uint32(p.generation.Population()-from+i%n))
		}
		return index
	}
	return engine.Constant(p.state, name, index, engine.Members(p.space.Members), engine.Axis("candidate", n))
}

// ask records making a generation's candidates.
func (p *population) ask(r *engine.Recorder) {
	p.generation.Ask(r)
	p.generation.Candidates(r, ec.Pick{}, p.candidates.rows)
}

// steps returns the largest number of environment steps in an evaluation of `candidates` of every group, and by how
// much the clock advances.
func (p *population) steps(candidates int) (all, clock int) {
	one, clock := p.candidates.Steps()
	return p.space.Members * candidates * one, clock
}

// evaluated is a number of actors per group, with their fitness.
type evaluated struct {
	problem.Experience
	population *population
	source     *rl.ReplaySource
	rows       *engine.Tensor         // [M · n, row]; nil: they are elsewhere
	fitness    *engine.Tensor         // [M, n]
	metrics    func(*engine.Recorder) // records the evaluation's metrics
	// evaluated records what follows an evaluation into fitness [M, n]; nil: nothing does.
	evaluated func(r *engine.Recorder, fitness *engine.Tensor)
}

// evaluate makes the evaluation of n actors per group. With common random numbers, all evaluations of the population
// have the same episodes.
func (p *population) evaluate(ctx context.Context, name string, n int) (*evaluated, error) {
	evaluation, err := p.problem.New(ctx, p.state.Sub("episodes"), p.agents.Clock(), p.space.Members, n)
	if err != nil {
		return nil, err
	}
	experience, ok := evaluation.(problem.Experience)
	if !ok {
		return nil, fmt.Errorf("%s keeps no trajectory", p.problem.Name())
	}
	if descriptors := p.generation.Descriptors(); descriptors != nil {
		evaluation.(ec.Describer).Describe(descriptors)
	}
	e := &evaluated{Experience: experience, population: p}
	m, s := engine.Members(p.space.Members), p.state.Sub(name)
	e.rows = s.Scratch("rows", engine.Float32, engine.Members(p.space.Members*n), engine.Axis("parameter", p.space.Row()))
	e.fitness = s.Scratch("fitness", engine.Float32, m, engine.Axis("candidate", n))
	e.source, err = p.agents.Replay().NewSource(s, *experience.Trajectory())
	return e, err
}

// measure adds the evaluation's metrics, with prefix before their names.
func (e *evaluated) measure(prefix string) {
	m := e.population.agents.Metrics().Sub(prefix, e.population.each)
	rows, returns := e.Rows(m), m.Row(engine.ReturnMetric)
	e.metrics = func(r *engine.Recorder) {
		rows(r)
		engine.Mean(r, returns, e.fitness, nil, 1)
	}
}

// record records evaluating the actors [M · n, row] without exploration; every transition goes into the replay.
func (e *evaluated) record(r *engine.Recorder, actors *engine.Tensor) {
	e.Experience.Record(r, actors, 0, e.fitness)
	if e.evaluated != nil {
		e.evaluated(r, e.fitness)
	}
	e.Finish(r)
	e.source.Append(r, *e.Trajectory())
	e.metrics(r)
}
