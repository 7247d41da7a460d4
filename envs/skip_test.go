package envs

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestSkip: in a trajectory without resets, the steps after an episode's end are void and exactly those, also over several dispatches. A member that is
// skipped has void steps alone, and changes nothing in the others.
func TestSkip(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	const members, environments, horizon = 3, 9, 1100
	for _, placement := range Placements() {
		var whole []float32
		var flags []uint32
		for _, skipped := range []int{-1, 1} {
			cfg := RolloutConfig{
				Members: members, Environments: environments, Horizon: horizon, Options: Options{TimeLimit: 60, AutoReset: Disabled}, Trajectory: true, Begin: true,
			}
			f := newFixture(t, eng, "CartPole-v1", cfg, small, func(p *Policy) { p.Placement = placement })
			skip := f.state.Scratch("skip", engine.Uint32, engine.Members(members))
			marks := make([]uint32, members)
			if skipped >= 0 {
				marks[skipped] = 1
			}
			if err := skip.WriteUint32(t.Context(), marks); err != nil {
				t.Fatal(err)
			}
			if err := f.ro.Skip(skip); err != nil {
				t.Fatal(err)
			}
			if err := f.ro.Done.WriteUint32(t.Context(), slices.Repeat([]uint32{0xFFFF}, f.ro.Done.Len())); err != nil {
				t.Fatal(err)
			}
			f.advance()
			finished, done := f.floats(f.ro.Finished()), f.words(f.ro.Done)
			if whole == nil {
				whole, flags = finished, done
			}
			const all = members * environments
			lengths := map[int]bool{}
			for i := range all {
				length := 0
				for length < horizon && Done(done[length*all+i])&Void == 0 {
					length++
				}
				for step := range horizon {
					d := Done(done[step*all+i])
					if d&^(Terminated|Truncated|Void|Diverged) != 0 || d.Over() != (step >= length-1) || (d&Void != 0) != (step >= length) {
						t.Fatalf("%v: step %d of an episode of %d steps has flags %d", placement, step, length, d)
					}
					if i/environments != skipped && done[step*all+i] != flags[step*all+i] {
						t.Fatalf("%v: skipping member %d has changed step %d of environment %d", placement, skipped, step, i)
					}
				}
				lengths[length] = true
				want := []float32{1, whole[all+i], float32(length), 0}
				if i/environments == skipped {
					want = make([]float32, 4)
				}
				for k, w := range want {
					if got := finished[k*all+i]; got != w {
						t.Errorf("%v: sum %d of environment %d is %g; want %g", placement, k, i, got, w)
					}
				}
				if (length == 0) != (i/environments == skipped) {
					t.Errorf("%v: environment %d takes %d steps", placement, i, length)
				}
			}
			if len(lengths) < 5 {
				t.Errorf("%v: episodes of %d different lengths", placement, len(lengths))
			}
		}
	}
}

// Rollouts that reset their environments or continue episodes skip no members.
func TestSkipErrors(t *testing.T) {
	eng := engine.New(open(t))
	for _, cfg := range []RolloutConfig{
		{Members: 2, Environments: 1, Horizon: 3, Begin: true}, {Members: 2, Environments: 1, Horizon: 3, Options: Options{AutoReset: Disabled}},
		{Members: 3, Environments: 1, Horizon: 3, Begin: true, Options: Options{AutoReset: Disabled}},
	} {
		f := newFixture(t, eng, "CartPole-v1", cfg, nil)
		err := f.ro.Skip(f.state.Scratch("skip", engine.Uint32, engine.Members(2)))
		if err == nil || !strings.Contains(err.Error(), "want a value for each member") {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}
