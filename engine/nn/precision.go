package nn

import (
	"errors"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// Precision is how matrix products of a layered network are computed. The numbers around them (parameters, activations,
// gradients, moments of optimizers) are float32 in either case.
type Precision uint32

const (
	// Float32 multiplies and sums in float32.
	Float32 Precision = iota
	// Float16 rounds both matrices of a product to float16 and sums in float32, by cooperative matrices: mixed precision
	// training (P. Micikevicius et al., 2018). Finite numbers beyond 65504 saturate. Products with fewer than Float16Least
	// rows, columns or terms, such as layers with one output, stay in float32.
	Float16
)

var precisionNames = [...]string{"float32", "float16"}

func (p Precision) String() string { return config.NameOf(p, precisionNames[:]) }

// UnmarshalText parses a precision's name: float32 or float16.
func (p *Precision) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "precision", precisionNames[:], text)
}

// MarshalText returns a precision's name.
func (p Precision) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "precision", precisionNames[:])
}

// Halves reports whether a precision of Float16 changes any product of the network over a batch of so many rows: whether rows,
// inputs and outputs of a layer are at least Float16Least.
func Halves(m Model, rows int) bool {
	return slices.ContainsFunc(m.Layers(), func(l Layer) bool { return min(rows, l.In, l.Out) >= Float16Least })
}

// ErrNoFloat16 is wrapped by the error of Precision.Check if a device cannot compute products in float16.
var ErrNoFloat16 = errors.New("not supported")

// Check returns an error that says what a device lacks to compute products in this precision.
func (p Precision) Check(info vk.Info) error {
	if p != Float16 {
		return nil
	}
	_, err := float16On(info)
	return err
}
