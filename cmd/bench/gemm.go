package bench

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// productsPerSubmission is the number of products that follow each other in a submission, as in a program that learns: the latency of a
// submission is a case of its own (submit_latency).
const productsPerSubmission = 16

// gemm measures products of m × k by k × n matrices, one per member, in GFLOP/s. The limit is the multiply-add peak.
func gemm(members, m, n, k int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		s := b.eng.NewState()
		defer s.Close()
		matrix := func(name string, rows, columns int) nn.Matrix {
			t := s.Tensor(name, engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("column", columns))
			return nn.Matrix{Tensor: t, Stride: rows * columns, Row: columns}
		}
		g := nn.Gemm{Members: members, M: m, N: n, K: k, A: matrix("a", m, k), B: matrix("b", k, n), C: matrix("c", m, n)}
		if err := s.Zero(ctx); err != nil {
			return figure{}, err
		}
		for _, x := range []nn.Matrix{g.A, g.B} { // no denormal numbers, which are slow on some devices
			if err := x.Tensor.Fill(ctx, 0.5); err != nil {
				return figure{}, err
			}
		}
		p, err := b.eng.Record("gemm", func(r *engine.Recorder) {
			for range productsPerSubmission {
				g.Record(r)
			}
		})
		if err != nil {
			return figure{}, err
		}
		defer p.Free()
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, productsPerSubmission*2*float64(members)*float64(m)*float64(n)*float64(k)/1e9, func() error { return p.Run(ctx) })
			return err
		})
		return figure{value: rate, limit: peak / 1e9}, err
	}
}
