// Package problem holds what searches of package ec solve: policies in environments, and functions whose optima are known.
package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// PolicyConfig is how a policy is evaluated.
type PolicyConfig struct {
	Episodes int  `min:"1" max:"65536" doc:"Episodes whose mean return is a candidate's fitness."`
	Common   bool `doc:"All candidates of a generation meet the same random numbers."`
	Sample   bool `doc:"Discrete actions are sampled from the policy; else the likeliest is taken."`
}

// DefaultPolicy is EvoRL's and EvoJAX's way: one episode, likeliest actions, and the same initial states for all.
func DefaultPolicy() PolicyConfig { return PolicyConfig{Episodes: 1, Common: true} }

// NetworkConfig describes the hidden part of the policy's network; inputs and outputs are the environment's.
type NetworkConfig struct {
	Hidden      []int          `min:"1" max:"8192" doc:"Units of each hidden layer."`
	Activation  nn.Activation  `doc:"Nonlinearity of hidden layers: linear, relu, tanh, elu, swish."`
	LayerNorm   bool           `doc:"Layer normalization before each activation."`
	Initializer nn.Initializer `doc:"Initial weights: orthogonal, lecun_uniform, kaiming_uniform."`
	HiddenGain  float64        `min:"0" doc:"Factor of the initial weights of hidden layers."`
	OutputGain  float64        `min:"0" doc:"Factor of the initial weights of the output."`
	Squash      bool           `doc:"Continuous actions pass tanh, so they stay inside the action range."`
}

// DefaultNetwork is EvoRL's for evolution strategies (B. Zheng et al., 2025, table 3): two layers of 16 with tanh.
func DefaultNetwork() NetworkConfig {
	return NetworkConfig{Hidden: []int{16, 16}, Activation: nn.Tanh, Initializer: nn.LecunUniform, HiddenGain: 1, OutputGain: 1, Squash: true}
}

// policy is the search for a policy in an environment: a candidate is the parameters of its network.
type policy struct {
	env     *envs.Environment
	options envs.Options
	network NetworkConfig
	cfg     PolicyConfig
}

// Policy makes the search for a policy in an environment a problem.
func Policy(env *envs.Environment, options envs.Options, network NetworkConfig, cfg PolicyConfig) ec.Problem {
	options.AutoReset = envs.Disabled
	return &policy{env: env, options: options, network: network, cfg: cfg}
}

// Name implements ec.Problem.
func (p *policy) Name() string { return p.env.Name }

// Objectives implements ec.Problem.
func (p *policy) Objectives() int { return 1 }

func (p *policy) mlp() nn.MLP {
	n := p.network
	return nn.MLP{In: p.env.ObsSize(), Out: p.env.Action.Size(), Hidden: n.Hidden, Activation: n.Activation, LayerNorm: n.LayerNorm}
}

// Space implements ec.Problem.
func (p *policy) Space(members int) ec.Space { return ec.Space{Members: members, Dim: p.mlp().Size()} }

// Start implements ec.Problem: initial networks.
func (p *policy) Start(seed uint32, members int) []float32 {
	mlp := p.mlp()
	size := mlp.Size()
	all := make([]float32, members*size)
	for m := range members {
		mlp.Init(all[m*size:(m+1)*size], p.network.Initializer, p.network.HiddenGain, p.network.OutputGain, engine.NewRng(seed, engine.Stream("init"), uint32(m), 0, 0))
	}
	return all
}

// rollouts is a policy's evaluation.
type rollouts struct {
	*policy
	clock               engine.Clock
	members, population int
	window              int
	rollout             *envs.Rollout
	steps               *engine.Tensor                     // [M, P]: taken by each candidate
	fitness             *engine.Tensor                     // [M, P] of the search
	evaluators          map[*engine.Tensor]*envs.Evaluator // by solutions
	state               *engine.State
}

// windowBytes is about how much memory a window's candidates take: so much that a device is busy, and no more for larger populations.
const windowBytes = 64 << 20

// New implements ec.Problem.
func (p *policy) New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (ec.Evaluation, error) {
	mlp := p.mlp()
	if err := errors.Join(config.Check(p.cfg), config.Check(p.network), mlp.Check()); err != nil {
		return nil, err
	}
	row := p.Space(members).Row()
	most := max(1, windowBytes/(4*row*members))
	windows := (population + most - 1) / most
	e := &rollouts{policy: p, clock: clock, members: members, population: population, window: (population + windows - 1) / windows, state: s, evaluators: map[*engine.Tensor]*envs.Evaluator{}}
	limit := p.options.TimeLimit
	if limit == 0 {
		limit = p.env.MaxSteps
	}
	if limit <= 0 {
		return nil, fmt.Errorf("problem: episodes in %q without a time limit might never end; set one", p.env.Name)
	}
	repeat := max(1, p.options.ActionRepeat)
	var err error
	e.rollout, err = envs.NewRollout(ctx, s.Sub("rollout"), p.env, envs.RolloutConfig{
		Members: members * e.window, Environments: p.cfg.Episodes, Horizon: (limit + repeat - 1) / repeat, Options: p.options,
		Mode: !p.cfg.Sample, Begin: true, Window: &envs.Window{Population: population, Count: e.window, Common: p.cfg.Common},
	})
	if err != nil {
		return nil, err
	}
	e.steps = s.Scratch("steps", engine.Float32, engine.Population(members), engine.Axis("candidate", population))
	return e, s.Err()
}

// Window implements ec.Evaluation.
func (e *rollouts) Window() int { return e.window }

// Steps implements ec.Evaluation.
func (e *rollouts) Steps() (candidate, clock int) {
	horizon := e.rollout.Horizon()
	return horizon * e.cfg.Episodes, horizon
}

// Init implements ec.Evaluation.
func (e *rollouts) Init(context.Context) error { return nil }

// Constants implements ec.Evaluation.
func (e *rollouts) Constants(ctx context.Context) error { return e.rollout.Init(ctx) }

// act is the policy of networks [.., row].
func (e *rollouts) act(params *engine.Tensor) *envs.Policy {
	return &envs.Policy{Weights: nn.Weights{Params: params}, Network: e.mlp(), Squash: e.network.Squash}
}

// Record implements ec.Evaluation.
func (e *rollouts) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	e.fitness = fitness
	e.rollout.RecordWindow(r, e.clock, e.act(candidates), first)
	size := r.Workgroup()
	finished := e.rollout.Finished()
	r.Dispatch(returnsKernel{
		Finished: finished.Range(), Fitness: fitness.Range(), Steps: e.steps.Range(), Members: uint32(e.members), Window: uint32(e.window),
		Episodes: uint32(e.cfg.Episodes), Population: uint32(e.population), First: uint32(first), LocalSizeX: size,
	}.call((uint32(e.members*e.window)+size-1)/size, 1, 1))
}

// Finish implements ec.Evaluation.
func (e *rollouts) Finish(*engine.Recorder) {}

// Rows implements ec.Evaluation.
func (e *rollouts) Rows(m *engine.Metrics) func(*engine.Recorder) {
	returns, lengths := m.Row("episode/return"), m.Row("episode/length")
	return func(r *engine.Recorder) {
		engine.Mean(r, returns, e.fitness, nil, 1)
		engine.Mean(r, lengths, e.steps, nil, 1/float32(e.cfg.Episodes))
	}
}

// evaluator is that of the solutions.
func (e *rollouts) evaluator(ctx context.Context, solutions *engine.Tensor) (_ *envs.Evaluator, err error) {
	ev := e.evaluators[solutions]
	if ev == nil {
		if ev, err = envs.NewEvaluator(ctx, e.state, e.env, e.options, e.act(solutions)); err != nil {
			return nil, err
		}
		e.evaluators[solutions] = ev
	}
	return ev, nil
}

// Prepare implements ec.Evaluation.
func (e *rollouts) Prepare(ctx context.Context, solutions *engine.Tensor, episodes int) error {
	ev, err := e.evaluator(ctx, solutions)
	if err != nil {
		return err
	}
	return ev.Prepare(ctx, e.clock, episodes)
}

// Evaluate implements ec.Evaluation: episodes of the environment's own rewards, apart from those of the search.
func (e *rollouts) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	ev, err := e.evaluator(ctx, solutions)
	if err != nil {
		return engine.Evaluation{}, err
	}
	return ev.Run(ctx, e.clock, episodes)
}

// Close implements ec.Evaluation.
func (e *rollouts) Close() {
	for _, ev := range e.evaluators {
		ev.Close()
	}
}
