package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/onnx"
)

// Recurrent is the Model of a network with memory: dense hidden layers, a cell that carries its state from step to step, dense hidden layers and a
// linear layer of the outputs.
//
// A cell with inputs x and state h [units] has the weights W [In, gates units], b [gates units] and U [units, gates units]; σ is the logistic function.
//
// LSTM (S. Hochreiter, J. Schmidhuber, 1997; F. Gers et al., 2000), gates in the order i, f, g, o as in Flax and PyTorch; the memory is [h, c]:
//
//	i, f, o = σ(x W + h U + b)    g = tanh(x W + h U + b)
//	c' = f c + i g                h' = o tanh(c')
//
// GRU (K. Cho et al., 2014, in the form of Flax and PyTorch), gates in the order r, z, n; the memory is h:
//
//	r, z = σ(x W + h U + b)       n = tanh(x W + b + r (h U + recurrent bias))
//	h' = (1 - z) n + z h
//
// The parameters are one row, layer by layer; of the cell: W, b, U and, in GRUs, the recurrent bias [units] of n.
type Recurrent struct {
	In, Out    int
	Before     []int      // units of each dense layer before the cell; at most 8, may be empty
	Cell       Kind       // GRU or LSTM
	Units      int        // of the cell
	After      []int      // units of each dense hidden layer after the cell; at most 8, may be empty
	Activation Activation // of the dense hidden layers
	Precision  Precision  // of matrix products
}

// Inputs implements Model.
func (m Recurrent) Inputs() Shape { return Shape{m.In} }

// Outputs implements Model.
func (m Recurrent) Outputs() int { return m.Out }

// Memory implements Model: one float a unit of a GRU, two of an LSTM.
func (m Recurrent) Memory() int { return Layer{Kind: m.Cell, Out: m.Units}.Memory() }

// Layers implements Model.
func (m Recurrent) Layers() []Layer {
	layers, _ := m.layout()
	return layers
}

// Size implements Model.
func (m Recurrent) Size() int {
	_, size := m.layout()
	return size
}

func (m Recurrent) layout() ([]Layer, int) {
	var layers []Layer
	in := m.In
	add := func(l Layer) {
		l.In, l.Precision = in, m.Precision
		layers, in = append(layers, l), l.Out
	}
	for _, units := range m.Before {
		add(Layer{Out: units, Hidden: true, Activation: m.Activation})
	}
	add(Layer{Kind: m.Cell, Out: m.Units, Hidden: true})
	for _, units := range m.After {
		add(Layer{Out: units, Hidden: true, Activation: m.Activation})
	}
	add(Layer{Out: m.Out})
	return layers, layout(layers)
}

// Init implements Model. The cell's weights are drawn with a gain of 1, separately for each gate: by `how` for its
// inputs, orthogonal for its state, and its biases are 0, as in Flax. With FanInUniform all are U(-b, b) with b = sqrt(1 / units), as in PyTorch.
func (m Recurrent) Init(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	initialize(m.Layers(), row, how, hiddenGain, outputGain, rng)
}

// initializeCell draws the initial parameters of a cell: see Recurrent.Init.
func (l Layer) initializeCell(row []float32, how Initializer, rng *engine.Rng) {
	units := l.Kind.gates() * l.Out
	end := l.Recurrent + l.Out*units
	if l.Kind == GRU {
		end = l.RecurrentBias + l.Out
	}
	if how == FanInUniform {
		how.fill(row[l.Weight:end], l.Out, units, 1, rng)
		return
	}
	clear(row[l.Weight:end])
	for _, w := range []struct {
		at, in int
		how    Initializer
	}{{l.Weight, l.In, how}, {l.Recurrent, l.Out, Orthogonal}} {
		gate := make([]float32, w.in*l.Out)
		for g := range l.Kind.gates() {
			w.how.fill(gate, w.in, l.Out, 1, rng)
			for i := range w.in {
				copy(row[w.at+i*units+g*l.Out:], gate[i*l.Out:(i+1)*l.Out])
			}
		}
	}
}

// Check validates the description.
func (m Recurrent) Check() error {
	if !m.Cell.cell() {
		return fmt.Errorf("nn: a recurrent network whose cell is %v; want %v or %v", m.Cell, GRU, LSTM)
	}
	if m.Units < 1 || m.Units > maxUnits {
		return fmt.Errorf("nn: a cell of %d units; want 1 to %d", m.Units, maxUnits)
	}
	for _, hidden := range [][]int{m.Before, m.After} {
		if err := (MLP{In: m.In, Out: m.Out, Hidden: hidden, Activation: m.Activation}).Check(); err != nil {
			return err
		}
	}
	return nil
}

// String formats the network as, for example, "4-128-gru128-128-2 relu".
func (m Recurrent) String() string {
	s := fmt.Sprint(m.In)
	for _, l := range m.Layers() {
		s += "-"
		if l.Kind != Dense {
			s += l.Kind.String()
		}
		s += fmt.Sprint(l.Out)
	}
	return fmt.Sprintf("%s %v", s, m.Activation)
}

// recurrentCell is the kind of cells: see Recurrent.
type recurrentCell struct{}

func (recurrentCell) keys() []string { return []string{"units"} }

func (recurrentCell) layers(c LayerConfig, _ Sequential, in Shape) ([]Layer, error) {
	if c.Units < 1 || c.Units > maxUnits {
		return nil, fmt.Errorf("a cell of %d units; want 1 to %d", c.Units, maxUnits)
	}
	return []Layer{{Kind: c.Kind, In: in.Size(), Out: c.Units, Hidden: true}}, nil
}

func (recurrentCell) size(c LayerConfig) string { return fmt.Sprint(c.Units) }

func (recurrentCell) export(g *exporter, l Layer, x string) string {
	n := l.Out
	h := g.Columns(g.memory, 0, n)
	product := g.Node("Gemm", []string{h, g.parameter("recurrent.weight")}, onnx.Int("transB", 1))
	inputs := g.Node("Gemm", []string{g.flat(x, l.In), g.parameter("weight"), g.parameter("bias")}, onnx.Int("transB", 1))
	gate := func(i int, f string) string {
		return g.Node(f, []string{g.Node("Add", []string{g.Columns(inputs, i*n, (i+1)*n), g.Columns(product, i*n, (i+1)*n)})})
	}
	times := func(a, b string) string { return g.Node("Mul", []string{a, b}) }
	if l.Kind == LSTM {
		c := g.Node("Add", []string{times(gate(1, "Sigmoid"), g.Columns(g.memory, n, 2*n)), times(gate(0, "Sigmoid"), gate(2, "Tanh"))})
		h = times(gate(3, "Sigmoid"), g.Node("Tanh", []string{c}))
		g.next = g.Node("Concat", []string{h, c}, onnx.Int("axis", 1))
		return h
	}
	inner := g.Node("Add", []string{g.Columns(product, 2*n, 3*n), g.parameter("recurrent.bias")})
	inner = g.Node("Tanh", []string{g.Node("Add", []string{g.Columns(inputs, 2*n, 3*n), times(gate(0, "Sigmoid"), inner)})})
	z := gate(1, "Sigmoid") // (1 - z) n + z h = n + z (h - n)
	g.next = g.Node("Add", []string{inner, times(z, g.Node("Sub", []string{h, inner}))})
	return g.next
}

func (recurrentCell) evaluate(row []float64, l Layer, x, memory []float64) []float64 {
	n, units := l.Out, l.Kind.gates()*l.Out
	h, inputs, state := memory[:n], append([]float64(nil), row[l.Bias:][:units]...), make([]float64, units)
	product(inputs, x, row[l.Weight:])
	product(state, h, row[l.Recurrent:])
	gate := func(g, i int) float64 { return inputs[g*n+i] + state[g*n+i] }
	if l.Kind == LSTM {
		for i, c := range memory[n : 2*n] {
			c = sigmoid(gate(1, i))*c + sigmoid(gate(0, i))*math.Tanh(gate(2, i))
			h[i], memory[n+i] = sigmoid(gate(3, i))*math.Tanh(c), c
		}
		return append([]float64(nil), h...)
	}
	for i := range h {
		inner := math.Tanh(inputs[2*n+i] + sigmoid(gate(0, i))*(state[2*n+i]+row[l.RecurrentBias+i]))
		z := sigmoid(gate(1, i))
		h[i] = (1-z)*inner + z*h[i]
	}
	return append([]float64(nil), h...)
}

// cell reports whether layers of the kind carry their state from step to step.
func (k Kind) cell() bool { return k == LSTM || k == GRU }

// gates returns how many values a layer's products compute for each unit.
func (k Kind) gates() int {
	switch k {
	case LSTM:
		return 4
	case GRU:
		return 3
	}
	return 1
}

// Memory returns the number of floats that the layer carries from step to step.
func (l Layer) Memory() int {
	switch l.Kind {
	case LSTM:
		return 2 * l.Out
	case GRU:
		return l.Out
	}
	return 0
}

// placeCell places the parameters that only cells have, from float `at` of the row on, and returns where they end.
func (l *Layer) placeCell(at int) int {
	l.Recurrent = at
	at += l.Out * l.Kind.gates() * l.Out
	if l.Kind == GRU {
		l.RecurrentBias = at
		at += l.Out
	}
	return at
}

// section is the Model of some consecutive dense layers of another model. Its parameters are in the other's rows.
type section struct {
	Model
	inputs Shape
	layers []Layer
}

func (p section) Inputs() Shape { return p.inputs }

func (p section) Outputs() int { return p.layers[len(p.layers)-1].Out }

func (p section) Layers() []Layer { return p.layers }

// cellOf divides a model's layers at its cell: those before it, with the product of its inputs as a linear layer of all gates, and those after it.
// A model that does not have exactly one cell with a dense layer after it is an error.
func cellOf(m Model) (before section, cell Layer, after section, err error) {
	layers := m.Layers()
	isCell := func(l Layer) bool { return l.Kind.cell() }
	at := slices.IndexFunc(layers, isCell)
	if at < 0 || at == len(layers)-1 || slices.ContainsFunc(layers[at+1:], isCell) {
		return before, cell, after, fmt.Errorf("nn: network %v; want one recurrent cell, and a layer after it", m)
	}
	cell = layers[at]
	product := Layer{In: cell.In, Out: cell.Kind.gates() * cell.Out, Weight: cell.Weight, Bias: cell.Bias, Precision: cell.Precision}
	before = section{m, m.Inputs(), append(slices.Clone(layers[:at]), product)}
	return before, cell, section{m, Shape{cell.Out}, layers[at+1:]}, nil
}
