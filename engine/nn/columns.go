package nn

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Columns is the layout of a network in the lanes' registers of a subgroup, which hold a panel of its second hidden
// layer's units at a time (shaders/engine/nn/mlp_columns.glsl).
type Columns struct {
	Lanes         // Hidden2 is the number of units of a panel
	Width2 uint32 // units of the second hidden layer
	Panels int
}

// Limits of columns: a panel's weights per lane, 16 KiB of first-level cache for eight lanes and as much for their
// gradients; and panels; each computes the first layer again.
const (
	maxColumnWeights = 512
	maxPanels        = 4
)

// ColumnsOf returns this layout of a model in a subgroup of the device. Networks that do not have one or two hidden
// layers, or too wide ones, are errors, as are those with layer normalization.
func ColumnsOf(model Model, info vk.Info) (Columns, error) {
	m, err := perceptron(model)
	if err != nil {
		return Columns{}, err
	}
	width := int(info.SubgroupSize)
	if m.LayerNorm || len(m.Hidden) < 1 || len(m.Hidden) > 2 {
		return Columns{}, fmt.Errorf("nn: network %v; panels have one or two hidden layers without layer normalization", m)
	}
	if len(m.Hidden) == 1 {
		lanes, err := LanesOf(m, info)
		return Columns{Lanes: lanes, Panels: 1}, err
	}
	units := func(n int) int { return (n + width - 1) / width }
	rows, all := units(m.Hidden[0])*width, units(m.Hidden[1])
	most := min(maxColumnWeights/rows, all)
	if most < 1 || units(m.Hidden[0])*m.In > maxColumnWeights {
		return Columns{}, fmt.Errorf("nn: the first hidden layer of %v is too wide for lanes: %w", m, ErrNoRoom)
	}
	panels := (all + most - 1) / most
	if panels > maxPanels {
		return Columns{}, fmt.Errorf("nn: network %v takes %d panels; want at most %d: %w", m, panels, maxPanels, ErrNoRoom)
	}
	panel := m
	panel.Hidden = []int{m.Hidden[0], (all + panels - 1) / panels * width}
	lanes, err := LanesOf(panel, info)
	return Columns{Lanes: lanes, Width2: uint32(m.Hidden[1]), Panels: panels}, err
}
