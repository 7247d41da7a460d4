package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Indexed evaluates a model of dense layers for inputs with parameters of their own: a row of a pool, by its
// index. For few inputs of many networks, such as the opponents of a game.
type Indexed struct {
	model  Model
	inputs int
	hidden [2]*engine.Tensor // [inputs, units] each, for layers in turn
}

// NewIndexed makes scratch memory in s for the given number of inputs.
//
// Errors: a model with layers that are not dense, layers too large for a dispatch on the software driver.
func NewIndexed(s *engine.State, model Model, inputs int) (*Indexed, error) {
	if err := model.Check(); err != nil {
		return nil, err
	}
	if inputs < 1 {
		return nil, fmt.Errorf("nn: a pool's network %v with %d inputs; want at least 1", model, inputs)
	}
	units := 1
	for _, l := range model.Layers() {
		if l.Kind != Dense {
			return nil, fmt.Errorf("nn: a pool's network %v has a layer of kind %v; want dense layers", model, l.Kind)
		}
		if n := indexedIterations(l, maxIndexedWorkgroup); n > maxIndexedIterations {
			return nil, fmt.Errorf("nn: a pool's network %v has a layer of %d × %d; want a smaller one", model, l.In, l.Out)
		}
		if l.Hidden {
			units = max(units, l.Out)
		}
	}
	n := &Indexed{model: model, inputs: inputs}
	for i := range n.hidden {
		n.hidden[i] = s.Scratch(fmt.Sprintf("indexed_hidden%d", i), engine.Float32, engine.Axis("input", inputs), engine.Axis("unit", units))
	}
	return n, s.Err()
}

const (
	maxIndexedWorkgroup  = 256
	maxIndexedIterations = 50000 // Mesa's software driver leaves an invocation's loops after 65,535
)

// indexedIterations returns the loop iterations of an invocation.
func indexedIterations(l Layer, workgroup int) int {
	return (l.Out + workgroup - 1) / workgroup * (l.In/4 + 3 + 3)
}

// Evaluate records the outputs [inputs, Out] for inputs [inputs, In]. index [inputs] u32 is the row of w.Params, [K, row],
// with an input's network. Indices beyond K mean the last row. normalizer, [K, 2, In], has mean and reciprocal deviation
// of each row's inputs, which are then clipped to ±limit; nil: none.
func (n *Indexed) Evaluate(r *engine.Recorder, w Weights, index, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor) {
	in, out, pool := n.model.Inputs().Size(), n.model.Outputs(), w.Params.Size(engine.MemberAxis)
	switch {
	case index.Len() != n.inputs || inputs.Len() != n.inputs*in || outputs.Len() != n.inputs*out:
		r.Fail(fmt.Errorf("nn: a pool's network %v: index %v, inputs %v, outputs %v; want those of %d inputs", n.model, index, inputs, outputs, n.inputs))
		return
	case w.Base+n.model.Size() > w.Row() || normalizer != nil && normalizer.Len() != pool*2*in:
		r.Fail(fmt.Errorf("nn: a pool's network %v: parameters %v from %d on, normalizer %v; want rows of at least %d, and two moments of %d inputs each",
			n.model, w.Params, w.Base, normalizer, w.Base+n.model.Size(), in))
		return
	}
	limits := r.Engine().Device().Info().Limits
	x, y := uint32(n.inputs), uint32(1)
	for x > limits.MaxGroups[0] {
		x, y = (x+1)/2, 2*y
	}
	layers := n.model.Layers()
	from := inputs
	for i, l := range layers {
		to := n.hidden[i%2]
		if i == len(layers)-1 {
			to = outputs
		}
		k := rowsForwardKernel{
			Inputs: from.Range(), Params: w.Params.Range(), Index: index.Range(), Outputs: to.Range(),
			Count: uint32(n.inputs), Pool: uint32(pool), InSize: uint32(l.In), OutSize: uint32(l.Out), Row: uint32(w.Row()),
			Weight: uint32(w.Base + l.Weight), Bias: uint32(w.Base + l.Bias), Scale: uint32(w.Base + l.Scale), Shift: uint32(w.Base + l.Shift),
			Limit: limit, Workgroup: r.Workgroup(), Activation: uint32(l.Activation), Norms: l.Norms,
		}
		for indexedIterations(l, int(k.Workgroup)) > maxIndexedIterations && k.Workgroup < maxIndexedWorkgroup {
			k.Workgroup *= 2
		}
		if i == 0 && normalizer != nil {
			k.Normalizer = normalizer.Range()
		}
		r.Dispatch(k.call(x, y, 1))
		from = to
	}
}
