package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// DvDESConfig are the settings of DvD-ES.
type DvDESConfig struct {
	Agents      int       `min:"2" max:"32" doc:"Number of agents in the population, each with its own search."`
	States      int       `min:"1" max:"4096" doc:"Number of states, from the agents' own episodes, in which their candidates' actions are compared."`
	KernelWidth float64   `above:"0" doc:"Width of the kernel, in units of the root mean square difference of actions."`
	Jitter      float64   `above:"0" max:"1" doc:"Weight of the identity in the kernel matrix."`
	Diversity   []float64 `min:"0" max:"1" doc:"Weights of the determinant relative to returns, from which a bandit chooses; at most 8."`
	Window      int       `min:"1" max:"4096" doc:"Number of newest iterations whose successes the bandit counts."`
	Memory      int       `min:"1" max:"4096" doc:"Number of earlier iterations whose best returns an agent's return must exceed for a success."`
}

// DefaultDvDES has the paper's settings (J. Parker-Holder et al., 2020, section 5 and appendix B). Width and jitter
// are this library's.
func DefaultDvDES() DvDESConfig {
	return DvDESConfig{Agents: 5, States: 20, KernelWidth: 1, Jitter: 0.01, Diversity: []float64{0, 0.5}, Window: 50, Memory: 5}
}

// Validate checks constraints across fields.
func (c DvDESConfig) Validate() error {
	if n := len(c.Diversity); n < 1 || n > maxArms {
		return config.Invalid("diversity", "%d weights to choose from; want 1 to %d", n, maxArms)
	}
	return nil
}

// Check checks the settings against environment and network, before any device work. Errors are as of
// config.Invalid, with the full key.
func (c DvDESConfig) Check(with problem.Parts) error {
	switch env := with.Env; {
	case env.Action.IsDiscrete():
		return config.Invalid("env", "dvd-es needs continuous actions, and %q has actions %v; want an environment with a box of actions", env.Name, env.Action)
	case with.Network.NormalizeObs != problem.Unnormalized:
		return config.Invalid("network.normalize_obs", "with separate moments, agents could not be compared in the same states; want \"none\"")
	case with.Policy.Sample || with.Policy.Bins > 0:
		return config.Invalid("policy.sample", "the compared actions are the networks' outputs; want false, 0 bins")
	}
	if m := with.Network.Model(with.Env.Observation.Shape(), with.Env.Action.Size(), nn.Float32); m.Memory() > 0 {
		return config.Invalid("network."+with.Network.Key(), "network %v has memory, and its actions are compared in states that do not follow each other; "+
			"want a network without", m)
	}
	return nil
}

// DvDES is DvD-ES (J. Parker-Holder et al., "Effective Diversity in Population Based Reinforcement Learning", 2020,
// algorithm 1). Each agent of a population is the mean of a search. The fitness of its k-th candidate with return R is
//
//	(1 − λ) z(R) + λ z(det K_k),  K_ij = (1 − jitter) exp(−‖φ_i − φ_j‖² / (2 n width²)) + jitter [i = j]  (1)
//
// where z standardizes over an agent's candidates, and φ_i are the actions of agent i's k-th candidate in common
// states, n numbers. A bandit chooses λ by the agents' own returns. All of that is recorded and stays on the device.
// Members are the agents.
type DvDES struct {
	engine.Base
	cfg        DvDESConfig
	env        *envs.Environment
	generation *ec.Generation
	evaluation ec.Evaluation      // of the candidates
	own        problem.Experience // of the agents
	bandit     *thompson
	network    *nn.Network // of all candidates
	clipped    bool        // actions are clipped, not squashed by tanh
	stream     uint32      // for drawing states

	rows             *engine.Tensor // [M · N, row]: all candidates
	window           *engine.Tensor // [M · window, row]: the candidates evaluated at once; nil: all
	ownReturn        *engine.Tensor // [M, 1]
	returns, fitness *engine.Tensor // [M, N]
	states           *engine.Tensor // [1, states, O]
	outputs          *engine.Tensor // [1, M · N, states, D]
	determinant      *engine.Tensor // [N]
	metrics          []func(*engine.Recorder)
	start            func() []float32
}

// NewDvDES makes DvD-ES with a search by any single-objective algorithm, in an environment with continuous actions.
// Close it after use.
//
// Errors: settings out of range, an environment with discrete actions, normalized observations, and
// *vk.OutOfMemoryError.
func NewDvDES(
	ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options, network problem.NetworkConfig, policy problem.PolicyConfig,
	algorithm ec.Algorithm, cfg DvDESConfig,
) (*DvDES, error) {
	if err := engine.Require(map[string]any{"engine": eng, "environment": env, "algorithm": algorithm}); err != nil {
		return nil, fmt.Errorf("hybrid: DvD-ES: %w", err)
	}
	if err := errors.Join(config.Check(cfg), problem.Parts{Env: env, Options: options, Network: network, Policy: policy}.Check()); err != nil {
		return nil, fmt.Errorf("hybrid: DvD-ES: %w", err)
	}
	d := &DvDES{Base: engine.NewBase(eng, cfg.Agents, maxDvDESMetrics), cfg: cfg, env: env, clipped: !network.Squash}
	if err := d.build(ctx, options, network, policy, algorithm); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: DvD-ES of %s on %q: %w", algorithm.Name(), env.Name, err), d.Close())
	}
	return d, nil
}

const maxDvDESMetrics = 32

func (d *DvDES) build(
	ctx context.Context, options envs.Options, network problem.NetworkConfig, policy problem.PolicyConfig, algorithm ec.Algorithm,
) (err error) {
	if err := errors.Join(d.cfg.Check(problem.Parts{Env: d.env, Options: options, Network: network, Policy: policy}), ec.CheckRows(algorithm)); err != nil {
		return err
	}
	s, m := d.State(), d.cfg.Agents
	of := problem.Policy(d.env, options, network, policy)
	space := of.Space(m)
	d.start = func() []float32 { return of.Start(s.Engine().Seed(), s.Stream("init"), m) }
	if d.generation, err = ec.NewGeneration(s, d.Clock(), d.Hyper(), algorithm, space); err != nil {
		return err
	}
	population := d.generation.Population()
	if d.evaluation, err = of.New(ctx, s.Sub("candidates"), d.Clock(), m, population); err != nil {
		return err
	}
	head := nn.Head{Kind: nn.Deterministic, Size: d.env.Action.Size(), Squash: network.Squash}
	policy.Cap = false
	own, err := problem.Actors(d.env, options, network, head, policy).New(ctx, s.Sub("agents"), d.Clock(), m, 1)
	if err != nil {
		return err
	}
	d.own = own.(problem.Experience)
	mlp := network.Model(d.env.Observation.Shape(), head.Outputs(), nn.Float32)
	if d.network, err = nn.NewStack(s.Sub("embedding"), mlp, 1, m*population, d.cfg.States); err != nil {
		return err
	}
	d.bandit = newThompson(s.Sub("bandit"), d.Clock(), d.cfg.Diversity, d.cfg.Window, d.cfg.Memory)
	d.makeScratch(s.Sub("diversity"), space, population)
	if most := int(s.Engine().Device().Info().Limits.MaxLoopIterations); most > 0 {
		if n := (m*m + 7) / 8 * d.cfg.States * d.env.Action.Size(); n > most-4096 {
			return config.Invalid("dvd-es.states", "%d actions of %d agents in %d states; this device can compare them in at most %d",
				d.env.Action.Size(), m, d.cfg.States, (most-4096)*d.cfg.States/n)
		}
	}
	d.addMetrics()
	candidate, _ := d.evaluation.Steps()
	one, _ := d.own.Steps()
	return d.Complete(engine.Parts{
		Description: engine.Description{
			Workflow: "dvd-es", Environment: d.env.Name, Members: m, StepsPerIter: m * (population*candidate + one),
		},
		Record: d.record, Init: d.begin, Evaluator: agentsOf{d},
	})
}

// makeScratch makes the scratch tensors of an iteration.
func (d *DvDES) makeScratch(s *engine.State, space ec.Space, population int) {
	m, size := d.cfg.Agents, d.env.Action.Size()
	d.stream = s.Stream("states")
	d.rows = s.Scratch("rows", engine.Float32, engine.Members(m*population), engine.Axis("parameter", space.Row()))
	if window := d.evaluation.Window(); window < population {
		d.window = d.generation.NewCandidates("window", window)
	}
	d.ownReturn = s.Scratch("agent_return", engine.Float32, engine.Members(m), engine.Axis("candidate", 1))
	dims := []engine.Dim{engine.Members(m), engine.Axis("candidate", population)}
	d.returns, d.fitness = s.Scratch("return", engine.Float32, dims...), s.Scratch("fitness", engine.Float32, dims...)
	one, state := engine.Members(1), engine.Axis("state", d.cfg.States)
	d.states = s.Scratch("states", engine.Float32, one, state, engine.Axis("feature", d.env.ObsSize()))
	d.outputs = s.Scratch("outputs", engine.Float32, one, nn.Networks(m*population), state, engine.Axis("output", size))
	d.determinant = s.Scratch("determinant", engine.Float32, one, engine.Axis("candidate", population))
}

// addMetrics adds the metrics of the agents and of their diversity; the searches' metrics describe the fitness they
// are told.
func (d *DvDES) addMetrics() {
	m := d.Metrics()
	candidates, own := d.evaluation.Rows(m), d.own.Rows(m.Sub("agent/", 1))
	returns, shared := m.Row(engine.ReturnMetric), m.Sub("", d.cfg.Agents)
	determinant, weight := shared.Row("diversity/determinant"), shared.Row("diversity/weight")
	d.metrics = []func(*engine.Recorder){candidates, own, func(r *engine.Recorder) {
		r.Copy(returns, d.ownReturn)
		engine.Mean(r, determinant, d.determinant, nil, 1)
		r.Copy(weight, d.bandit.weight)
	}}
}

// record records an iteration.
func (d *DvDES) record(r *engine.Recorder, rows func(*engine.Recorder)) {
	g, m, population := d.generation, d.cfg.Agents, d.generation.Population()
	d.own.Record(r, g.Solution(), 0, d.ownReturn)
	d.own.Finish(r)
	d.bandit.record(r, d.ownReturn)
	d.sample(r, *d.own.Trajectory())
	g.Ask(r)
	g.Candidates(r, ec.Pick{}, d.rows)
	window := d.evaluation.Window()
	for first := 0; first < population; first += window {
		d.evaluate(r, min(first, population-window))
	}
	d.evaluation.Finish(r)
	row := d.rows.Size("parameter")
	weights := nn.Weights{Params: d.rows.View(engine.Members(1), nn.Networks(m*population), engine.Axis("parameter", row))}
	d.network.Evaluate(r, weights, nn.Inputs{Parts: []*engine.Tensor{d.states}}, d.outputs)
	size := d.cfg.States * d.env.Action.Size()
	r.Dispatch(determinantsKernel{
		Outputs: d.outputs.Range(), Determinant: d.determinant.Range(), Agents: uint32(m), Candidates: uint32(population), Size: uint32(size),
		Scale: float32(1 / (d.cfg.KernelWidth * d.cfg.KernelWidth)), Jitter: float32(d.cfg.Jitter), Clipped: d.clipped, Workgroup: r.Workgroup(),
	}.call(uint32(population), 1, 1))
	r.Dispatch(diverseFitnessKernel{
		Return: d.returns.Range(), Determinant: d.determinant.Range(), Weight: d.bandit.weight.Range(), Fitness: d.fitness.Range(),
		Candidates: uint32(population), Workgroup: r.WorkgroupFor(3 * population),
	}.call(uint32(m), 1, 1))
	g.Tell(r, d.fitness)
	for _, record := range d.metrics {
		record(r)
	}
	_, steps := d.evaluation.Steps()
	d.End(r, rows, steps)
}

// evaluate records evaluating a window of candidates, which may be the whole population.
func (d *DvDES) evaluate(r *engine.Recorder, first int) {
	if d.window == nil {
		d.evaluation.Record(r, d.rows, 0, d.returns)
		return
	}
	d.generation.Candidates(r, ec.Pick{First: first}, d.window)
	d.evaluation.Record(r, d.window, first, d.returns)
}

// sample records drawing states from a trajectory [T, M, 1].
func (d *DvDES) sample(r *engine.Recorder, t envs.Trajectory) {
	horizon, agents, episodes, _ := t.Done.Split(engine.MemberAxis)
	r.Dispatch(statesKernel{
		Obs: t.Obs.Range(), Done: t.Done.Range(), Clock: d.Clock().Tensor().Range(), States: d.states.Range(), Count: uint32(d.cfg.States),
		Steps: uint32(horizon), Lanes: uint32(agents * episodes), Features: uint32(d.env.ObsSize()), Seed: r.Engine().Seed(), Stream: d.stream,
	}.call(uint32(d.cfg.States+7)/8, 1, 1))
}

// begin starts a run.
func (d *DvDES) begin(ctx context.Context) error {
	return errors.Join(d.evaluation.Init(ctx), d.own.Init(ctx), d.generation.Init(ctx, d.start()))
}

// Generation returns the running searches.
func (d *DvDES) Generation() *ec.Generation { return d.generation }

// Evaluator runs the agents' policies.
func (d *DvDES) Evaluator(ctx context.Context) (*envs.Evaluator, error) {
	return d.own.Evaluator(ctx, d.generation.Solution())
}

// agentsOf is the engine.Evaluator of the agents.
type agentsOf struct{ *DvDES }

func (d agentsOf) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	return d.own.Prepare(ctx, d.generation.Solution(), episodes)
}

func (d agentsOf) Run(ctx context.Context, _ engine.Clock, episodes int) (engine.Evaluation, error) {
	return d.own.Evaluate(ctx, d.generation.Solution(), episodes)
}

func (d agentsOf) Close() {
	d.evaluation.Close()
	d.own.Close()
}
