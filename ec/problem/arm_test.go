package problem

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// TestArm compares fitness and descriptors of a search's candidates with float64, also in windows.
func TestArm(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	for _, joints := range []int{1, 7, 12} {
		const members, population, window = 2, 11, 5
		p := Arm(joints)
		s := eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		e, err := p.New(t.Context(), s, clock, members, population)
		if err != nil {
			t.Fatal(err)
		}
		space := p.Space(members)
		axis := func(name string, n int) engine.Dim { return engine.Axis(name, n) }
		candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), axis("parameter", space.Row()))
		fitness := s.Scratch("fitness", engine.Float32, engine.Members(members), axis("candidate", population))
		descriptor := s.Scratch("descriptor", engine.Float32, engine.Members(members), axis("candidate", population), axis("descriptor", 2))
		if err := s.Poison(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.(ec.Describer).Describe(descriptor)
		rng := engine.NewRng(5, uint32(joints), 0, 0, 0)
		values := make([]float32, candidates.Len())
		for i := range values {
			if i%space.Row() < joints {
				values[i] = rng.UniformIn(-1, 1)
			}
		}
		if err := candidates.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		const first = 4
		program, err := eng.Record("arm", func(r *engine.Recorder) { e.Record(r, candidates, first, fitness) })
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		gotF, err := fitness.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gotD, err := descriptor.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range gotF {
			if c := i % population; c < first || c >= first+window {
				if f == f || gotD[2*i] == gotD[2*i] {
					t.Errorf("candidate %d, which is not in the window, was written", c)
				}
				continue
			}
			x := values[(i/population*window+i%population-first)*space.Row():][:joints]
			mean, square, angle, endX, endY := 0.0, 0.0, 0.0, 0.0, 0.0
			for _, a := range x {
				mean += float64(a) / float64(joints)
				angle += math.Pi * float64(a)
				endX += math.Cos(angle) / float64(joints)
				endY += math.Sin(angle) / float64(joints)
			}
			for _, a := range x {
				square += (float64(a) - mean) * (float64(a) - mean) / float64(joints)
			}
			for what, d := range map[string]float64{"fitness": float64(f) + math.Sqrt(square), "x": float64(gotD[2*i]) - endX,
				"y": float64(gotD[2*i+1]) - endY} {
				if !(math.Abs(d) <= 3e-6) {
					t.Errorf("%d joints, candidate %d: %s is off by %.1e", joints, i, what, d)
				}
			}
		}
	}
}

// TestMAPElitesLearns: most cells that an arm can reach hold an elite with hardly differing joints; the metrics agree,
// and every elite is in the cell of its descriptor.
func TestMAPElitesLearns(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	grid, tessellation := ec.DefaultMAPElites(), ec.DefaultCVTMAPElites()
	grid.Cells, tessellation.Centroids, tessellation.Samples = []int{20}, 400, 8000
	grid.Worst, tessellation.Worst = -1, -1
	for _, algo := range []ec.Algorithm{grid, tessellation} {
		s, err := ec.NewSearch(t.Context(), eng, algo, Arm(8), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var last engine.Report
		err = engine.Learn(t.Context(), s, engine.Iterations(400), engine.OnReport(func(_ context.Context, r engine.Report) error { last = r; return nil }))
		if err != nil {
			t.Fatal(err)
		}
		coverage, score, mean := last.Metrics["archive/coverage"], last.Metrics["archive/qd_score"], last.Metrics["archive/fitness"]
		t.Logf("%s: coverage %.3f, score %.1f, fitness %.3f", algo.Name(), coverage, score, mean)
		archive := s.Generation().Strategy().(ec.Archiver).Archive()
		fitness, err := archive.Fitness.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cells := len(fitness) / 2
		for m := range 2 {
			// The arm reaches the circle of radius 1 in the square of side 2, which touches 344 of the grid's 400
			// cells.
			if !(coverage[m] >= 0.7 && coverage[m] <= 344.0/400+0.03) || !(mean[m] >= -0.16) {
				t.Errorf("%s, member %d: coverage %g, fitness %g; want at least 0.7 and -0.16", algo.Name(), m, coverage[m], mean[m])
			}
			held := 0
			for _, f := range fitness[m*cells:][:cells] {
				if f == f {
					held++
				}
			}
			if got := float64(coverage[m]) * float64(cells); math.Abs(got-float64(held)) > 0.01 ||
				math.Abs(float64(score[m])-float64(held)*float64(mean[m]+1)) > 0.01*float64(score[m]) {
				t.Errorf("%s, member %d: the metrics say %g elites of score %g; there are %d of mean %g", algo.Name(), m, got, score[m], held, mean[m])
			}
		}
		best, _ := s.Generation().Best()
		top, err := best.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ev, err := s.Evaluate(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for m := range 2 {
			if slices.Max(replaceNaN(fitness[m*cells:][:cells])) != top[m] || ev.Returns[m][0] != top[m] {
				t.Errorf("%s, member %d: the best ever is %g, the best elite %g, the solution %g", algo.Name(), m, top[m],
					slices.Max(replaceNaN(fitness[m*cells:][:cells])), ev.Returns[m][0])
			}
		}
	}
}

func replaceNaN(values []float32) []float32 {
	out := slices.Clone(values)
	for i, v := range out {
		if v != v {
			out[i] = float32(math.Inf(-1))
		}
	}
	return out
}

// TestBounds: in a search by a normal distribution far wider than the bounds, all candidates, the best one and the
// solution are in the bounds, and the evaluated solution is the clamped one. In an open space they are as the
// distribution gives them.
func TestBounds(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	algo := ec.DefaultOpenES()
	algo.Population, algo.NoiseStd, algo.LearningRate, algo.WeightDecay = 16, 3, 2, 0
	for _, opened := range []bool{false, true} {
		p := Arm(3)
		p.space.Open = opened
		s, err := ec.NewSearch(t.Context(), eng, algo, p, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := engine.Learn(t.Context(), s, engine.Iterations(5)); err != nil {
			t.Fatal(err)
		}
		solutions, err := s.ReadSolution(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, best, err := s.ReadBest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.Generation().Strategy().Solution().ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Max(raw) <= 1 && slices.Min(raw) >= -1 {
			t.Errorf("the distribution's mean is %v; want it outside for this test", raw)
		}
		ev, err := s.Evaluate(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		outside := 0
		for m := range solutions {
			x := solutions[m][0]
			mean, square := 0.0, 0.0
			for _, v := range x {
				mean += float64(v) / 3
			}
			for _, v := range x {
				square += (float64(v) - mean) * (float64(v) - mean) / 3
			}
			if got := float64(ev.Returns[m][0]); !(math.Abs(got+math.Sqrt(square)) <= 1e-5) {
				t.Errorf("open: %t, member %d: the solution %v evaluates to %g; want %g", opened, m, x, got, -math.Sqrt(square))
			}
			for _, v := range slices.Concat(x, best[m]) {
				if v < -1 || v > 1 {
					outside++
				}
			}
		}
		if (outside > 0) != opened {
			t.Errorf("open: %t: %d numbers of solutions %v and best %v are outside", opened, outside, solutions, best)
		}
	}
}
