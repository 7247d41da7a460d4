// Package rl implements deep reinforcement learning for populations of agents: the first axis of every tensor is the
// members, and hyperparameters that a method may vary are tensors.
package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// PPOConfig are the settings of PPO. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type PPOConfig struct {
	Members       int `min:"1" max:"1048576" doc:"Number of agents, P, trained simultaneously."`
	Environments  int `min:"1" max:"1048576" doc:"Environments per member, E."`
	RolloutLength int `min:"1" max:"32768" doc:"Steps per environment and iteration, T."`
	Epochs        int `min:"1" max:"1000" doc:"Passes over the transitions of an iteration."`
	Minibatches   int `min:"1" max:"65536" doc:"Minibatches per pass; each is one update."`

	LearningRate  float64 `min:"0" max:"1" doc:"Step size of the optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Discount      float64 `min:"0" max:"1" doc:"Discount factor gamma of rewards, per member." member:"horizon 2 12"`
	GAELambda     float64 `min:"0" max:"1" doc:"Decay lambda of generalized advantage estimation, per member." member:"horizon 1 12"`
	ClipEpsilon   float64 `above:"0" doc:"Clipping range of the probability ratio around 1, per member." member:"log_uniform 0.01 0.5"`
	ActorWeight   float64 `min:"0" doc:"Weight of the actor's loss, per member." member:"log_uniform 0.01 10"`
	CriticWeight  float64 `min:"0" doc:"Weight of the critic's loss, per member." member:"log_uniform 0.01 10"`
	EntropyWeight float64 `doc:"Weight of the entropy bonus, per member." member:"log_uniform 1e-5 1"`

	Optimizer        optim.Rule `doc:"Update rule: sgd, rmsprop, adam, adamw, clipup."`
	OptimizerEpsilon float64    `above:"0" doc:"Added to the optimizer's denominator."`
	MaxGradNorm      float64    `min:"0" doc:"Largest norm of the joint gradient of actor and critic, which is scaled down to it; 0: no limit."`
	ScheduleConfig

	NormalizeAdvantage bool `doc:"Advantages are normalized to mean 0 and deviation 1 in each minibatch."`
	ClipValue          bool `doc:"Changes of values are clipped to clip_epsilon in the critic's loss."`
}

// DefaultPPO has the settings of PureJaxRL and CleanRL for classic control: those of J. Schulman et al., 2017, table
// 3, with the changes of these two.
func DefaultPPO() PPOConfig {
	return PPOConfig{
		Members: 1, Environments: 4, RolloutLength: 128, Epochs: 4, Minibatches: 4,
		LearningRate: 2.5e-4, Discount: 0.99, GAELambda: 0.95, ClipEpsilon: 0.2,
		ActorWeight: 1, CriticWeight: 0.5, EntropyWeight: 0.01,
		Optimizer: optim.Adam, OptimizerEpsilon: 1e-5, MaxGradNorm: 0.5, NormalizeAdvantage: true, ClipValue: true,
	}
}

// Validate checks constraints across fields.
func (c PPOConfig) Validate() error {
	if err := c.ScheduleConfig.Validate(); err != nil {
		return err
	}
	n := c.RolloutLength * c.Environments
	if c.Minibatches > n {
		return config.Invalid("minibatches", "%d minibatches of %d transitions (rollout_length × environments); want at least one transition each", c.Minibatches, n)
	}
	if n > maxTransitions {
		return config.Invalid("environments", "%d transitions per member and iteration (rollout_length × environments); want at most %d", n, maxTransitions)
	}
	return nil
}

// Fits implements Fitting.
func (c PPOConfig) Fits(env *envs.Environment, network NetworkConfig, _ ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	return c.common().fits(env, network, "rollout_length × environments / minibatches")
}

// maxTransitions is the largest number of a member's transitions that the permutations support.
const maxTransitions = 1 << 31

// PPO is proximal policy optimization (J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017) of P
// members. An iteration is one recorded program: rollout, values, advantages, epochs × minibatches updates, metrics.
type PPO struct {
	onPolicy
	cfg       PPOConfig
	estimates *estimates
	explained *engine.Tensor // [P], a metric

	fused bool // updates are a few dispatches, see recordFused
	held  bool // the fused updates keep moments in registers
	both  bool // for tests: make the tensors of both forms
}

// NewPPO makes a PPO workflow. Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, a network that no kernel supports, *vk.OutOfMemoryError if the members need more
// memory than the device has (nothing is allocated then), and those of compiling an environment given as GLSL.
func NewPPO(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts ...Option) (*PPO, error) {
	return newPPO(ctx, "ppo", cfg, eng, env, cfg, opts)
}

// newPPO makes a PPO with another name; given is the configuration from which cfg was made.
func newPPO(ctx context.Context, name string, given Fitting, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts []Option) (*PPO, error) {
	common, err := newOnPolicy(eng, env, name, given, cfg.common())
	if err != nil {
		return nil, err
	}
	p, with := &PPO{onPolicy: common, cfg: cfg}, newSettings(settings{network: DefaultNetwork()}, opts)
	if err = p.check(cfg, with); err == nil {
		if err = p.buildLearner(with.network); err == nil {
			err = p.complete(ctx, with.options, p.Record)
		}
	}
	if err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

// common returns the settings that the parts of on-policy algorithms share.
func (c PPOConfig) common() onPolicyConfig {
	return onPolicyConfig{
		members: c.Members, environments: c.Environments, horizon: c.RolloutLength, epochs: c.Epochs, minibatches: c.Minibatches,
		optimizer: c.Optimizer, epsilon: c.OptimizerEpsilon, schedule: c.ScheduleConfig, maxGradNorm: c.MaxGradNorm,
	}
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
	together := p.both || network.alike() && canFuse(info, c, network.model(p.env.ObsSize(), network.head(p.env.Action).Outputs()))
	if together { // fused updates need actor and critic in one buffer
		agent = agent.Contiguous()
	}
	if err := p.buildAgent(agent, network, rate); err != nil {
		return err
	}
	p.held = updatedTransitions(c) >= heldPasses
	p.fused = together && !p.both && uint64(p.agent.Actor().StackBytes()) <= info.Limits.MaxStorageRange
	if p.fused {
		p.minibatches.storeOrder(scratch)
	}
	if network.NormalizeReward {
		p.agent.rewards = newRewardScale(s.Sub("agent"), discount, network.RewardLimit, p.common)
	}
	p.estimates = newEstimates(scratch, discount, lambda, p.common)
	p.minibatches.estimates = p.estimates
	p.explained = p.Metrics().Row("critic/explained_variance")
	actor := newGradient(scratch.Sub("actor"), p.agent, p.agent.actor, p.minibatches, p.fused)
	critic := newGradient(scratch.Sub("critic"), p.agent, p.agent.critic, p.minibatches, p.fused)
	if actor.outputs != nil || critic.outputs != nil {
		p.minibatches.obs = p.minibatches.observations(scratch, "observations", p.env)
	}
	p.actorLoss = &actorLoss{gradient: actor, clip: clip, weight: actorWeight, entropyWeight: entropyWeight}
	p.criticLoss = &criticLoss{gradient: critic, clip: clip, weight: criticWeight, clipped: c.ClipValue}
	return s.Err()
}

// Record implements engine.Trainable.
func (p *PPO) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.collector.Record(r)
	p.estimates.Record(r, p.agent, p.collector.Trajectory())
	p.estimates.explained(r, p.explained)
	p.recordUpdates(r)
	p.collector.Finish(r)
	p.recordMetrics(r)
	p.End(r, rows, p.cfg.RolloutLength)
}

// recordUpdates records the updates of all epochs and minibatches.
func (p *PPO) recordUpdates(r *engine.Recorder) {
	p.rates.record(r)
	p.minibatches.recordOrder(r)
	p.minibatches.recordMoments(r)
	if p.fused {
		p.recordFused(r)
		return
	}
	p.recordMinibatches(r, func(r *engine.Recorder, m minibatch) { m.recordObs(r, p.agent) })
}
