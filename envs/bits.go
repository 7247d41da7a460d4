package envs

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// bitted is the form of a rollout in environments whose GLSL observes words of bits (OBS_WORDS), or of bytes that it paints (ENV_WORD). A kernel steps them
// after others have evaluated the network (stepped), and writes observations as they are stored unless another one paints them.
type bitted struct {
	*Rollout
	painter *painter     // nil: the kernel that steps writes observations
	began   engine.Clock // of the first episodes
}

// bits reports whether the environment's GLSL observes words.
func (e *Environment) bits() bool { return e.words }

// checkWords checks what GLSL that observes words must have.
func checkWords(spec Spec, found map[string]string) error {
	_, words := found["OBS_WORDS"]
	_, paints := found["ENV_WORD"]
	one := spec.Action.IsDiscrete() && spec.Seats() == 1
	switch {
	case paints && !(words && one && spec.Observation.Element.Packed()):
		return errors.New("the GLSL has #define ENV_WORD; want #define OBS_WORDS too, observations of the type uint8 or bit, discrete actions and one agent, " +
			"or no such define")
	case paints:
		return checkPainted(spec)
	case words && !(one && spec.Observation.Element == nn.Bits):
		return errors.New("the GLSL has #define OBS_WORDS; want observations of the type bit, or #define ENV_WORD, and discrete actions and one agent, " +
			"or no such define")
	}
	return nil
}

// newBitted makes the form's tensors.
func (ro *Rollout) newBitted(ctx context.Context, s *engine.State) error {
	if n := ro.bitIterations(); n > maxIterations {
		return fmt.Errorf("envs: a step of %q takes an invocation %d loop iterations; want at most %d", ro.env.Name, n, maxIterations)
	}
	painter, err := newPainter(ctx, s, ro)
	if err != nil {
		return err
	}
	ro.bitted = &bitted{Rollout: ro, painter: painter, began: engine.ScratchClock(s, "began")}
	return s.Err()
}

// bitIterations returns a bound on the loop iterations of an invocation for a step.
func (ro *Rollout) bitIterations() int {
	const loops = 5 // over the features of an observation: two of the trajectory, one to act on, the sums, transfers
	if ro.env.paints {
		return ro.options.ActionRepeat*(1+ro.env.Iterations) + loops*(1+ro.env.StateSize()) // transfers only
	}
	return ro.options.ActionRepeat*(1+ro.env.Iterations) + loops*(1+ro.env.ObsSize())
}

// record records steps of all environments, as Rollout.record.
func (b *bitted) record(r *engine.Recorder, clock engine.Clock, policy *Policy, s seatSteps) {
	k, err := b.kernel(r, clock, policy, s.firstCandidate)
	if err != nil {
		r.Fail(err)
		return
	}
	size, groups := r.Invocations(b.cfg.Members * b.cfg.Environments)
	k.LocalSizeX, k.Begin = size, s.begin
	var draw actLogitsKernel
	most := b.dispatchSteps(r.Engine().Device().Info(), policy, b.bitIterations())
	if b.drawer != nil {
		draw, most = b.drawer.kernel(r, policy, s.firstCandidate), 1
	}
	dispatch := func(first, steps int) {
		k.First, k.Steps = uint32(first), uint32(steps)
		draws := b.drawer != nil && steps > 0
		if draws {
			b.drawer.record(r, draw, k.Clock, k.First)
		}
		r.Dispatch(k.call(b.shader, groups, 1, 1))
		if draws && b.cfg.Trajectory {
			b.drawer.keep(r, b.LogProb, k.First)
		}
		k.Begin = false
	}
	if policy == nil && !b.painter.everyStep(policy) {
		done := min(most, s.steps)
		for dispatch(s.before, done); done < s.steps; done += most {
			dispatch(s.before+done, min(most, s.steps-done))
		}
		return
	}
	dispatch(s.before, 0) // begins episodes, and writes the observations that the first step is to act on
	if s.before == 0 {
		b.stepped.remember(r, b.Rollout)
	}
	b.painter.record(r, policy, s.before, false, s.steps > 0)
	for t := range s.steps {
		if policy != nil {
			b.stepped.evaluate(r, policy)
		}
		dispatch(s.before+t, 1)
		b.painter.record(r, policy, s.before+t+1, true, t+1 < s.steps)
	}
}

// kernel returns the kernel of a step.
func (b *bitted) kernel(r *engine.Recorder, clock engine.Clock, policy *Policy, firstCandidate int) (bitsRolloutKernel, error) {
	c, ro := b.cfg, b.Rollout
	k := bitsRolloutKernel{
		Clock: clock.Tensor().Range(), EnvState: ro.state.Range(), EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(),
		Finished: ro.finished.Range(), Members: uint32(c.Members), Environments: uint32(c.Environments), ParamsPeriod: uint32(c.Members),
		Seed: r.Engine().Seed(), EnvStream: ro.stream, ActionStream: ro.actionStream, Share: uint32(ro.share()), Mode: c.Mode, Policy: policyRandom,
	}
	k.setOptions(ro.env, ro.options)
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = ro.draws(firstCandidate)
	if c.Trajectory {
		k.Obs, k.Action, k.LogProb = ro.Obs.Range(), ro.Action.Range(), ro.LogProb.Range()
		k.Reward, k.Done, k.NextObs = ro.Reward.Range(), ro.Done.Range(), ro.NextObs.Range()
		k.Packed = ro.Trajectory.Element().Packed()
		if b.painter != nil {
			k.NextObs = b.painter.last.Range()
		}
	}
	for _, optional := range []struct {
		tensor *engine.Tensor
		into   *vk.Range
	}{{ro.cap, &k.Cap}, {ro.seen, &k.Seen}, {ro.skip, &k.Skip}} {
		if optional.tensor != nil {
			*optional.into = optional.tensor.Range()
		}
	}
	head := ro.env.Action.Head()
	if policy != nil {
		if err := policy.check(ro.env); err != nil {
			return k, err
		}
		if _, err := ro.network(policy, r.Engine().Device().Info()); err != nil {
			return k, err
		}
		var by *engine.Tensor
		by, head = ro.stepped.chosenBy(policy)
		k.Policy, k.Outputs = bitsOutputs, by.Range()
		k.Observed, k.ObservedPacked = ro.stepped.observed.Range(), ro.stepped.element.Packed()
		k.ParamsPeriod = policy.owners()
		if policy.Normalizer != nil && ro.seen != nil {
			k.Normalizer = policy.Normalizer.Range()
		}
		if head.Noise != nil {
			k.Noise = head.Noise.Range()
		}
	}
	if b.drawer != nil {
		k.Policy, k.Outputs, k.Noise = bitsOutputs, b.drawer.drawn.Range(), vk.Range{}
		k.setConstants(drawnHead())
		return k, nil
	}
	k.setConstants(uint32(head.Outputs()), head.Constants())
	return k, nil
}

// Policies of shaders/envs/bits_rollout.comp, besides policyRandom.
const (
	bitsOutputs uint32 = 0
	bitsGiven   uint32 = 2
)

// setConstants sets those of a head with so many outputs.
func (k *bitsRolloutKernel) setConstants(outputs uint32, h nn.HeadConstants) {
	k.Out, k.Head, k.HeadWidth, k.Squash, k.Explore = outputs, h.Head, h.HeadWidth, h.Squash, h.Explore
	k.LogStdLow, k.LogStdHigh, k.NoiseLimit = h.LogStdLow, h.LogStdHigh, h.NoiseLimit
	k.HeadAtoms, k.HeadDueling = h.HeadAtoms, h.HeadDueling
}

func (k *bitsRolloutKernel) setOptions(env *Environment, options Options) {
	o := options.constants()
	k.TimeLimit, k.ActionRepeat, k.AutoReset = o.timeLimit, o.actionRepeat, o.autoReset
	k.SparseReward, k.RewardScale = o.sparseReward, o.rewardScale
	env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
}

// recordBits builds the two programs of a batch of such environments.
func (b *Batch) recordBits(ctx context.Context, shader *vk.Shader, dev *vk.Device, device *vk.Buffer) error {
	info, n := dev.Info(), b.count()
	out := func(s span) vk.Range { return device.Range(s.offset, s.size) }
	size := uint32(resetGroup)
	groups := (uint32(n) + size - 1) / size
	if groups > info.Limits.MaxGroups[0] {
		return fmt.Errorf("envs: a batch of %d environments of %q; want at most %d", n, b.env.Name, info.Limits.MaxGroups[0]*size)
	}
	k := bitsRolloutKernel{
		Clock:    b.input.Buffer.Range(b.layout.clock.offset, b.layout.clock.size),
		EnvState: b.state, EpisodeStep: b.episodeStep, EpisodeReturn: b.episodeRet, Observed: out(b.layout.obs),
		Members: uint32(b.members), Environments: uint32(b.environments), ParamsPeriod: uint32(b.members), Share: 1,
		EnvStream: engine.Stream(Stream), DrawWindow: uint32(b.members), DrawStep: 1, Policy: bitsGiven, LocalSizeX: size, Begin: true,
	}
	k.setOptions(b.env, b.options)
	k.setConstants(b.env.givenHead())
	b.reset, b.step = dev.NewProgram("reset "+b.env.Name), dev.NewProgram("step "+b.env.Name)
	b.reset.Dispatch(k.call(shader, groups, 1, 1))
	painter, err := b.newPainter(ctx, dev)
	if err != nil {
		return err
	}
	painter.record(b.reset, out, false)
	b.reset.Copy(b.host.Range(b.layout.obs.offset, b.layout.obs.size), out(b.layout.obs))

	k.Begin, k.Steps = false, 1
	k.Given = b.input.Buffer.Range(b.layout.action.offset, b.layout.action.size)
	k.NextObs, k.Reward, k.Done = out(b.layout.nextObs), out(b.layout.reward), out(b.layout.done)
	if painter != nil {
		k.NextObs = painter.last
	}
	b.step.Dispatch(k.call(shader, groups, 1, 1))
	painter.record(b.step, out, true)
	b.step.Copy(b.host.All(), device.All())
	if err := errors.Join(b.reset.Build(), b.step.Build()); err != nil {
		return fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
	}
	return nil
}

// bitFunctions returns the declarations of the functions that GLSL that observes words must define.
func bitFunctions(paints bool) []string {
	observe := "void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS])"
	if paints {
		observe = "uint env_word(const float s[STATE_SIZE], uint w)"
	}
	return []string{
		"void env_reset(inout float s[STATE_SIZE], inout Rng rng)",
		"void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated)",
		observe,
	}
}
