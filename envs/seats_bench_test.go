package envs

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// BenchmarkSeats measures a step of all worlds of several agents, with the network evaluated by the kernel and before it: CPU time of the process, and time.
func BenchmarkSeats(b *testing.B) {
	eng := engine.New(open(b))
	for _, name := range []string{"SimpleSpread-v3", "PongDuel-v0"} {
		for _, hidden := range [][]int{{64, 64}, {256, 256}} {
			for _, worlds := range []int{16, 64, 256, 1024} {
				for _, placement := range []Placement{PlacementStream, PlacementStepped} {
					b.Run(fmt.Sprint(name, "/", hidden, "/worlds=", worlds, "/placement=", placement), func(b *testing.B) {
						env, err := Lookup(name)
						if err != nil {
							b.Fatal(err)
						}
						const horizon = 32
						f := fixtureIn(b, eng, env, RolloutConfig{Members: 1, Environments: worlds, Horizon: horizon, Trajectory: true},
							&nn.MLP{Hidden: hidden, Activation: nn.Tanh}, func(p *Policy) { p.Normalizer, p.Placement = nil, placement })
						p, err := eng.Record("rollout", func(r *engine.Recorder) { f.ro.Record(r, f.clock, f.policy) })
						if err != nil {
							b.Fatal(err)
						}
						defer p.Free()
						if err := p.Run(b.Context()); err != nil {
							b.Fatal(err)
						}
						b.ResetTimer()
						begin := cpu()
						for range b.N {
							if err := p.Run(b.Context()); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(float64((cpu()-begin).Microseconds())/float64(b.N)/horizon, "cpu-µs/step")
						b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/horizon, "µs/step")
					})
				}
			}
		}
	}
}
