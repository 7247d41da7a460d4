package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine/onnx"
)

// denseKind is the kind of layers that multiply all their inputs by a matrix.
type denseKind struct{}

func (denseKind) keys() []string { return []string{"units", "activation"} }

func (denseKind) layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error) {
	if c.Units < 1 || c.Units > maxUnits {
		return nil, fmt.Errorf("%d units; want 1 to %d", c.Units, maxUnits)
	}
	return []Layer{{
		Kind: Dense, In: in.Size(), Out: c.Units, Hidden: true, Norms: m.LayerNorm, Activation: c.activation(m.Activation),
	}}, nil
}

func (denseKind) size(c LayerConfig) string { return fmt.Sprint(c.Units) }

func (denseKind) export(g *exporter, l Layer, x string) string {
	return g.Node("Gemm", []string{g.flat(x, l.In), g.parameter("weight"), g.parameter("bias")}, onnx.Int("transB", 1))
}

func (denseKind) evaluate(row []float64, l Layer, x, _ []float64) []float64 {
	y := append([]float64(nil), row[l.Bias:][:l.Out]...)
	product(y, x, row[l.Weight:])
	return y
}
