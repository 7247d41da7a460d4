package optim

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Shape is the course by which a schedule lowers learning rates.
type Shape uint32

const (
	LinearShape Shape = iota
	CosineShape       // half a period (I. Loshchilov, F. Hutter, "SGDR", 2017, equation 5)
)

var shapeNames = [...]string{"linear", "cosine"}

func (s Shape) String() string { return config.NameOf(s, shapeNames[:]) }

// UnmarshalText parses a shape's name: linear or cosine.
func (s *Shape) UnmarshalText(text []byte) error {
	return config.UnmarshalName(s, "shape", shapeNames[:], text)
}

// MarshalText returns a shape's name.
func (s Shape) MarshalText() ([]byte, error) { return config.MarshalName(s, "shape", shapeNames[:]) }

// Schedule is the course of learning rates over a run, a factor that depends on the steps t that a clock has counted
// (shaders/engine/optim/schedule.comp). All numbers of steps are of one environment. The zero value is constant.
type Schedule struct {
	Shape  Shape
	Warmup float64 // steps over which the rates rise linearly from 0; 0: none
	Anneal float64 // steps after which the rates have fallen to Final, above Warmup; 0: they stay
	Final  float64 // fraction of the rates that is left then
	Steps  float64 // of an iteration, taken before its updates, which the warm-up counts
}

// Constant reports whether the factor is always 1.
func (s Schedule) Constant() bool { return s.Warmup == 0 && s.Anneal == 0 }

// Record records scheduled [M] = rate [M] times the factor.
func (s Schedule) Record(r *engine.Recorder, clock engine.Clock, rate, scheduled *engine.Tensor) {
	if rate.Len() != scheduled.Len() {
		r.Fail(fmt.Errorf("optim: learning rates %v scheduled as %v; want the same shape", rate, scheduled))
		return
	}
	k := scheduleKernel{
		Rate: rate.Range(), Clock: clock.Tensor().Range(), Scheduled: scheduled.Range(),
		Members: uint32(rate.Len()), Warmup: float32(s.Warmup), Final: float32(s.Final), Steps: float32(s.Steps), Cosine: s.Shape == CosineShape,
	}
	if s.Warmup > 0 {
		k.Rise = float32(1 / s.Warmup)
	}
	if s.Anneal > 0 {
		k.Fall = float32(1 / (s.Anneal - s.Warmup))
	}
	r.Dispatch(k.call(uint32(rate.Len()+63)/64, 1, 1))
}
