package bridge

import (
	"fmt"
	"testing"
)

// BenchmarkStep is the time of a step of all environments, without a device: of Gymnasium's CartPole, beside tools/peers/vector_env.py.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("CartPole-v1/environments=%d", n), func(b *testing.B) {
			st := open(b, "gymnasium:CartPole-v1", gymConfig(b), nil, n)
			s := newStep(n, 4, 1)
			if err := st.Reset(b.Context(), nil, seedsOf(n), s.Obs); err != nil {
				b.Fatal(err)
			}
			for k := 0; b.Loop(); k++ {
				clear(s.Terminated)
				clear(s.Truncated)
				for i := range s.Action {
					s.Action[i] = float32((k*7 + i*13) / 3 % 2)
				}
				if err := st.Step(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/step")
		})
	}
}
