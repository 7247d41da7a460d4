package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// IMPALAConfig are the settings of IMPALA. Fields with the tag member are tensors [M] on the device, which PBT may
// vary.
type IMPALAConfig struct {
	OnPolicyConfig

	Epochs      int `min:"1" max:"1000" doc:"Passes over the trajectories of an iteration, one of each environment."`
	Minibatches int `min:"1" max:"65536" doc:"Minibatches per pass, of whole trajectories; each is one update."`

	Lambda         float64 `min:"0" max:"1" doc:"Decay lambda of V-trace's corrections of earlier steps, per member." member:"horizon 1 12"`
	RhoThreshold   float64 `above:"0" doc:"Largest importance ratio in V-trace targets, per member." member:"log_uniform 1 10"`
	CThreshold     float64 `above:"0" doc:"Largest ratio in corrections of earlier steps, per member: at most rho_threshold." member:"log_uniform 0.1 1"`
	PGRhoThreshold float64 `above:"0" doc:"Largest importance ratio in the actor's gradient, per member." member:"log_uniform 1 10"`

	MixValues bool `doc:"The actor's target is lambda times V-trace's value plus 1 - lambda times the critic's (acme); otherwise V-trace's alone (paper)."`
}

// DefaultIMPALA has the settings of EvoRL (configs/agent/impala.yaml of its repository, September 2025), which is
// synchronous like this one, with two differences: the entropy weight is .01, as in DeepMind's acme and most others,
// instead of .1; and EvoRL's critic weight .5 multiplies the squared error, while 1 here multiplies half of it, which
// gives the same gradient.
func DefaultIMPALA() IMPALAConfig {
	return IMPALAConfig{
		OnPolicyConfig: OnPolicyConfig{
			Members: 1, Environments: 256, RolloutLength: 512, LearningRate: 3e-4, Discount: 0.99, ActorWeight: 1, CriticWeight: 1, EntropyWeight: 0.01,
			Optimizer: optim.Adam, OptimizerEpsilon: 1e-8, StillAction: -1, GradientParts: 1, Actors: 1,
		},
		Epochs: 4, Minibatches: 16, Lambda: 0.95, RhoThreshold: 1, CThreshold: 1, PGRhoThreshold: 1,
	}
}

// Validate checks constraints across fields.
func (c IMPALAConfig) Validate() error {
	if c.Minibatches > c.Environments {
		return config.Invalid("minibatches", "%d minibatches of %d trajectories (environments); want at least one trajectory each", c.Minibatches, c.Environments)
	}
	return c.OnPolicyConfig.Validate()
}

// Check implements Algorithm.
func (c IMPALAConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	if n := with.Env.Seats(); n > 1 {
		return fmt.Errorf("rl: impala on %q, which has %d agents: its trajectories may not have gaps; want ppo or a2c", with.Env.Name, n)
	}
	return c.common().check(with, "impala", "environments / minibatches × rollout_length")
}

// common returns the settings that the parts of on-policy algorithms share.
func (c IMPALAConfig) common() onPolicyConfig {
	return onPolicyConfig{OnPolicyConfig: c.OnPolicyConfig, epochs: c.Epochs, minibatches: c.Minibatches, trajectories: true}
}

// IMPALA is an advantage actor-critic of M members. V-trace corrects its targets and gradients for the updates made
// since the trajectories were collected (L. Espeholt et al., "IMPALA", 2018). On one device, actors and learner alternate:
// an iteration is one recorded program of rollout, epochs × minibatches updates and metrics. On an engine with other
// devices (engine.Beside) or workers elsewhere (engine.Assisted, Act) these act in the parts of its environments
// (Actors), with the same results; from a lag of 1 on while the learner learns. With Asynchronous a batch is of the trajectories that come first, as the
// paper's is, and the results differ from run to run.
type IMPALA struct {
	onPolicy
	cfg    IMPALAConfig
	opts   []Option
	vtrace *vtrace
	passed *engine.Tensor // [T, M, E]: values with which a critic with memory passes over a trajectory, for its memory alone; nil: it has none
}

// NewIMPALA makes an IMPALA workflow. Init or a checkpoint must fill its state before the first Step. Close it after
// use. Errors: as NewPPO.
func NewIMPALA(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg IMPALAConfig, opts ...Option) (*IMPALA, error) {
	common, err := newOnPolicy(eng, env, "impala", cfg, cfg.common())
	if err != nil {
		return nil, err
	}
	p := &IMPALA{onPolicy: common, cfg: cfg, opts: opts}
	if err := p.make(ctx, cfg, opts, p.buildLearner, p.Record); err != nil {
		return nil, err
	}
	p.share(p)
	return p, nil
}

func (p *IMPALA) again(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	of, err := NewIMPALA(ctx, eng, p.env, p.cfg, p.opts...)
	if err != nil {
		return nil, err // no nil pointer in the interface
	}
	return of, nil
}

func (p *IMPALA) reads() []*engine.Tensor {
	t := p.collector.Trajectory()
	return []*engine.Tensor{t.NextObs, t.Reward}
}

// buildLearner makes the losses, V-trace and the minibatches.
func (p *IMPALA) buildLearner(network NetworkConfig) error {
	c, s, hyper := p.cfg, p.State(), p.Hyper()
	rate := hyper.Add("learning_rate", c.LearningRate)
	p.vtrace = &vtrace{
		discount: hyper.Add("discount", c.Discount), lambda: hyper.Add("lambda", c.Lambda), rho: hyper.Add("rho_threshold", c.RhoThreshold),
		c: hyper.Add("c_threshold", c.CThreshold), policyRho: hyper.Add("pg_rho_threshold", c.PGRhoThreshold), mixed: c.MixValues,
	}
	scratch := s.Sub("impala")
	m := newMinibatches(scratch, p.Clock(), p.common)
	p.minibatches = m
	if err := p.buildAgent(s.Sub("agent"), network, rate); err != nil {
		return err
	}
	if network.NormalizeReward {
		p.agent.rewards = newRewardScale(s.Sub("agent"), p.env, p.vtrace.discount, network.RewardLimit, p.common)
	}
	m.Obs = m.inputs(scratch, "observations", p.env.ObsSize())
	m.endEpisodes(scratch, p.agent)
	if of := p.agent.critic.memory; of != nil && of.critic.carried != nil {
		p.passed = scratch.Scratch("passed", engine.Float32, engine.Time(m.Horizon), engine.Members(m.Members), engine.Environments(m.Environments))
	}
	p.vtrace.makeTensors(scratch, p.env, p.agent.head, m)
	m.Advantage, m.Target = p.vtrace.advantage, p.vtrace.target
	p.actorLoss = lane.NewLoss(scratch.Sub("actor"), p.agent.learner(p.agent.actor), &m.Minibatches, lane.LossConfig{
		Clip: p.vtrace.rho, RatioInAdvantage: true,
		Weight: hyper.Add("actor_weight", c.ActorWeight), EntropyWeight: hyper.Add("entropy_weight", c.EntropyWeight),
	}, nil)
	p.actorLoss.KeepOutputs(scratch.Sub("actor"), &m.Minibatches)
	p.criticLoss = lane.NewLoss(scratch.Sub("critic"), p.agent.learner(p.agent.critic), &m.Minibatches, lane.LossConfig{
		Critic: true, Clip: p.vtrace.rho, Weight: hyper.Add("critic_weight", c.CriticWeight),
	}, nil)
	p.criticLoss.KeepOutputs(scratch.Sub("critic"), &m.Minibatches)
	p.joinLosses()
	p.parts = newGradientParts(scratch.Sub("parts"), m, p.actorLoss, p.criticLoss)
	return s.Err()
}

// Record implements engine.Trainable.
func (p *IMPALA) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.collector.Record(r)
	if p.passed != nil {
		p.agent.Values(r, p.collector.Trajectory(), p.passed, nil)
	}
	p.recordUpdates(r)
	p.collector.Finish(r)
	p.recordMetrics(r)
	p.End(r, rows, p.cfg.RolloutLength)
}

// recordUpdates records the updates of all epochs and minibatches. Each recomputes V-trace with the networks after the
// previous update.
func (p *IMPALA) recordUpdates(r *engine.Recorder) {
	p.rates.record(r)
	p.recordMinibatches(r, nil, func(r *engine.Recorder, m minibatch) {
		p.vtrace.Record(r, m, p.agent, p.actorLoss, p.criticLoss)
	})
}

// vtrace is V-trace (L. Espeholt et al., "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner
// Architectures", 2018, section 4): value targets of the current policy π, from whole trajectories of an older
// policy μ, and advantages for its gradient. Both are computed with the current networks for each minibatch, from its
// transitions alone (shaders/rl/vtrace.comp):
//
//	ρ = min(rho_threshold, π/μ), c = lambda min(c_threshold, π/μ), δ = r + γ V(s') - V(s)
//	target:    v(s) = V(s) + ρ δ + γ c (v(s') - V(s'))    (equation 1; lambda as in remark 2)
//	advantage: min(pg_rho_threshold, π/μ) (r + γ u(s') - V(s))    (section 4.2)
//
// where u is v or, with mixed, lambda v + (1 - lambda) V, as in DeepMind's acme. At a terminated step γ is 0; at a
// truncated step, and at the last of the trajectory, v(s') = V(s') of the true next observation.
type vtrace struct {
	discount, lambda  *engine.Tensor // [M]
	rho, c, policyRho *engine.Tensor // [M]: the largest ratios in targets, in corrections passed to earlier steps, and in advantages
	mixed             bool
	nextObs           *engine.Tensor // [M, rows, O]: normalized
	nextValue         *engine.Tensor // [M, rows, 1]
	advantage, target *engine.Tensor // [T, M, E]: of the current minibatch
	present           *engine.Tensor // [M, rows]: log-probabilities of its actions by the actor, if its logits are read from memory; else nil
}

// makeTensors makes the scratch tensors for minibatches of whole trajectories.
func (v *vtrace) makeTensors(s *engine.State, env *envs.Environment, head nn.Head, m *minibatches) {
	v.nextObs = m.inputs(s, "next_observations", env.ObsSize())
	v.nextValue = s.Scratch("next_value", engine.Float32, engine.Members(m.Members), engine.Axis("transition", m.Rows), engine.Axis("output", 1))
	tensor := func(name string) *engine.Tensor {
		return s.Scratch(name, engine.Float32, engine.Time(m.Horizon), engine.Members(m.Members), engine.Environments(m.Environments))
	}
	v.advantage, v.target = tensor("advantage"), tensor("target")
	if head.InMemory() {
		v.makePresent(s, m)
	}
}

// makePresent makes the tensor of log-probabilities, which a kernel of its own computes: one invocation for each transition, instead of one for all steps of a
// trajectory, which would take too many loop iterations over the logits.
func (v *vtrace) makePresent(s *engine.State, m *minibatches) {
	v.present = s.Scratch("present_log_prob", engine.Float32, engine.Members(m.Members), engine.Axis("transition", m.Rows))
}

// Record records targets and advantages of a minibatch. It leaves the outputs of actor and critic for their losses.
func (v *vtrace) Record(r *engine.Recorder, m minibatch, of *Agent, actor, critic *lane.Loss) {
	m.recordInputs(r, of)
	m.gather(r, of.inputs(m.Trajectory, m.Trajectory.NextObs), v.nextObs)
	actor.Forward(r, m.inLanes())
	critic.Forward(r, m.inLanes())
	of.critic.nextValues(r, v.nextObs, v.nextValue)
	v.recordCorrection(r, m, of, actor.Outputs, critic.Outputs)
}

// recordCorrection is Record after the forward passes.
func (v *vtrace) recordCorrection(r *engine.Recorder, m minibatch, of *Agent, outputs, value *engine.Tensor) {
	t, h, params := m.Trajectory, of.head.Constants(), of.actor.params()
	width := m.Rows / m.Horizon
	size := r.WorkgroupFor(width)
	k := vtraceKernel{
		Output: outputs.Range(), Params: params.Range(), Value: value.Range(), NextValue: v.nextValue.Range(),
		Action: t.Action.Range(), LogProb: t.LogProb.Range(), Reward: t.Reward.Range(), Done: t.Done.Range(),
		Discount: v.discount.Range(), Lambda: v.lambda.Range(), Rho: v.rho.Range(), C: v.c.Range(), PgRho: v.policyRho.Range(),
		Clock: m.Clock.Tensor().Range(), Update: m.update.Range(), Advantage: v.advantage.Range(), Target: v.target.Range(),
		Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Rows: uint32(m.Rows),
		Row: uint32(params.Size("parameter")), HeadBase: uint32(of.headBase()),
		Seed: r.Engine().Seed(), Stream: m.Stream, Minibatches: uint32(m.Count), Part: uint32(m.part), Parts: uint32(m.Parts), Trajectories: true,
		LocalSizeX: size, Out: uint32(of.actor.Model().Outputs()), MixValues: v.mixed,
		Head: h.Head, HeadWidth: h.HeadWidth, LogStdLow: h.LogStdLow, LogStdHigh: h.LogStdHigh,
	}
	if v.present != nil {
		v.recordPresent(r, m, of, outputs)
		k.Present, k.Out, k.HeadWidth = v.present.Range(), 1, 1 // the outputs are not looked at
	}
	r.Dispatch(k.call((uint32(width)+size-1)/size, uint32(m.Members), 1))
}

// recordPresent records the log-probabilities of a minibatch's actions by the actor's outputs.
func (v *vtrace) recordPresent(r *engine.Recorder, m minibatch, of *Agent, outputs *engine.Tensor) {
	h := of.head.Constants()
	size := r.WorkgroupFor(m.Rows)
	r.Dispatch(minibatchLogProbsKernel{
		Output: outputs.Range(), Action: m.Trajectory.Action.Range(), Clock: m.Clock.Tensor().Range(), Update: m.update.Range(), LogProb: v.present.Range(),
		Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Rows: uint32(m.Rows), Seed: r.Engine().Seed(), Stream: m.Stream,
		Minibatches: uint32(m.Count), Part: uint32(m.part), Parts: uint32(m.Parts), Trajectories: true,
		LocalSizeX: size, Out: uint32(of.head.Outputs()), Head: h.Head, HeadWidth: h.HeadWidth,
	}.call((uint32(m.Rows)+size-1)/size, uint32(m.Members), 1))
}
