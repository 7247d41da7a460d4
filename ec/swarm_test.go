package ec

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPSO compares generations with float64, with and without bounds, and with open ones.
func TestPSO(t *testing.T) { generationsOfPSO(t, nil) }

func generationsOfPSO(t *testing.T, others func(int, int, []float32) []float32) {
	eng := engine.New(open(t), engine.Seed(7))
	worst := 0.0
	for k, space := range []Space{{Members: 2, Dim: 7}, box(2, 5), box(3, 1), ajar(2, 5)} {
		c := DefaultPSO()
		c.Population, c.InitialStd = []int{5, 6, 1, 6}[k], 0.8
		start := starts(space)
		tr := newTrial(t, eng, c, space, start)
		if others != nil {
			tr.change(others)
		}
		n := c.Population
		rows := func(what string) [][][]float32 { return tr.rows(tr.state.Lookup("ec/"+what), n) }
		checkInitial(tr, rows("position"), start, c.InitialStd)
		var best [][]float64 // of each swarm
		bests := make([]float64, space.Members)
		for m := range space.Members {
			best = append(best, wide(start[m*space.Dim:][:space.Dim]))
			bests[m] = math.Inf(-1)
		}
		for g := range 5 {
			velocity, own, fitness := rows("velocity"), rows("own_best"), tr.values(tr.state.Lookup("ec/own_best_fitness"))
			positions, scores := tr.step(rough(eng, g))
			ownAfter, fitnessAfter, velocityAfter, after := rows("own_best"), tr.values(tr.state.Lookup("ec/own_best_fitness")),
				rows("velocity"), rows("position")
			for m := range space.Members {
				for p, x := range positions[m] {
					if v := float64(scores[m][p]); !math.IsNaN(v) && !math.IsInf(v, 0) && v > bests[m] {
						bests[m], best[m] = v, wide(x)
					}
				}
				for p, x := range positions[m] {
					mine, f := own[m][p], float64(fitness[m*n+p])
					if now := worthOf(scores[m][p]); math.IsNaN(f) || now >= f {
						mine, f = x, now
					}
					if !slices.Equal(mine, ownAfter[m][p]) || f != float64(fitnessAfter[m*n+p]) {
						t.Fatalf("generation %d, member %d: particle %d's best place is %v of %g; want %v of %g", g, m, p, ownAfter[m][p],
							fitnessAfter[m*n+p], mine, f)
					}
					v, next := make([]float64, space.Dim), make([]float64, space.Dim)
					for i := range v {
						r1 := unit(words(eng, "ec/pso", uint32(m), uint32(p), uint32(g), uint32(i/4*2))[i%4])
						r2 := unit(words(eng, "ec/pso", uint32(m), uint32(p), uint32(g), uint32(i/4*2+1))[i%4])
						at := float64(x[i])
						v[i] = c.Inertia*float64(velocity[m][p][i]) + c.Cognitive*r1*(float64(mine[i])-at) + c.Social*r2*(best[m][i]-at)
						if space.Bounded() {
							width := float64(space.High[i] - space.Low[i])
							v[i] = min(max(v[i], -width), width)
						}
						next[i] = at + v[i]
						if space.Closed() {
							next[i] = min(max(next[i], float64(space.Low[i])), float64(space.High[i]))
						}
					}
					for what, d := range map[string]float64{"velocity": deviation(velocityAfter[m][p], v), "position": deviation(after[m][p], next)} {
						if worst = max(worst, d); !(d <= 1e-5) {
							t.Fatalf("generation %d, member %d, particle %d: the %s deviates by %.1e", g, m, p, what, d)
						}
					}
				}
			}
		}
	}
	t.Logf("largest deviation %.1e", worst)
}

// TestCSO compares generations with float64, with and without bounds; the first two evaluate the initial swarm.
func TestCSO(t *testing.T) { generationsOfCSO(t, nil) }

func generationsOfCSO(t *testing.T, others func(int, int, []float32) []float32) {
	eng := engine.New(open(t), engine.Seed(8))
	worst := 0.0
	for k, space := range []Space{{Members: 2, Dim: 7}, box(2, 5), box(3, 1), ajar(2, 5)} {
		c := DefaultCSO()
		c.Population, c.InitialStd, c.Attraction = []int{5, 6, 1, 6}[k], 0.8, 0.3
		start := starts(space)
		tr := newTrial(t, eng, c, space, start)
		if others != nil {
			tr.change(others)
		}
		n := 2 * c.Population
		rows := func(what string) [][][]float32 { return tr.rows(tr.state.Lookup("ec/"+what), n) }
		checkInitial(tr, rows("swarm"), start, c.InitialStd)
		for g := range 6 {
			swarm, velocity, fitness := rows("swarm"), rows("velocity"), tr.values(tr.state.Lookup("ec/fitness"))
			moved, scores := tr.step(rough(eng, g))
			after, velocityAfter, fitnessAfter := rows("swarm"), rows("velocity"), tr.values(tr.state.Lookup("ec/fitness"))
			for m := range space.Members {
				key := words(eng, "ec/pair", uint32(m), 0, uint32(g), 0)
				f := wide(fitness[m*n:][:n])
				wantFitness := slices.Clone(f)
				untouched := map[int]bool{}
				for i := range n {
					untouched[i] = true
				}
				for q, x := range moved[m] {
					loser, winner := engine.Permute(uint32(2*q), uint32(n), key), engine.Permute(uint32(2*q+1), uint32(n), key)
					if f[loser] >= f[winner] {
						loser, winner = winner, loser
					}
					if g < 2 {
						loser = uint32(g*c.Population + q)
						winner = loser
					}
					delete(untouched, int(loser))
					wantV, want := wide(velocity[m][loser]), wide(swarm[m][loser])
					for i := range want {
						if g < 2 {
							break
						}
						r := func(k int) float64 {
							return unit(words(eng, "ec/learn", uint32(m), uint32(q), uint32(g), uint32(3*(i/4)+k))[i%4])
						}
						mean := 0.0
						for _, y := range swarm[m] {
							mean += float64(y[i]) / float64(n)
						}
						wantV[i] = r(0)*wantV[i] + r(1)*(float64(swarm[m][winner][i])-want[i]) + c.Attraction*r(2)*(mean-want[i]) // (6)
						if space.Bounded() {
							width := float64(space.High[i] - space.Low[i])
							wantV[i] = min(max(wantV[i], -width), width)
						}
						want[i] += wantV[i] // (7)
						if space.Closed() {
							want[i] = min(max(want[i], float64(space.Low[i])), float64(space.High[i]))
						}
					}
					for what, d := range map[string]float64{"candidate": deviation(tr.proposed[m][q], want),
						"place": deviation(after[m][loser], wide(x)), "velocity": deviation(velocityAfter[m][loser], wantV)} {
						if worst = max(worst, d); !(d <= 1e-5) {
							t.Fatalf("generation %d, member %d, loser %d: the %s deviates by %.1e", g, m, loser, what, d)
						}
					}
					wantFitness[loser] = worthOf(scores[m][q])
				}
				for i := range untouched {
					if !slices.Equal(swarm[m][i], after[m][i]) || !slices.Equal(velocity[m][i], velocityAfter[m][i]) {
						t.Fatalf("generation %d, member %d: winner %d moved", g, m, i)
					}
				}
				for i, w := range wantFitness {
					if got := float64(fitnessAfter[m*n+i]); got != w && !(math.IsNaN(got) && math.IsNaN(w)) {
						t.Fatalf("generation %d, member %d: particle %d has fitness %g; want %g", g, m, i, got, w)
					}
				}
			}
		}
	}
	t.Logf("largest deviation %.1e", worst)
}
