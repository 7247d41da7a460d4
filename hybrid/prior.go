package hybrid

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// PriorKind is the shape of a hyperparameter's prior. Its values are as in shaders/hybrid/prior.glsl.
type PriorKind uint32

const (
	// Uniform over [Low, High].
	Uniform PriorKind = iota
	// LogUniform: the logarithm is uniform; Low must be above 0.
	LogUniform
	// Horizon: g is uniform in [Low, High], and the value is 1 − e^−g, as in EvoRL for discounts and GAE's lambda; e^g
	// is approximately the number of steps that a discount looks ahead.
	Horizon
)

var priorNames = [...]string{"uniform", "log_uniform", "horizon"}

func (k PriorKind) String() string { return config.NameOf(k, priorNames[:]) }

// UnmarshalText parses the name of a prior.
func (k *PriorKind) UnmarshalText(text []byte) error {
	return config.UnmarshalName(k, "prior", priorNames[:], text)
}

// MarshalText returns the name of a prior.
func (k PriorKind) MarshalText() ([]byte, error) {
	return config.MarshalName(k, "prior", priorNames[:])
}

// Prior is the distribution of a hyperparameter's initial values. Its range also bounds later changes.
type Prior struct {
	Prior PriorKind `doc:"Shape: uniform, log_uniform, or horizon (the value is 1 - exp(-g), g uniform)."`
	Low   float64   `doc:"Lower end, of g for horizon."`
	High  float64   `doc:"Upper end, of g for horizon."`
}

// Validate checks the range.
func (p Prior) Validate() error {
	switch {
	case !(p.Low <= p.High):
		return config.Invalid("high", "the range is [%g, %g]; want low at most high", p.Low, p.High)
	case p.Prior == LogUniform && p.Low <= 0:
		return config.Invalid("low", "%g; want above 0 for log_uniform", p.Low)
	case p.Prior == Horizon && (p.Low < 0 || p.High > maxHorizon):
		return config.Invalid("high", "the range of g is [%g, %g]; want it within [0, %d] for horizon", p.Low, p.High, maxHorizon)
	}
	return nil
}

// maxHorizon keeps 1 − e^−g distinct from 1 in float32.
const maxHorizon = 15

// coordinates returns the ends of the range in the coordinate in which exploration moves.
func (p Prior) coordinates() (low, high float64) {
	if p.Prior == LogUniform {
		return math.Log(p.Low), math.Log(p.High)
	}
	return p.Low, p.High
}

// draw draws a value from the prior.
func (p Prior) draw(rng *engine.Rng) float32 {
	return float32(p.Quantile(float64(rng.Uniform())))
}

// Quantile returns the value below which a fraction u of the prior lies; u is between 0 and 1.
func (p Prior) Quantile(u float64) float64 {
	low, high := p.coordinates()
	x := low + (high-low)*u
	switch p.Prior {
	case LogUniform:
		x = math.Exp(x)
	case Horizon:
		x = -math.Expm1(-x)
	}
	return x
}
