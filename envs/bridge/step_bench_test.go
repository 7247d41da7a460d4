package bridge

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/envs"
)

// BenchmarkStep is the time of a step of all environments, without a device: of Gymnasium's CartPole, and of Atari's Pong, beside tools/peers/vector_env.py.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("CartPole-v1/environments=%d", n), func(b *testing.B) {
			s := newStep(n, 4, 1)
			benchmarkStep(b, open(b, "gymnasium:CartPole-v1", gymConfig(b), nil, n), s, func(st *stepper) error {
				return st.Reset(b.Context(), nil, seedsOf(n), s.Obs)
			})
		})
	}
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("Pong/environments=%d", n), func(b *testing.B) {
			cfg := atariConfig(b)
			cfg.Atari = Atari2015
			s := framedStep(n, 84*84)
			benchmarkStep(b, open(b, "gymnasium:ALE/Pong-v5", cfg, nil, n), s, func(st *stepper) error {
				return st.ResetFrames(b.Context(), nil, seedsOf(n), s.Frames)
			})
		})
	}
}

func benchmarkStep(b *testing.B, st *stepper, s *envs.Step, reset func(*stepper) error) {
	if err := reset(st); err != nil {
		b.Fatal(err)
	}
	n := len(st.at)
	for k := 0; b.Loop(); k++ {
		clear(s.Terminated)
		clear(s.Truncated)
		for i := range s.Action {
			s.Action[i] = float32((k*7 + i*13) / 3 % st.hello.Action.N)
		}
		if err := st.Step(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/step")
}
