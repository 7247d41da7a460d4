package ec

import (
	"context"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestStopper: each run ends by the criterion that it meets, and not before.
func TestStopper(t *testing.T) {
	const dim, population = 4, 10 // 22 generations are recent
	spread := stopMetrics{spread: 1, relative: 1}
	progress := func(i int) stopMetrics {
		g := spread
		g.best = -math.Exp(-0.01 * float64(i))
		g.median, g.quarter, g.worst = g.best-0.1, g.best-0.2, g.best-0.3
		return g
	}
	for _, c := range []struct {
		end      string
		at       int // the range of the last generation
		atMost   int
		generate func(i int) stopMetrics
	}{
		{"", 0, 0, progress},
		{"tolfun", 10, 10, func(i int) stopMetrics {
			g := spread
			g.best, g.median, g.quarter, g.worst = -1e-12, -2e-12, -2e-12, -3e-12
			return g
		}},
		{"tolfunhist", 10, 10, func(i int) stopMetrics {
			g := spread
			g.best, g.median, g.quarter, g.worst = -1, -2, -3, -4
			return g
		}},
		{"tolfunhist", 121, 122, func(i int) stopMetrics { return progress(min(i, 100)) }},
		{"tolx", 1, 1, func(i int) stopMetrics { g := progress(i); g.spread = 1e-12; return g }},
		{"no effect", 1, 1, func(i int) stopMetrics { g := progress(i); g.relative = 1e-7; return g }},
		{"flat fitness", 2, 2, func(i int) stopMetrics { g := progress(i); g.quarter = g.best; return g }},
		// Where only the best is finite, the others have its fitness.
		{"", 0, 0, func(i int) stopMetrics { g := progress(i); g.quarter, g.notFinite = g.best, population-1; return g }},
		{"not finite", 1, 1, func(i int) stopMetrics { g := progress(i); g.notFinite = population; return g }},
		// Improves until 600, then constant on average; the median of three quarters of the recorded generations
		// decides.
		{"stagnation", 700, 1400, func(i int) stopMetrics {
			g := progress(min(i, 600))
			wave := 0.001 * math.Sin(float64(i*i))
			if i > 600 {
				g.best, g.median = g.best-0.001+wave, g.median+wave
			}
			return g
		}},
	} {
		s := newStopper(DefaultStop(), dim, population, false)
		end, at := "", 0
		for i := 1; i <= 2000 && end == ""; i++ {
			end, at = s.add(c.generate(i)), i
		}
		if c.end == "" {
			at = 0
		}
		if end != c.end || at < c.at || at > c.atMost {
			t.Errorf("ends with %q at generation %d; want %q at %d to %d", end, at, c.end, c.at, c.atMost)
		}
	}
}

// given is a problem with fitness that a test writes into the search.
type given struct{ dim int }

func (g given) Name() string                             { return "given" }
func (g given) Space(members int) Space                  { return Space{Members: members, Dim: g.dim} }
func (g given) Objectives() int                          { return 1 }
func (g given) Start(_, _ uint32, members int) []float32 { return make([]float32, members*g.dim) }
func (g given) New(_ context.Context, _ *engine.State, _ engine.Clock, _, population int) (Evaluation, error) {
	return givenEvaluation{population}, nil
}

type givenEvaluation struct{ population int }

func (e givenEvaluation) Window() int                                                  { return e.population }
func (e givenEvaluation) Steps() (candidate, clock int)                                { return 0, 0 }
func (e givenEvaluation) Init(context.Context) error                                   { return nil }
func (e givenEvaluation) Record(*engine.Recorder, *engine.Tensor, int, *engine.Tensor) {}
func (e givenEvaluation) Finish(*engine.Recorder)                                      {}
func (e givenEvaluation) Prepare(context.Context, *engine.Tensor, int) error           { return nil }
func (e givenEvaluation) Evaluate(context.Context, *engine.Tensor, int) (engine.Evaluation, error) {
	return engine.Evaluation{}, nil
}
func (e givenEvaluation) Fitness(context.Context, *engine.State, *engine.Tensor, int) (engine.Fitness, error) {
	return func(*engine.Recorder, *engine.Tensor) {}, nil
}
func (e givenEvaluation) Rows(*engine.Metrics) func(*engine.Recorder) {
	return func(*engine.Recorder) {}
}
func (e givenEvaluation) Close() {}

// TestStopMetrics: the metrics of stopping criteria agree with a generation's fitness and candidates.
func TestStopMetrics(t *testing.T) {
	const members, dim = 2, 6
	eng := engine.New(open(t), engine.Seed(9))
	cfg := DefaultSNES()
	cfg.Population = 21
	s, err := NewSearch(t.Context(), eng, cfg, given{dim}, members)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.addStopMetrics()
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw := make([]float32, s.fitness.Len())
	for i := range raw {
		raw[i] = float32(math.Sin(float64(7 * i)))
	}
	if err := s.fitness.WriteFloat32(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	ticket, err := s.Step(t.Context(), 0)
	if err == nil {
		err = ticket.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := s.Metrics().Read(0)
	if err != nil {
		t.Fatal(err)
	}
	fitness, err := s.generation.ranking.finite.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.window.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, row := cfg.Population, s.space.Row()
	for m := range members {
		rank := ranks(wide(fitness[m*p:][:p]))
		want := map[string]float64{}
		for c, r := range rank {
			f := float64(fitness[m*p+c])
			switch r {
			case p / 2:
				want[stopMedian] = f
			case 3 * p / 4:
				want[stopQuarter] = f
			case p - 1:
				want[stopWorst] = f
			}
		}
		for i := range dim {
			low, high := math.Inf(1), math.Inf(-1)
			for c := range p {
				v := float64(x[(m*p+c)*row+i])
				low, high = min(low, v), max(high, v)
			}
			want[stopSpread] = max(want[stopSpread], high-low)
			want[stopRelative] = max(want[stopRelative], (high-low)/max(math.Abs(low), math.Abs(high)))
		}
		for name, w := range want {
			if got := float64(metrics[name][m]); !(math.Abs(got-w) <= 1e-6*math.Abs(w)) {
				t.Errorf("member %d: %s is %g; want %g", m, name, got, w)
			}
		}
	}
}
