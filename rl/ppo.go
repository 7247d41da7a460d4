// Package rl holds deep reinforcement learning, a population of agents at once: every tensor has the members as its first axis, and
// hyperparameters that a method may vary are tensors too.
package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// PPOConfig are the settings of PPO. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type PPOConfig struct {
	Members       int `min:"1" max:"1048576" doc:"Agents trained at once, P."`
	Environments  int `min:"1" max:"1048576" doc:"Environments of each member, E."`
	RolloutLength int `min:"1" max:"32768" doc:"Steps of each environment an iteration, T."`
	Epochs        int `min:"1" max:"1000" doc:"Passes over an iteration's transitions."`
	Minibatches   int `min:"1" max:"65536" doc:"Minibatches a pass; each is one update."`

	LearningRate  float64 `min:"0" max:"1" doc:"Step size of the optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Discount      float64 `min:"0" max:"1" doc:"Weight of the reward one step later, per member." member:"horizon 2 12"`
	GAELambda     float64 `min:"0" max:"1" doc:"Decay of advantage estimation, per member." member:"horizon 1 12"`
	ClipEpsilon   float64 `above:"0" doc:"How far the policy ratio may leave 1, per member." member:"log_uniform 0.01 0.5"`
	ActorWeight   float64 `min:"0" doc:"Weight of the actor's loss, per member." member:"log_uniform 0.01 10"`
	CriticWeight  float64 `min:"0" doc:"Weight of the critic's loss, per member." member:"log_uniform 0.01 10"`
	EntropyWeight float64 `doc:"Weight of the entropy bonus, per member." member:"log_uniform 1e-5 1"`

	Optimizer        optim.Rule `doc:"What takes the steps: sgd, rmsprop, adam, adamw, clipup."`
	OptimizerEpsilon float64    `above:"0" doc:"Added to the optimizer's denominator."`
	AnnealSteps      int        `min:"0" doc:"The learning rate falls linearly to 0 over so many environment steps of a member; 0: it stays."`
	MaxGradNorm      float64    `min:"0" doc:"Gradients of actor and critic together are scaled down to this norm; 0: never."`

	NormalizeAdvantage bool `doc:"Advantages are brought to mean 0 and deviation 1 in each minibatch."`
	ClipValue          bool `doc:"The critic's loss is clipped by clip_epsilon too."`
}

// DefaultPPO is the configuration of PureJaxRL and CleanRL for classic control: that of J. Schulman et al., 2017, table 3, but for what the
// two changed.
func DefaultPPO() PPOConfig {
	return PPOConfig{
		Members: 1, Environments: 4, RolloutLength: 128, Epochs: 4, Minibatches: 4,
		LearningRate: 2.5e-4, Discount: 0.99, GAELambda: 0.95, ClipEpsilon: 0.2,
		ActorWeight: 1, CriticWeight: 0.5, EntropyWeight: 0.01,
		Optimizer: optim.Adam, OptimizerEpsilon: 1e-5, MaxGradNorm: 0.5, NormalizeAdvantage: true, ClipValue: true,
	}
}

// Validate says what the fields cannot say alone.
func (c PPOConfig) Validate() error {
	n := c.RolloutLength * c.Environments
	if c.Minibatches > n {
		return config.Invalid("minibatches", "%d minibatches of %d transitions (rollout_length × environments); want at least one transition each", c.Minibatches, n)
	}
	if n > maxTransitions {
		return config.Invalid("environments", "%d transitions of a member an iteration (rollout_length × environments); want at most %d", n, maxTransitions)
	}
	return nil
}

// maxTransitions is what permutations of a member's transitions can number.
const maxTransitions = 1 << 31

// PPO is proximal policy optimization (J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017) of P members at once.
// An iteration is one recorded program: rollout, values, advantages, epochs × minibatches updates, metrics.
type PPO struct {
	onPolicy
	cfg       PPOConfig
	estimates *estimates
	explained *engine.Tensor // [P], a metric

	fused bool // updates are a few dispatches, see recordFused
	held  bool // these keep Adam's moments in registers
	both  bool // tests: they may be, and have the tensors of separate ones too
}

// NewPPO makes a PPO workflow. Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, a network that no kernel holds, *vk.OutOfMemoryError when the members need more memory than the device
// has (nothing is allocated then), and those of compiling an environment given as GLSL.
func NewPPO(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts ...Option) (*PPO, error) {
	return newPPO(ctx, "ppo", cfg, eng, env, cfg, opts)
}

// newPPO makes a PPO by another name and from another configuration, which cfg was made from.
func newPPO(ctx context.Context, name string, given any, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts []Option) (*PPO, error) {
	common, err := newOnPolicy(eng, env, name, given, cfg.common())
	if err != nil {
		return nil, err
	}
	p, with := &PPO{onPolicy: common, cfg: cfg}, newSettings(settings{network: DefaultNetwork()}, opts)
	if err = errors.Join(config.Check(cfg), with.check()); err == nil {
		if err = p.buildLearner(with.network); err == nil {
			err = p.complete(ctx, with.options, p.Record)
		}
	}
	if err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

// common are the settings of the parts that other algorithms share.
func (c PPOConfig) common() onPolicyConfig {
	return onPolicyConfig{
		members: c.Members, environments: c.Environments, horizon: c.RolloutLength, epochs: c.Epochs, minibatches: c.Minibatches,
		optimizer: c.Optimizer, epsilon: c.OptimizerEpsilon, annealSteps: c.AnnealSteps, maxGradNorm: c.MaxGradNorm,
	}
}

// buildLearner makes what turns trajectories into updates.
func (p *PPO) buildLearner(network NetworkConfig) error {
	c, s, hyper := p.cfg, p.State(), p.Hyper()
	p.rate = hyper.Add("learning_rate", c.LearningRate)
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
	together := p.both || canFuse(info, c, network.mlp(p.env.ObsSize(), network.head(p.env.Action).Outputs()))
	if together { // fused updates want actor and critic in one buffer
		agent = agent.Contiguous()
	}
	if err := p.buildAgent(agent, network); err != nil {
		return err
	}
	p.held = updatedTransitions(c) >= heldPasses
	p.fused = together && !p.both && uint64(p.agent.Actor().StackBytes()) <= info.Limits.MaxStorageRange
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

// recordUpdates records the updates of every epoch and minibatch.
func (p *PPO) recordUpdates(r *engine.Recorder) {
	p.minibatches.recordMoments(r)
	if p.fused {
		p.recordFused(r)
		return
	}
	p.recordMinibatches(r, func(r *engine.Recorder, m minibatch) { m.recordObs(r, p.agent) })
}
