package nn

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Initializer is the distribution of initial weights. Biases begin at 0 unless stated otherwise, scales of layer
// normalization at 1.
type Initializer uint32

const (
	// Orthogonal: a random orthogonal matrix times the gain (A. M. Saxe et al., 2014). The customary choice of PPO
	// implementations.
	Orthogonal Initializer = iota
	// LecunUniform: U(-b, b) with b = gain sqrt(3 / in) (Y. LeCun et al., 1998). The default of Flax and Brax.
	LecunUniform
	// KaimingUniform: U(-b, b) with b = gain sqrt(6 / in) (K. He et al., 2015).
	KaimingUniform
	// FanInUniform: weights and biases U(-b, b) with b = gain sqrt(1 / in). The default of PyTorch's linear layers.
	FanInUniform
)

var initializerNames = [...]string{"orthogonal", "lecun_uniform", "kaiming_uniform", "fan_in_uniform"}

func (i Initializer) String() string { return config.NameOf(i, initializerNames[:]) }

// UnmarshalText parses an initializer's name: orthogonal, lecun_uniform, kaiming_uniform or fan_in_uniform.
func (i *Initializer) UnmarshalText(text []byte) error {
	return config.UnmarshalName(i, "initializer", initializerNames[:], text)
}

// MarshalText returns an initializer's name.
func (i Initializer) MarshalText() ([]byte, error) {
	return config.MarshalName(i, "initializer", initializerNames[:])
}

func (i Initializer) fill(w []float32, in, out int, gain float64, rng *engine.Rng) {
	switch i {
	case LecunUniform, KaimingUniform, FanInUniform:
		scale := map[Initializer]float64{LecunUniform: 3, KaimingUniform: 6, FanInUniform: 1}[i]
		bound := gain * math.Sqrt(scale/float64(in))
		for k := range w {
			w[k] = float32(bound * (2*float64(rng.Uniform()) - 1))
		}
	default:
		orthogonal(w, in, out, gain, rng)
	}
}

// orthogonal sets w [in, out] to gain times a matrix with orthonormal columns or rows, whichever are fewer: Q of a
// Gaussian matrix's QR decomposition, made unique by a positive diagonal of R.
func orthogonal(w []float32, in, out int, gain float64, rng *engine.Rng) {
	rows, cols := max(in, out), min(in, out)
	a := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			a.Set(i, j, float64(rng.Normal()))
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	for i := range in {
		for j := range out {
			row, col := i, j
			if in < out {
				row, col = j, i
			}
			w[i*out+j] = float32(math.Copysign(gain, r.At(col, col)) * q.At(row, col))
		}
	}
}
