package envs

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// parity is the result for one environment. Deviations are relative to the largest magnitude of the same element of
// state or observation in the data; angles differ modulo full turns; rewards are relative to the largest reward.
type parity struct {
	state, obs, reward float64
	where              string
}

// angles are the state elements that the references do not wrap.
var angles = map[string]int{"Pendulum-v1": 0, "CartPoleSwingUp-easy": 2, "CartPoleSwingUp-hard": 2}

// comparison compares results with a trajectory.
type comparison struct {
	name                 string
	data                 *trajectory
	stateScale, obsScale []float64
	rewardScale          float64
	parity
}

func compare(name string, data *trajectory) *comparison {
	c := &comparison{name: name, data: data}
	c.stateScale, c.obsScale = scales(data.state), scales(data.obs)
	if angle, ok := angles[name]; ok {
		c.stateScale[angle] = math.Pi
	}
	for _, r := range data.reward {
		c.rewardScale = max(c.rewardScale, math.Abs(r))
	}
	return c
}

// scales returns the largest magnitude of each column.
func scales(rows [][]float64) []float64 {
	most := make([]float64, len(rows[0]))
	for _, row := range rows {
		for i, v := range row {
			most[i] = max(most[i], math.Abs(v))
		}
	}
	return most
}

// row compares one environment's state and observation with a row of the data, and its reward with the step's.
func (c *comparison) row(row, step int, state, obs []float32, reward float32) (deviation float64) {
	for i, got := range state {
		d := math.Abs(float64(got) - c.data.state[row][i])
		if angle, ok := angles[c.name]; ok && i == angle {
			d = math.Abs(math.Remainder(float64(got)-c.data.state[row][i], 2*math.Pi))
		}
		d /= c.stateScale[i]
		if c.state = max(c.state, d); d == c.state && d > 0 {
			c.where = fmt.Sprintf("state element %d of row %d", i, row)
		}
		deviation = max(deviation, d)
	}
	for i, got := range obs {
		d := math.Abs(float64(got)-c.data.obs[row][i]) / c.obsScale[i]
		c.obs = max(c.obs, d)
		deviation = max(deviation, d)
	}
	d := math.Abs(float64(reward)-c.data.reward[step]) / c.rewardScale
	c.parity.reward = max(c.parity.reward, d)
	return max(deviation, d)
}

// toFloat32 arranges rows of the data as a State's tensor [S, 1, E]. Full turns are subtracted from angles in
// float64, since float32 has no digits to spare for them.
func toFloat32(name string, rows [][]float64) []float32 {
	angle, wraps := angles[name]
	out := make([]float32, len(rows)*len(rows[0]))
	for e, row := range rows {
		for i, v := range row {
			if wraps && i == angle {
				v = math.Remainder(v, 2*math.Pi)
			}
			out[i*len(rows)+e] = float32(v)
		}
	}
	return out
}

// column returns the elements of environment e from a State's tensor [S, 1, E].
func column(tensor []float32, count, e int) []float32 {
	out := make([]float32, len(tensor)/count)
	for i := range out {
		out[i] = tensor[i*count+e]
	}
	return out
}

// act steps a batch with actions of the data.
func act(ctx context.Context, b *Batch, actions [][]float64) (Transition, error) {
	if b.Environment().Action.IsDiscrete() {
		words := make([]uint32, len(actions))
		for i, a := range actions {
			words[i] = uint32(a[0])
		}
		return b.Step(ctx, words)
	}
	var values []float32
	for _, a := range actions {
		for _, v := range a {
			values = append(values, float32(v))
		}
	}
	return b.StepContinuous(ctx, values)
}

// TestObservation: the observation of a recorded state is the recorded one. A step after the end with Disabled
// observes without moving.
func TestObservation(t *testing.T) {
	dev := open(t)
	for _, name := range classic() {
		data := readTrajectory(t, name)
		n := len(data.state)
		b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled})
		over := make([]EpisodeWord, n)
		for i := range over {
			over[i] = EpisodeWord(Truncated) << 30
		}
		if err := b.SetState(t.Context(), State{toFloat32(name, data.state), over, make([]float32, n)}); err != nil {
			t.Fatal(err)
		}
		got, err := act(t.Context(), b, slices.Repeat(data.action[:1], n))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for row, want := range data.obs {
			for i := range want {
				worst = max(worst, math.Abs(float64(got.Obs[row*len(want)+i])-want[i]))
			}
		}
		t.Logf("%-25s largest deviation of an observation %.2g", name, worst)
		// An angle of pi in float32 has an error of 1.2e-7, and so has its sine, plus the sine's own rounding.
		limit := 3e-7
		if len(data.state[0]) == len(data.obs[0]) {
			limit = 0 // the observation is the state
		}
		if worst > limit {
			t.Errorf("%s: an observation deviates by %g; want at most %g", name, worst, limit)
		}
	}
}

// oneStep bounds the deviation after one step from a recorded state, rounded to float32 (half a unit in the last
// place: 6e-8).
const oneStep = 1e-6

// TestOneStep takes every recorded step from its recorded state.
func TestOneStep(t *testing.T) {
	dev := open(t)
	for _, name := range classic() {
		data := readTrajectory(t, name)
		n := len(data.action)
		var before [][]float64
		var words []EpisodeWord
		var after []int
		for i := range data.episodes() {
			first, _, steps := data.episode(i)
			for k := range steps {
				before = append(before, data.state[first+k])
				words = append(words, EpisodeWord(k))
				after = append(after, first+k+1)
			}
		}
		b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled})
		if err := b.SetState(t.Context(), State{toFloat32(name, before), words, make([]float32, n)}); err != nil {
			t.Fatal(err)
		}
		got, err := act(t.Context(), b, data.action)
		if err != nil {
			t.Fatal(err)
		}
		state, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := compare(name, data)
		size := b.Environment().ObsSize()
		for i := range n {
			c.row(after[i], i, column(state.Env, n, i), got.NextObs[i*size:(i+1)*size], got.Reward[i])
			if got.Done[i] != data.done[i] {
				t.Errorf("%s: step %d from %v by %v: done %d; want %d", name, i, before[i], data.action[i], got.Done[i], data.done[i])
			}
		}
		terminated, truncated := flags(data.done)
		t.Logf("%-25s %d steps, %d terminated, %d truncated; largest deviation: state %.2g (%s), observation %.2g, reward %.2g",
			name, n, terminated, truncated, c.state, c.where, c.obs, c.parity.reward)
		if worst := max(c.state, c.obs, c.parity.reward); worst > oneStep {
			t.Errorf("%s: a step deviates by %g; want at most %g", name, worst, oneStep)
		}
	}
}

func flags(done []Done) (terminated, truncated int) {
	for _, d := range done {
		terminated += int(d & Terminated)
		truncated += int(d & Truncated >> 1)
	}
	return terminated, truncated
}

// followed is the deviation up to which a free-running episode counts as following the record. A pole near upright
// multiplies a deviation by a factor per step, a double pendulum by more, so that in any arithmetic episodes
// eventually diverge from the record. TestFreeRunning asserts how many steps that takes, and that every flag is right
// until then.
const followed = 1e-3

// freeRun is the minimum number of steps for which an episode must be followed (or to its end).
var freeRun = map[string]int{
	"CartPole-v1":              100,
	"Pendulum-v1":              150,
	"Acrobot-v1":               100,
	"MountainCar-v0":           200,
	"MountainCarContinuous-v0": 999,
	"CartPoleSwingUp-easy":     500,
	"CartPoleSwingUp-hard":     500,
}

// TestFreeRunning runs whole recorded episodes from their recorded initial states.
func TestFreeRunning(t *testing.T) {
	dev := open(t)
	for _, name := range classic() {
		data := readTrajectory(t, name)
		n, longest := data.episodes(), 0
		var first [][]float64
		for i := range n {
			row, _, steps := data.episode(i)
			first = append(first, data.state[row])
			longest = max(longest, steps)
		}
		b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled})
		if err := b.SetState(t.Context(), State{toFloat32(name, first), make([]EpisodeWord, n), make([]float32, n)}); err != nil {
			t.Fatal(err)
		}
		c, size := compare(name, data), b.Environment().ObsSize()
		parted := make([]int, n) // the step at which an episode was no longer followed, or 0
		whole, shortest, worst, growth := 0, math.MaxInt, 0.0, []string{}
		for k := range longest {
			actions := make([][]float64, n)
			for i := range n {
				_, at, steps := data.episode(i)
				actions[i] = data.action[at+min(k, steps-1)]
			}
			got, err := act(t.Context(), b, actions)
			if err != nil {
				t.Fatal(err)
			}
			state, err := b.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				row, at, steps := data.episode(i)
				if parted[i] > 0 {
					continue
				}
				if k >= steps {
					if want := data.done[at+steps-1] | Void; got.Done[i] != want {
						t.Errorf("%s: episode %d: done %d at step %d, after its end; want %d", name, i, got.Done[i], k+1, want)
					}
					continue
				}
				if got.Done[i] != data.done[at+k] {
					t.Errorf("%s: episode %d of %d steps: done %d at step %d; want %d", name, i, steps, got.Done[i], k+1, data.done[at+k])
				}
				d := c.row(row+k+1, at+k, column(state.Env, n, i), got.NextObs[i*size:(i+1)*size], got.Reward[i])
				if worst = max(worst, d); d > followed {
					parted[i] = k + 1
					shortest = min(shortest, k+1)
				} else if k+1 == steps {
					whole++
				}
			}
			if k+1 == longest || k+1 == 10 || k+1 == 30 || (k+1)%100 == 0 {
				growth = append(growth, fmt.Sprintf("%d: %.1g", k+1, worst))
			}
		}
		t.Logf("%-25s %d of %d episodes followed to their end, the others for %v steps; largest deviation by steps: %s",
			name, whole, n, slices.DeleteFunc(parted, func(k int) bool { return k == 0 }), strings.Join(growth, ", "))
		if shortest < freeRun[name] {
			t.Errorf("%s: an episode parts from the record by %g after %d steps; want %d at least", name, followed, shortest, freeRun[name])
		}
	}
}
