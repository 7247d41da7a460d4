package nn

import (
	"fmt"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

// BenchmarkSequence measures a chunk of 128 steps of a cell forward, and back through time, in each form; with the layers around it, which are small.
// min-ms is the shortest of the runs.
func BenchmarkSequence(b *testing.B) {
	for _, kind := range []Kind{GRU, LSTM} {
		for _, units := range []int{64, 128, 256} {
			for _, rows := range []int{8, 32} {
				for _, form := range []string{"chosen", "steps"} {
					for _, backward := range []bool{false, true} {
						m := Recurrent{In: 4, Out: 2, Cell: kind, Units: units, Activation: Tanh}
						b.Run(fmt.Sprintf("%v/units=%d/rows=%d/form=%s/backward=%v", kind, units, rows, form, backward), func(b *testing.B) {
							benchmarkSequence(b, m, rows, form, backward)
						})
					}
				}
			}
		}
	}
}

func benchmarkSequence(b *testing.B, m Recurrent, rows int, form string, backward bool) {
	const steps = 128
	s := testState(b)
	net, err := New(s, m, 1, rows)
	if err != nil {
		b.Fatal(err)
	}
	_, layer, _, err := cellOf(m)
	if err != nil {
		b.Fatal(err)
	}
	q, err := net.newSequence(s.Sub("sequence"), steps, rows, scanForms[form](s.Engine().Device().Info(), cell{layer, 1}, rows))
	if err != nil {
		b.Fatal(err)
	}
	over := func(name string, size int) *engine.Tensor {
		x := s.Tensor(name, engine.Float32, engine.Time(steps), engine.Members(1), engine.Environments(rows), engine.Axis("feature", size))
		fill(b, x, normals(x.Len()))
		return x
	}
	x, y, dy := over("x", m.In), over("y", m.Out), over("dy", m.Out)
	params := s.Tensor("params", engine.Float32, engine.Members(1), engine.Axis("parameter", Align(m.Size())))
	gradient := s.Tensor("gradient", engine.Float32, engine.Axis("split", 1), engine.Members(1), engine.Axis("parameter", Align(m.Size())))
	values := normals(params.Len())
	for i := range values {
		values[i] /= 16
	}
	fill(b, params, values)
	w, in := Weights{Params: params}, Inputs{Parts: []*engine.Tensor{x}}
	forward, err := s.Engine().Record("forward", func(r *engine.Recorder) { q.Forward(r, w, in, nil, y) })
	if err != nil {
		b.Fatal(err)
	}
	defer forward.Free()
	both, err := s.Engine().Record("both", func(r *engine.Recorder) {
		q.Forward(r, w, in, nil, y)
		q.Backward(r, dy, SequenceGradients{Gradients: Gradients{Params: gradient}})
	})
	if err != nil {
		b.Fatal(err)
	}
	defer both.Free()
	run := func(p *engine.Program) time.Duration {
		begin := time.Now()
		if err := p.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	run(both)
	least, processor := time.Hour, cpuTime()
	for b.Loop() {
		if backward {
			least = min(least, run(both))
		} else {
			least = min(least, run(forward))
		}
	}
	b.ReportMetric(least.Seconds()*1e3, "min-ms")
	b.ReportMetric((cpuTime()-processor)/float64(b.N)*1e3, "cpu-ms")
}
