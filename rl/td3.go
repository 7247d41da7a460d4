package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// TD3Config are the settings of TD3. Fields with the tag member are tensors [M] on the device, which PBT may vary.
type TD3Config struct {
	OffPolicyConfig
	CriticConfig

	ActorLearningRate  float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate float64 `min:"0" max:"1" doc:"Step size of the critics' optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`
	ExplorationNoise   float64 `min:"0" doc:"Deviation of the noise added to actions, in units of half the action range, per member." member:"uniform 0 1"`
	TargetNoise        float64 `min:"0" doc:"Deviation of the noise added to the target policy's actions, per member." member:"uniform 0 1"`
	NoiseClip          float64 `min:"0" doc:"The target policy's noise is clipped to ± this value, per member." member:"uniform 0 1"`
	PolicyDelay        float64 `min:"1" max:"1000" doc:"Critic updates per update of actor and targets, on average, per member." member:"uniform 1 5"`

	DelayTargets        bool    `doc:"Targets of the critics move with the actor, as in the paper; otherwise in every update (QDax)."`
	TargetActor         bool    `doc:"Next actions are chosen by a target actor, which follows the actor; otherwise by the actor itself (FastTD3, PQL)."`
	ExplorationLevels   int     `min:"1" max:"4096" doc:"Number of deviations from exploration_noise to exploration_noise_max, spread over the environments."`
	ExplorationNoiseMax float64 `min:"0" doc:"Largest deviation if exploration_levels is above 1, per member." member:""`
	WeightDecay         float64 `min:"0" max:"1" doc:"Weight decay; above 0, the optimizer is AdamW; 0: Adam."`
}

// DefaultTD3 has the paper's settings (S. Fujimoto et al., 2018, section 6.1 and appendix C) with CleanRL's learning
// rates and batch, as in the authors' later code. Priors are fastpbrl's (A. Flajolet et al., 2022).
// FastTD3 (Y. Seo et al., 2025) and PQL (Z. Li et al., 2023), for many environments, are settings of it: many
// environments, few updates of large batches, atoms, no target actor, a large tau, several exploration levels, weight
// decay (configs/fast-td3-halfcheetah.toml).
func DefaultTD3() TD3Config {
	return TD3Config{
		OffPolicyConfig: defaultOffPolicy(), CriticConfig: defaultCritic(),
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, Tau: 0.005, ExplorationNoise: 0.1, TargetNoise: 0.2, NoiseClip: 0.5, PolicyDelay: 2,
		DelayTargets: true, TargetActor: true, ExplorationLevels: 1, ExplorationNoiseMax: 0.4,
	}
}

// Validate checks constraints across fields.
func (c TD3Config) Validate() error {
	if err := c.OffPolicyConfig.Validate(); err != nil {
		return err
	}
	if err := c.checkLevels(c.ExplorationLevels); err != nil {
		return err
	}
	return c.CriticConfig.Validate()
}

// Exploration returns the noise by which the agents explore.
func (c TD3Config) Exploration() Exploration {
	return Exploration{c.ExplorationNoise, DefaultTD3().ExplorationNoise, c.ExplorationLevels}
}

// Check implements Algorithm.
func (c TD3Config) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	return c.checkDeterministic("td3", with, c.Atoms)
}

// NewTD3 makes a workflow of twin delayed deep deterministic policy gradient (S. Fujimoto et al., "Addressing Function Approximation Error
// in Actor-Critic Methods", 2018, algorithm 1). Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: as NewDDPG.
func NewTD3(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg TD3Config, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultOffPolicyNetwork(), opts)
	return newOffPolicy(ctx, "td3", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newTD3(o, parts, cfg, nil)
	})
}

// td3 is the learner of TD3 and DvD.
type td3 struct {
	*deterministic
	smoothing     *smoothing
	delay         *delay
	promptTargets bool       // the critics' targets follow in every update, not only in the actor's
	spread        *spread    // nil: all environments of a member explore with one deviation
	diversity     *diversity // nil: agents learn independently of each other
}

func newTD3(o *OffPolicy, parts learnerParts, c TD3Config, diverse *diversityConfig) (*td3, error) {
	h, s := o.Hyper(), o.State()
	if c.WeightDecay > 0 {
		parts.optimizer.Rule, parts.optimizer.WeightDecay = optim.AdamW, c.WeightDecay
	}
	d, err := newDeterministic(o, parts, deterministicConfig{
		critics: 2, critic: c.CriticConfig, actorRate: c.ActorLearningRate, criticRate: c.CriticLearningRate, tau: c.Tau,
		explorationNoise: c.ExplorationNoise, targetActor: c.TargetActor,
		separate: diverse != nil || c.WeightDecay > 0 || !c.DelayTargets,
	})
	if err != nil {
		return nil, err
	}
	t := &td3{deterministic: d, promptTargets: !c.DelayTargets}
	if c.ExplorationLevels > 1 {
		t.spread = newSpread(s.Sub("spread"), c.ExplorationLevels, evenly, d.explorer.Noise, h.Add("exploration_noise_max", c.ExplorationNoiseMax), d.actor.params())
	}
	if c.TargetActor {
		d.makeTargetActor()
	}
	t.smoothing = &smoothing{noise: h.Add("target_noise", c.TargetNoise), clip: h.Add("noise_clip", c.NoiseClip), stream: s.Stream("smoothing")}
	t.delay = newDelay(s, h, d.actorCritic, c.PolicyDelay)
	if o.with.criticsFirst { // actors learn after all updates of the critics, as often as these, and not by the delay
		if c.PolicyDelay != 1 {
			return nil, config.Invalid(o.name+".policy_delay", "%g with updates of the critics that come first ([cem-rl] critics_first); want 1", c.PolicyDelay)
		}
		h.Hide(delayName)
	}
	if diverse != nil {
		t.diversity = newDiversity(s.Sub("update"), o, d.actorCritic, *diverse)
	}
	return t, d.complete(o, lane.Deterministic{
		Noise: t.smoothing.noise, Clip: t.smoothing.clip, Stream: t.smoothing.stream, Delay: t.delay.each, Credit: t.delay.credit,
	})
}

// update implements learner: the loop of algorithm 1. Critics follow their targets when the actor does (lines 12 to 15), or in every update.
func (t *td3) update(r *engine.Recorder, u update) {
	u.batch = t.ofCritics(u.batch)
	if u.pass == ActorsOnly {
		t.actor.optimizer.Follow(t.targetActor, t.actorTau)
		t.ascend(r, u, t.diversity)
		return
	}
	due, tau, actorTau := t.delay.record(r, t.tau, t.actorTau, u)
	t.actor.optimizer.Only(t.delay.mask(u.block))

	t.nextOutputs(r, u.batch)
	t.smoothing.record(r, t.headBatch(u, 0), t.actions, t.head.Size) // equation 14
	t.evaluateTargets(r, u.batch)
	t.critics.optimizer.Follow(nil, nil)
	if t.promptTargets {
		tau = t.tau
	}
	if due || t.promptTargets {
		t.critics.optimizer.Follow(t.targetCritics, tau)
	}
	t.descendCritics(r, u.batch, nil, false) // equation 10: the smaller value of both

	if due && u.pass == Both {
		if t.targetActor != nil {
			t.actor.optimizer.Follow(t.targetActor, actorTau)
		}
		t.ascend(r, u, t.diversity) // the deterministic policy gradient of the first critic
	}
}

func (t *td3) behaviour() behaviour {
	b := t.deterministic.behaviour()
	if t.spread != nil {
		b.explorer, b.explorers = t.spread.policy(*b.policy), t.spread.levels
	}
	return b
}

func (t *td3) explore(r *engine.Recorder) {
	if t.spread != nil {
		t.spread.record(r, t.actor.params())
	}
}

// block implements learner: the number of critic updates per actor update.
func (t *td3) block(updates int) int { return t.delay.block(updates) }

func (t *td3) recordMetrics(r *engine.Recorder) {
	t.deterministic.recordMetrics(r)
	if t.diversity != nil {
		t.diversity.recordMetrics(r)
	}
}

// smoothing is the noise of the target policy (S. Fujimoto et al., 2018, equation 14).
type smoothing struct {
	noise, clip *engine.Tensor // [M]
	stream      uint32
}

// record records computing smoothed actions from outputs [M, B, D].
func (s *smoothing) record(r *engine.Recorder, b nn.HeadBatch, actions *engine.Tensor, size int) {
	_, members, elements, _ := actions.Split(engine.MemberAxis)
	local, groups := r.Invocations(elements / size)
	k := smoothKernel{
		Output: b.Outputs.Range(), Noise: s.noise.Range(), Clip: s.clip.Range(), Clock: b.Draws.Clock.Tensor().Range(), Update: b.Draws.Update.Range(),
		Action: actions.Range(), Rows: uint32(elements / size), Seed: r.Engine().Seed(), Stream: s.stream, Out: uint32(size), LocalSizeX: local,
	}
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// delay is the number of critic updates for each update of the actor and of the targets (S. Fujimoto et al., 2018,
// section 5.2). If it is an integer, the same for all members, and divides the updates of an iteration, updates are
// recorded in blocks of that length, and only the last one of a block includes the actor. Otherwise blocks are single
// updates that all include the actor, and a mask skips the members that are not due.
type delay struct {
	hyper  *engine.Hyper
	common float64        // of all members, unless it is varied
	each   *engine.Tensor // [M]
	credit *engine.Tensor // [M]: critic updates since the actor's last update
	due    *engine.Tensor // [M · actors] u32
	tau    *engine.Tensor // [M]: of the critics' targets; 0 for members that are not due
	actor  *engine.Tensor // [M · actors]: the same of the actors' targets
}

const delayName = "policy_delay"

func newDelay(s *engine.State, h *engine.Hyper, a *actorCritic, common float64) *delay {
	p, all, update := engine.Members(a.members), engine.Members(a.members*a.actors), s.Sub("update")
	return &delay{
		hyper: h, common: common, each: h.Add(delayName, common), credit: s.Sub("agent").Tensor("policy_delay_credit", engine.Float32, p),
		due: update.Scratch("due", engine.Uint32, all), tau: update.Scratch("due_tau", engine.Float32, p),
		actor: update.Scratch("actor_tau", engine.Float32, all),
	}
}

// block returns the length of the blocks in which an iteration's updates are recorded.
func (d *delay) block(updates int) int {
	length := int(d.common)
	if d.hyper.Varied(delayName) || float64(length) != d.common || updates%length != 0 {
		return 1
	}
	return length
}

// masked reports whether updates in blocks of a length need the mask.
func (d *delay) masked(block int) bool {
	return d.hyper.Varied(delayName) || float64(block) != d.common
}

// mask returns [M · actors] u32, the actors that an update in blocks of a length changes; nil: all.
func (d *delay) mask(block int) *engine.Tensor {
	if d.masked(block) {
		return d.due
	}
	return nil
}

// record records which members are due in an update. now reports whether any can be; critics and actors are the tau of
// their targets, tau [M] and actorTau [M · actors] if all are due.
func (d *delay) record(r *engine.Recorder, tau, actorTau *engine.Tensor, u update) (now bool, critics, actors *engine.Tensor) {
	if !d.masked(u.block) {
		return u.at == u.block-1, tau, actorTau
	}
	members := d.tau.Len()
	size, groups := r.Invocations(members)
	r.Dispatch(dueKernel{
		Delay: d.each.Range(), Tau: tau.Range(), Credit: d.credit.Range(), Due: d.due.Range(), DueTau: d.tau.Range(), ActorTau: d.actor.Range(),
		Members: uint32(members), Actors: uint32(d.due.Len() / members), LocalSizeX: size,
	}.call(groups, 1, 1))
	return true, d.tau, d.actor
}
