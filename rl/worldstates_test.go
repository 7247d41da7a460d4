package rl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// seatSpaces is spaces of several agents.
func seatSpaces(seats, obs int, action envs.Space) *envs.Environment {
	env := spaces(obs, action)
	env.Agents = seats
	return env
}

// TestWorldStates compares the kernel with the definition: sizes that fill no workgroup, and one that fills several; observations and next ones; with a
// normalizer and without. What agents that left did not write is not read.
func TestWorldStates(t *testing.T) {
	eng := engine.New(open(t))
	for _, size := range []struct{ horizon, members, worlds, seats, features int }{{1, 1, 1, 2, 1}, {3, 2, 5, 3, 7}, {2, 3, 67, 4, 5}, {5, 1, 2, 16, 31}} {
		for _, next := range []bool{false, true} {
			for _, normalizes := range []bool{false, true} {
				s := eng.NewState()
				defer s.Close()
				places := size.worlds * size.seats
				c := ofSizes(size.members, places, size.horizon)
				w := newWorldStates(s, seatSpaces(size.seats, size.features, envs.Discrete(2)), c)
				a := &Agent{cfg: NetworkConfig{ObsLimit: 1.5}}
				if normalizes {
					a.normalizer = nn.NewNormalizer(s, size.members, size.features)
				}
				dims := w.states.Dims()[:3]
				obs := s.Scratch("obs", engine.Float32, append(slices.Clone(dims), engine.Axis("feature", size.features))...)
				done := s.Scratch("done", engine.Uint32, dims...)
				if err := s.Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				dice := rand.New(rand.NewPCG(3, uint64(size.features)))
				draw := func(to *engine.Tensor, f func(i int) float64) []float64 {
					values := make([]float64, to.Len())
					for i := range values {
						values[i] = float64(float32(f(i)))
					}
					write(t, to, values)
					return values
				}
				flags := draw(done, func(int) float64 { return float64(dice.IntN(16)) })
				left := func(place int) bool { return next && envs.Done(flags[place])&envs.Terminated != 0 }
				seen := draw(obs, func(i int) float64 {
					if left(i / size.features) {
						return math.NaN()
					}
					return dice.NormFloat64()
				})
				var values []float64
				if normalizes {
					values = draw(a.normalizer.Values(), func(int) float64 { return 0.3 + dice.Float64() })
				}
				poison(t, w.states)
				run(t, eng, func(r *engine.Recorder) {
					if !next {
						done = nil
					}
					w.record(r, a, obs, done)
				})
				var want []float64
				for place := range size.horizon * size.members * places {
					m, seat := place/places%size.members, place%size.seats
					for k := range size.seats {
						from, x := place-seat+(seat+k)%size.seats, make([]float64, size.features)
						if !left(from) {
							copy(x, seen[from*size.features:])
						}
						if normalizes {
							x = normalized(x, values[m*2*size.features:][:2*size.features], 1.5)
						}
						want = append(want, x...)
					}
				}
				if d := deviation(read(t, w.states), want); !(d <= 1e-6) {
					t.Errorf("%+v, next %v, normalized %v: states deviate by %g; want at most 1e-6", size, next, normalizes, d)
				}
			}
		}
	}
}

// TestWorldStatesFollow: in rollouts, what a critic sees after a step, of an agent that goes on, is what it sees at the next step, also where others leave.
func TestWorldStatesFollow(t *testing.T) {
	cfg, network := worldPPO()
	cfg.RolloutLength = 40
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	x, w := p.collector.Trajectory(), p.agent.world
	record := func(f func(*engine.Recorder)) []float64 {
		poison(t, w.states)
		run(t, p.State().Engine(), f)
		return read(t, w.states)
	}
	poison(t, x.NextObs)
	now := record(func(r *engine.Recorder) {
		p.collector.Record(r)
		w.record(r, p.agent, x.Obs, nil)
	})
	next := record(func(r *engine.Recorder) { w.record(r, p.agent, x.NextObs, x.Done) })
	flags, width, left := read(t, x.Done), w.states.Size("feature"), 0
	all := len(flags) / cfg.RolloutLength
	for at := range len(flags) - all {
		if flags[at] != 0 {
			continue
		}
		if flags[at^1] != 0 {
			left++
		}
		if a, b := next[at*width:][:width], now[(at+all)*width:][:width]; !slices.Equal(a, b) {
			t.Fatalf("after step %d of seat %d a critic sees %v, at the next %v", at/all, at%all, a, b)
		}
	}
	if left < 100 {
		t.Errorf("%d steps beside agents that left; want at least 100", left)
	}
}
