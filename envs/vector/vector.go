// Package vector steps environments of a device for a program outside, as Gymnasium's vector environments are stepped: Environments in Go, and Serve for
// another process, over a pipe. The Python package evorlgpu (tools/wheel) is a client.
package vector

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Autoreset is when an episode follows one that ended.
type Autoreset uint32

const (
	// NextStep: the step after the one that ended an episode ignores its action, and returns the first observation of the next episode, a reward of 0 and
	// no flags.
	NextStep Autoreset = iota
	// SameStep: the step that ends an episode returns the first observation of the next one; the last of the episode is in Step.Final.
	SameStep
)

var autoresetNames = [...]string{"next_step", "same_step"}

// String returns the mode's name.
func (a Autoreset) String() string { return config.NameOf(a, autoresetNames[:]) }

// UnmarshalText parses a mode's name: next_step or same_step.
func (a *Autoreset) UnmarshalText(text []byte) error {
	return config.UnmarshalName(a, "mode of autoreset", autoresetNames[:], text)
}

// MarshalText returns a mode's name.
func (a Autoreset) MarshalText() ([]byte, error) {
	return config.MarshalName(a, "mode of autoreset", autoresetNames[:])
}

// Environments are copies of an environment on a device, stepped together. They are not safe for concurrent use.
type Environments struct {
	batch *envs.Batch
	env   *envs.Environment
	mode  Autoreset
	n     int
	begun bool

	ended []bool    // NextStep: the last step ended an episode
	first []float32 // [n, O]: of those, the observation of the next one
	step  Step
}

// Step is what a step returned. Its slices are overwritten by the next Step or Reset.
type Step struct {
	Obs    []float32 // [n, O]
	Reward []float32 // [n]
	Done   []envs.Done
	Ended  []int     // SameStep: the environments whose episode ended
	Final  []float32 // [len(Ended), O]: their last observations
}

// New makes n copies of an environment. Call Reset before the first Step. The options' AutoReset must be Normal or Fast: what happens after an episode is
// mode's.
//
// Errors: as envs.NewBatch.
func New(ctx context.Context, dev *vk.Device, env *envs.Environment, n int, options envs.Options, mode Autoreset) (*Environments, error) {
	if options.AutoReset == envs.Disabled {
		return nil, fmt.Errorf("vector: environments of auto-reset mode %v; want %v or %v, and the mode that New takes", envs.Disabled, envs.Normal, envs.Fast)
	}
	if int(mode) >= len(autoresetNames) {
		return nil, fmt.Errorf("vector: mode of autoreset %d; want %v or %v", mode, NextStep, SameStep)
	}
	batch, err := envs.NewBatch(ctx, dev, env, 1, n, options)
	if err != nil {
		return nil, err
	}
	size := n * env.Observation.Size()
	return &Environments{
		batch: batch, env: env, mode: mode, n: n, ended: make([]bool, n), first: make([]float32, size),
		step: Step{Obs: make([]float32, size), Reward: make([]float32, n), Done: make([]envs.Done, n)},
	}, nil
}

// Close frees the environments.
func (e *Environments) Close() { e.batch.Close() }

// Environment returns what they are copies of.
func (e *Environments) Environment() *envs.Environment { return e.env }

// Options returns the options in force.
func (e *Environments) Options() envs.Options { return e.batch.Options() }

// Reset begins a new episode in every environment, and returns the observations [n, O].
func (e *Environments) Reset(ctx context.Context, seed uint32) ([]float32, error) {
	obs, err := e.batch.Reset(ctx, seed)
	if err != nil {
		return nil, err
	}
	clear(e.ended)
	return obs, nil
}

// Step takes the actions [n] in a discrete environment.
func (e *Environments) Step(ctx context.Context, actions []uint32) (Step, error) {
	return e.advance(ctx, func() (envs.Transition, error) { return e.batch.Step(ctx, actions) })
}

// StepContinuous takes the actions [n, D] in a continuous environment, in its units.
func (e *Environments) StepContinuous(ctx context.Context, actions []float32) (Step, error) {
	return e.advance(ctx, func() (envs.Transition, error) { return e.batch.StepContinuous(ctx, actions) })
}

func (e *Environments) advance(ctx context.Context, step func() (envs.Transition, error)) (Step, error) {
	waiting := slices.Contains(e.ended, true) // for their next episode, which this step must not advance
	var before envs.State
	var err error
	if waiting {
		if before, err = e.batch.State(ctx); err != nil {
			return Step{}, err
		}
	}
	t, err := step()
	if err != nil {
		return Step{}, err
	}
	if waiting {
		if err := e.restore(ctx, before); err != nil {
			return Step{}, err
		}
	}
	size, s := e.env.Observation.Size(), &e.step
	copy(s.Obs, t.Obs)
	copy(s.Reward, t.Reward)
	copy(s.Done, t.Done)
	s.Ended, s.Final = s.Ended[:0], s.Final[:0]
	for i := range e.n {
		row := func(of []float32) []float32 { return of[i*size:][:size] }
		switch over := t.Done[i].Over(); {
		case e.ended[i]:
			copy(row(s.Obs), row(e.first))
			s.Reward[i], s.Done[i], e.ended[i] = 0, 0, false
		case over && e.mode == SameStep:
			s.Ended, s.Final = append(s.Ended, i), append(s.Final, row(t.NextObs)...)
		case over:
			copy(row(e.first), row(t.Obs))
			copy(row(s.Obs), row(t.NextObs))
			e.ended[i] = true
		}
	}
	return *s, nil
}

// restore gives the environments that wait for their next episode the state that they had.
func (e *Environments) restore(ctx context.Context, before envs.State) error {
	now, err := e.batch.State(ctx)
	if err != nil {
		return err
	}
	for i, ended := range e.ended {
		if !ended {
			continue
		}
		for f := i; f < len(now.Env); f += e.n {
			now.Env[f] = before.Env[f]
		}
		now.Episode[i], now.Return[i] = before.Episode[i], before.Return[i]
	}
	return e.batch.SetState(ctx, now)
}
