package nn

import "fmt"

// Own is the layout of a network that each lane of a subgroup holds alone. Its fields are specialization constants of
// shaders/engine/nn/mlp_own.glsl.
type Own struct {
	Hidden1, Hidden2, Activation uint32
	LayerNorm                    bool
}

// maxOwn bounds the parameters that a lane holds alone. The kernel's code grows with them, and so does its compile
// time, a second for [32, 32].
const maxOwn = 1536

// OwnOf plans how each lane holds a model of its own. It fails if the model is not dense with one or two hidden layers, or
// has more than maxOwn parameters.
func OwnOf(model Model) (Own, error) {
	m, err := perceptron(model)
	if err != nil {
		return Own{}, err
	}
	if n := len(m.Hidden); n < 1 || n > 2 {
		return Own{}, fmt.Errorf("nn: network %v has %d hidden layers; a lane holds one or two", m, n)
	}
	if size := m.Size(); size > maxOwn {
		return Own{}, fmt.Errorf("nn: network %v has %d parameters; a lane holds at most %d: %w", m, size, maxOwn, ErrNoRoom)
	}
	o := Own{Hidden1: uint32(m.Hidden[0]), Activation: uint32(m.Activation), LayerNorm: m.LayerNorm}
	if len(m.Hidden) == 2 {
		o.Hidden2 = uint32(m.Hidden[1])
	}
	return o, nil
}
