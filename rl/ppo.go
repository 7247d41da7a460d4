// Package rl implements deep reinforcement learning for populations of agents: the first axis of every tensor is the
// members, and hyperparameters that a method may vary are tensors.
package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// PPOConfig are the settings of PPO. Fields with the tag member are tensors [M] on the device, which PBT may vary.
type PPOConfig struct {
	OnPolicyConfig

	Epochs      int `min:"1" max:"1000" doc:"Passes over the transitions of an iteration."`
	Minibatches int `min:"1" max:"65536" doc:"Minibatches per pass; each is one update."`

	GAELambda   float64 `min:"0" max:"1" doc:"Decay lambda of generalized advantage estimation, per member." member:"horizon 1 12"`
	ClipEpsilon float64 `above:"0" doc:"Clipping range of the probability ratio around 1, per member." member:"log_uniform 0.01 0.5"`

	NormalizeAdvantage bool `doc:"Advantages are normalized to mean 0 and deviation 1 in each minibatch."`
	ClipValue          bool `doc:"Changes of values are clipped to clip_epsilon in the critic's loss."`

	CriticInput CriticInput `doc:"What critics see in worlds of several agents: own, the observation that the actor has, or world, those of all agents (MAPPO)."`
}

// DefaultPPO has the settings of PureJaxRL and CleanRL for classic control: J. Schulman et al., 2017, table 3, with
// the changes of these two.
func DefaultPPO() PPOConfig {
	return PPOConfig{
		OnPolicyConfig: OnPolicyConfig{
			Members: 1, Environments: 4, RolloutLength: 128, LearningRate: 2.5e-4, Discount: 0.99, ActorWeight: 1, CriticWeight: 0.5, EntropyWeight: 0.01,
			Optimizer: optim.Adam, OptimizerEpsilon: 1e-5, MaxGradNorm: 0.5, StillAction: -1, GradientParts: 1, Actors: 1,
		},
		Epochs: 4, Minibatches: 4, GAELambda: 0.95, ClipEpsilon: 0.2, NormalizeAdvantage: true, ClipValue: true,
	}
}

// Check implements Algorithm.
func (c PPOConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	if n := c.RolloutLength * c.Environments * with.Env.Seats(); c.Minibatches > n {
		return config.Invalid("ppo.minibatches", "%d minibatches of %d transitions (rollout_length × environments%s); want at least one transition each",
			c.Minibatches, n, ofSeats(with.Env))
	}
	if c.CriticInput == WorldState && with.Env.Seats() == 1 {
		return config.Invalid("ppo.critic_input", "%q in %q, a world of one agent, whose observation is the critic's input already; "+
			"want %q, or a world of several agents", c.CriticInput, with.Env.Name, OwnObservation)
	}
	return c.common().check(with, "ppo", "rollout_length × environments / minibatches")
}

// PPO is proximal policy optimization (J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017) of M
// members. An iteration is one recorded program: rollout, values, advantages, epochs × minibatches updates, metrics.
// Others can act as for IMPALA. With a lag, the policy of the ratios is the one that acted.
type PPO struct {
	onPolicy
	cfg       PPOConfig
	opts      []Option
	estimates *estimates
	voids     *voids         // nil: every step is a transition
	explained *engine.Tensor // [M], a metric

	form *lane.Policy // makes all updates of an iteration in a few dispatches
	both bool         // for tests: make the tensors of both forms
}

// NewPPO makes a PPO workflow. Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, a network that no kernel supports, *vk.OutOfMemoryError if the members need more
// memory than the device has (nothing is allocated then), and compiler errors of an environment given as GLSL.
func NewPPO(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts ...Option) (*PPO, error) {
	return newPPO(ctx, "ppo", cfg, eng, env, cfg, opts)
}

// newPPO makes a PPO with another name; given is the configuration from which cfg was made.
func newPPO(ctx context.Context, name string, algorithm Algorithm, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts []Option) (*PPO, error) {
	common, err := newOnPolicy(eng, env, name, algorithm, cfg.common())
	if err != nil {
		return nil, err
	}
	p := &PPO{onPolicy: common, cfg: cfg, opts: opts}
	if err := p.make(ctx, cfg, opts, p.buildLearner, p.Record); err != nil {
		return nil, err
	}
	p.share(p)
	return p, nil
}

func (p *PPO) again(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	of, err := newPPO(ctx, p.name, p.config, eng, p.env, p.cfg, p.opts)
	if err != nil {
		return nil, err // no nil pointer in the interface
	}
	return of, nil
}

func (p *PPO) reads() []*engine.Tensor {
	all := []*engine.Tensor{p.estimates.value, p.estimates.advantage, p.estimates.target}
	if states := p.minibatches.States; states != nil {
		all = append(all, states)
	}
	return all
}

// common returns the settings that the parts of on-policy algorithms share.
func (c PPOConfig) common() onPolicyConfig {
	return onPolicyConfig{OnPolicyConfig: c.OnPolicyConfig, epochs: c.Epochs, minibatches: c.Minibatches, criticInput: c.CriticInput}
}

// buildLearner makes the losses, the advantage estimation and the minibatches.
func (p *PPO) buildLearner(network NetworkConfig) error {
	c, s, hyper := p.cfg, p.State(), p.Hyper()
	rate := hyper.Add("learning_rate", c.LearningRate)
	discount, lambda := hyper.Add("discount", c.Discount), hyper.Add("gae_lambda", c.GAELambda)
	actorWeight, criticWeight := hyper.Add("actor_weight", c.ActorWeight), hyper.Add("critic_weight", c.CriticWeight)
	entropyWeight := hyper.Add("entropy_weight", c.EntropyWeight)
	clip := hyper.Add("clip_epsilon", c.ClipEpsilon)
	if c.ClipEpsilon >= unclipped {
		hyper.Hide("clip_epsilon")
	}
	scratch, agent := s.Sub("ppo"), s.Sub("agent")
	p.minibatches = newMinibatches(scratch, p.Clock(), p.common)
	if c.NormalizeAdvantage {
		p.minibatches.normalizeAdvantage(scratch)
	}
	info := s.Engine().Device().Info()
	m := p.minibatches
	alike := network.alike() && c.CriticInput == OwnObservation
	p.form = lane.PlanPolicy(info, &m.Minibatches, c.Optimizer, alike, network.model(p.env.Observation.Shape(), network.head(p.env.Action).Outputs()))
	p.form.Both = p.both
	if err := p.buildAgent(p.form.Scope(agent), network, rate); err != nil {
		return err
	}
	p.form.Begin(scratch, &m.Minibatches, p.agent.Actor())
	if network.NormalizeReward {
		p.agent.rewards = newRewardScale(s.Sub("agent"), p.env, discount, network.RewardLimit, p.common)
	}
	if c.CriticInput == WorldState {
		p.agent.world = newWorldStates(scratch, p.env, p.common)
		m.States = p.agent.world.states
	}
	p.estimates = newEstimates(scratch, discount, lambda, p.common)
	if p.env.Seats() > 1 {
		p.voids = newVoids(scratch, p.Clock(), p.common)
	}
	m.Advantage, m.Target, m.Value = p.estimates.advantage, p.estimates.target, p.estimates.value
	p.explained = p.Metrics().Row("critic/explained_variance")
	p.actorLoss = lane.NewLoss(scratch.Sub("actor"), p.agent.learner(p.agent.actor), &m.Minibatches, lane.LossConfig{
		Clip: clip, Weight: actorWeight, EntropyWeight: entropyWeight,
	}, p.form)
	p.criticLoss = lane.NewLoss(scratch.Sub("critic"), p.agent.learner(p.agent.critic), &m.Minibatches, lane.LossConfig{
		Critic: true, Clip: clip, Weight: criticWeight, ClipValue: c.ClipValue,
	}, p.form)
	p.joinLosses()
	p.minibatches.endEpisodes(scratch, p.agent)
	if p.actorLoss.Gathers() || p.criticLoss.Gathers() && m.States == nil {
		m.Obs = m.inputs(scratch, "observations", p.env.ObsSize())
	}
	if p.criticLoss.Gathers() && m.States != nil {
		m.StateRows = m.inputs(scratch, "states", m.States.Size("feature"))
	}
	p.parts = newGradientParts(scratch.Sub("parts"), m, p.actorLoss, p.criticLoss)
	return s.Err()
}

// Record implements engine.Trainable: algorithm 1.
func (p *PPO) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.collector.Record(r)
	p.estimates.Record(r, p.agent, p.collector.Trajectory())
	if p.voids != nil {
		p.voids.record(r, p.collector.Trajectory(), p.estimates, p.agent.world)
	}
	p.estimates.explained(r, p.explained)
	p.recordUpdates(r)
	p.collector.Finish(r)
	p.recordMetrics(r)
	if p.opponents != nil {
		p.opponents.Refresh(r)
	}
	p.End(r, rows, p.cfg.RolloutLength)
}

// recordUpdates records the updates of all epochs and minibatches. The actor's loss is minus the clipped surrogate with an entropy bonus,
//
//	L = mean min(ρ A, clip(ρ, 1 - ε, 1 + ε) A) + c H(π),    ρ = π(a|s) / π_old(a|s)    (equations 7 and 9)
//
// of normalized advantages A, the critic's half the squared error of values; both have one limit on the norm of their joint gradient.
func (p *PPO) recordUpdates(r *engine.Recorder) {
	p.rates.record(r)
	p.minibatches.recordOrder(r)
	p.minibatches.recordMoments(r)
	p.recordMinibatches(r, p.form, func(r *engine.Recorder, m minibatch) { m.recordInputs(r, p.agent) })
}

// estimates holds the critic's values of a trajectory, and the advantages and value targets computed from them:
// generalized advantage estimation (equations 11 and 12; J. Schulman et al., 2016), target = advantage + value.
type estimates struct {
	value, nextValue, advantage, target *engine.Tensor // [T, M, E]
	discount, lambda                    *engine.Tensor // [M]
}

func newEstimates(s *engine.State, discount, lambda *engine.Tensor, c onPolicyConfig) *estimates {
	tensor := func(name string) *engine.Tensor {
		return s.Scratch(name, engine.Float32, engine.Time(c.RolloutLength), engine.Members(c.Members), engine.Environments(c.Environments))
	}
	return &estimates{
		value: tensor("value"), nextValue: tensor("next_value"), advantage: tensor("advantage"), target: tensor("target"),
		discount: discount, lambda: lambda,
	}
}

// Record records the estimates of a trajectory.
func (e *estimates) Record(r *engine.Recorder, a *Agent, t *envs.Trajectory) {
	a.Values(r, t, e.value, e.nextValue)
	gae(r, t.Reward, t.Done, e.value, e.nextValue, e.discount, e.lambda, e.advantage, e.target)
}

// explained records the explained variance [M] of each member's critic, see shaders/rl/explained_variance.comp.
func (e *estimates) explained(r *engine.Recorder, to *engine.Tensor) {
	t, p, environments, ok := e.value.Split(engine.MemberAxis)
	if !ok || to.Len() != p {
		r.Fail(fmt.Errorf("rl: values %v to %v; want [T, M, E] of as many members", e.value, to))
		return
	}
	r.Dispatch(explainedVarianceKernel{
		Value: e.value.Range(), Target: e.target.Range(), Explained: to.Range(), Horizon: uint32(t), Environments: uint32(environments),
		Workgroup: r.WorkgroupFor(t * environments),
	}.call(uint32(p), 1, 1))
}

// gae records generalized advantage estimation: from reward, done, value and nextValue [T, M, E], and each member's
// discount and lambda [M], to advantage and target [T, M, E]. Of nextValue it reads truncated steps and the last one.
func gae(r *engine.Recorder, reward, done, value, nextValue, discount, lambda, advantage, target *engine.Tensor) {
	t, p, e, ok := reward.Split(engine.MemberAxis)
	if !ok {
		r.Fail(fmt.Errorf("rl: rewards %v; want [T, M, E]", reward))
		return
	}
	r.Dispatch(gaeKernel{
		Reward: reward.Range(), Done: done.Range(), Value: value.Range(), NextValue: nextValue.Range(),
		Discount: discount.Range(), Lambda: lambda.Range(), Advantage: advantage.Range(), Target: target.Range(),
		Horizon: uint32(t), Members: uint32(p), Environments: uint32(e),
	}.call(uint32(p*e+63)/64, 1, 1))
}
