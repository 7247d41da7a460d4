package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// virtualReference computes the folded row of a network in float64 by the definition of virtual batch normalization, over a batch of inputs.
func virtualReference(net Model, others int, row []float32, batch [][]float64) []float64 {
	folded := make([]float64, net.Size()+others)
	for i := range folded {
		folded[i] = float64(row[i])
	}
	scale := len(folded)
	for _, l := range net.Layers() {
		if !l.Hidden {
			break
		}
		r := &reference{net: net, row: folded}
		if !l.virtual() {
			for i, x := range batch {
				y, _ := referenceMaps[l.Kind](l, x)
				for j := range y {
					y[j], _ = activate(l.Activation, y[j])
				}
				batch[i] = y
			}
			continue
		}
		products := make([][]float64, len(batch))
		for i, x := range batch {
			products[i] = make([]float64, l.Units())
			affine(l, func(in, weight, out int) { products[i][out] += x[in] * r.row[weight] })
		}
		for c := range l.Out {
			n, mean, variance := float64(len(batch)*l.places()), 0.0, 0.0
			for _, z := range products {
				for p := c; p < len(z); p += l.Out {
					mean += z[p] / n
				}
			}
			for _, z := range products {
				for p := c; p < len(z); p += l.Out {
					variance += (z[p] - mean) * (z[p] - mean) / n
				}
			}
			s := float64(row[scale+c]) / math.Sqrt(variance+1e-3)
			for _, z := range products {
				for p := c; p < len(z); p += l.Out {
					z[p], _ = activate(l.Activation, s*(z[p]-mean)+float64(row[l.Bias+c]))
				}
			}
			for k := range l.In {
				folded[l.Weight+k*l.Out+c] *= s
			}
			folded[l.Bias+c] -= mean * s
		}
		batch, scale = products, scale+l.Out
	}
	return folded
}

// TestVirtualBatch compares folded rows with float64: several members with a reference batch each, several networks of each, more than are computed at
// once, odd numbers of rows and channels, inputs of floats and of bits, with a normalizer and without.
func TestVirtualBatch(t *testing.T) {
	const members, networks, others = 2, 5, 3
	for i, net := range []Model{
		MLP{In: 3, Out: 2, Hidden: []int{17, 5}, Activation: Tanh},
		Sequential{In: Shape{7, 6, 3}, Out: 5, Hidden: []LayerConfig{window(5, 3, 2, Same, ReLU), window(19, 2, 1, Valid, Swish), units(13, Tanh)}},
		Sequential{In: Shape{8, 5, 2}, Out: 3, Hidden: []LayerConfig{
			window(4, 3, 1, Same, Linear), pooling(MaxPool, 2, 2, Same), of(Activated, ReLU), units(33, ELU),
		}},
	} {
		for _, element := range []Element{Floats, Bits}[:1+i%2] {
			t.Run(fmt.Sprint(net, " ", element), func(t *testing.T) {
				const rows = 37
				s, features := testState(t), net.Inputs().Size()
				v, err := NewVirtualBatch(s, net, members, networks, rows, others)
				if err != nil {
					t.Fatal(err)
				}
				v.layers = newLayered(s.Sub("fewer"), net, 2+i, rows) // as if memory were less
				row := Align(v.at+VirtualScales(net)) + 4
				params := s.Scratch("params", engine.Float32, engine.Members(members*networks), engine.Axis("parameter", row))
				batch := s.Scratch("batch", element.Word(), engine.Members(members), engine.Axis("row", rows), engine.Axis("word", element.Words(features)))
				normalizer := s.Scratch("moments", engine.Float32, engine.Members(members), engine.Axis("moment", 2), engine.Axis("in", features))
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
				if err := s.Poison(t.Context()); err != nil {
					t.Fatal(err)
				}
				pv, nv := normals(params.Len()), normals(normalizer.Len())
				fill(t, params, pv)
				fill(t, normalizer, nv)
				xv := make([]float64, members*rows*features)
				if in := (Inputs{Parts: []*engine.Tensor{batch}, Element: element}); element == Floats {
					in.Normalizer, in.Limit = normalizer, testLimit
					values := normals(batch.Len())
					fill(t, batch, values)
					for j, x := range values {
						at := j/(rows*features)*2*features + j%features
						xv[j] = min(max(float64((x-nv[at])*nv[at+features]), -testLimit), testLimit)
					}
					record(t, s, func(r *engine.Recorder) { v.Record(r, params, in) })
				} else {
					words := make([]uint32, batch.Len())
					for j := range xv {
						if pv[j%len(pv)] > 0 {
							xv[j] = 1
							words[j/features*element.Words(features)+j%features/32] |= 1 << (j % features % 32)
						}
					}
					if err := batch.WriteUint32(t.Context(), words); err != nil {
						t.Fatal(err)
					}
					record(t, s, func(r *engine.Recorder) { v.Record(r, params, in) })
				}
				got := read(t, v.Folded())
				for n := range members * networks {
					var inputs [][]float64
					for r := range rows {
						inputs = append(inputs, xv[(n/networks*rows+r)*features:][:features])
					}
					for j, want := range virtualReference(net, others, pv[n*row:], inputs) {
						if x := float64(got[n*v.row()+j]); !(math.Abs(x-want) <= 2e-4*(1+math.Abs(want))) {
							t.Fatalf("network %d: float %d is %v; want %v", n, j, x, want)
						}
					}
				}
			})
		}
	}
}

// TestVirtualBatchRefused: layers that have moments of their own, memory, or values of other layers added.
func TestVirtualBatchRefused(t *testing.T) {
	for _, net := range []Model{
		MLP{In: 3, Out: 2, Hidden: []int{4}, LayerNorm: true},
		Sequential{In: Shape{3}, Out: 2, Hidden: []LayerConfig{{Kind: GRU, Units: 4}}},
		Sequential{In: Shape{3}, Out: 2, Hidden: []LayerConfig{of(Residual, Tanh)}},
	} {
		if err := CheckVirtualBatch(net); err == nil {
			t.Errorf("%v is accepted", net)
		}
	}
}
