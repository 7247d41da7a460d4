package nn

import "fmt"

// Activation is the nonlinearity of hidden layers. The numbers are those of shaders/engine/nn/activation.glsl.
type Activation uint32

const (
	Linear Activation = iota
	ReLU
	Tanh
	ELU   // alpha = 1
	Swish // x sigmoid(x)
)

var activationNames = [...]string{"linear", "relu", "tanh", "elu", "swish"}

func (a Activation) String() string {
	if int(a) < len(activationNames) {
		return activationNames[a]
	}
	return fmt.Sprintf("Activation(%d)", uint32(a))
}

// UnmarshalText reads an activation by its name: linear, relu, tanh, elu or swish.
func (a *Activation) UnmarshalText(text []byte) error {
	for i, name := range activationNames {
		if string(text) == name {
			*a = Activation(i)
			return nil
		}
	}
	return fmt.Errorf("activation %q; want one of %q", text, activationNames)
}

// MarshalText writes an activation's name.
func (a Activation) MarshalText() ([]byte, error) {
	if int(a) >= len(activationNames) {
		return nil, fmt.Errorf("activation %d; want 0 to %d", uint32(a), len(activationNames)-1)
	}
	return []byte(activationNames[a]), nil
}
