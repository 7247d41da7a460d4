package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestGAE compares advantages and targets with the definition in float64, episodes ending in every way.
func TestGAE(t *testing.T) {
	eng := engine.New(open(t))
	for _, size := range [][3]int{{1, 1, 1}, {7, 3, 5}, {33, 2, 67}, {129, 5, 13}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			horizon, members, environments := size[0], size[1], size[2]
			s := eng.NewState()
			defer s.Close()
			p := engine.Members(members)
			dims := []engine.Dim{engine.Time(horizon), p, engine.Environments(environments)}
			reward, value, next := s.Scratch("reward", engine.Float32, dims...), s.Scratch("value", engine.Float32, dims...), s.Scratch("next", engine.Float32, dims...)
			done := s.Scratch("done", engine.Uint32, dims...)
			discount, lambda := s.Scratch("discount", engine.Float32, p), s.Scratch("lambda", engine.Float32, p)
			advantage, target := s.Scratch("advantage", engine.Float32, dims...), s.Scratch("target", engine.Float32, dims...)
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}

			dice := rand.New(rand.NewPCG(1, uint64(horizon)))
			draw := func(to *engine.Tensor, f func() float64) []float64 {
				values := make([]float64, to.Len())
				for i := range values {
					values[i] = float64(float32(f()))
				}
				write(t, to, values)
				return values
			}
			rewards, values, nexts := draw(reward, dice.NormFloat64), draw(value, dice.NormFloat64), draw(next, dice.NormFloat64)
			flags := draw(done, func() float64 {
				if dice.Float64() < 0.8 {
					return 0
				}
				return float64(1 + dice.IntN(3))
			})
			gammas := draw(discount, func() float64 { return 0.9 + 0.1*dice.Float64() })
			lambdas := draw(lambda, func() float64 { return 0.8 + 0.2*dice.Float64() })

			all := members * environments
			for i := range nexts { // what is not needed is not read
				last := i/all == horizon-1
				switch d := envs.Done(flags[i]); {
				case d&envs.Terminated != 0 || !d.Over() && !last:
					nexts[i] = math.NaN()
				}
			}
			write(t, next, nexts)
			poison(t, advantage, target)
			run(t, eng, func(r *engine.Recorder) { gae(r, reward, done, value, next, discount, lambda, advantage, target) })
			want, wantTarget := make([]float64, len(rewards)), make([]float64, len(rewards))
			for at := range all {
				gamma, decay := gammas[at/environments], lambdas[at/environments]
				for start := range horizon {
					// Equation 16 as a sum: the steps to the episode's end, each temporal difference decayed.
					weight := 1.0
					for k := start; k < horizon; k++ {
						i := k*all + at
						d := envs.Done(flags[i])
						delta := rewards[i] - values[i]
						switch {
						case d.Over() || k == horizon-1:
							if d&envs.Terminated == 0 {
								delta += gamma * nexts[i]
							}
						default:
							delta += gamma * values[i+all]
						}
						want[start*all+at] += weight * delta
						if d.Over() {
							break
						}
						weight *= gamma * decay
					}
					wantTarget[start*all+at] = want[start*all+at] + values[start*all+at]
				}
			}
			for name, d := range map[string]float64{"advantage": deviation(read(t, advantage), want), "target": deviation(read(t, target), wantTarget)} {
				t.Logf("%s deviates by %.1e", name, d)
				if !(d <= 1e-6) {
					t.Errorf("%s deviates by %g of its largest value; want at most 1e-6", name, d)
				}
			}
		})
	}
}
