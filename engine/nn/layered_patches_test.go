package nn

import (
	"testing"

	"github.com/evorl/evorl/engine"
)

// Patches take memory only once a product gathers them: none of a network whose products all read them in the images, and those of the gradient at values
// below a convolution whose window is not of whole steps.
func TestPatchesMemory(t *testing.T) {
	turned := Sequential{In: Shape{7, 6, 3}, Out: 2, Hidden: []LayerConfig{window(16, 3, 1, Valid, ReLU), window(12, 2, 1, Same, ReLU)}}
	steps := Sequential{In: Shape{12, 12, 3}, Out: 2, Hidden: []LayerConfig{window(16, 3, 1, Same, ReLU), window(12, 4, 2, Valid, ReLU)}}
	moved := Sequential{In: Shape{9, 9, 3}, Out: 2, Hidden: []LayerConfig{window(16, 3, 1, Valid, ReLU), window(16, 3, 2, Valid, ReLU)}}
	for _, c := range []struct {
		net  Sequential
		want bool // patches are gathered where a device can read them in images
	}{{turned, false}, {steps, false}, {moved, true}} {
		t.Run(c.net.String(), func(t *testing.T) {
			s := testState(t)
			f := networkCase{net: c.net, members: 2, inner: 7}.fixture(t, s)
			f.gradients.Inputs = []*engine.Tensor{nil}
			pass, err := f.network.NewPass(s, f.rows)
			if err != nil {
				t.Fatal(err)
			}
			l := f.network.form.(*layered)
			first := l.layers[0]
			everywhere := !Gemm{Members: 2, M: first.places(), N: first.Out, K: first.In, patches: first.Window}.readsPatches(l.info)
			if got := l.gatheredFloats() > 0; got != (c.want || everywhere) {
				t.Errorf("some products are said to gather patches: %v; want %v", got, c.want || everywhere)
			}
			record(t, s, func(r *engine.Recorder) { f.network.Evaluate(r, f.w, f.inputs, f.outputs) })
			if got := l.patches != nil; got != everywhere {
				t.Errorf("an evaluation gathered patches: %v; want %v", got, everywhere)
			}
			record(t, s, f.step(pass))
			if got := l.patches != nil; got != (c.want || everywhere) {
				t.Errorf("a pass and its gradients gathered patches: %v; want %v", got, c.want || everywhere)
			}
		})
	}
}
