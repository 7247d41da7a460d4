package envs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// halvedEcho is an echo in halves. With meet, a step of a half lasts until the other half's next one has begun, if there is one before meet.
type halvedEcho struct {
	*echo
	split int
	steps [2]*Step
	begun [2]int
	turns []string
	meet  int // steps; 0: they do not wait for each other
	next  [2]chan int
	ended [2]chan error

	begins func(half, step int) // called by Begin; may be nil
}

func (e *halvedEcho) Halve(_ context.Context, split int) error {
	e.split = split
	return nil
}

func (e *halvedEcho) Begin(_ context.Context, half int, s *Step) error {
	if e.steps[half] != nil {
		return fmt.Errorf("half %d takes two steps", half)
	}
	e.steps[half] = s
	e.begun[half]++
	e.turns = append(e.turns, fmt.Sprintf("begin %d", half))
	n := e.begun[half]
	if e.begins != nil {
		e.begins(half, n)
	}
	if e.meet == 0 {
		return nil
	}
	e.next[half] <- n
	go func() {
		if n+half > e.meet {
			e.ended[half] <- nil
			return
		}
		for met := 0; met < n+half; { // half 1 begins its step n after half 0's, and half 0 begins step n + 1 after it
			select {
			case met = <-e.next[1-half]:
			case <-time.After(20 * time.Second):
				e.ended[half] <- fmt.Errorf("step %d of half %d: the other half has begun %d", n, half, met)
				return
			}
		}
		e.ended[half] <- nil
	}()
	return nil
}

func (e *halvedEcho) Wait(_ context.Context, half int) error {
	s := e.steps[half]
	if s == nil {
		return fmt.Errorf("half %d takes no step", half)
	}
	e.turns = append(e.turns, fmt.Sprintf("wait %d", half))
	if e.meet > 0 {
		if err := <-e.ended[half]; err != nil {
			return err
		}
	}
	idle := slices.Clone(s.Idle)
	for i := range idle {
		idle[i] = idle[i] || (i < e.split) != (half == 0)
	}
	part := *s
	part.Idle = idle
	e.steps[half] = nil
	return e.echo.Step(context.Background(), &part)
}

// halvedEnvironment is the echo, with or without halves.
func halvedEnvironment(t *testing.T, action Space, halved bool, of *halvedEcho) *Environment {
	t.Helper()
	halves := AtOnce
	if halved {
		halves = InHalves
	}
	low, high := slices.Repeat([]float32{-1e6}, echoSize), slices.Repeat([]float32{1e6}, echoSize)
	env, err := NewOutside(Spec{Name: "Echo-v0", Observation: Box(low, high), Action: action, MaxSteps: 5, Halves: halves},
		func(context.Context, int, uint32) (Stepper, error) { return of, nil })
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestHalves: a rollout whose environments act in halves has the bits of one whose environments act at once: trajectories, sums over episodes and
// observations, over several recordings; for several members, one member's environments, candidates and models with memory; also if episodes end before the
// last step.
func TestHalves(t *testing.T) {
	gru := nn.Recurrent{In: echoSize, Out: 2, Before: []int{8}, Cell: nn.GRU, Units: 4}
	wide := nn.MLP{In: echoSize, Out: 2, Hidden: []int{96, 96, 96}}
	for _, c := range []struct {
		name   string
		cfg    RolloutConfig
		model  nn.Model
		random bool
		split  int
	}{
		{"members", RolloutConfig{Members: 3, Environments: 5, Horizon: 7}, nil, false, 10},
		{"environments", RolloutConfig{Members: 1, Environments: 22, Horizon: 7}, nil, false, 10},
		{"environments, layers", RolloutConfig{Members: 1, Environments: 70, Horizon: 4}, wide, false, 34},
		{"environments, recurrent", RolloutConfig{Members: 1, Environments: 22, Horizon: 7}, gru, false, 8},
		{"candidates", RolloutConfig{Members: 6, Environments: 2, Horizon: 7, Window: &Window{Population: 6, Count: 6}}, nil, false, 6},
		{"random", RolloutConfig{Members: 1, Environments: 6, Horizon: 7}, nil, true, 3},
		{"disabled", RolloutConfig{Members: 2, Environments: 4, Horizon: 9, Begin: true, Options: Options{AutoReset: Disabled}}, nil, false, 4},
		{"one step", RolloutConfig{Members: 2, Environments: 4, Horizon: 1}, nil, false, 4},
		{"one environment", RolloutConfig{Members: 1, Environments: 1, Horizon: 4}, nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := func(halved bool) (all []float32, ro *Rollout, e *halvedEcho) {
				e = &halvedEcho{echo: newEcho(c.cfg.Members * c.cfg.Environments)}
				e.broken = c.cfg.Members*c.cfg.Environments - 1
				cfg := c.cfg
				cfg.Trajectory, cfg.Seen = true, true
				r := newModelRollout(t, halvedEnvironment(t, Discrete(2), halved, e), cfg, c.random, c.model)
				for range 3 {
					if err := r.program.Run(t.Context()); err != nil {
						t.Fatal(err)
					}
					for _, x := range []*engine.Tensor{r.ro.Obs, r.ro.NextObs, r.ro.Action, r.ro.LogProb, r.ro.Reward, r.ro.Finished(), r.ro.Seen()} {
						all = append(all, floats(t, x)...)
					}
					done, err := r.ro.Done.ReadUint32(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range done {
						all = append(all, float32(d))
					}
				}
				return all, r.ro, e
			}
			want, _, _ := results(false)
			got, ro, e := results(true)
			if ro.split != c.split || c.split > 0 && e.split != c.split || (c.split > 0) != (e.begun[1] > 0) {
				t.Errorf("%d environments are in the first half, and %d in the stepper's; want %d", ro.split, e.split, c.split)
			}
			for i := range want {
				if got[i] != want[i] && !(got[i] != got[i] && want[i] != want[i]) {
					t.Fatalf("element %d of %d is %v in halves; want %v", i, len(want), got[i], want[i])
				}
			}
		})
	}
}

// TestHalvesTogether: no step of a half ends before the device has acted in the other half, and so begun a step there: both work at once.
func TestHalvesTogether(t *testing.T) {
	const horizon = 6
	e := &halvedEcho{echo: newEcho(8), meet: horizon}
	for half := range 2 {
		e.next[half], e.ended[half] = make(chan int, horizon+1), make(chan error, 1)
	}
	r := newModelRollout(t, halvedEnvironment(t, Discrete(2), true, e), RolloutConfig{Members: 2, Environments: 4, Horizon: horizon, Trajectory: true}, false, nil)
	if err := r.program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.turns[:7]); got != "[begin 0 begin 1 wait 0 begin 0 wait 1 begin 1 wait 0]" {
		t.Errorf("the halves took turns as %s", got)
	}
}

// counting observes its number of steps and the action before; its episodes have as many steps as their seed says.
type counting struct{ steps, left int }

func (c *counting) Reset(seed uint32, obs []float32) error {
	c.left = 2 + int(seed%3)
	obs[0], obs[1] = float32(c.steps), -1
	return nil
}

func (c *counting) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	c.steps++
	c.left--
	obs[0], obs[1] = float32(c.steps), action[0]
	return action[0], c.left == 0, false, nil
}

// TestHalvesWorlds: worlds in Go have the same bits in halves, with and without episodes that follow each other.
func TestHalvesWorlds(t *testing.T) {
	for _, options := range []Options{{}, {AutoReset: Disabled}} {
		var want []float32
		for _, halves := range []Halving{AtOnce, InHalves} {
			env, err := NewOutside(Spec{
				Name: "Counting-v0", Observation: Box([]float32{-1, -1}, []float32{1e6, 1e6}), Action: Discrete(2), MaxSteps: 5, Halves: halves,
			}, Worlds(func() (World, error) { return new(counting), nil }))
			if err != nil {
				t.Fatal(err)
			}
			r := newModelRollout(t, env, RolloutConfig{
				Members: 1, Environments: 24, Horizon: 9, Trajectory: true, Options: options, Begin: options.AutoReset == Disabled,
			}, false, nn.MLP{In: 2, Out: 2, Hidden: []int{8}})
			var got []float32
			for range 2 {
				if err := r.program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, x := range []*engine.Tensor{r.ro.Obs, r.ro.NextObs, r.ro.Action, r.ro.Reward, r.ro.Finished()} {
					got = append(got, floats(t, x)...)
				}
			}
			if want == nil {
				want = got
			}
			if (r.ro.split > 0) != (halves == InHalves) || !slices.Equal(got, want) {
				t.Errorf("options %+v: %d of 24 worlds in the first half, or other bits", options, r.ro.split)
			}
		}
	}
}

// TestHalvesMisuse: what cannot step in halves, or worlds of several agents, is an error that says so.
func TestHalvesMisuse(t *testing.T) {
	space := Box([]float32{-1, -1}, []float32{1, 1})
	for want, c := range map[string]struct {
		spec Spec
		make MakeStepper
	}{
		"*envs.echo steps no halves, and the Spec has Halves; want an envs.Halver, or no Halves": {
			Spec{Halves: InHalves}, func(context.Context, int, uint32) (Stepper, error) { return newEcho(4), nil },
		},
		"a world of envs.Worlds has one agent, and the Spec has 2 Agents": {Spec{Agents: 2}, Worlds(func() (World, error) { return new(counting), nil })},
	} {
		c.spec.Name, c.spec.Observation, c.spec.Action, c.spec.MaxSteps = "Misused-v0", space, Discrete(2), 5
		env, err := NewOutside(c.spec, c.make)
		if err != nil {
			t.Fatal(err)
		}
		r := newModelRollout(t, env, RolloutConfig{Members: 1, Environments: 4, Horizon: 2, Trajectory: true}, false, nn.MLP{In: 2, Out: 2, Hidden: []int{8}})
		if err := r.program.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for want, spec := range map[string]Spec{
		"2 Agents, 4 Saved bytes":              {Agents: 2, Saved: 4},
		"the Spec has Halves 3; want 0 or, if": {Halves: 3},
	} {
		spec.Name, spec.Observation, spec.Action = "Misused-v0", space, Discrete(2)
		if _, err := NewOutside(spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestHalvesCancelled: a run that ends while a half is in a step closes the Stepper when it goes on, and goes on with another.
func TestHalvesCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var made []*halvedEcho
	env, err := NewOutside(Spec{
		Name: "Echo-v0", Observation: Box(slices.Repeat([]float32{-1e6}, echoSize), slices.Repeat([]float32{1e6}, echoSize)), Action: Discrete(2), MaxSteps: 5,
		Halves: InHalves,
	}, func(context.Context, int, uint32) (Stepper, error) {
		e := &halvedEcho{echo: newEcho(8)}
		if len(made) == 0 {
			e.begins = func(half, step int) {
				if half == 1 && step == 2 {
					cancel()
				}
			}
		}
		made = append(made, e)
		return e, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newModelRollout(t, env, RolloutConfig{Members: 2, Environments: 4, Horizon: 6, Trajectory: true}, false, nil)
	if err := r.program.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v; want %v", err, context.Canceled)
	}
	if err := r.program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(made) != 2 || made[0].closed != 1 || made[1].closed != 0 || made[1].begun != [2]int{6, 6} {
		t.Errorf("%d steppers, the first closed %d times; want 2, 1", len(made), made[0].closed)
	}
}
