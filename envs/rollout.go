package envs

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// RolloutConfig are the settings of a rollout.
type RolloutConfig struct {
	Members      int
	Environments int // per member
	Policies     int // per member; they share its environments evenly, in order; 0: one
	Horizon      int // steps per recording
	Options      Options
	// Policy describes what will act: its model, head and placement decide the rollout's form. Its tensors may be missing, and others than those given to
	// Record. nil: only what lanes can hold can act.
	Policy *Policy
	// Trajectory keeps every transition, for learning; otherwise only returns are kept.
	Trajectory bool
	// Packed allows trajectories with observations as the space's elements, packed into words, where these are not float32 and the rollout is stepped
	// (Trajectory.Element).
	Packed bool
	// Actions is the form of the actions in trajectories.
	Actions ActionForm
	// Mode takes the most likely actions, without exploration, instead of samples.
	Mode bool
	// Begin starts new episodes at every recording; otherwise they continue from the last one.
	Begin bool
	// Window makes the members candidates of populations; nil: they are not.
	Window *Window
	// EachSeat lets as many policies as the environment has seats play together, one at each seat, instead of one at all. Members and a Window's candidates
	// count such groups then; the policies of a group are consecutive rows of the parameters. Without Policy.Rows, Cap and memory.
	EachSeat bool
	// Cap truncates episodes at the step given by the tensor Cap for their population, if that is not 0.
	Cap bool
	// Seen sums up observations; see Rollout.Seen.
	Seen bool
	// Evaluation draws the random numbers of evaluation episodes, which are shared by all states: every evaluation at
	// the same count of the clock sees the same episodes. Otherwise they are drawn from the rollout's own state.
	Evaluation bool

	part       int  // of a Joined
	drawsApart bool // a kernel of its own draws the actions even if there are few
}

// Window makes a rollout's members part of larger populations: there are Members / Count populations, of each of
// which Count candidates are evaluated at once. Candidates draw the same random numbers whatever window they are in.
type Window struct {
	Population int // candidates per population
	Count      int // the candidates evaluated at once
	// Common gives all candidates of a population the same random numbers, so that only their actions make a
	// difference.
	Common bool
	// Group gives so many consecutive candidates the same random numbers, and other groups others; 0: there are no groups. All candidates are evaluated
	// at once then.
	Group int
}

// Rollout runs a policy in batched environments. If lanes can hold the policy's network, it is fused: many steps of policy and environment in one
// dispatch. Otherwise it is stepped: a few dispatches for every step. Environments outside the device (NewOutside) are stepped by the host.
type Rollout struct {
	env     *Environment
	cfg     RolloutConfig
	options Options
	shader  *vk.Shader
	reset   *vk.Shader // nil: RecordReset is not supported
	mapping Mapping
	stepped *stepped  // nil: fused
	seated  *seated   // of environments of several agents, or whose state stays in the buffer; nil: others
	ranked  *rankForm // of networks of low rank, many steps in a dispatch; nil: others
	hosted  *hosted   // of environments that the host steps; nil: others
	bitted  *bitted   // of environments that observe words of bits; nil: others
	drawer  *drawer   // of environments with many discrete actions; nil: others
	packing *packing  // of trajectories; nil: observations are floats
	split   int       // environments of the first of two halves that the host steps in turns; 0: it steps all at once

	stream, actionStream uint32 // of the random numbers of environments and of actions
	first                int    // the index of the first member in the run, for the random numbers of evaluations

	blockClock       engine.Clock   // of the repeated blocks of a long rollout
	state, step, ret *engine.Tensor // [S, M, E], [M, E], [M, E]; E is E·A in the last two and below
	scale            *engine.Tensor // [2, D]: middle and half of the action range
	finished         *engine.Tensor // [4, M, E]
	cap              *engine.Tensor // [populations]; nil: none
	tables           *engine.Tensor // of the model, for the cooperative form; nil: not used
	seen             *engine.Tensor // [1 + 2 O, M, E]; nil: not collected
	skip             *engine.Tensor // [M] u32: members that take no steps are not 0; nil: there are none
	seed             *engine.Tensor // [1]: the engine's seed, as the reset kernel reads it; nil: not used
	Trajectory
}

// ActionForm is the form of actions in trajectories. Discrete actions are indices in both forms.
type ActionForm uint32

const (
	// Sampled is a continuous action as its head drew it: a Gaussian's sample before tanh, or the index of a bin. For
	// losses that need its log-probability.
	Sampled ActionForm = iota
	// Applied is a continuous action as the environment received it, in units of half the action range about its
	// middle. For critics that take actions.
	Applied
)

func (f ActionForm) String() string {
	if f == Applied {
		return "applied"
	}
	return "sampled"
}

// Trajectory holds the transitions of a rollout, [T, M, E, …] each; its tensors are nil without
// RolloutConfig.Trajectory. If a world has A > 1 seats, E counts seats: A times the environments, the seats of a world
// one after the other.
//
// NextObs is kept at every step, though most that learn need it only where an episode ends and in the last step: a third to a half of the memory of a
// step (CartPole-v1 16 of 48 bytes, HalfCheetah-v5 68 of 172, 10 × 10 × 4 bits 52 of 120, 84 × 84 × 4 bytes 28,224 of 56,464). Any step may end an
// episode, so fewer slots could overflow; a replay, whose memory outweighs its trajectory's, then drops its oldest transitions (rl.ReplayConfig.EndShare),
// but an estimate of advantages cannot leave steps out.
type Trajectory struct {
	Obs     *engine.Tensor // [T, M, E, O]: the observation acted on; packed ones are [T, M, E, words] u32 (nn.Element)
	Action  *engine.Tensor // [T, M, E, D]: discrete: A = 1, the index; continuous: in the form Actions
	LogProb *engine.Tensor // [T, M, E]: of the action in that form
	Reward  *engine.Tensor // [T, M, E]
	Done    *engine.Tensor // [T, M, E] u32: flags, see Done
	NextObs *engine.Tensor // [T, M, E, O]: the true observation after the action, before any reset
	Actions ActionForm
	// Memory [M, E, H] is the memory with which a model that has one took the first step: zeros where an episode began there; else nil.
	Memory *engine.Tensor
	// Begins says where the first step begins an episode, by words [M, E], for what else carries memory along; zero without Memory.
	Begins nn.Begins
	// Space of observations; the zero Space: vectors of floats.
	Space Space

	// Global and NextGlobal, [T, M, worlds, Spec.Global], are the world's state for critics when the action was chosen,
	// and after it, before any reset; nil unless the environment has one.
	Global, NextGlobal *engine.Tensor
}

// Element returns how observations are stored: Floats, or as the space's elements.
func (t *Trajectory) Element() nn.Element {
	if t.Obs.Type() == engine.Uint32 {
		return t.Space.Element
	}
	return nn.Floats
}

// NewRollout allocates a rollout's tensors in s: the state of the environments is saved, trajectories are not. An
// environment given as GLSL is compiled here. Allocation errors are reported by the state.
func NewRollout(ctx context.Context, s *engine.State, env *Environment, cfg RolloutConfig) (*Rollout, error) {
	if err := engine.Require(map[string]any{"state": s, "environment": env}); err != nil {
		return nil, fmt.Errorf("envs: a rollout: %w", err)
	}
	options, err := cfg.Options.resolved(env.Spec)
	if err != nil {
		return nil, err
	}
	if cfg.Members < 1 || cfg.Environments < 1 || cfg.Horizon < 1 {
		return nil, fmt.Errorf("envs: a rollout of %d members × %d environments × %d steps; want at least 1 of each", cfg.Members, cfg.Environments, cfg.Horizon)
	}
	if w := cfg.Window; w != nil && (w.Count < 1 || w.Count > w.Population || cfg.Members%w.Count != 0) {
		return nil, fmt.Errorf("envs: a rollout of %d members in windows of %d candidates of %d; want whole windows, no larger than the population",
			cfg.Members, w.Count, w.Population)
	}
	if w := cfg.Window; w != nil && w.Group != 0 && (w.Group < 0 || w.Count != w.Population || w.Population%w.Group != 0) {
		return nil, fmt.Errorf("envs: windows of %d candidates of %d in groups of %d; want the whole population and a divisor of it", w.Count, w.Population, w.Group)
	}
	policies := max(cfg.Policies, 1)
	if cfg.Environments%policies != 0 || policies > 1 && cfg.Window != nil {
		return nil, fmt.Errorf("envs: a rollout of %d policies a member, which has %d environments; want policies that divide them, and no window",
			policies, cfg.Environments)
	}
	ro := &Rollout{env: env, cfg: cfg, options: options, stream: s.Stream("env"), actionStream: s.Stream("action")}
	if cfg.Evaluation {
		ro.stream, ro.actionStream = engine.Stream("evaluation"), engine.Stream("evaluation/action")
		ro.first = s.Engine().First()
	}
	if !env.outside {
		if ro.mapping, err = env.mapping(options, s.Engine().Device().Info(), cfg.Members*cfg.Environments); err != nil {
			return nil, err
		}
	}
	switch {
	case env.outside:
	case env.seated():
		ro.shader, err = env.shader(ctx, "envs/seats_rollout", Lane, seatsRolloutShader)
	case env.bits():
		ro.shader, err = env.shader(ctx, "envs/bits_rollout", Lane, bitsRolloutShader)
	case ro.fuses(cfg.Policy, s.Engine().Device().Info()):
		ro.shader, err = env.shader(ctx, "envs/low_rank_rollout", Lane, lowRankRolloutShader)
	default:
		ro.shader, err = env.shader(ctx, "envs/rollout", ro.mapping, rolloutShader)
	}
	if err != nil {
		return nil, err
	}
	p, e, t := engine.Members(cfg.Members), engine.Environments(cfg.Environments*env.Seats()), engine.Time(cfg.Horizon)
	// To the kernels, each policy with its environments is a member; the layout of the tensors is the same.
	ro.cfg.Members, ro.cfg.Environments = cfg.Members*policies, cfg.Environments/policies
	o, a := engine.Axis("feature", env.ObsSize()), engine.Axis("action", env.ActionWords())
	tensor := s.Tensor
	if cfg.Begin || env.outside {
		tensor = s.Scratch // nothing is carried over between recordings, or not by the device
	}
	if !env.outside {
		ro.state = tensor("env_state", engine.Float32, engine.Axis("field", env.StateSize()), p, engine.Environments(cfg.Environments))
	}
	ro.step = tensor("episode_step", engine.Uint32, p, e)
	ro.ret = tensor("episode_return", engine.Float32, p, e)
	ro.scale = engine.Constant(s, "action_scale", env.Action.scales, engine.Axis("bound", 2), engine.Axis("action", env.Action.Size()))
	ro.blockClock = engine.ScratchClock(s, "turn_clock")
	ro.finished = s.Scratch("finished", engine.Float32, engine.Axis("sum", 4), p, e)
	if ro.mapping == Cooperative {
		ro.tables = engine.Constant(s, "model_tables", env.cooperative.tables.bits, engine.Axis("word", len(env.cooperative.tables.bits())))
	}
	if cfg.Cap {
		ro.cap = s.Tensor("episode_cap", engine.Uint32, engine.Members(ro.cfg.Members/ro.share()))
	}
	if cfg.Seen {
		ro.seen = s.Scratch("seen", engine.Float32, engine.Axis("sum", 1+2*env.ObsSize()), p, e)
	}
	steps := ro.steps(cfg.Policy, s.Engine().Device().Info())
	if cfg.Trajectory {
		word := engine.Float32
		if ro.packs(steps) {
			word, o = engine.Uint32, engine.Axis("word", env.Observation.Words())
		}
		ro.Trajectory = Trajectory{
			Obs:     s.Scratch("obs", word, t, p, e, o),
			Action:  s.Scratch("action", engine.Float32, t, p, e, a),
			LogProb: s.Scratch("log_prob", engine.Float32, t, p, e),
			Reward:  s.Scratch("reward", engine.Float32, t, p, e),
			Done:    s.Scratch("done", engine.Uint32, t, p, e),
			NextObs: s.Scratch("next_obs", word, t, p, e, o),
			Actions: cfg.Actions,
			Space:   env.Observation,
		}
		if ro.packs(steps) && !env.bits() && !env.outside {
			ro.packing = newPacking(s, ro)
		}
	}
	ro.split = ro.halves(s.Engine().Device().Info())
	if steps {
		if ro.stepped, err = newStepped(s, ro); err != nil {
			return nil, err
		}
	}
	ro.drawer = newDrawer(s, ro)
	if ro.fuses(cfg.Policy, s.Engine().Device().Info()) {
		ro.ranked, err = ro.newRank(s.Sub("rank"))
		return ro, err
	}
	if env.seated() {
		return ro, ro.newSeated(s)
	}
	if env.bits() {
		return ro, ro.newBitted(ctx, s)
	}
	if env.outside {
		if ro.hosted, err = newHosted(s, ro); err != nil {
			return nil, err
		}
		return ro, s.Err()
	}
	if cfg.Trajectory && cfg.Window == nil {
		if ro.reset, err = env.shader(ctx, "envs/reset", Lane, resetShader); err != nil {
			return nil, err
		}
		seed := s.Engine().Seed()
		ro.seed = engine.Constant(s, "seed", func() []uint32 { return []uint32{seed} }, engine.Axis("word", 1))
	}
	return ro, s.Err()
}

// Record records Horizon steps. policy is nil for uniformly random actions.
func (ro *Rollout) Record(r *engine.Recorder, clock engine.Clock, policy *Policy) {
	ro.RecordWindow(r, clock, policy, 0)
}

// RecordWindow is Record for the window of candidates that begins with index first of each population.
func (ro *Rollout) RecordWindow(r *engine.Recorder, clock engine.Clock, policy *Policy, first int) {
	policy.prepare(r)
	ro.record(r, clock, policy, 0, ro.cfg.Horizon, ro.cfg.Begin, first)
}

// Horizon returns the number of steps per recording.
func (ro *Rollout) Horizon() int { return ro.cfg.Horizon }

// Finished returns [4, M, E], E counting seats if there are several, over the episodes that ended in the last recording: their number, the sum of their
// returns, the sum of their lengths, and how many of them diverged (Diverged).
func (ro *Rollout) Finished() *engine.Tensor { return ro.finished }

// Cap returns the maximum number of steps of each population's episodes, [populations] u32; 0: only the time limit
// applies. It requires RolloutConfig.Cap.
func (ro *Rollout) Cap() *engine.Tensor { return ro.cap }

// Seen returns sums over the observations on which the last recording's policy acted, [1 + 2 O, M, E]: their number,
// and for each feature the sums of their deviations from the normalizer's mean and of the squared deviations.
// Environments that diverged count none. It requires RolloutConfig.Seen.
func (ro *Rollout) Seen() *engine.Tensor { return ro.seen }

// Skip sets which members take no steps, [M] u32: those that are not 0. Their steps are Void, and none of their episodes
// ends. It requires RolloutConfig.Begin and episodes that are not reset (Disabled); call it before anything is recorded.
func (ro *Rollout) Skip(members *engine.Tensor) error {
	if !ro.cfg.Begin || ro.options.AutoReset != Disabled || members.Len() != ro.cfg.Members {
		return fmt.Errorf("envs: skipping %v in a rollout of %d members, with new episodes %t, reset mode %v; want a value for each member, new episodes and %v",
			members, ro.cfg.Members, ro.cfg.Begin, ro.options.AutoReset, Disabled)
	}
	ro.skip = members
	return nil
}

// share returns how many consecutive members, as the kernels count them, share a normalizer and a cap: a population's
// candidates, or a member's policies.
func (ro *Rollout) share() int {
	if ro.cfg.Window != nil {
		return ro.cfg.Window.Count
	}
	return max(ro.cfg.Policies, 1)
}

// draws returns which random numbers a member m draws: as member m / window * stride + (m % window + first) * step.
func (ro *Rollout) draws(firstCandidate int) (window, stride, first, step uint32) {
	switch w := ro.cfg.Window; {
	case w == nil && ro.cfg.Evaluation:
		return uint32(ro.cfg.Members), 0, uint32(ro.first), 1
	case w == nil:
		return uint32(ro.cfg.Members), 0, 0, 1
	case w.Group > 0:
		return uint32(w.Group), 1, 0, 0
	case w.Common:
		return uint32(w.Count), 1, 0, 0
	default:
		return uint32(w.Count), uint32(w.Population), uint32(firstCandidate), 1
	}
}

// RecordFirst records the beginning of the first episodes, without a step.
func (ro *Rollout) RecordFirst(r *engine.Recorder, clock engine.Clock) {
	ro.record(r, clock, nil, 0, 0, true, 0)
}

// RecordReset is RecordFirst before the clock's first tick, for rollouts with a trajectory and without a window. Its
// kernel only resets, which takes a fraction of the time to compile.
func (ro *Rollout) RecordReset(r *engine.Recorder) {
	if ro.seated != nil {
		r.Fill(ro.seated.began.Tensor(), 0)
		ro.seated.record(r, ro.seated.began, nil, seatSteps{begin: true})
		return
	}
	if ro.hosted != nil {
		ro.hosted.record(r, nil, nil, 0, true, 0)
		return
	}
	if ro.bitted != nil {
		r.Fill(ro.bitted.began.Tensor(), 0)
		ro.bitted.record(r, ro.bitted.began, nil, seatSteps{begin: true})
		return
	}
	if ro.reset == nil {
		r.Fail(fmt.Errorf("envs: resetting %q; want a rollout with a trajectory and without a window", ro.env.Name))
		return
	}
	c, obs := ro.cfg, ro.Obs
	if ro.packing != nil {
		obs = ro.packing.step.Obs
	}
	k := resetKernel{
		EnvState: ro.state.Range(), EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(), Obs: obs.Range(),
		Clock: ro.seed.Range(), Stream: ro.stream, Members: uint32(c.Members), Environments: uint32(c.Environments),
	}
	ro.env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5, &k.Option6, &k.Option7, &k.Option8,
		&k.Option9, &k.Option10, &k.Option11)
	x, y := groups(c.Members*c.Environments, resetGroup, r.Engine().Device().Info().Limits.MaxGroups)
	r.Dispatch(k.call(ro.reset, x, y, 1))
}

// resetGroup is the local size of shaders/envs/reset.comp.
const resetGroup = 64

// record records the given number of steps; before is how many steps of the episodes are already recorded.
func (ro *Rollout) record(r *engine.Recorder, clock engine.Clock, policy *Policy, before, steps int, begin bool, firstCandidate int) {
	if ro.seated != nil {
		ro.seated.record(r, clock, policy, seatSteps{before, steps, begin, firstCandidate})
		return
	}
	if ro.hosted != nil {
		ro.hosted.record(r, &clock, policy, steps, begin, firstCandidate)
		return
	}
	if ro.bitted != nil {
		ro.bitted.record(r, clock, policy, seatSteps{before, steps, begin, firstCandidate})
		return
	}
	if ro.ranked != nil {
		ro.ranked.record(r, clock, policy, seatSteps{before, steps, begin, firstCandidate})
		return
	}
	info := r.Engine().Device().Info()
	c, o := ro.cfg, ro.options.constants()
	var n network
	k := rolloutKernel{
		ActionScale: ro.scale.Range(), Clock: clock.Tensor().Range(),
		EnvState: ro.state.Range(), EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(), Finished: ro.finished.Range(),
		Members: uint32(c.Members), Environments: uint32(c.Environments), ParamsPeriod: uint32(c.Members),
		Seed: r.Engine().Seed(), EnvStream: ro.stream, ActionStream: ro.actionStream,
		TimeLimit: o.timeLimit, ActionRepeat: o.actionRepeat, AutoReset: o.autoReset, SparseReward: o.sparseReward, RewardScale: o.rewardScale,
		Workgroup: info.SubgroupSize, Lanes: info.SubgroupSize, Policy: policyRandom,
		Share: uint32(ro.share()),
		Begin: begin, Mode: c.Mode, Trajectory: c.Trajectory,
	}
	ro.env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = ro.draws(firstCandidate)
	trajectory := &ro.Trajectory // that the kernel writes
	if c.Trajectory {
		if p := ro.packing; p != nil {
			trajectory, k.Clock = &p.step, p.begin(r, clock, before).Tensor().Range()
		}
		t := trajectory
		k.Obs, k.Action, k.LogProb = t.Obs.Range(), t.Action.Range(), t.LogProb.Range()
		k.Reward, k.Done, k.NextObs = t.Reward.Range(), t.Done.Range(), t.NextObs.Range()
		k.Applied = c.Actions == Applied
	}
	if ro.tables != nil {
		k.Tables = ro.tables.Range()
	}
	if ro.cap != nil {
		k.Cap = ro.cap.Range()
	}
	if ro.seen != nil {
		k.Seen = ro.seen.Range()
	}
	if ro.skip != nil {
		k.Skip = ro.skip.Range()
	}
	head := ro.env.Action.Head()
	if policy != nil {
		if err := policy.check(ro.env); err != nil {
			r.Fail(err)
			return
		}
		head = policy.Head
		k.Policy = policyNetwork
		k.Params, k.Row, k.HeadBase = policy.head()
		k.ObsLimit, k.ParamsPeriod = policy.ObsLimit, policy.owners()
		var err error
		if n, err = ro.network(policy, info); err != nil {
			r.Fail(err)
			return
		}
		n.set(&k)
		if n.placement == PlacementStepped {
			var by *engine.Tensor
			by, head = ro.stepped.chosenBy(policy)
			k.Outputs, k.Observed = by.Range(), ro.stepped.observed.Range()
		}
		if policy.Normalizer != nil && (n.placement != PlacementStepped || ro.seen != nil) { // otherwise only the network takes normalized observations
			k.Normalizer = policy.Normalizer.Range()
		}
		if head.Noise != nil {
			k.Noise = head.Noise.Range()
		}
	}
	outputs, h := uint32(head.Outputs()), head.Constants()
	var draw actLogitsKernel
	if ro.drawer != nil {
		draw = ro.drawer.kernel(r, policy, firstCandidate)
		k.Policy, k.Outputs, k.Noise = policyOutputs, ro.drawer.drawn.Range(), vk.Range{}
		outputs, h = drawnHead()
	}
	k.Out, k.Head, k.HeadWidth, k.Squash, k.Explore = outputs, h.Head, h.HeadWidth, h.Squash, h.Explore
	k.LogStdLow, k.LogStdHigh, k.NoiseLimit = h.LogStdLow, h.LogStdHigh, h.NoiseLimit
	k.HeadAtoms, k.HeadDueling = h.HeadAtoms, h.HeadDueling
	together := ro.subgroupEnvironments(n.placement, info)
	k.SubgroupEnvironments = uint32(together)
	groups := n.groups(c.Members, c.Environments, together)
	most := ro.dispatchSteps(info, policy, ro.options.ActionRepeat*(1+ro.env.Iterations)+n.iterations+ro.env.transfers())
	if ro.mapping == Cooperative && !info.Type.GPU() || n.placement == PlacementStepped || ro.packing != nil || ro.drawer != nil {
		most = 1
	}
	dispatch := func(r *engine.Recorder, first, steps int) {
		if n.placement == PlacementStepped && steps > 0 {
			ro.stepped.evaluate(r, policy)
		}
		if k.First, k.Steps = uint32(first), uint32(steps); ro.packing != nil {
			k.First = min(k.First, 1)
		}
		draws := ro.drawer != nil && steps > 0
		if draws {
			ro.drawer.record(r, draw, k.Clock, k.First)
		}
		call := k.call(ro.shader, uint32(groups), 1, 1)
		call.Subgroup = info.SubgroupSize
		r.Dispatch(call)
		if draws && c.Trajectory {
			ro.drawer.keep(r, trajectory.LogProb, k.First)
		}
		if k.Begin = false; ro.packing != nil && steps > 0 {
			ro.packing.keep(r, &ro.Trajectory, first)
		}
	}
	if n.placement == PlacementStepped && steps > 0 {
		dispatch(r, before, 0) // writes the observations that the first step is to act on
		if before == 0 {
			ro.stepped.remember(r, ro)
		}
	}
	done := min(most, steps)
	dispatch(r, before, done)
	if blocks := (steps - done) / (blockDispatches * most); blocks >= leastBlocks && !c.Trajectory {
		// Long episodes without a trajectory are a repeated block. Its iterations differ only by the clock, so it has
		// its own.
		r.Copy(ro.blockClock.Tensor(), clock.Tensor())
		k.Clock = ro.blockClock.Tensor().Range()
		r.Repeat(blocks, func(r *engine.Recorder, _ engine.Counter) {
			for i := range blockDispatches {
				dispatch(r, before+done+i*most, most)
			}
			ro.blockClock.Tick(r, 0, blockDispatches*most)
		})
		k.Clock = clock.Tensor().Range()
		done += blocks * blockDispatches * most
	}
	for ; done < steps; done += most {
		dispatch(r, before+done, min(most, steps-done))
	}
}

// A repeated block records the dispatches of one iteration. Shorter rollouts gain nothing by it.
const (
	blockDispatches = 16
	leastBlocks     = 2
)

// transfers returns how many loop iterations transfer a step's arrays to and from buffers, if a dispatch has one
// step: none if they are short (shaders/envs/transfer.glsl).
func (e *Environment) transfers() int {
	const (
		short = 256
		chunk = 8 // elements per iteration
		most  = 8 // arrays: the state twice, the normalizer's two, two observations, two sums
	)
	if e.StateSize()+e.ObsSize() <= short {
		return 0
	}
	return most * (max(e.StateSize(), e.ObsSize()) + chunk - 1) / chunk
}

// RecordReturns records the mean return [M] and mean length [M] of the episodes that ended in the last recording; NaN
// if none did.
func (ro *Rollout) RecordReturns(r *engine.Recorder, returns, lengths *engine.Tensor) {
	recordReturns(r, ro.finished, returns, lengths)
}

func recordReturns(r *engine.Recorder, finished, returns, lengths *engine.Tensor) {
	count := finished.Index(0)
	engine.Mean(r, returns, finished.Index(1), count, 1)
	if lengths != nil {
		engine.Mean(r, lengths, finished.Index(2), count, 1)
	}
}

// RecordDiverged records how many episodes [M] diverged in the last recording.
func (ro *Rollout) RecordDiverged(r *engine.Recorder, count *engine.Tensor) {
	engine.Mean(r, count, ro.finished.Index(3), nil, float32(ro.cfg.Environments*max(ro.cfg.Policies, 1)))
}
