package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/onnx"
)

// oneHot is the kind of layers that turn n tokens, whole numbers 0 … vocabulary - 1, into n rows of zeros with a one at the token's place. Another
// number has zeros only. There is no gradient at tokens: it is zero. Inputs must not be normalized. The values are an image [1, n, vocabulary].
type oneHot struct{}

func (oneHot) keys() []string { return []string{"vocabulary"} }

func (oneHot) layers(c LayerConfig, _ Sequential, in Shape) ([]Layer, error) {
	n := in.Size()
	if c.Vocabulary < 1 || c.Vocabulary > maxUnits || n*c.Vocabulary > maxPatch {
		return nil, fmt.Errorf("a vocabulary of %d for each of %d tokens; want 1 to %d, and at most %d in all", c.Vocabulary, n, maxUnits, maxPatch)
	}
	return []Layer{{Kind: OneHot, Out: c.Vocabulary, Shape: Shape{1, n, c.Vocabulary}, Hidden: true}}, nil
}

func (oneHot) size(c LayerConfig) string { return fmt.Sprint(c.Vocabulary) }

func (oneHot) export(g *exporter, l Layer, x string) string {
	n, choices := l.Shape[1], make([]float32, l.Out)
	for i := range choices {
		choices[i] = float32(i)
	}
	x = g.Node("Reshape", []string{g.flat(x, n), g.Ints(g.prefix+"tokens", 0, int64(n), 1)})
	x = g.Node("Equal", []string{x, g.Floats(g.prefix+"choices", choices, l.Out)})
	x = g.Node("Transpose", []string{g.Node("Cast", []string{x}, onnx.Int("to", int64(onnx.Float32)))}, onnx.Ints("perm", 0, 2, 1))
	return g.Node("Reshape", []string{x, g.Ints(g.prefix+"shape", 0, int64(l.Out), 1, int64(n))})
}

func (oneHot) evaluate(_ []float64, l Layer, x, _ []float64) []float64 {
	y := make([]float64, l.Units())
	for i, token := range x {
		if token >= 0 && token < float64(l.Out) && token == float64(int(token)) {
			y[i*l.Out+int(token)] = 1
		}
	}
	return y
}

func (oneHot) forward(r *engine.Recorder, l *layered, at mapping) {
	from, to := at.inputs, at.values
	k := oneHotKernel{
		Tokens: from.Tensor.Range(), Values: to.Tensor.Range(), Count: uint32(at.Shape[1]), Rows: uint32(at.rows),
		TokenAt: uint32(from.At), TokenStride: uint32(from.Stride), TokenRow: uint32(from.Row), SharedBy: uint32(from.shared()),
		ValueStride: uint32(to.Stride), ValueRow: uint32(to.Row), Choices: uint32(at.Out),
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(at.Units())
	r.Dispatch(k.call(groups, l.imageGroups(at.rows, 0), uint32(l.networks)))
}

func (oneHot) backward(r *engine.Recorder, _ *layered, _ mapping, _, to Matrix, _ slope) {
	r.Fill(to.Tensor, 0)
}

// embedding is the kind of layers that turn each of n tokens into a row of weights, the same for all n, plus biases: one_hot, and a convolution of one
// pixel without activation. The values are an image [1, n, units].
type embedding struct{}

func (embedding) keys() []string { return []string{"vocabulary", "units"} }

func (embedding) layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error) {
	tokens, err := oneHot{}.layers(c, m, in)
	if err != nil {
		return nil, err
	}
	linear := Linear
	table, err := convolution{}.layers(LayerConfig{Channels: c.Units, Kernel: 1, Activation: &linear}, m, tokens[0].Shape)
	if err != nil {
		return nil, fmt.Errorf("an embedding in %d units: %w", c.Units, err)
	}
	table[0].Norms = false
	return append(tokens, table...), nil
}

func (embedding) size(c LayerConfig) string { return fmt.Sprintf("%dx%d", c.Vocabulary, c.Units) }

func (embedding) export(*exporter, Layer, string) string { return "" } // its layers are of other kinds

func (embedding) evaluate([]float64, Layer, []float64, []float64) []float64 { return nil }
