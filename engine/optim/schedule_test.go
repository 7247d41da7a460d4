package optim

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// factor is the schedule's factor in float64.
func (s Schedule) factor(t float64) float64 {
	warm, fall := 1.0, 1.0
	if s.Warmup > 0 {
		warm = min((t+s.Steps)/s.Warmup, 1)
	}
	if s.Anneal > 0 {
		x := min(max(t-s.Warmup, 0)/(s.Anneal-s.Warmup), 1)
		if fall = 1 - x; s.Shape == CosineShape {
			fall = (1 + math.Cos(math.Pi*x)) / 2
		}
		fall = s.Final + (1-s.Final)*fall
	}
	return warm * fall
}

// Rates at the beginning, within and at the end of warm-up and annealing, and beyond, for more members than a workgroup.
func TestSchedule(t *testing.T) {
	eng := open(t)
	s := eng.NewState()
	defer s.Close()
	const members = 67
	clock := engine.NewClock(s)
	rate, scheduled := s.Tensor("rate", engine.Float32, engine.Members(members)), s.Tensor("scheduled", engine.Float32, engine.Members(members))
	rates := make([]float32, members)
	for m := range rates {
		rates[m] = float32(1e-3 * float64(m+1))
	}
	if err := rate.WriteFloat32(t.Context(), rates); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Schedule{
		{Anneal: 50}, {Anneal: 97.5, Final: 0.1}, {Anneal: 80, Shape: CosineShape}, {Warmup: 30, Steps: 10},
		{Warmup: 20, Anneal: 70, Steps: 10, Shape: CosineShape, Final: 0.25}, {Warmup: 0.5, Anneal: 40, Steps: 10},
	} {
		if c.Constant() {
			t.Errorf("%+v is constant", c)
		}
		program, err := eng.Record("schedule", func(r *engine.Recorder) { c.Record(r, clock, rate, scheduled) })
		if err != nil {
			t.Fatal(err)
		}
		for _, steps := range []uint32{0, 10, 20, 30, 50, 60, 90, 1000000} {
			if err := clock.Tensor().WriteUint32(t.Context(), []uint32{3, steps}); err != nil {
				t.Fatal(err)
			}
			poison := make([]float32, members)
			for m := range poison {
				poison[m] = float32(math.NaN())
			}
			if err := scheduled.WriteFloat32(t.Context(), poison); err != nil {
				t.Fatal(err)
			}
			if err := program.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := scheduled.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for m, x := range got {
				if want := float64(rates[m]) * c.factor(float64(steps)); !(math.Abs(float64(x)-want) <= 3e-7*float64(rates[m])) {
					t.Fatalf("%+v: rate of member %d after %d steps is %g; want %g", c, m, steps, x, want)
				}
			}
		}
		program.Free()
	}
	_, err := eng.Record("schedule", func(r *engine.Recorder) { Schedule{Anneal: 1}.Record(r, clock, rate, clock.Tensor()) })
	if err == nil {
		t.Error("a schedule of other shape was recorded")
	}
}
