package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestEpisode compares batches with the float64 model of the episode, under every option.
func TestEpisode(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		model   dynamics
		options Options
		steps   int
	}{
		{modelCartPole(), Options{}, 60},
		{modelCartPole(), Options{AutoReset: Fast, TimeLimit: 12}, 60},
		{modelCartPole(), Options{TimeLimit: 15, SparseReward: true}, 60},
		{modelCartPole(), Options{AutoReset: Disabled, SparseReward: true, RewardScale: 0.5}, 60},
		{modelCartPole(), Options{ActionRepeat: 3, TimeLimit: 20}, 30},
		{modelCartPole(), Options{ActionRepeat: 4, TimeLimit: 8, SparseReward: true, AutoReset: Disabled}, 30},
		{modelPendulum(), Options{TimeLimit: 7, RewardScale: -0.25}, 30},
		{modelPendulum(), Options{TimeLimit: 1}, 5},
		{modelPendulum(), Options{TimeLimit: 7, ActionRepeat: 2, SparseReward: true, RewardScale: 2, AutoReset: Fast}, 30},
		{modelPendulum(), Options{TimeLimit: NoTimeLimit, SparseReward: true}, 210},
		{modelPendulum(), Options{TimeLimit: 9, ActionRepeat: 2, AutoReset: Disabled}, 12},
	} {
		t.Run(fmt.Sprintf("%s/%+v", c.model.name, c.options), func(t *testing.T) {
			b := newBatch(t, dev, c.model.name, 3, 7, c.options)
			drive(t, b, c.model, c.steps)
		})
	}
}

// TestInBounds steps batches of odd sizes, discrete and continuous, with validation of every memory access. The other
// environments differ only in sizes, and each takes seconds to compile with the checks.
func TestInBounds(t *testing.T) {
	dev := vktest.Open(t, vk.ValidateShaders(true))
	for _, name := range []string{"MountainCar-v0", "Pendulum-v1"} {
		b := newBatch(t, dev, name, 3, 43, Options{TimeLimit: 2})
		if _, err := b.Reset(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := act(t.Context(), b, slices.Repeat([][]float64{{1}}, b.count())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// drive steps a batch and the model of its environments together and compares all results.
func drive(t *testing.T, b *Batch, model dynamics, steps int) {
	t.Helper()
	const seed = 11
	models := make([]episode, b.count())
	for i := range models {
		models[i] = episode{dynamics: model, options: b.Options(), member: uint32(i / b.environments), environment: uint32(i % b.environments), seed: seed}
	}
	first, err := b.Reset(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range models {
		check(t, fmt.Sprintf("environment %d: first observation", i), row(first, len(models), i), models[i].begin())
	}
	dice := rand.New(rand.NewPCG(5, 6))
	ends := map[Done]int{}
	for k := range steps {
		actions := make([][]float64, len(models))
		for i := range actions {
			actions[i] = []float64{float64(float32(dice.Float64()*6 - 3))}
			if b.Environment().Action.IsDiscrete() {
				actions[i] = make([]float64, b.Environment().ActionWords())
				for k := range actions[i] {
					actions[i][k] = float64(dice.IntN(2))
				}
			}
		}
		got, err := act(t.Context(), b, actions)
		if err != nil {
			t.Fatal(err)
		}
		state, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range models {
			m := &models[i]
			want := m.advance(actions[i][0])
			at := fmt.Sprintf("step %d, environment %d", k+1, i)
			if got.Done[i] != want.done || state.Episode[i] != m.word {
				t.Fatalf("%s: done %d, episode word %#x; want %d, %#x", at, got.Done[i], state.Episode[i], want.done, m.word)
			}
			ends[want.done]++
			check(t, at+": next observation", row(got.NextObs, len(models), i), want.nextObs)
			check(t, at+": observation", row(got.Obs, len(models), i), want.obs)
			check(t, at+": reward", got.Reward[i:i+1], []float64{want.reward})
			check(t, at+": return", state.Return[i:i+1], []float64{m.ret})
			// After each step the model continues from the device's state, once that is checked.
			reached := column(state.Env, len(models), i)
			check(t, at+": state", reached, m.state)
			for f, v := range reached {
				m.state[f] = float64(v)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("steps by done flags: %v", ends)
}

// row returns environment i's part of a result [M, E, …].
func row(values []float32, count, i int) []float32 {
	size := len(values) / count
	return values[i*size : (i+1)*size]
}

func check(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 3e-6*max(1, math.Abs(w))) {
			t.Errorf("%s: %v; want %v", what, got, want)
			return
		}
	}
}

// TestRerun: the same seed and actions give bit-identical results, another seed gives others.
func TestRerun(t *testing.T) {
	dev := open(t)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			first, again, other := rerun(t, dev, name, 3), rerun(t, dev, name, 3), rerun(t, dev, name, 4)
			differ, same := 0, 0
			for i := range first {
				if first[i] != again[i] {
					differ++
				}
				if first[i] == other[i] {
					same++
				}
			}
			if drawn := name != "FaultMaze-v0"; differ > 0 || drawn == (same == len(first)) { // nothing in that maze is random
				t.Errorf("%d of %d words differ in a rerun, %d are the same for another seed", differ, len(first), same)
			}
		})
	}
}

// rerun returns the bits of everything that 20 steps of 2 × 33 environments return, and of their state.
func rerun(t *testing.T, dev *vk.Device, name string, seed uint32) (words []uint32) {
	t.Helper()
	if env := lookup(t, name); env.Seats() > 1 {
		f := fixtureIn(t, engine.New(dev, engine.Seed(seed)), env,
			RolloutConfig{Members: 2, Environments: 5, Horizon: 10, Options: Options{TimeLimit: 7}, Trajectory: true}, small)
		for range 2 {
			f.advance()
			words = append(words, f.everything()...)
		}
		return words
	}
	b := newBatch(t, dev, name, 2, 33, Options{TimeLimit: 7})
	obs, err := b.Reset(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	words = append(words, wordsOf(obs)...)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		actions := make([][]float64, 66)
		for i := range actions {
			actions[i] = make([]float64, b.Environment().ActionWords())
			for k := range actions[i] {
				actions[i][k] = float64(dice.IntN(2))
			}
		}
		got, err := act(t.Context(), b, actions)
		if err != nil {
			t.Fatal(err)
		}
		words = append(append(append(words, wordsOf(got.Obs)...), wordsOf(got.NextObs)...), wordsOf(got.Reward)...)
		for _, d := range got.Done {
			words = append(words, uint32(d))
		}
	}
	state, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append(append(words, wordsOf(state.Env)...), wordsOf(state.Return)...)
}
