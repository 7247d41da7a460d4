package envs

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/vk"
)

// recordedSeats are the episodes of a file of tools/reference/mpe.py.
type recordedSeats struct {
	start, steady              []int // steady: of each episode
	state, obs, action, reward [][]float64
}

func readSeats(t testing.TB, name string) recordedSeats {
	t.Helper()
	arrays := readArrays(t, name)
	r := recordedSeats{state: arrays["state.npy"], obs: arrays["obs.npy"], action: arrays["action.npy"], reward: arrays["reward.npy"]}
	for _, row := range arrays["start.npy"] {
		r.start = append(r.start, int(row[0]))
	}
	for _, row := range arrays["steady.npy"] {
		r.steady = append(r.steady, int(row[0]))
	}
	if len(r.start) < 2 || len(r.steady) != len(r.start)-1 ||
		len(r.state) != len(r.obs) || len(r.action) != len(r.reward) || len(r.state) != len(r.action)+len(r.start)-1 {
		t.Fatalf("%s: arrays do not fit together", name)
	}
	return r
}

// TestMPE replays episodes of the package mpe2: whole ones from their beginnings, and each step from its recorded state. Discs that are pressed into each
// other multiply differences; from where the package itself multiplies one by 500, an episode is compared by its single steps only.
func TestMPE(t *testing.T) {
	dev := open(t)
	for _, name := range []string{"SimpleSpread-v3", "SimpleTag-v3", "SimpleSpeakerListener-v4"} {
		t.Run(name, func(t *testing.T) { replaySeats(t, dev, lookup(t, name)) })
	}
}

// replaySeats compares a world with its recorded episodes.
func replaySeats(t *testing.T, dev *vk.Device, env *Environment) {
	t.Helper()
	data := readSeats(t, env.Name)
	episodes, length := len(data.start)-1, env.MaxSteps
	worst, compared := map[string]float64{}, 0
	note := func(what string, got []float32, want []float64) {
		for i, w := range want {
			d := math.Abs(float64(got[i]) - w)
			if worst[what] = max(worst[what], d); !(d <= 1e-5*max(1, math.Abs(w))) {
				t.Fatalf("%s: element %d is %v; want %v", what, i, got[i], w)
			}
		}
	}
	// steps takes one step of each world from rows of the data.
	steps := func(g *given, what string, rows []int) {
		var actions []int
		for _, row := range rows {
			for _, a := range data.action[stepOf(data.start, row)] {
				actions = append(actions, int(a))
			}
		}
		observed := g.floats(g.ro.seated.observed)
		g.act(actions)
		states, obs, next, reward := g.states(), g.floats(g.ro.Obs), g.floats(g.ro.NextObs), g.floats(g.ro.Reward)
		for e, r := range rows {
			if what == "episodes" && r-data.start[e] >= data.steady[e] {
				continue
			}
			compared++
			note(what+": observation", row(observed, len(rows), e), data.obs[r])
			note(what+": observation acted on", row(obs, len(rows), e), data.obs[r])
			note(what+": next observation", row(next, len(rows), e), data.obs[r+1])
			note(what+": reward", row(reward, len(rows), e), data.reward[stepOf(data.start, r)])
			note(what+": state", states[e], data.state[r+1])
		}
	}
	whole := newGiven(t, dev, env, episodes)
	var first [][]float64
	for e := range episodes {
		first = append(first, data.state[data.start[e]])
	}
	whole.set(first)
	for step := range length {
		rows := make([]int, episodes)
		for e := range rows {
			rows[e] = data.start[e] + step
		}
		steps(whole, "episodes", rows)
	}
	t.Logf("%d of %d steps of %d episodes are compared", compared, length*episodes, episodes)
	if 2*compared < length*episodes {
		t.Error("want more than half of them")
	}
	for i, d := range whole.words(whole.ro.Done) {
		if Done(d) != Truncated {
			t.Errorf("place %d: flags %d after %d steps; want %d", i, d, length, Truncated)
		}
	}
	var rows []int
	var states [][]float64
	for e := range episodes {
		for r := data.start[e]; r < data.start[e+1]-1; r++ {
			rows, states = append(rows, r), append(states, data.state[r])
		}
	}
	single := newGiven(t, dev, env, len(rows))
	single.set(states)
	steps(single, "steps", rows)
	for _, what := range slices.Sorted(maps.Keys(worst)) {
		t.Logf("%-35s largest deviation %.1e", what, worst[what])
	}
}

// stepOf returns the index of the step that leads on from a row.
func stepOf(start []int, row int) int {
	episode := 0
	for start[episode+1] <= row {
		episode++
	}
	return row - episode
}

// TestMPEStart: first states are spread over what the package draws from.
func TestMPEStart(t *testing.T) {
	const n = 256
	dev := open(t)
	agent, obstacle := [][2]float64{{-1, 1}, {-1, 1}, {0, 0}, {0, 0}}, [][2]float64{{-0.9, 0.9}, {-0.9, 0.9}}
	for name, ranges := range map[string][][2]float64{
		"SimpleSpread-v3":          slices.Concat(slices.Repeat(agent, 3), slices.Repeat(agent[:2], 3)),
		"SimpleTag-v3":             slices.Concat(slices.Repeat(agent, 4), slices.Repeat(obstacle, 2)),
		"SimpleSpeakerListener-v4": slices.Concat(agent, slices.Repeat(agent[:2], 3), [][2]float64{{0, 2}, {-1, -1}}),
	} {
		states := newGiven(t, dev, lookup(t, name), n).states()
		for i, want := range ranges {
			low, high := math.Inf(1), math.Inf(-1)
			for e := range n {
				low, high = min(low, float64(states[e][i])), max(high, float64(states[e][i]))
			}
			near := 0.05 * (want[1] - want[0])
			if low < want[0] || high > want[1] || low > want[0]+near || high < want[1]-near {
				t.Errorf("%s: element %d is from %v to %v; want %v", name, i, low, high, want)
			}
		}
	}
}
