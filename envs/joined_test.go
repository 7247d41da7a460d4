package envs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestJoined: what parts of the environments write lies together as one rollout's would, for sizes that are no multiples of a workgroup's.
func TestJoined(t *testing.T) {
	dev := open(t)
	for _, c := range []struct{ parts, horizon, members, each int }{{1, 2, 1, 3}, {2, 3, 2, 1}, {3, 5, 3, 7}, {5, 41, 1, 13}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			eng := engine.New(dev, engine.Seed(3))
			s := eng.NewState()
			defer s.Close()
			env := lookup(t, "CartPole-v1")
			j, err := NewJoined(t.Context(), s.Sub("rollout"), env, c.parts, RolloutConfig{
				Members: c.members, Environments: c.parts * c.each, Horizon: c.horizon, Trajectory: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			clock := engine.NewClock(s)
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			program, err := eng.Record("joined", func(r *engine.Recorder) {
				j.RecordReset(r)
				j.Record(r, clock, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			if err := program.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := []*engine.Tensor{j.finished, j.Obs, j.Action, j.LogProb, j.Reward, j.Done, j.NextObs}
			for k, whole := range all {
				outer, environments, inner, _ := whole.Split(engine.EnvironmentAxis)
				if environments != c.parts*c.each {
					t.Fatalf("%v; want %d environments", whole, c.parts*c.each)
				}
				got := rawOf(t, whole)
				for p, ro := range j.Parts() {
					part, size := rawOf(t, ro.Written()[k]), 4*c.each*inner
					for o := range outer {
						at := (o*c.parts + p) * size
						if !slices.Equal(got[at:at+size], part[o*size:(o+1)*size]) {
							t.Fatalf("%v: part %d differs at %d of the axes before", whole, p, o)
						}
					}
				}
			}
			if c.parts > 1 {
				first, second := rawOf(t, j.Parts()[0].Obs), rawOf(t, j.Parts()[1].Obs)
				if slices.Equal(first, second) {
					t.Error("two parts have the same observations")
				}
			}
			if n := len(j.Carried(c.parts - 1)); n != 3 {
				t.Errorf("a part carries %d tensors over; want the state, the step and the return", n)
			}
		})
	}
}

// TestPartsRefused: environments that parts cannot have are refused with what would be right.
func TestPartsRefused(t *testing.T) {
	outside, err := NewOutside(Spec{
		Name: "outside", Observation: Symmetric(1), Action: Discrete(2), MaxSteps: 9,
	}, func(context.Context, int, uint32) (Stepper, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	saved, err := NewOutside(Spec{
		Name: "saved", Observation: Symmetric(1), Action: Discrete(2), MaxSteps: 9, Saved: 4,
	}, func(context.Context, int, uint32) (Stepper, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env                 *Environment
		parts, environments int
		ok                  bool
	}{
		{lookup(t, "CartPole-v1"), 3, 9, true}, {lookup(t, "CartPole-v1"), 2, 9, false}, {lookup(t, "CartPole-v1"), 0, 9, false},
		{lookup(t, "FaultMaze-v0"), 1, 9, true}, {lookup(t, "FaultMaze-v0"), 3, 9, false}, {outside, 1, 9, true}, {outside, 3, 9, true}, {outside, 2, 9, false},
		{saved, 1, 9, true}, {saved, 3, 9, false},
		{lookup(t, "SimpleSpread-v3"), 3, 9, false},
	} {
		if err := c.env.CheckParts(c.parts, c.environments); (err == nil) != c.ok {
			t.Errorf("%s, %d environments in %d parts: %v", c.env.Name, c.environments, c.parts, err)
		}
	}
}

func rawOf(t *testing.T, of *engine.Tensor) []byte {
	t.Helper()
	data, err := of.ReadBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return data
}
