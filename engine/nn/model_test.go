package nn

import (
	"reflect"
	"testing"
)

// other is a model of a type of its own with a perceptron's layers.
type other struct{ MLP }

// mixed has hidden layers with different activations.
type mixed struct{ MLP }

func (m mixed) Layers() []Layer {
	layers := m.MLP.Layers()
	layers[0].Activation = ReLU
	return layers
}

// strange has a first layer of an unknown kind.
type strange struct{ MLP }

func (m strange) Layers() []Layer {
	layers := m.MLP.Layers()
	layers[0].Kind = 99
	return layers
}

// Forms are planned from a model's layers, not from its type.
func TestPerceptronOfLayers(t *testing.T) {
	for _, want := range []MLP{
		{In: 3, Out: 2, Precision: Float16},
		{In: 3, Out: 2, Hidden: []int{5, 4}, Activation: Tanh, LayerNorm: true},
		{In: 7, Out: 1, Hidden: []int{6}, Activation: GELU, Precision: Float16},
	} {
		if got, err := perceptron(other{want}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the layers of %v are of %v, %v", want, got, err)
		}
	}
	if got, err := perceptron(mixed{MLP{In: 3, Out: 2, Hidden: []int{5, 4}, Activation: Tanh}}); err == nil {
		t.Errorf("layers of two activations are of %v; want an error", got)
	}
	if got, err := perceptron(strange{MLP{In: 3, Out: 2, Hidden: []int{5}}}); err == nil {
		t.Errorf("layers of an unknown kind are of %v; want an error", got)
	}
}
