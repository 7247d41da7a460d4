package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/vk"
)

// poolStep takes one step of pools from given states, by the actions of all agents.
func poolStep(t testing.TB, dev *vk.Device, env *Environment, before, action [][]float64) (states [][]float32, obs, reward []float32) {
	t.Helper()
	n := len(before)
	if env.Seats() > 1 {
		g := newGiven(t, dev, env, n)
		g.set(before)
		var actions []int
		for _, row := range action {
			for _, a := range row {
				actions = append(actions, int(a))
			}
		}
		g.act(actions)
		return g.states(), g.floats(g.ro.NextObs), g.floats(g.ro.Reward)
	}
	b, err := NewBatch(t.Context(), dev, env, 1, n, Options{AutoReset: Disabled})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.SetState(t.Context(), State{toFloat32(env.Name, before), make([]EpisodeWord, n), make([]float32, n)}); err != nil {
		t.Fatal(err)
	}
	got, err := act(t.Context(), b, action)
	if err != nil {
		t.Fatal(err)
	}
	after, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for e := range n {
		states = append(states, column(after.Env, n, e))
	}
	return states, got.NextObs, got.Reward
}

// TestWaterWorld repeats steps of EvoJAX's own functions: what is touched and paid is the same, places are to rounding, and so is what rays show.
func TestWaterWorld(t *testing.T) {
	dev := open(t)
	for _, name := range []string{"WaterWorld-v0", "WaterWorldMulti-v0"} {
		t.Run(name, func(t *testing.T) {
			env, data := lookup(t, name), readArrays(t, name)
			before, after, seen, paid := data["before.npy"], data["after.npy"], data["obs.npy"], data["reward.npy"]
			states, obs, reward := poolStep(t, dev, env, before, data["action.npy"])
			n, touched, worst, worstObs, differ, shown := len(before), 0, 0.0, 0.0, 0, 0
			agents := env.Seats()
			for e := range n {
				for a, want := range paid[e] {
					if got := reward[e*agents+a]; float64(got) != want {
						t.Fatalf("step %d, agent %d: reward %v; want %v", e, a, got, want)
					}
				}
				for i, want := range after[e] {
					got := float64(states[e][i])
					if i >= 4*agents && (i-4*agents)%5 == 0 && got != want {
						t.Fatalf("step %d: %s is %v; want %v", e, env.State[i], got, want)
					}
					if worst = max(worst, math.Abs(got-want)); math.Abs(got-want) > 1e-4 {
						t.Fatalf("step %d: %s is %v; want %v", e, env.State[i], got, want)
					}
					if i >= 4*agents && want != before[e][i] && (i-4*agents)%5 == 0 {
						touched++
					}
				}
				for i, got := range row(obs, n, e) {
					d := math.Abs(float64(got) - seen[e][i])
					if seen[e][i] != 1 {
						shown++
					}
					if d > 1e-4 {
						differ++
						t.Logf("step %d: observation %d is %v; want %v", e, i, got, seen[e][i])
						continue
					}
					worstObs = max(worstObs, d)
				}
			}
			t.Logf("%d steps, %d items touched; largest deviations: %.1e in the state, %.1e in %d observed numbers; %d differ",
				n, touched, worst, worstObs, shown, differ)
			if touched < 4 || differ > 0 {
				t.Error("want more touched, and none that differs")
			}
		})
	}
}

// pool is a state with agents at places and items of given kinds; the other items are gone, in a corner.
func pool(env *Environment, agents, items [][]float64) []float64 {
	s := make([]float64, env.StateSize())
	for i := 4 * env.Seats(); i < len(s); i += 5 {
		s[i], s[i+1], s[i+2] = -2, 2, 2
	}
	for a := range env.Seats() {
		copy(s[4*a:], []float64{595, 595, 0, 0}) // out of the others' sight
	}
	for a, x := range agents {
		copy(s[4*a:], x)
	}
	for i, x := range items {
		copy(s[4*env.Seats()+5*i:], x)
	}
	return s
}

// TestWaterWorldCorrected: what the page lists as EvoJAX's mistakes is there, and is not if it is corrected.
func TestWaterWorldCorrected(t *testing.T) {
	dev := open(t)
	for _, name := range []string{"WaterWorld-v0", "WaterWorldMulti-v0"} {
		env := lookup(t, name)
		corrected, err := env.With(WaterWorldOptions{Corrected: true})
		if err != nil {
			t.Fatal(err)
		}
		channels, reach, radius := env.ObsSize()/waterWorldRays, 120.0, 10.0
		if env.Seats() > 1 {
			reach, radius = 60, 5
		}
		// The agent swims up by 0.95 before it looks, to (300, 300). Above and below ray 0, which looks to the right, are items.
		agent := []float64{300, 300.95, 0, 0}
		off := 0.6 * radius
		states := [][]float64{
			pool(env, [][]float64{agent}, [][]float64{{1, 340, 300 + off, 0, 0}}),
			pool(env, [][]float64{agent}, [][]float64{{1, 340, 300 - off, 0, 0}}),
			pool(env, [][]float64{agent}, [][]float64{{2, 339, 300, 1, 0}}),
		}
		if env.Seats() > 1 { // item 99 is gone, a poison
			states = append(states, pool(env, [][]float64{agent, {330, 300.95, 0, 0}}, nil))
		}
		actions := slices.Repeat([][]float64{make([]float64, env.Seats())}, len(states))
		ray := func(obs []float32, e int) []float64 {
			out := make([]float64, channels)
			for i := range out {
				out[i] = float64(row(obs, len(states), e)[i])
			}
			return out
		}
		expect := func(what string, got []float64, at int, want, velocity float64) {
			for i, v := range got[:channels-2] {
				w := 1.0
				if i == at {
					w = want
				}
				if math.Abs(v-w) > 1e-5 {
					t.Errorf("%s, %s: ray 0 shows %v; want %v at %d", name, what, got, want, at)
				}
			}
			if math.Abs(got[channels-2]-velocity) > 1e-5 {
				t.Errorf("%s, %s: ray 0 shows %v; want the velocity %v", name, what, got, velocity)
			}
		}
		_, theirs, _ := poolStep(t, dev, env, states, actions)
		_, ours, _ := poolStep(t, dev, corrected, states, actions)
		right, wrong := 40/reach, math.Hypot(40, 2*off)/reach
		below, above := ray(theirs, 0), ray(theirs, 1)
		if below[1] > above[1] { // the side does not matter, only that there is one
			below, above = above, below
		}
		expect("a disc on one side", below, 1, right, 0)
		expect("a disc on the other side", above, 1, wrong, 0)
		expect("a disc, corrected", ray(ours, 0), 1, right, 0)
		expect("a disc on the other side, corrected", ray(ours, 1), 1, right, 0)
		expect("an item that is gone", ray(theirs, 2), -1, 1, 1)
		expect("an item that is gone, corrected", ray(ours, 2), -1, 1, 0)
		if env.Seats() > 1 {
			expect("another agent", ray(theirs, 3), 2, 30/reach, 0)
			if got := ray(ours, 3); math.Abs(got[3]-30/reach) > 1e-5 || got[1] != 1 || got[2] != 1 || math.Abs(got[5]+0.95) > 1e-5 {
				t.Errorf("%s: another agent is seen as %v", name, got)
			}
		}
	}
}

// TestWaterWorldStart: what first states are drawn from.
func TestWaterWorldStart(t *testing.T) {
	dev := open(t)
	const n = 64
	b := newBatch(t, dev, "WaterWorld-v0", 1, n, Options{})
	if _, err := b.Reset(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	state, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	multi := newGiven(t, dev, lookup(t, "WaterWorldMulti-v0"), n).states()
	food, all := 0.0, 0.0
	inside := func(what string, x, low, high float64) {
		if !(x >= low && x <= high) {
			t.Fatalf("%s is %v; want %v to %v", what, x, low, high)
		}
	}
	item := func(s []float32) {
		inside("a kind", math.Abs(float64(s[0])), 1, 1)
		inside("a velocity", float64(s[3]), -2.5, 2.5)
		inside("a velocity", float64(s[4]), -2.5, 2.5)
		all++
		if s[0] > 0 {
			food++
		}
	}
	radius := func(x, y float32) float64 { return math.Hypot(float64(x)-300, float64(y)-300) }
	for e := range n {
		s := column(state.Env, n, e)
		for i := 4; i < len(s); i += 5 {
			item(s[i:])
			inside("a place", float64(min(s[i+1], s[i+2])), 20, 580)
			inside("a place", float64(max(s[i+1], s[i+2])), 20, 580)
		}
		inside("the agent", float64(min(s[0], s[1])), 20, 580)
		for a := range 16 {
			inside("an agent's radius", radius(multi[e][4*a], multi[e][4*a+1]), 269.99, 270.01)
		}
		for i := 64; i < 564; i += 5 {
			item(multi[e][i:])
			inside("an item's radius", radius(multi[e][i+1], multi[e][i+2]), 0, 200.01)
		}
	}
	inside("the share of food", food/all, 0.47, 0.53)
}
