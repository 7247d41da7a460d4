// Package rl holds deep reinforcement learning, a population of agents at once: every tensor has the members as its first axis, and
// hyperparameters that a method may vary are tensors too.
package rl

import (
	"context"
	"errors"
	"fmt"

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
	engine.Base
	name   string
	config any // as given
	env    *envs.Environment
	cfg    PPOConfig

	agent       *Agent
	collector   *Collector
	estimates   *estimates
	minibatches *minibatches
	actorLoss   *actorLoss
	criticLoss  *criticLoss
	evaluator   *envs.Evaluator
	rate        *engine.Tensor // [P]

	fused bool // updates are a few dispatches, see recordFused
	both  bool // tests: they may be, and have the tensors of separate ones too
	rows  ppoRows
}

// ppoRows are the metrics [P] of a step besides the collector's. Losses are those of the iteration's last minibatch.
type ppoRows struct {
	actorLoss, criticLoss, entropy, divergence, clipped, norm *engine.Tensor
	// refused counts gradients that were not finite since the run began. It is the optimizer's state: PBT's copies take over their parent's.
	refused *engine.Tensor
}

// NewPPO makes a PPO workflow. Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, a network that no kernel holds, *vk.OutOfMemoryError when the members need more memory than the device
// has (nothing is allocated then), and those of compiling an environment given as GLSL.
func NewPPO(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts ...Option) (*PPO, error) {
	return newPPO(ctx, "ppo", cfg, eng, env, cfg, opts)
}

// newPPO makes a PPO by another name and from another configuration, which cfg was made from.
func newPPO(ctx context.Context, name string, config any, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, opts []Option) (*PPO, error) {
	if err := engine.Require(map[string]any{"engine": eng, "environment": env}); err != nil {
		return nil, fmt.Errorf("rl: %s: %w", name, err)
	}
	p := &PPO{Base: engine.NewBase(eng, cfg.Members, maxMetrics), name: name, config: config, env: env, cfg: cfg}
	if err := p.build(ctx, newSettings(opts)); err != nil {
		return nil, errors.Join(fmt.Errorf("rl: %s on %q: %w", name, env.Name, err), p.Close())
	}
	return p, nil
}

func (p *PPO) build(ctx context.Context, with settings) (err error) {
	c, s, m := p.cfg, p.State(), p.Metrics()
	if err := errors.Join(config.Check(c), with.check()); err != nil {
		return err
	}
	if err := p.buildLearner(with.network); err != nil {
		return err
	}
	p.collector, err = newCollector(ctx, s.Sub("rollout"), p.Clock(), m, p.agent, p.env, envs.RolloutConfig{
		Members: c.Members, Environments: c.Environments, Horizon: c.RolloutLength, Options: with.options,
	})
	if err != nil {
		return err
	}
	p.minibatches.trajectory = p.collector.Trajectory()
	p.rows = ppoRows{
		actorLoss: m.Row("loss/actor"), criticLoss: m.Row("loss/critic"), entropy: m.Row("policy/entropy"),
		divergence: m.Row("policy/kl"), clipped: m.Row("policy/clipped"), norm: m.Row("gradient/norm"), refused: m.Row("gradient/refused"),
	}
	if p.evaluator, err = envs.NewEvaluator(ctx, s.Sub("evaluation"), p.env, with.options, p.agent.Policy()); err != nil {
		return err
	}
	return p.Complete(engine.Parts{Description: p.description(), Record: p.Record, Init: p.begin, Evaluator: p.evaluator})
}

// maxMetrics leaves room for those of a method around PPO.
const maxMetrics = 32

// buildLearner makes what turns trajectories into updates.
func (p *PPO) buildLearner(network NetworkConfig) (err error) {
	c, s, hyper := p.cfg, p.State(), p.Hyper()
	p.rate = hyper.Add("learning_rate", c.LearningRate)
	discount, lambda := hyper.Add("discount", c.Discount), hyper.Add("gae_lambda", c.GAELambda)
	actorWeight, criticWeight := hyper.Add("actor_weight", c.ActorWeight), hyper.Add("critic_weight", c.CriticWeight)
	entropyWeight := hyper.Add("entropy_weight", c.EntropyWeight)
	clip := hyper.Add("clip_epsilon", c.ClipEpsilon)
	if c.ClipEpsilon >= unclipped {
		hyper.Hide("clip_epsilon")
	}
	scratch := s.Sub("ppo")
	p.minibatches = newMinibatches(scratch, p.Clock(), c)
	if err := p.buildAgent(s.Sub("agent"), network); err != nil {
		return err
	}
	if network.NormalizeReward {
		p.agent.rewards = newRewardScale(s.Sub("agent"), discount, network.RewardLimit, c)
	}
	p.estimates = newEstimates(scratch, discount, lambda, c)
	p.minibatches.estimates = p.estimates
	actor := newGradient(scratch.Sub("actor"), p.agent, p.agent.actor, p.minibatches, p.fused)
	critic := newGradient(scratch.Sub("critic"), p.agent, p.agent.critic, p.minibatches, p.fused)
	if actor.outputs != nil || critic.outputs != nil {
		p.minibatches.obs = scratch.Scratch("observations", engine.Float32,
			engine.Members(c.Members), engine.Axis("transition", p.minibatches.rows()), engine.Axis("feature", p.env.ObsSize()))
	}
	p.actorLoss = &actorLoss{gradient: actor, clip: clip, weight: actorWeight, entropyWeight: entropyWeight}
	p.criticLoss = &criticLoss{gradient: critic, clip: clip, weight: criticWeight, clipped: c.ClipValue}
	return s.Err()
}

// buildAgent makes the agent; its parameters lie together where updates may be fused.
func (p *PPO) buildAgent(s *engine.State, cfg NetworkConfig) (err error) {
	c, info := p.cfg, s.Engine().Device().Info()
	rule := optim.Default(c.Optimizer)
	rule.Epsilon = c.OptimizerEpsilon
	if c.Optimizer == optim.ClipUp {
		rule.MaxNorm = c.MaxGradNorm // of the velocity: the steps of actor and critic are limited apart
	}
	together := p.both || canFuse(info, c, cfg.mlp(p.env.ObsSize(), cfg.head(p.env.Action).Outputs()))
	if together {
		s = s.Contiguous()
	}
	p.agent, err = newAgent(s, p.env, agentConfig{
		network: cfg, members: c.Members, rows: p.minibatches.rows(), optimizer: rule, rate: p.rate, maxNorm: c.MaxGradNorm,
	})
	if err != nil {
		return err
	}
	for _, n := range []*network{p.agent.actor, p.agent.critic} {
		n.optimizer.Anneal(p.Clock(), float64(c.AnnealSteps)/float64(c.Environments))
	}
	p.fused = together && !p.both && uint64(p.agent.Actor().StackBytes()) <= info.Limits.MaxStorageRange
	return nil
}

// Record implements engine.Trainable.
func (p *PPO) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.collector.Record(r)
	p.estimates.Record(r, p.agent, p.collector.Trajectory())
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
	for _, g := range []*gradient{p.actorLoss.gradient, p.criticLoss.gradient} {
		r.Fill(g.values, 0) // behind the parameters, to the end of the rows, no kernel writes
	}
	r.Repeat(p.cfg.Epochs*p.cfg.Minibatches, func(r *engine.Recorder, i engine.Counter) {
		mb := minibatch{p.minibatches, i.Tensor()}
		mb.recordObs(r, p.agent)
		p.agent.Step(r, p.actorLoss.Record(r, mb), p.criticLoss.Record(r, mb))
	})
}

func (p *PPO) recordMetrics(r *engine.Recorder) {
	p.actorLoss.recordMetrics(r, p.rows.actorLoss, p.rows.entropy, p.rows.divergence, p.rows.clipped)
	p.criticLoss.recordMetrics(r, p.rows.criticLoss)
	r.Copy(p.rows.norm, p.agent.actor.optimizer.Norm())
	engine.CopyCounts(r, p.rows.refused, p.agent.actor.optimizer.Refused())
}

// description says what is being learned.
func (p *PPO) description() engine.Description {
	return engine.Description{
		Workflow: p.name, Environment: p.env.Name, Members: p.cfg.Members,
		StepsPerIter: p.cfg.Members * p.cfg.Environments * p.cfg.RolloutLength,
	}
}

// begin begins a run: new parameters, new episodes.
func (p *PPO) begin(ctx context.Context) error {
	begin, err := p.State().Engine().Record(p.name+": first episodes", func(r *engine.Recorder) { p.collector.RecordFirst(r) })
	if err != nil {
		return err
	}
	defer begin.Free()
	return errors.Join(p.agent.init(ctx), begin.Run(ctx))
}

// Evaluator runs the members' policies: deterministic actions in new episodes.
func (p *PPO) Evaluator() *envs.Evaluator { return p.evaluator }

// Agent is the actors and critics of all members.
func (p *PPO) Agent() *Agent { return p.agent }

// Environment is the one that the agents act in.
func (p *PPO) Environment() *envs.Environment { return p.env }

// Fitness implements engine.Trainable: the mean return of evaluation episodes.
func (p *PPO) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	return p.evaluator.Fitness(ctx, s, p.Clock(), episodes)
}

// Config implements engine.Trainable: the PPOConfig or A2CConfig that it was made with.
func (p *PPO) Config() any { return p.config }
