// Package rl holds deep reinforcement learning, a population of agents at once: every tensor has the members as its first axis, and
// hyperparameters that a method may vary are tensors too.
package rl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
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
	name      string
	config    any // as given
	env       *envs.Environment
	cfg       PPOConfig
	agent     *ActorCritic
	optimizer *optim.Optimizer
	ro        *envs.Rollout
	evaluator *envs.Evaluator

	rate, discount, lambda, clip, actorWeight, criticWeight, entropyWeight *engine.Tensor // [P]
	value, nextValue, advantage, target                                    *engine.Tensor // [T, P, E]
	moments                                                                *engine.Tensor // [epochs * minibatches, P, 2]: of the advantages
	gradient                                                               *engine.Tensor // [splits, P, row]; nil when fused
	actorLosses, criticLosses                                              *engine.Tensor // [4, splits, P]
	actor, critic                                                          *head
	batch                                                                  *engine.Tensor // [P, B, O]: observations of a minibatch; nil where no network needs them together

	fused    bool   // updates are one dispatch, see recordFused
	separate bool   // they must not be
	stream   uint32 // of the permutations that minibatches are taken from
	rows     ppoRows
}

// ppoRows are the metrics [P] of a step. Losses are those of the iteration's last minibatch.
type ppoRows struct {
	episodeReturn, episodeLength, diverged                    *engine.Tensor
	actorLoss, criticLoss, entropy, divergence, clipped, norm *engine.Tensor
	refused                                                   *engine.Tensor // gradients that were not finite since the run began, by the optimizer's state: PBT's copies take over their parent's
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
	c, s := p.cfg, p.State()
	if err := errors.Join(config.Check(c), with.check()); err != nil {
		return err
	}
	if err := p.buildLearner(with.network); err != nil {
		return err
	}
	p.ro, err = envs.NewRollout(ctx, s.Sub("rollout"), p.env, envs.RolloutConfig{
		Members: c.Members, Environments: c.Environments, Horizon: c.RolloutLength, Options: with.options, Trajectory: true,
	})
	if err != nil {
		return err
	}
	p.rows = ppoRows{
		episodeReturn: p.Metrics().Row("episode/return"), episodeLength: p.Metrics().Row("episode/length"), diverged: p.Metrics().Row("episode/diverged"),
		actorLoss: p.Metrics().Row("loss/actor"), criticLoss: p.Metrics().Row("loss/critic"), entropy: p.Metrics().Row("policy/entropy"),
		divergence: p.Metrics().Row("policy/kl"), clipped: p.Metrics().Row("policy/clipped"), norm: p.Metrics().Row("gradient/norm"),
		refused: p.Metrics().Row("gradient/refused"),
	}
	if p.evaluator, err = envs.NewEvaluator(ctx, s.Sub("evaluation"), p.env, with.options, p.agent.policy()); err != nil {
		return err
	}
	return p.Complete(engine.Parts{Description: p.description(), Record: p.Record, Init: p.begin, Evaluator: p.evaluator})
}

// maxMetrics leaves room for those of a method around PPO.
const maxMetrics = 32

// buildLearner makes what turns trajectories into updates.
func (p *PPO) buildLearner(network NetworkConfig) (err error) {
	c, s := p.cfg, p.State()
	if p.agent, err = newActorCritic(s.Sub("agent"), p.env, network, c.Members); err != nil {
		return err
	}
	hyper := p.Hyper()
	p.rate, p.discount, p.lambda = hyper.Add("learning_rate", c.LearningRate), hyper.Add("discount", c.Discount), hyper.Add("gae_lambda", c.GAELambda)
	p.actorWeight, p.criticWeight, p.entropyWeight = hyper.Add("actor_weight", c.ActorWeight), hyper.Add("critic_weight", c.CriticWeight), hyper.Add("entropy_weight", c.EntropyWeight)
	if p.clip = hyper.Add("clip_epsilon", c.ClipEpsilon); c.ClipEpsilon >= unclipped {
		hyper.Hide("clip_epsilon")
	}
	rule := optim.Default(c.Optimizer)
	rule.Epsilon, rule.MaxNorm = c.OptimizerEpsilon, c.MaxGradNorm
	p.optimizer = optim.New(s.Sub("agent"), rule, p.rate, p.agent.row())
	p.optimizer.Anneal(p.Clock(), float64(c.AnnealSteps)/float64(c.Environments))
	p.agent.params = p.optimizer.Params()

	tpe := []engine.Dim{engine.Time(c.RolloutLength), engine.Members(c.Members), engine.Environments(c.Environments)}
	scratch := s.Sub("ppo")
	p.stream = scratch.Stream("minibatch")
	p.value, p.nextValue = scratch.Scratch("value", engine.Float32, tpe...), scratch.Scratch("next_value", engine.Float32, tpe...)
	p.advantage, p.target = scratch.Scratch("advantage", engine.Float32, tpe...), scratch.Scratch("target", engine.Float32, tpe...)
	p.moments = scratch.Scratch("advantage_moments", engine.Float32, engine.Axis("update", c.Epochs*c.Minibatches), engine.Members(c.Members), engine.Axis("moment", 2))
	if err := p.buildHeads(scratch); err != nil {
		return err
	}
	p.fused = !p.separate && p.canFuse()
	splits := engine.Axis("split", p.splits())
	if p.fused {
		splits.Size = 1
	} else {
		p.gradient = scratch.Scratch("gradient", engine.Float32, append([]engine.Dim{splits}, p.agent.params.Dims()...)...)
	}
	losses := []engine.Dim{engine.Axis("loss", 4), splits, engine.Members(c.Members)}
	p.actorLosses, p.criticLosses = scratch.Scratch("actor_losses", engine.Float32, losses...), scratch.Scratch("critic_losses", engine.Float32, losses...)
	return s.Err()
}

// Record implements engine.Trainable.
func (p *PPO) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.ro.Record(r, p.Clock(), p.agent.policy())
	p.recordAdvantages(r)
	p.recordUpdates(r)
	if p.agent.normalizer != nil {
		p.agent.normalizer.Record(r, p.ro.Obs) // last, so that the whole iteration sees the inputs its actions were chosen by
	}
	p.recordMetrics(r)
	p.End(r, rows, p.cfg.RolloutLength)
}

// recordAdvantages records values, advantages and targets of the trajectories.
func (p *PPO) recordAdvantages(r *engine.Recorder) {
	ro := p.ro
	p.recordValues(r, ro.Obs, p.value)
	p.recordValues(r, ro.NextObs, p.nextValue)
	gae(r, ro.Reward, ro.Done, p.value, p.nextValue, p.discount, p.lambda, p.advantage, p.target)
	if p.cfg.NormalizeAdvantage {
		p.recordMoments(r)
	}
}

// recordValues records the critic's values of observations.
func (p *PPO) recordValues(r *engine.Recorder, obs, values *engine.Tensor) {
	a := p.agent
	p.critic.Evaluate(r, nn.Weights{Params: a.params, Base: p.critic.base},
		nn.Inputs{Parts: []*engine.Tensor{obs}, Normalizer: a.normalizerValues(), Limit: float32(a.cfg.ObsLimit)}, values)
}

// recordUpdates records the updates of every epoch and minibatch.
func (p *PPO) recordUpdates(r *engine.Recorder) {
	if p.fused {
		p.recordFused(r)
		return
	}
	r.Fill(p.gradient, 0) // between the networks' parts, which no kernel writes
	r.Repeat(p.cfg.Epochs*p.cfg.Minibatches, func(r *engine.Recorder, i engine.Counter) {
		p.recordGradient(r, i.Tensor())
		p.optimizer.Record(r, p.gradient)
	})
}

func (p *PPO) recordMetrics(r *engine.Recorder) {
	p.ro.RecordReturns(r, p.rows.episodeReturn, p.rows.episodeLength)
	p.ro.RecordDiverged(r, p.rows.diverged)
	splits := float32(p.actorLosses.Size("split")) // the parts are shares of a mean, so they are to be added
	for i, row := range []*engine.Tensor{p.rows.actorLoss, p.rows.entropy, p.rows.divergence, p.rows.clipped} {
		engine.Mean(r, row, p.actorLosses.Index(i), nil, splits)
	}
	engine.Mean(r, p.rows.criticLoss, p.criticLosses.Index(0), nil, splits)
	r.Copy(p.rows.norm, p.optimizer.Norm())
	engine.CopyCounts(r, p.rows.refused, p.optimizer.Refused())
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
	begin, err := p.State().Engine().Record(p.name+": first episodes", func(r *engine.Recorder) { p.ro.RecordFirst(r, p.Clock()) })
	if err != nil {
		return err
	}
	defer begin.Free()
	return errors.Join(p.agent.init(ctx), begin.Run(ctx))
}

// Evaluator runs the members' policies: deterministic actions in new episodes.
func (p *PPO) Evaluator() *envs.Evaluator { return p.evaluator }

// Environment is the one that the agents act in.
func (p *PPO) Environment() *envs.Environment { return p.env }

// Fitness implements engine.Trainable: the mean return of evaluation episodes.
func (p *PPO) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	return p.evaluator.Fitness(ctx, s, p.Clock(), episodes)
}

// Config implements engine.Trainable: the PPOConfig or A2CConfig that it was made with.
func (p *PPO) Config() any { return p.config }
