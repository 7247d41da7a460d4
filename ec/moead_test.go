package ec

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// decomposedOf returns the value that a subproblem minimises (Q. Zhang, H. Li, 2007, equations 5 and 7), given
// losses.
func decomposedOf(how Decomposition, penalty float64, losses, weights []float64) float64 {
	largest, along, size, across := 0.0, 0.0, 0.0, 0.0
	for k, w := range weights {
		largest = max(largest, max(w, 1e-6)*losses[k])
		along += w * losses[k]
		size += w * w
	}
	if how == Tchebycheff {
		return min(largest, math.MaxFloat32)
	}
	along /= math.Sqrt(size)
	for k, w := range weights {
		off := losses[k] - along*w/math.Sqrt(size)
		across += off * off
	}
	return min(along+penalty*math.Sqrt(across), math.MaxFloat32)
}

// TestDecompositionLikePymoo: the reference of TestMOEAD agrees with pymoo.
func TestDecompositionLikePymoo(t *testing.T) {
	for _, c := range readSeveral(t).Decompositions {
		for i, f := range c.F {
			losses := make([]float64, len(f))
			for k := range f {
				losses[k] = f[k] - c.Ideal[k]
			}
			for how, want := range map[Decomposition]float64{Tchebycheff: c.Tchebycheff[i], PBI: c.PBI[i]} {
				if got := decomposedOf(how, 5, losses, c.Weights[i]); !(math.Abs(got-want) <= 1e-8*want) {
					t.Errorf("%s of %v by %v: %g; want %g", decompositionNames[how], losses, c.Weights[i], got, want)
				}
			}
		}
	}
}

// TestMOEAD compares generations of MOEA/D with float64, which takes the children one after the other.
func TestMOEAD(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	for i, space := range []Space{box(2, 7), {Members: 1, Dim: 3}, box(2, 2), box(1, 5)} {
		space.Objectives = []int{3, 2, 2, 5}[i]
		c := DefaultMOEAD()
		c.Population, c.Neighbors, c.CrossoverIndex, c.MutationIndex, c.Decomposition = []int{12, 7, 2, 33}[i], []int{4, 3, 20, 6}[i], 2, 3, Decomposition(i%2)
		start := starts(space)
		tr := newTrial(t, eng, c, space, start)
		n, k := tr.strategy.Population(), space.Objectives
		weights, err := DasDennis(k, []int{3, 6, 1, 2}[i]) // the most points that the population has room for
		tr.must(err)
		if n != len(weights) {
			t.Fatalf("%d subproblems for a population of %d; want %d", n, c.Population, len(weights))
		}
		near := make([][]int, n)
		for i := range near {
			for j := range n {
				near[i] = append(near[i], j)
			}
			far := func(j int) (sum float64) {
				for o, w := range weights[i] {
					sum += (w - weights[j][o]) * (w - weights[j][o])
				}
				return math.Round(sum * 1e9)
			}
			slices.SortStableFunc(near[i], func(a, b int) int { return cmp.Compare(far(a), far(b)) })
			near[i] = near[i][:min(n, c.Neighbors)]
		}
		own, objectives := tr.state.Lookup("ec/population"), tr.state.Lookup("ec/objectives")
		checkInitial(tr, tr.rows(own, n), start, 1)
		ideals := make([][]float64, space.Members)
		worst := 0.0
		for g, name := range []string{"random", "ties", "not finite", "nothing finite", "random", "front"} {
			before, fitness := tr.rows(own, n), tr.values(objectives)
			children := tr.candidates()
			scores := make([][]float32, space.Members)
			for m := range scores {
				scores[m] = shapes(name, eng, m+10*g, n, k)
			}
			tr.learn(scores)
			after, next := tr.rows(own, n), tr.values(objectives)
			for m := range space.Members {
				for child, x := range children[m] {
					w := words(eng, "ec/mating", uint32(m), uint32(child), uint32(g), 0)
					a, b := belowOf(w[0], len(near[child])), belowOf(w[1], len(near[child])-1)
					if b >= a {
						b++
					}
					want := wide(before[m][child])
					if g > 0 {
						want = offspringOf(eng, c.VariationConfig, space, [2][]float64{wide(before[m][near[child][a]]),
							wide(before[m][near[child][b]])}, m, 2*child, g)
					}
					d := deviation(x, want)
					if worst = max(worst, d); !(d <= 2e-5) {
						t.Fatalf("case %d, generation %d, member %d: child %d is %v; want %v", i, g, m, child, x, want)
					}
				}
				had, made := finiteObjectives(fitness[m*n*k:][:n*k], k), finiteObjectives(scores[m], k)
				for _, f := range made {
					if ideals[m] == nil {
						ideals[m] = slices.Clone(f)
					}
					for o, v := range f {
						ideals[m][o] = max(ideals[m][o], v)
					}
				}
				value := func(i int, f []float64) float64 {
					losses := make([]float64, k)
					for o := range losses {
						losses[o] = ideals[m][o] - f[o]
					}
					return decomposedOf(c.Decomposition, c.Penalty, losses, weights[i])
				}
				solution := make([][]float32, n)
				for i := range solution {
					solution[i] = before[m][i]
					if g == 0 {
						solution[i], had[i] = children[m][i], made[i]
					}
				}
				for j, f := range made {
					for _, i := range near[j] {
						if g > 0 && value(i, f) <= value(i, had[i]) {
							solution[i], had[i] = children[m][j], f
						}
					}
				}
				for i := range solution {
					if !slices.Equal(after[m][i], solution[i]) || !slices.Equal(wide(next[(m*n+i)*k:][:k]), had[i]) {
						t.Fatalf("case %d, generation %d (%s), member %d: subproblem %d has %v of %v; want %v of %v", i, g, name, m, i,
							after[m][i], next[(m*n+i)*k:][:k], solution[i], had[i])
					}
				}
			}
		}
		t.Logf("%d subproblems: largest deviation %.1e", n, worst)
	}
}
