package nn

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
)

// BenchmarkPerturbed measures the processor time of layers of low-rank perturbations, beside that of the same layers of one shared network.
func BenchmarkPerturbed(b *testing.B) {
	const networks = 1024
	for _, c := range []struct{ in, out int }{{5, 256}, {256, 256}, {256, 2}, {256, 8}} {
		for _, rank := range []int{0, 1, 4} {
			b.Run(fmt.Sprintf("%dx%d/rank%d", c.in, c.out, rank), func(b *testing.B) {
				s := testState(b)
				model := MLP{In: c.in, Out: c.out}
				params := s.Scratch("params", engine.Float32, engine.Members(1), engine.Axis("parameter", Align(model.Size())))
				var n *Network
				var err error
				weights := Weights{Params: params}
				if rank > 0 {
					layout, failed := NewLowRank(parametersOf(model, 0), rank)
					if failed != nil {
						b.Fatal(failed)
					}
					weights.Perturbation = NewPerturbation(s, layout, 1, networks, vector(b, s, "deviation", 1, []float32{0.1}), true)
					fill(b, weights.Perturbation.Factors, normals(weights.Perturbation.Factors.Len()))
					fill(b, weights.Perturbation.Vectors, normals(weights.Perturbation.Vectors.Len()))
					n, err = NewPerturbed(s, model, rank, 1, networks, 1)
				} else {
					n, err = New(s, model, 1, networks)
				}
				if err != nil {
					b.Fatal(err)
				}
				axes := func(last int) []engine.Dim {
					return []engine.Dim{engine.Members(1), Networks(networks), engine.Axis("row", 1), engine.Axis("feature", last)}
				}
				if rank == 0 {
					axes = func(last int) []engine.Dim {
						return []engine.Dim{engine.Members(1), engine.Axis("row", networks), engine.Axis("feature", last)}
					}
				}
				inputs, outputs := s.Scratch("inputs", engine.Float32, axes(c.in)...), s.Scratch("outputs", engine.Float32, axes(c.out)...)
				fill(b, inputs, normals(inputs.Len()))
				fill(b, params, normals(params.Len()))
				const calls = 20
				p, err := s.Engine().Record("evaluate", func(r *engine.Recorder) {
					for range calls {
						n.Evaluate(r, weights, Inputs{Parts: []*engine.Tensor{inputs}}, outputs)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
				defer p.Free()
				run := func() {
					if err := p.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				run()
				begin := cpuTime()
				for b.Loop() {
					run()
				}
				b.ReportMetric(1e9*(cpuTime()-begin)/float64(b.N*calls*networks), "cpu-ns/row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
