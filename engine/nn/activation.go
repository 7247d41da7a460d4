package nn

import "github.com/evorl/evorl/engine/config"

// Activation is the nonlinearity of hidden layers. The numbers are as in shaders/engine/nn/activation.glsl.
type Activation uint32

const (
	Linear Activation = iota
	ReLU
	Tanh
	ELU   // alpha = 1
	Swish // x sigmoid(x), also named SiLU
	GELU  // x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2: D. Hendrycks, K. Gimpel, 2016, as JAX's gelu and PyTorch's with approximate="tanh"
)

var activationNames = [...]string{"linear", "relu", "tanh", "elu", "swish", "gelu"}

func (a Activation) String() string { return config.NameOf(a, activationNames[:]) }

// needsInput reports whether the derivative needs the activation's input, and not only its output.
func (a Activation) needsInput() bool { return a == Swish || a == GELU }

// UnmarshalText parses an activation's name: linear, relu, tanh, elu, gelu or swish, which PyTorch and JAX also name silu.
func (a *Activation) UnmarshalText(text []byte) error {
	if string(text) == "silu" {
		*a = Swish
		return nil
	}
	return config.UnmarshalName(a, "activation", activationNames[:], text)
}

// MarshalText returns an activation's name.
func (a Activation) MarshalText() ([]byte, error) {
	return config.MarshalName(a, "activation", activationNames[:])
}
