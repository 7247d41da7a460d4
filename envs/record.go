package envs

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Episode is one recorded episode, action by action.
type Episode struct {
	Member  int         // index of the member that acted
	States  [][]float32 // [T + 1][S]: the initial state, and those after each action
	Actions [][]float32 // [T][A]: in the environment's units, before it clips them; for a discrete space the index; of all seats in turn
	Rewards []float32   // [T]: summed over the environment steps of the action; with several agents the mean over seats
	Returns []float32   // [T]: cumulative sums of the rewards, added as in the environment; with several agents the mean over seats
	Seats   [][]float32 // [T][seats]: cumulative sums of the rewards of each seat; nil with one agent
	Steps   int         // environment steps
	Done    Done        // how it ended
}

// Return returns the undiscounted sum of the rewards, as evaluations report it; 0 without actions.
func (e *Episode) Return() float32 {
	if len(e.Returns) == 0 {
		return 0
	}
	return e.Returns[len(e.Returns)-1]
}

// Record runs and records one episode of a member: the first episode that Run gives the member at the same clock.
//
// Errors: a member out of range, *vk.OutOfMemoryError.
func (ev *Evaluator) Record(ctx context.Context, clock engine.Clock, member int) (_ *Episode, err error) {
	failed := func(err error) error {
		return fmt.Errorf("envs: recording an episode of member %d in %q: %w", member, ev.env.Name, err)
	}
	if member < 0 || member >= ev.members {
		return nil, failed(fmt.Errorf("there are the members 0 to %d", ev.members-1))
	}
	s := ev.eng.NewState()
	defer func() { err = errors.Join(err, s.Close()) }()
	c := &camera{ev: ev}
	if err := c.build(ctx, s, clock, member); err != nil {
		return nil, failed(err)
	}
	defer c.program.Free()
	if err := c.program.Run(ctx); err != nil {
		return nil, failed(err)
	}
	e, err := c.develop(ctx)
	if err != nil {
		return nil, failed(err)
	}
	e.Member = member
	return e, nil
}

// camera is a rollout of one episode that keeps the state after each step.
type camera struct {
	ev      *Evaluator
	policy  Policy
	rollout *Rollout
	states  *engine.Tensor // [T + 1, S]
	returns *engine.Tensor // [T + 1, seats]
	program *engine.Program

	shown, summed []float32 // states and returns of an environment that the host steps
}

func (c *camera) build(ctx context.Context, s *engine.State, clock engine.Clock, member int) (err error) {
	ev := c.ev
	steps := ev.steps()
	c.rollout, err = NewRollout(ctx, s, ev.env, RolloutConfig{
		Members: 1, Environments: 1, Horizon: steps, Options: ev.options, Trajectory: true, Actions: Applied, Begin: true, Evaluation: true,
		Mode: !ev.options.DrawEvaluations, Policy: ev.policy,
		Window: &Window{Population: ev.members, Count: 1}, // random numbers are the member's
	})
	if err != nil {
		return err
	}
	if c.rollout.hosted != nil {
		if err := c.watch(steps); err != nil {
			return err
		}
	} else {
		c.states = s.Scratch("states", engine.Float32, engine.Time(steps+1), engine.Axis("field", ev.env.StateSize()))
		c.returns = s.Scratch("returns", engine.Float32, engine.Time(steps+1), engine.Axis("return", ev.env.Seats()))
	}
	weights, normalizer, err := ev.policy.Member(ctx, member)
	if err != nil {
		return err
	}
	row := make([]float32, nn.Align(len(weights)))
	copy(row, weights)
	c.policy = *ev.policy
	c.policy.Weights = nn.Weights{Params: s.Scratch("params", engine.Float32, engine.Members(1), engine.Axis("parameter", len(row)))}
	if normalizer != nil {
		c.policy.Normalizer = s.Scratch("normalizer", engine.Float32, engine.Members(1), engine.Axis("moment", 2), engine.Axis("feature", ev.env.ObsSize()))
	}
	if err := s.Zero(ctx); err != nil {
		return err
	}
	if err := c.policy.Params.WriteFloat32(ctx, row); err != nil {
		return err
	}
	if normalizer != nil {
		if err := c.policy.Normalizer.WriteFloat32(ctx, normalizer); err != nil {
			return err
		}
	}
	c.program, err = ev.eng.Record("record an episode", func(r *engine.Recorder) {
		if c.shown != nil {
			c.rollout.RecordWindow(r, clock, &c.policy, member)
			return
		}
		for t := range steps + 1 {
			if t == 0 {
				c.rollout.record(r, clock, nil, 0, 0, true, member)
			} else {
				c.rollout.record(r, clock, &c.policy, t-1, 1, false, member)
			}
			r.Copy(c.states.Index(t), c.rollout.state)
			r.Copy(c.returns.Index(t), c.rollout.ret)
		}
	})
	return err
}

// watch keeps the states that a Stepper shows.
func (c *camera) watch(steps int) error {
	h, size := c.rollout.hosted, c.ev.env.StateSize()
	if size == 0 {
		return errors.New("it is stepped by the host, and its Spec names no elements of a state; want those that its Stater shows")
	}
	c.shown, c.summed = make([]float32, (steps+1)*size), make([]float32, steps+1)
	h.observe = func(taken int) error {
		shown, ok := h.stepper.(Stater)
		if !ok {
			return fmt.Errorf("%T shows no states; want an envs.Stater", h.stepper)
		}
		c.summed[taken] = h.episodes[0].ret
		return shown.State(0, c.shown[taken*size:(taken+1)*size])
	}
	return nil
}

// develop reads the recorded episode.
func (c *camera) develop(ctx context.Context) (*Episode, error) {
	ro, env := c.rollout, c.ev.env
	var values [4][]float32
	values[0], values[1] = c.shown, c.summed
	for i, t := range []*engine.Tensor{c.states, c.returns, ro.Action, ro.Reward} {
		if t == nil {
			continue
		}
		var err error
		if values[i], err = t.ReadFloat32(ctx); err != nil {
			return nil, err
		}
	}
	words, err := ro.step.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	flags, err := ro.Done.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	states, returns, actions, rewards := values[0], values[1], values[2], values[3]
	if seats := env.Seats(); seats > 1 {
		return developSeats(env, states, returns, actions, words, flags), nil
	}
	size, width := env.StateSize(), env.ActionWords()
	e := &Episode{States: [][]float32{states[:size]}, Steps: EpisodeWord(words[0]).Steps(), Done: EpisodeWord(words[0]).Done()}
	for t, f := range flags {
		if Done(f)&Void != 0 {
			break
		}
		e.States = append(e.States, states[(t+1)*size:(t+2)*size])
		e.Actions = append(e.Actions, env.Action.unscaled(actions[t*width:(t+1)*width]))
		e.Rewards = append(e.Rewards, rewards[t])
		e.Returns = append(e.Returns, returns[t+1])
		if Done(f).Over() {
			break
		}
	}
	return e, nil
}
