package ec_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/vk"
)

func askTell(t testing.TB, dev *vk.Device, algo ec.Algorithm, space ec.Space) *ec.AskTell {
	t.Helper()
	a, err := ec.NewAskTell(engine.New(dev, engine.Seed(11)), algo, space)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// from returns start points: every coordinate of member m is m.
func from(members, dim int) [][]float32 {
	out := make([][]float32, members)
	for m := range out {
		out[m] = slices.Repeat([]float32{float32(m)}, dim)
	}
	return out
}

// evaluation returns the fitness, objectives and descriptors of one candidate.
type evaluation func(x []float32) (fitness float32, objectives, descriptor []float32)

// generations runs n generations of ask and tell.
func generations(t testing.TB, a *ec.AskTell, n int, f evaluation) {
	t.Helper()
	for range n {
		all, err := a.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := a.Ask(t.Context()); err != nil || !reflect.DeepEqual(all, again) {
			t.Fatalf("asked again there are other candidates, %v", err)
		}
		var scores ec.Results
		for _, rows := range all {
			var fitness []float32
			var objectives, descriptors [][]float32
			for _, x := range rows {
				f, o, d := f(x)
				fitness, objectives, descriptors = append(fitness, f), append(objectives, o), append(descriptors, d)
			}
			scores.Fitness, scores.Objectives, scores.Descriptors = append(scores.Fitness, fitness), append(scores.Objectives, objectives),
				append(scores.Descriptors, descriptors)
		}
		if err := a.Tell(t.Context(), scores); err != nil {
			t.Fatal(err)
		}
	}
}

// hill has its maximum, 0, at 1/4 in every coordinate. Elsewhere it is sometimes not finite.
func hill(x []float32) (float32, []float32, []float32) {
	sum := 0.0
	for _, v := range x {
		sum -= (float64(v) - 0.25) * (float64(v) - 0.25)
	}
	if math.Float32bits(x[0])%8 == 0 {
		sum = math.NaN()
	}
	return float32(sum), nil, nil
}

// TestAskTell: each member reaches the maximum from its own start; the best candidate has the best fitness; a
// search resumed from a checkpoint ends with the same result.
func TestAskTell(t *testing.T) {
	dev := open(t)
	space := ec.Space{Members: 3, Dim: 5}
	a := askTell(t, dev, ec.DefaultSNES(), space)
	if err := a.Begin(t.Context(), from(3, 5)); err != nil {
		t.Fatal(err)
	}
	if fitness, x, err := a.Best(t.Context()); err != nil || fitness[1] == fitness[1] || !slices.Equal(x[2], from(3, 5)[2]) {
		t.Errorf("the best before anything was told is %v of %v, %v; want the start and NaN", x, fitness, err)
	}
	generations(t, a, 100, hill)
	dir := t.TempDir()
	if _, err := a.State().Save(t.Context(), dir, 100); err != nil {
		t.Fatal(err)
	}
	generations(t, a, 100, hill)
	fitness, x, err := a.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	solution, err := a.Solution(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, f := range fitness {
		if got, _, _ := hill(x[m]); got != f || !(f >= -1e-9) {
			t.Errorf("member %d: the best fitness is %g, that of its candidate %g; want above -1e-9", m, f, got)
		}
		if len(solution[m]) != 1 || len(solution[m][0]) != 5 || !(math.Abs(float64(solution[m][0][4])-0.25) < 1e-3) {
			t.Errorf("member %d: solution %v; want 5 times 1/4", m, solution[m])
		}
	}
	rest := askTell(t, dev, ec.DefaultSNES(), space)
	saved, _, err := checkpoint.Latest(dir)
	if err == nil {
		err = errors.Join(rest.Load(t.Context(), saved), rest.State().Poison(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	generations(t, rest, 100, hill)
	if again, y, err := rest.Best(t.Context()); err != nil || !slices.Equal(again, fitness) || !reflect.DeepEqual(x, y) {
		t.Errorf("resumed, the best is %v; want %v", again, fitness)
	}
}

// TestAskTellOpen: in an open space, searches that begin inside the bounds find an optimum outside.
func TestAskTellOpen(t *testing.T) {
	dev := open(t)
	ga, elites := ec.DefaultGA(), ec.DefaultMAPElites()
	ga.VariationConfig = ec.RealCodedVariation()
	elites.Cells = []int{2}
	for _, algorithm := range []ec.Algorithm{ec.DefaultDE(), ec.DefaultSHADE(), ec.DefaultPSO(), ec.DefaultCSO(), ga, elites} {
		space := ec.Space{Members: 1, Dim: 2, Low: []float32{-1, -1}, High: []float32{1, 1}, Open: true}
		if algorithm.Name() == elites.Name() {
			space.DescriptorLow, space.DescriptorHigh = []float32{0}, []float32{1}
		}
		a := askTell(t, dev, algorithm, space)
		if err := a.Begin(t.Context(), from(1, 2)); err != nil {
			t.Fatal(err)
		}
		generations(t, a, 30, func(x []float32) (float32, []float32, []float32) {
			return -(x[0]-3)*(x[0]-3) - (x[1]-3)*(x[1]-3), nil, []float32{0.5}
		})
		_, best, err := a.Best(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if x := best[0]; !(x[0] > 1.2 && x[1] > 1.2) {
			t.Errorf("%s: the best candidate is %v; want it beyond the bounds, nearer to 3, 3", algorithm.Name(), x)
		}
	}
}

// TestAskTellSeveral: fronts and archives of candidates that the caller evaluates.
func TestAskTellSeveral(t *testing.T) {
	dev := open(t)
	space := ec.Space{Members: 2, Dim: 3, Objectives: 2, Low: []float32{0, 0, 0}, High: []float32{1, 1, 1}}
	nsga := ec.DefaultNSGA2()
	nsga.Population = 20
	a := askTell(t, dev, nsga, space)
	if err := a.Begin(t.Context(), from(2, 3)); err != nil {
		t.Fatal(err)
	}
	// The optima have 0 in all coordinates but the first.
	trade := func(x []float32) (float32, []float32, []float32) {
		return 0, []float32{x[0] - x[1] - x[2], 1 - x[0] - x[1] - x[2]}, nil
	}
	generations(t, a, 60, trade)
	front, err := a.Objectives(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Solution(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m := range front {
		if len(front[m]) != 20 || len(x[m]) != 20 {
			t.Fatalf("member %d: %d solutions of %d objectives; want 20", m, len(x[m]), len(front[m]))
		}
		for i, f := range front[m] {
			if _, want, _ := trade(x[m][i]); !slices.Equal(f, want) {
				t.Errorf("member %d, solution %d: objectives %v; want %v", m, i, f, want)
			}
			if !(f[0]+f[1] >= 0.9) {
				t.Errorf("member %d, solution %d: objectives %v; want a sum near 1", m, i, f)
			}
		}
	}
	if fitness, best, err := a.Best(t.Context()); fitness != nil || best != nil || err != nil {
		t.Errorf("the best of several objectives is %v of %v, %v", best, fitness, err)
	}

	elites := ec.DefaultMAPElites()
	elites.Population, elites.Cells = 16, []int{4}
	space.Objectives, space.DescriptorLow, space.DescriptorHigh = 0, []float32{0}, []float32{1}
	b := askTell(t, dev, elites, space)
	if err := b.Begin(t.Context(), from(2, 3)); err != nil {
		t.Fatal(err)
	}
	generations(t, b, 30, func(x []float32) (float32, []float32, []float32) { return -x[1], nil, x[:1] })
	archive := b.Generation().Strategy().(ec.Archiver).Archive()
	fitness, err := archive.Fitness.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for cell, f := range fitness {
		if !(f >= -0.2) {
			t.Errorf("cell %d of %d holds an elite of fitness %g; want at least -0.2", cell, len(fitness), f)
		}
	}
	if objectives, err := b.Objectives(t.Context()); objectives != nil || err != nil {
		t.Errorf("objectives %v of one, %v", objectives, err)
	}
}

// TestAskTellOtherCandidates: with a local search of its candidates, a search reaches the maximum at once; errors
// leave the search unchanged.
func TestAskTellOtherCandidates(t *testing.T) {
	dev := open(t)
	de := ec.DefaultDE()
	de.Population = 8
	a := askTell(t, dev, de, ec.Space{Members: 2, Dim: 3, Low: []float32{-1, -1, -1}, High: []float32{1, 1, 1}})
	if err := a.Begin(t.Context(), from(2, 3)); err != nil {
		t.Fatal(err)
	}
	if err := a.TellCandidates(t.Context(), nil, ec.Results{}); err == nil || !strings.Contains(err.Error(), "candidates of 0 members; want 2") {
		t.Errorf("told of no candidates: error %v", err)
	}
	x, err := a.Ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fitness := make([][]float32, 2)
	for m := range x {
		x[m][5] = []float32{0.25, 7, 0.5} // outside the bounds in one coordinate
		for c := range x[m] {
			fitness[m] = append(fitness[m], float32(c%6))
		}
	}
	if err := a.TellCandidates(t.Context(), x, ec.Results{Fitness: fitness}); err != nil {
		t.Fatal(err)
	}
	best, found, err := a.Best(t.Context())
	if err != nil || !slices.Equal(best, []float32{5, 5}) || !slices.Equal(found[1], []float32{0.25, 1, 0.5}) {
		t.Errorf("the best is %v of fitness %v, %v; want the candidate given, between the bounds", found, best, err)
	}
	ars := askTell(t, dev, ec.DefaultARS(), ec.Space{Members: 1, Dim: 2})
	var refused *ec.CandidatesError
	if err := ars.TellCandidates(t.Context(), x, ec.Results{}); !errors.As(err, &refused) {
		t.Errorf("ars told of other candidates: error %v; want a *ec.CandidatesError", err)
	}
}

// TestAskTellErrors: results of the wrong shape give one error that says so; correct results are accepted afterwards.
func TestAskTellErrors(t *testing.T) {
	dev := open(t)
	algo := ec.DefaultRandomSearch()
	algo.Population = 3
	want := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v; want %q in it", err, text)
		}
	}
	for text, space := range map[string]ec.Space{
		"at least 1 of each":    {Members: 0, Dim: 3},
		"below a finite upper":  {Members: 1, Dim: 1, Low: []float32{2}, High: []float32{1}},
		"it maximises one":      {Members: 1, Dim: 1, Objectives: 2},
		"0 lower and 1 upper b": {Members: 1, Dim: 1, DescriptorHigh: []float32{1}},
	} {
		_, err := ec.NewAskTell(engine.New(dev), algo, space)
		want(err, text)
	}
	a := askTell(t, dev, algo, ec.Space{Members: 2, Dim: 4, DescriptorLow: []float32{0}, DescriptorHigh: []float32{1}})
	_, err := a.Ask(t.Context())
	want(err, "has not begun")
	want(a.Begin(t.Context(), from(3, 4)), "the start of 3 members; want 2")
	want(a.Begin(t.Context(), from(2, 5)), "5 numbers; want 4")
	if err := a.Begin(t.Context(), from(2, 4)); err != nil {
		t.Fatal(err)
	}
	want(a.Tell(t.Context(), ec.Results{}), "call Ask first")
	if _, err := a.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	fitness := [][]float32{{1, 2, 3}, {4, 5, 6}}
	want(a.Tell(t.Context(), ec.Results{}), "fitness of 0 members; want 2")
	want(a.Tell(t.Context(), ec.Results{Fitness: [][]float32{{1, 2, 3}, {4, 5}}}), "fitness of member 1: 2 numbers; want 3")
	want(a.Tell(t.Context(), ec.Results{Fitness: fitness}), "descriptors of 0 members; want 2")
	want(a.Tell(t.Context(), ec.Results{Fitness: fitness, Descriptors: [][][]float32{{{1}, {1}, {1}}, {{1}, {1}}}}),
		"descriptors of 2 candidates of member 1; want 3")
	want(a.Tell(t.Context(), ec.Results{Fitness: fitness, Descriptors: [][][]float32{{{1}, {1}, {1}}, {{1}, {1}, {1, 2}}}}),
		"candidate 2 of member 1: 2 numbers; want 1")
	if err := a.Tell(t.Context(), ec.Results{Fitness: fitness, Descriptors: [][][]float32{{{1}, {1}, {1}}, {{1}, {1}, {1}}}}); err != nil {
		t.Fatal(err)
	}
	if best, _, err := a.Best(t.Context()); err != nil || !slices.Equal(best, []float32{3, 6}) {
		t.Errorf("the best is %v, %v; want 3 and 6", best, err)
	}
}
