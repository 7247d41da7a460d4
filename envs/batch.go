package envs

import (
	"context"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Stream is the name of the random stream of resets and steps.
const Stream = "env"

// Batch is members × environments copies of an environment on a device, stepped together by actions from the host, as
// a library and for tests. Training uses the fused rollouts instead, which keep actions on the device.
//
// Element (p, e) of every result is environment e of member p, at index p·environments + e. The same seed and actions
// give the same results. A Batch is not safe for concurrent use.
type Batch struct {
	env                   *Environment
	options               Options
	members, environments int

	buffers     []*vk.Buffer
	state       vk.Range // [S, M, E] float
	episodeStep vk.Range // [M, E] EpisodeWord
	episodeRet  vk.Range // [M, E] float
	input       vk.Range // clock, then actions
	host        *vk.Buffer

	layout layout
	reset  *vk.Program
	begun  bool // there is a state, of Reset or SetState
	step   *vk.Program

	upload []uint32 // contents of the input buffer: seed, step number, padding, actions
	result Transition
}

// layout holds the offsets of the input buffer's and output buffers' parts, in bytes.
type layout struct {
	clock, action, input               span
	obs, nextObs, reward, done, output span
}

type span struct{ offset, size int64 }

// Transition is the result of a step for all environments. The slices are overwritten by the next Step or Reset.
type Transition struct {
	Obs     []float32 // [M, E, O]: the observation to act on next; the first of a new episode if the step also reset
	NextObs []float32 // [M, E, O]: the true observation after the action
	Reward  []float32 // [M, E]
	Done    []Done    // [M, E]
}

// NewBatch makes a batch on a device. Call Reset before the first Step. An environment given as GLSL is compiled
// here.
//
// Errors: options out of range, sizes below 1 or too large for the device's buffers, *vk.OutOfMemoryError, compile
// errors (*shaders.CompileError, shaders.ErrNoCompiler), and device errors.
func NewBatch(ctx context.Context, dev *vk.Device, env *Environment, members, environments int, options Options) (*Batch, error) {
	if err := engine.Require(map[string]any{"device": dev, "environment": env}); err != nil {
		return nil, fmt.Errorf("envs: batch: %w", err)
	}
	if n := env.Seats(); n > 1 {
		return nil, fmt.Errorf("envs: a batch of %q, which has %d agents; want one: rollouts step several", env.Name, n)
	}
	if err := env.refuseOutside("a batch"); err != nil {
		return nil, err
	}
	options, err := options.resolved(env.Spec)
	if err != nil {
		return nil, err
	}
	if members < 1 || environments < 1 || members > math.MaxInt32/environments {
		return nil, fmt.Errorf("envs: a batch of %d members × %d environments; want at least 1 of each and less than 2^31 together", members, environments)
	}
	b := &Batch{env: env, options: options, members: members, environments: environments}
	if err := b.allocate(dev); err != nil {
		b.Close()
		return nil, err
	}
	if err := b.record(ctx, dev); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Environment returns the batch's environment.
func (b *Batch) Environment() *Environment { return b.env }

// Options returns the options in force, with defaults filled in.
func (b *Batch) Options() Options { return b.options }

// count returns the total number of environments.
func (b *Batch) count() int { return b.members * b.environments }

func (b *Batch) allocate(dev *vk.Device) error {
	limits := dev.Info().Limits
	align := max(int64(limits.StorageAlignment), 4)
	end := int64(0)
	place := func(words int) span {
		s := span{end, 4 * int64(words) * int64(b.count())}
		end += (s.size + align - 1) / align * align
		return s
	}
	obs := b.env.ObsSize()
	b.layout.clock = span{0, 8}
	end = align * ((8 + align - 1) / align)
	b.layout.action = place(b.env.ActionWords())
	b.layout.input = span{0, end}
	end = 0
	b.layout.obs, b.layout.nextObs, b.layout.reward, b.layout.done = place(obs), place(obs), place(1), place(1)
	b.layout.output = span{0, end}
	stateBytes := 4 * int64(b.env.StateSize()) * int64(b.count())
	if most := max(stateBytes, b.layout.obs.size, b.layout.action.size); uint64(most) > limits.MaxStorageRange {
		return fmt.Errorf("envs: %d members × %d environments of %q need a tensor of %d bytes; the device binds at most %d",
			b.members, b.environments, b.env.Name, most, limits.MaxStorageRange)
	}
	words := 4 * int64(b.count())
	for _, want := range []struct {
		into  *vk.Range
		bytes int64
	}{{&b.state, stateBytes}, {&b.episodeStep, words}, {&b.episodeRet, words}, {&b.input, b.layout.input.size}} {
		buffer, err := b.buffer(dev, want.bytes, vk.Local)
		if err != nil {
			return err
		}
		*want.into = buffer.All()
	}
	host, err := b.buffer(dev, b.layout.output.size, vk.Readback)
	b.host = host
	b.upload = make([]uint32, b.layout.input.size/4)
	n := b.count()
	b.result = Transition{make([]float32, n*obs), make([]float32, n*obs), make([]float32, n), make([]Done, n)}
	return err
}

func (b *Batch) buffer(dev *vk.Device, bytes int64, kind vk.Kind) (*vk.Buffer, error) {
	buffer, err := dev.NewBuffer(bytes, kind)
	if err != nil {
		return nil, fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
	}
	b.buffers = append(b.buffers, buffer)
	return buffer, nil
}

// record builds the two programs.
func (b *Batch) record(ctx context.Context, dev *vk.Device) error {
	info := dev.Info()
	mapping, err := b.env.mapping(b.options, info, b.count())
	if err != nil {
		return err
	}
	if b.env.stored {
		return b.recordStored(ctx, dev)
	}
	if b.env.bits() {
		shader, err := b.env.shader(ctx, "envs/bits_rollout", Lane, bitsRolloutShader)
		if err != nil {
			return err
		}
		device, err := b.buffer(dev, b.layout.output.size, vk.Local)
		if err != nil {
			return err
		}
		return b.recordBits(ctx, shader, dev, device)
	}
	resetShader, err := b.env.shader(ctx, "envs/reset", Lane, resetShader)
	if err != nil {
		return err
	}
	stepShader, err := b.env.shader(ctx, "envs/step", mapping, stepShader)
	if err != nil {
		return err
	}
	device, err := b.buffer(dev, b.layout.output.size, vk.Local)
	if err != nil {
		return err
	}
	out := func(s span) vk.Range { return device.Range(s.offset, s.size) }
	clock := b.input.Buffer.Range(b.layout.clock.offset, b.layout.clock.size)
	x, y := groups(b.count(), resetGroup, info.Limits.MaxGroups)
	stream, members, environments := engine.Stream(Stream), uint32(b.members), uint32(b.environments)

	b.reset = dev.NewProgram("reset " + b.env.Name)
	reset := resetKernel{
		EnvState: b.state, EpisodeStep: b.episodeStep, EpisodeReturn: b.episodeRet, Obs: out(b.layout.obs), Clock: clock,
		Stream: stream, Members: members, Environments: environments,
	}
	b.env.setOptions(&reset.Option0, &reset.Option1, &reset.Option2, &reset.Option3, &reset.Option4, &reset.Option5,
		&reset.Option6, &reset.Option7, &reset.Option8, &reset.Option9, &reset.Option10, &reset.Option11)
	b.reset.Dispatch(reset.call(resetShader, x, y, 1))
	b.reset.Copy(b.host.Range(b.layout.obs.offset, b.layout.obs.size), out(b.layout.obs))
	if err := b.reset.Build(); err != nil {
		return fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
	}

	o := b.options.constants()
	b.step = dev.NewProgram("step " + b.env.Name)
	step := stepKernel{
		EnvState: b.state, EpisodeStep: b.episodeStep, EpisodeReturn: b.episodeRet,
		Action: b.input.Buffer.Range(b.layout.action.offset, b.layout.action.size),
		Obs:    out(b.layout.obs), NextObs: out(b.layout.nextObs), Reward: out(b.layout.reward), Done: out(b.layout.done), Clock: clock,
		Tables: clock, Stream: stream, Members: members, Environments: environments,
		TimeLimit: o.timeLimit, ActionRepeat: o.actionRepeat, AutoReset: o.autoReset, SparseReward: o.sparseReward, RewardScale: o.rewardScale,
	}
	b.env.setOptions(&step.Option0, &step.Option1, &step.Option2, &step.Option3, &step.Option4, &step.Option5,
		&step.Option6, &step.Option7, &step.Option8, &step.Option9, &step.Option10, &step.Option11)
	if mapping == Cooperative {
		x, y = groups(b.count(), 1, info.Limits.MaxGroups)
		step.Lanes, step.SubgroupEnvironments = info.SubgroupSize, 1
		bits := b.env.cooperative.tables.bits()
		tables, err := b.buffer(dev, int64(4*len(bits)), vk.Local)
		if err != nil {
			return err
		}
		if err := tables.Write(ctx, 0, bytesOf(bits)); err != nil {
			return fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
		}
		step.Tables = tables.All()
	}
	call := step.call(stepShader, x, y, 1)
	if mapping == Cooperative {
		call.Subgroup = info.SubgroupSize
	}
	b.step.Dispatch(call)
	b.step.Copy(b.host.All(), device.All())
	if err := b.step.Build(); err != nil {
		return fmt.Errorf("envs: batch of %q: %w", b.env.Name, err)
	}
	return nil
}

// groups returns a two-dimensional workgroup count with enough workgroups of size invocations for count.
func groups(count, size int, most [3]uint32) (x, y uint32) {
	n := (count + size - 1) / size
	rows := (n + int(most[0]) - 1) / int(most[0])
	return uint32((n + rows - 1) / rows), uint32(rows)
}

// Close releases the batch's memory. Calling Close twice is allowed.
func (b *Batch) Close() {
	for _, program := range []*vk.Program{b.reset, b.step} {
		if program != nil {
			program.Free()
		}
	}
	for _, buffer := range b.buffers {
		buffer.Free()
	}
	b.reset, b.step, b.buffers = nil, nil, nil
}
