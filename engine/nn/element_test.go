package nn

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPackingInputs: networks give the same outputs and gradients, bit by bit, for inputs that are packed and for the floats that they stand for.
func TestPackingInputs(t *testing.T) {
	for _, c := range []struct {
		element   Element
		features  int
		normalize bool
	}{{Bits, 67, false}, {Bytes, 9, true}, {Bits, 68, true}, {Bytes, 12, false}} { // four features are copied at once where they are multiples of four
		t.Run(fmt.Sprint(c.element, c.features), func(t *testing.T) {
			const steps, members, rows, outputs = 3, 2, 5, 4
			s := testState(t)
			layers := []LayerConfig{{Kind: Convolution, Channels: 2, Kernel: 1}, {Kind: Dense, Units: 3}}
			model := Config{Activation: Tanh, Layers: layers}.Model(Shape{c.features, 1, 1}, outputs, Float32)
			net, err := New(s, model, members, rows)
			if err != nil {
				t.Fatal(err)
			}
			pass, err := net.NewPass(s.Sub("pass"), rows)
			if err != nil {
				t.Fatal(err)
			}
			p, b, words := engine.Members(members), engine.Environments(rows), c.element.Words(c.features)
			tensor := func(name string, typ engine.DType, dims ...engine.Dim) *engine.Tensor {
				return s.Tensor(name, typ, dims...)
			}
			x, out := engine.Axis("feature", c.features), engine.Axis("output", outputs)
			floats := tensor("floats", engine.Float32, engine.Time(steps), p, b, x)
			packed := tensor("packed", engine.Uint32, engine.Time(steps), p, b, engine.Axis("word", words))
			params := tensor("params", engine.Float32, p, engine.Axis("parameter", Align(model.Size())))
			normalizer := tensor("normalizer", engine.Float32, p, engine.Axis("moment", 2), x)
			var got, gradients [2]*engine.Tensor
			for i, name := range []string{"floats", "packed"} {
				got[i] = tensor(name+"_y", engine.Float32, engine.Time(steps), p, b, out)
				gradients[i] = tensor(name+"_gradient", engine.Float32, engine.Axis("split", 1), p, engine.Axis("parameter", Align(model.Size())))
				fill(t, got[i], nil)
				fill(t, gradients[i], nil)
			}
			slopes, unused := tensor("slopes", engine.Float32, p, b, out), tensor("unused", engine.Float32, p, b, out)
			fill(t, params, normals(params.Len()))
			fill(t, normalizer, normals(normalizer.Len()))
			fill(t, slopes, normals(slopes.Len()))
			values, stored := make([]float32, floats.Len()), make([]uint32, packed.Len())
			each := 32 / map[Element]int{Bits: 1, Bytes: 8}[c.element]
			for i := range values {
				level, row, f := rand.Uint32N(uint32(c.element.Levels())), i/c.features, i%c.features
				stored[row*words+f/each] |= level << (f % each * 32 / each)
				values[i] = float32(level)
				if c.element == Bytes {
					values[i] *= float32(1) / 255
				}
			}
			fill(t, floats, values)
			if err := packed.WriteUint32(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			w := Weights{Params: params}
			record(t, s, func(r *engine.Recorder) {
				for i, in := range []Inputs{{Parts: []*engine.Tensor{floats}}, {Parts: []*engine.Tensor{packed}, Element: c.element}} {
					if in.Limit = testLimit; c.normalize {
						in.Normalizer = normalizer
					}
					net.Evaluate(r, w, in, got[i])
					in.Parts = []*engine.Tensor{in.Parts[0].Index(0)}
					pass.Forward(r, w, in, unused)
					pass.Backward(r, slopes, Gradients{Params: gradients[i]})
				}
			})
			for what, pair := range map[string][2]*engine.Tensor{"output": got, "gradient": gradients} {
				a, b := read(t, pair[0]), read(t, pair[1])
				for i := range a {
					if row := i % Align(model.Size()); a[i] != b[i] && (what == "output" || row < model.Size()) {
						t.Fatalf("%s %d is %v for packed inputs; want %v", what, i, b[i], a[i])
					}
				}
			}
		})
	}
	s := testState(t)
	net, err := New(s, MLP{In: 8, Out: 2, Hidden: []int{4}}, 1, 1) // lanes of every device hold it
	if err != nil {
		t.Fatal(err)
	}
	p, b := engine.Members(1), engine.Axis("row", 1)
	w := Weights{Params: s.Tensor("params", engine.Float32, p, engine.Axis("parameter", Align(net.Model().Size())))}
	x, y := s.Tensor("x", engine.Uint32, p, b, engine.Axis("word", 1)), s.Tensor("y", engine.Float32, p, b, engine.Axis("out", 2))
	_, err = s.Engine().Record("wrong", func(r *engine.Recorder) { net.Evaluate(r, w, Inputs{Parts: []*engine.Tensor{x}, Element: Bits}, y) })
	if err == nil || !strings.Contains(err.Error(), "layer by layer") {
		t.Errorf("packed inputs of a network in lanes: %v", err)
	}
}
