package envs

import (
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// ErrClosed is returned by the methods of a closed Batch.
var ErrClosed = errors.New("envs: the batch is closed")

// Reset begins a new episode in every environment and returns the observations [M, E, O], overwritten by the next
// Step or Reset.
func (b *Batch) Reset(ctx context.Context, seed uint32) ([]float32, error) {
	if b.reset == nil {
		return nil, ErrClosed
	}
	b.upload[0], b.upload[1] = seed, 0
	if err := b.input.Buffer.Write(ctx, 0, bytesOf(b.upload[:2])); err != nil {
		return nil, b.failed("reset", err)
	}
	if err := b.reset.Run(ctx); err != nil {
		return nil, b.failed("reset", err)
	}
	b.begun = true
	b.fetch(b.result.Obs, b.layout.obs)
	return b.result.Obs, nil
}

// Step takes the actions [M, E] in a discrete environment.
func (b *Batch) Step(ctx context.Context, actions []uint32) (Transition, error) {
	if !b.env.Action.IsDiscrete() {
		return Transition{}, fmt.Errorf("envs: %q has the continuous actions %v; want StepContinuous", b.env.Name, b.env.Action)
	}
	for i, a := range actions {
		if a >= uint32(b.env.Action.N) {
			return Transition{}, fmt.Errorf("envs: action %d of environment %d; %q has the actions 0 to %d", a, i, b.env.Name, b.env.Action.N-1)
		}
	}
	return b.advance(ctx, actions)
}

// StepContinuous takes the actions [M, E, D] in a continuous environment, in its units. Actions outside its space are
// clipped as in the environment's source.
func (b *Batch) StepContinuous(ctx context.Context, actions []float32) (Transition, error) {
	if b.env.Action.IsDiscrete() {
		return Transition{}, fmt.Errorf("envs: %q has the discrete actions %v; want Step", b.env.Name, b.env.Action)
	}
	return b.advance(ctx, wordsOf(actions))
}

func (b *Batch) advance(ctx context.Context, actions []uint32) (Transition, error) {
	if b.step == nil {
		return Transition{}, ErrClosed
	}
	if want := b.count() * b.env.ActionWords(); len(actions) != want {
		return Transition{}, fmt.Errorf("envs: %d action words for %d members × %d environments of %q; want %d",
			len(actions), b.members, b.environments, b.env.Name, want)
	}
	if !b.begun {
		return Transition{}, fmt.Errorf("envs: step: the environments of %q have no state yet: want Reset or SetState first", b.env.Name)
	}
	b.upload[1]++
	copy(b.upload[b.layout.action.offset/4:], actions)
	if err := b.input.Buffer.Write(ctx, 0, bytesOf(b.upload)); err != nil {
		return Transition{}, b.failed("step", err)
	}
	if err := b.step.Run(ctx); err != nil {
		return Transition{}, b.failed("step", err)
	}
	b.fetch(b.result.Obs, b.layout.obs)
	b.fetch(b.result.NextObs, b.layout.nextObs)
	b.fetch(b.result.Reward, b.layout.reward)
	copy(bytesOf(b.result.Done), b.host.Mapped()[b.layout.done.offset:])
	return b.result, nil
}

// fetch copies results from the device's memory, which Close unmaps.
func (b *Batch) fetch(into []float32, from span) {
	copy(bytesOf(into), b.host.Mapped()[from.offset:])
}

func (b *Batch) failed(what string, err error) error {
	return fmt.Errorf("envs: %s of %d × %d × %q: %w", what, b.members, b.environments, b.env.Name, err)
}

// State is the state of all environments.
type State struct {
	Env     []float32     // [S, M, E]
	Episode []EpisodeWord // [M, E]
	Return  []float32     // [M, E]: undiscounted sum of the episode's unscaled rewards so far
}

// State reads the state of all environments.
func (b *Batch) State(ctx context.Context) (State, error) {
	if b.step == nil {
		return State{}, ErrClosed
	}
	n := b.count()
	s := State{make([]float32, n*b.env.StateSize()), make([]EpisodeWord, n), make([]float32, n)}
	for _, part := range []struct {
		from func(context.Context, int64, []byte) error
		into []byte
	}{
		{b.state.Buffer.Read, bytesOf(s.Env)},
		{b.episodeStep.Buffer.Read, bytesOf(s.Episode)},
		{b.episodeRet.Buffer.Read, bytesOf(s.Return)},
	} {
		if err := part.from(ctx, 0, part.into); err != nil {
			return State{}, b.failed("read the state", err)
		}
	}
	return s, nil
}

// SetState sets the state of all environments. Its slices have the lengths of those that State returns.
func (b *Batch) SetState(ctx context.Context, s State) error {
	if b.step == nil {
		return ErrClosed
	}
	n := b.count()
	if len(s.Env) != n*b.env.StateSize() || len(s.Episode) != n || len(s.Return) != n {
		return fmt.Errorf("envs: a state of %d + %d + %d numbers for %d members × %d environments of %q; want %d + %d + %d",
			len(s.Env), len(s.Episode), len(s.Return), b.members, b.environments, b.env.Name, n*b.env.StateSize(), n, n)
	}
	for _, part := range []struct {
		to   func(context.Context, int64, []byte) error
		from []byte
	}{
		{b.state.Buffer.Write, bytesOf(s.Env)},
		{b.episodeStep.Buffer.Write, bytesOf(s.Episode)},
		{b.episodeRet.Buffer.Write, bytesOf(s.Return)},
	} {
		if err := part.to(ctx, 0, part.from); err != nil {
			return b.failed("write the state", err)
		}
	}
	b.begun = true
	return nil
}

// bytesOf and wordsOf return the memory of a slice, in the byte order shared by host and device.
func bytesOf[T ~uint32 | ~float32](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

func wordsOf(s []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
