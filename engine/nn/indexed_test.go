package nn

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestIndexed compares networks that rows of a pool evaluate with float64: odd sizes, normalization, layers wider than a workgroup.
func TestIndexed(t *testing.T) {
	for _, c := range []struct {
		mlp                    MLP
		inputs, pool, base     int
		normalized, outOfRange bool
	}{
		{MLP{In: 5, Out: 3, Hidden: []int{13, 9}, Activation: Tanh}, 11, 4, 0, true, false},
		{MLP{In: 1, Out: 1}, 3, 2, 4, false, true},
		{MLP{In: 7, Out: 131, Hidden: []int{301}, Activation: Swish, LayerNorm: true}, 5, 3, 8, true, false},
		{MLP{In: 67, Out: 2, Hidden: []int{70, 3, 65}, Activation: ReLU, LayerNorm: true}, 9, 7, 0, false, false},
	} {
		s := testState(t)
		dice := rand.New(rand.NewPCG(3, 4))
		row := Align(c.base+c.mlp.Size()) + 4
		params := s.Tensor("params", engine.Float32, engine.Members(c.pool), engine.Axis("parameter", row))
		index := s.Tensor("index", engine.Uint32, engine.Axis("input", c.inputs))
		inputs := s.Tensor("inputs", engine.Float32, engine.Axis("input", c.inputs), engine.Axis("feature", c.mlp.In))
		outputs := s.Tensor("outputs", engine.Float32, engine.Axis("input", c.inputs), engine.Axis("output", c.mlp.Out))
		var normalizer *engine.Tensor
		if c.normalized {
			normalizer = s.Tensor("normalizer", engine.Float32, engine.Members(c.pool), engine.Axis("moment", 2), engine.Axis("feature", c.mlp.In))
		}
		n, err := NewIndexed(s, c.mlp, c.inputs)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		draw := func(tensor *engine.Tensor, scale float64) []float32 {
			values := make([]float32, tensor.Len())
			for i := range values {
				values[i] = float32(dice.NormFloat64() * scale)
			}
			if err := tensor.WriteFloat32(t.Context(), values); err != nil {
				t.Fatal(err)
			}
			return values
		}
		w, x := draw(params, 0.4), draw(inputs, 1)
		var moments []float32
		if c.normalized {
			moments = draw(normalizer, 0.7)
		}
		rows := make([]uint32, c.inputs)
		for i := range rows {
			rows[i] = dice.Uint32N(uint32(c.pool))
			if c.outOfRange {
				rows[i] = math.MaxUint32 - rows[i]
			}
		}
		if err := index.WriteUint32(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := outputs.Fill(t.Context(), float32(math.NaN())); err != nil {
			t.Fatal(err)
		}
		record(t, s, func(r *engine.Recorder) {
			n.Evaluate(r, Weights{Params: params, Base: c.base}, index, normalizer, 1.5, inputs, outputs)
		})
		got, err := outputs.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.inputs {
			owner := min(int(rows[i]), c.pool-1)
			h := make([]float64, c.mlp.In)
			for k := range h {
				h[k] = float64(x[i*c.mlp.In+k])
				if c.normalized {
					m := moments[owner*2*c.mlp.In:]
					h[k] = min(max((h[k]-float64(m[k]))*float64(m[c.mlp.In+k]), -1.5), 1.5)
				}
			}
			h = indexedReference(c.mlp, w[owner*row+c.base:], h)
			for o, want := range h {
				if v := float64(got[i*c.mlp.Out+o]); !(math.Abs(v-want) <= 2e-5*(1+math.Abs(want))*math.Sqrt(float64(c.mlp.In))) {
					t.Fatalf("%v: output %d of input %d is %g; want %g", c.mlp, o, i, v, want)
				}
			}
		}
	}
	s := testState(t)
	for _, m := range []MLP{{In: 1 << 20, Out: 1}, {In: 8192, Out: 8192}} {
		if _, err := NewIndexed(s, m, 1); err == nil || !strings.Contains(err.Error(), "want a smaller one") {
			t.Errorf("%v: %v; want an error", m, err)
		}
	}
}

// indexedReference evaluates a perceptron in float64.
func indexedReference(m MLP, row []float32, x []float64) []float64 {
	for _, l := range m.Layers() {
		y, mean, square := make([]float64, l.Out), 0.0, 0.0
		for o := range y {
			y[o] = float64(row[l.Bias+o])
			for i, v := range x {
				y[o] += v * float64(row[l.Weight+i*l.Out+o])
			}
			mean += y[o] / float64(l.Out)
		}
		for o := range y {
			square += (y[o] - mean) * (y[o] - mean) / float64(l.Out)
		}
		for o := range y {
			if l.Norms {
				y[o] = float64(row[l.Scale+o])*(y[o]-mean)/math.Sqrt(square+1e-6) + float64(row[l.Shift+o])
			}
			switch {
			case !l.Hidden:
			case l.Activation == Tanh:
				y[o] = math.Tanh(y[o])
			case l.Activation == ReLU:
				y[o] = max(y[o], 0)
			case l.Activation == Swish:
				y[o] /= 1 + math.Exp(-y[o])
			}
		}
		x = y
	}
	return x
}
