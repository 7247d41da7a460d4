package bench

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// productsPerSubmission is the number of products that follow each other in a submission, as in a program that learns: the latency of a
// submission is a case of its own (submit_latency).
const productsPerSubmission = 16

// gemm measures products of g's sizes, with matrices of its own, one product per member, in GFLOP/s. The limit is the multiply-add peak.
func gemm(g nn.Gemm) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		s := b.eng.NewState()
		defer s.Close()
		matrix := func(name string, rows, columns int, transposed bool) nn.Matrix {
			if transposed {
				rows, columns = columns, rows
			}
			t := s.Tensor(name, engine.Float32, engine.Members(g.Members), engine.Axis("row", rows), engine.Axis("column", columns))
			return nn.Matrix{Tensor: t, Stride: rows * columns, Row: columns}
		}
		g := g
		g.A, g.B, g.C = matrix("a", g.M, g.K, g.TransposeA), matrix("b", g.K, g.N, g.TransposeB), matrix("c", g.M, g.N, false)
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
		operations := 2 * float64(g.Members) * float64(g.M) * float64(g.N) * float64(g.K)
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, productsPerSubmission*operations/1e9, submitted(ctx, p))
			return err
		})
		return figure{value: rate, limit: peak / 1e9}, err
	}
}
