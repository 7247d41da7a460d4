package envs

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// checkStored checks what GLSL whose state stays in the buffer must have.
func checkStored(found map[string]string) error {
	_, stored := found["STATE_IN_BUFFER"]
	_, agents := found["AGENTS"]
	if _, words := found["OBS_WORDS"]; stored && (words || !agents) {
		return errors.New("the GLSL has #define STATE_IN_BUFFER; want #define AGENTS too, which may be 1, and no OBS_WORDS")
	}
	return nil
}

// recordStored builds the two programs of a batch of environments whose state stays in the buffer. A step is a rollout of one step, whose words of the
// world are those of its only seat.
func (b *Batch) recordStored(ctx context.Context, dev *vk.Device) error {
	shader, err := b.env.shader(ctx, "envs/seats_rollout", Lane, seatsRolloutShader)
	if err != nil {
		return err
	}
	n, info := b.count(), dev.Info()
	size := uint32(resetGroup)
	groups := (uint32(n) + size - 1) / size
	if groups > info.Limits.MaxGroups[0] {
		return fmt.Errorf("envs: a batch of %d environments of %q; want at most %d", n, b.env.Name, info.Limits.MaxGroups[0]*size)
	}
	l, word := b.layout, 4*int64(n)
	var ranges [6]vk.Range
	for i, bytes := range [len(ranges)]int64{l.output.size, word, 4 * word, l.obs.size, l.action.size, word} {
		buffer, err := b.buffer(dev, bytes, vk.Local)
		if err != nil {
			return err
		}
		ranges[i] = buffer.All()
	}
	device, world, finished, obs, action, logProb := ranges[0].Buffer, ranges[1], ranges[2], ranges[3], ranges[4], ranges[5]
	out := func(s span) vk.Range { return device.Range(s.offset, s.size) }
	clock := b.input.Buffer.Range(b.layout.clock.offset, b.layout.clock.size)
	outputs, h := b.env.givenHead()
	o := b.options.constants()
	k := seatsRolloutKernel{
		ActionScale: clock, Clock: clock, EnvState: b.state, WorldStep: world, EpisodeStep: b.episodeStep, EpisodeReturn: b.episodeRet,
		Observed: out(b.layout.obs), Finished: finished,
		Members: uint32(b.members), Environments: uint32(b.environments), ParamsPeriod: uint32(b.members), Share: 1,
		EnvStream: engine.Stream(Stream), DrawWindow: uint32(b.members), DrawStep: 1, Policy: seatsGiven, LocalSizeX: size, Begin: true,
		TimeLimit: o.timeLimit, ActionRepeat: o.actionRepeat, AutoReset: o.autoReset, SparseReward: o.sparseReward, RewardScale: o.rewardScale,
		Out: outputs, Head: h.Head, HeadWidth: h.HeadWidth, HeadAtoms: h.HeadAtoms,
	}
	b.env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
	b.reset, b.step = dev.NewProgram("reset "+b.env.Name), dev.NewProgram("step "+b.env.Name)
	b.reset.Dispatch(k.call(shader, groups, 1, 1))
	b.reset.Copy(b.host.Range(b.layout.obs.offset, b.layout.obs.size), out(b.layout.obs))

	k.Begin, k.Step, k.Steps, k.Trajectory = false, true, 1, true
	k.Outputs = b.input.Buffer.Range(b.layout.action.offset, b.layout.action.size)
	k.Obs, k.Action, k.LogProb = obs, action, logProb
	k.NextObs, k.Reward, k.Done = out(b.layout.nextObs), out(b.layout.reward), out(b.layout.done)
	b.step.Copy(world, b.episodeStep)
	b.step.Dispatch(k.call(shader, groups, 1, 1))
	b.step.Copy(b.host.All(), device.All())
	if err := errors.Join(b.reset.Build(), b.step.Build()); err != nil {
		return fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
	}
	return nil
}
