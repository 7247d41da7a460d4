package ec

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

// shuffledOf returns the winner of a tournament without replacement.
func shuffledOf(eng *engine.Engine, stream string, search, p, generation, n, size int) int {
	winner := n - 1
	for k := range size {
		draw := p*size + k
		w := words(eng, stream, uint32(search), uint32(draw/n), uint32(generation), math.MaxUint32)
		winner = min(winner, int(engine.Permute(uint32(draw%n), uint32(n), w)))
	}
	return winner
}

// severalTrial runs generations of an elitist algorithm on objectives of every shape and compares parents and
// children with float64. The caller checks which candidates survive; severalTrial checks that they become the
// population.
func severalTrial(t *testing.T, eng *engine.Engine, algo Algorithm, variation VariationConfig, tournament int, space Space,
	survivors func(tr *trial, m int, sets [][]float64) []int) (worst float64) {
	start := starts(space)
	tr := newTrial(t, eng, algo, space, start)
	n, k := tr.strategy.Population(), space.Objectives
	own, objectives := tr.state.Lookup("ec/population"), tr.state.Lookup("ec/objectives")
	checkInitial(tr, tr.rows(own, n), start, 1)
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
			chosen := func(i int) []float64 {
				return wide(before[m][shuffledOf(eng, "ec/mating", m, i, g, n, tournament)])
			}
			for child, x := range children[m] {
				want := wide(before[m][child]) // the first generation is the initial population
				if g > 0 {
					want = offspringOf(eng, variation, space, [2][]float64{chosen(child), chosen(child ^ 1)}, m, child, g)
				}
				d := deviation(x, want)
				if worst = max(worst, d); !(d <= 2e-5) {
					t.Fatalf("generation %d, member %d: child %d is %v; want %v", g, m, child, x, want)
				}
			}
			sets := append(finiteObjectives(fitness[m*n*k:][:n*k], k), finiteObjectives(scores[m], k)...)
			for place, i := range survivors(tr, m, sets) {
				x := append(slices.Clone(before[m]), children[m]...)[i]
				if got := after[m][place]; !slices.Equal(got, x) || !slices.Equal(wide(next[(m*n+place)*k:][:k]), sets[i]) {
					t.Fatalf("generation %d (%s), member %d: survivor %d is %v of %v; want number %d, %v of %v", g, name, m, place, got,
						next[(m*n+place)*k:][:k], i, x, sets[i])
				}
			}
		}
	}
	return worst
}

// TestNSGA2 compares generations of NSGA-II with float64.
func TestNSGA2(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for i, space := range []Space{box(2, 7), {Members: 1, Dim: 3}, box(3, 2), box(1, 5)} {
		space.Objectives = 2 + i
		c := DefaultNSGA2()
		c.Twins = i%2 == 1
		c.Population, c.Tournament, c.CrossoverIndex, c.MutationIndex = []int{10, 7, 1, 33}[i], 1+i%3, 2, 3
		worst := severalTrial(t, eng, c, c.VariationConfig, c.Tournament, space, func(tr *trial, m int, sets [][]float64) []int {
			front := frontsOf(sets, c.Twins)
			distance := crowdingOf(sets, front)
			keys, err := tr.strategy.(*nsga2).merged.key.ReadUint32(t.Context())
			tr.must(err)
			order := make([]int, len(sets))
			rounded := make([]float64, len(sets)) // distances rounded as on the device, since they decide between candidates that are nearly equal
			for i := range order {
				order[i], rounded[i] = i, float64(math.Float32frombits(^keys[4*(m*len(sets)+i)+1]))
				if d := rounded[i] - distance[i]; rounded[i] != distance[i] && !(math.Abs(d) <= 1e-6*max(1, distance[i])) {
					t.Fatalf("candidate %d has crowding distance %g; want %g", i, rounded[i], distance[i])
				}
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Or(cmp.Compare(front[a], front[b]), cmp.Compare(rounded[b], rounded[a]))
			})
			return order[:c.Population]
		})
		t.Logf("%d candidates: largest deviation %.1e", c.Population, worst)
	}
}

// TestReferencePointsOfOneObjective: fewer than two objectives are refused at once.
func TestReferencePointsOfOneObjective(t *testing.T) {
	for objectives := range 2 {
		space := Space{Members: 1, Dim: 2, Objectives: objectives}
		ended := make(chan [2]error, 1)
		go func() { ended <- [2]error{DefaultNSGA3().Check(space), DefaultMOEAD().Check(space)} }()
		select {
		case errs := <-ended:
			for _, err := range errs {
				if err == nil || !strings.Contains(err.Error(), "at least 2") {
					t.Errorf("%d objectives: %v; want an error", objectives, err)
				}
			}
		case <-time.After(time.Second):
			t.Fatalf("%d objectives: the check does not end", objectives)
		}
	}
}

// TestNSGA3 compares generations of NSGA-III with float64, where niching takes one candidate after the other as in the
// paper.
func TestNSGA3(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	for i, space := range []Space{box(2, 7), {Members: 1, Dim: 3}, box(2, 2), box(1, 5)} {
		space.Objectives = []int{3, 2, 2, 5}[i]
		c := DefaultNSGA3()
		c.Twins = i%2 == 1
		c.Population, c.CrossoverIndex, c.MutationIndex = []int{12, 7, 2, 33}[i], 2, 3
		if i == 3 {
			c.Partitions = []int{2, 1}
		}
		worst := severalTrial(t, eng, c, c.VariationConfig, 1, space, func(tr *trial, m int, sets [][]float64) []int {
			return nichingOf(tr, m, sets, c.Population)
		})
		t.Logf("%d candidates: largest deviation %.1e", c.Population, worst)
	}
}

// nichingOf returns the survivors by K. Deb, H. Jain, 2014, algorithms 1, 3 and 4, from the device's ranges (which
// TestNSGA3LikePymoo checks).
func nichingOf(tr *trial, m int, sets [][]float64, keep int) []int {
	n, k := tr.strategy.(*nsga3), len(sets[0])
	width := (k + 3) / 4 * 4
	origin, inverse := tr.values(n.origin)[m*width:][:k], tr.values(n.inverse)[m*width:][:k]
	niches, err := n.niche.ReadUint32(tr.t.Context())
	tr.must(err)
	generation := uint32(0)
	clock, err := n.clock.Tensor().ReadUint32(tr.t.Context())
	tr.must(err)
	generation = clock[0] - 1 // the clock has ticked
	front := frontsOf(sets, n.merged.twins)
	var order []int
	for i := range sets {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(front[a], front[b]) })
	last := front[order[keep-1]]
	var kept, competing []int
	line := make([]int, len(sets))
	distance := make([]uint32, len(sets)) // as float32 bits, rounded as on the device
	word := make([]uint32, len(sets))
	count := make([]int, len(n.points))
	for _, i := range order {
		if front[i] > last {
			continue
		}
		got := niches[4*(m*len(sets)+i):][:4]
		line[i], distance[i], word[i] = int(got[0]), got[1], words(tr.eng, "ec/niche", uint32(m), uint32(i), generation, 0)[0]
		point := make([]float64, k)
		for o := range point {
			point[o] = (float64(origin[o]) - sets[i][o]) * float64(inverse[o])
		}
		to := func(h int) float64 {
			along, square, size := 0.0, 0.0, 0.0
			for o, w := range n.points[h] {
				along += w * point[o]
				size += point[o] * point[o]
			}
			for o, w := range n.points[h] {
				square += (point[o] - along*w) * (point[o] - along*w)
			}
			return square / max(1, size)
		}
		if math.Abs(point[0]) < 1e6 { // is finite
			nearest := math.Inf(1)
			for h := range n.points {
				nearest = min(nearest, to(h))
			}
			if d := to(line[i]) - nearest; !(d <= 1e-6) {
				tr.t.Fatalf("candidate %d is with line %d, squared distance %g; the nearest is at %g", i, line[i], to(line[i]), nearest)
			}
		}
		if front[i] < last {
			kept = append(kept, i)
			count[line[i]]++
		} else {
			competing = append(competing, i)
		}
	}
	for len(kept) < keep {
		// Of the lines that candidates compete for, those with the smallest count; among these a random one (step 3).
		best, bestWord := -1, uint32(0)
		for _, i := range competing {
			h := line[i]
			w := words(tr.eng, "ec/niche_turn", uint32(m), uint32(h), generation, uint32(count[h]))[0]
			if best < 0 || count[h] < count[best] || count[h] == count[best] && w < bestWord {
				best, bestWord = h, w
			}
		}
		// The nearest candidate of a line without survivors, else a random one (steps 7 and 9).
		chosen := -1
		for _, i := range competing {
			if line[i] != best {
				continue
			}
			if chosen < 0 || count[best] == 0 && distance[i] < distance[chosen] || count[best] > 0 && word[i] < word[chosen] {
				chosen = i
			}
		}
		count[best]++
		kept = append(kept, chosen)
		competing = slices.DeleteFunc(competing, func(i int) bool { return i == chosen })
	}
	return kept
}

// TestNSGA3LikePymoo compares ideal point, range and reference lines with pymoo's over generations that approach a
// front.
func TestNSGA3LikePymoo(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	worstRange, worstDistance := 0.0, 0.0
	for _, c := range readSeveral(t).NSGA3 {
		k, keep := c.Objectives, len(c.Lines)
		algo := DefaultNSGA3()
		algo.Population, algo.Partitions = keep, []int{c.Partitions}
		space := box(1, 2)
		space.Objectives = k
		tr := newTrial(t, eng, algo, space, starts(space))
		n := tr.strategy.(*nsga3)
		for g, generation := range c.Generations {
			var all []float32
			for _, f := range generation.F {
				for _, v := range f {
					all = append(all, float32(-v))
				}
			}
			tr.candidates()
			tr.must(n.objectives.WriteFloat32(t.Context(), all[:keep*k]))
			tr.learn([][]float32{all[keep*k:]})
			origin, inverse := tr.values(n.origin), tr.values(n.inverse)
			for o := range k {
				span := generation.Nadir[o] - generation.Ideal[o]
				d := max(math.Abs(float64(-origin[o])-generation.Ideal[o])/span, math.Abs(1/float64(inverse[o])-span)/span)
				if worstRange = max(worstRange, d); !(d <= 2e-6) {
					t.Fatalf("%d objectives, generation %d: objective %d from %g by %g; want %g by %g", k, g, o, -origin[o], 1/inverse[o],
						generation.Ideal[o], span)
				}
			}
			niches, err := n.niche.ReadUint32(t.Context())
			tr.must(err)
			for at, i := range generation.Chosen {
				got := niches[4*i:][:4]
				distance := math.Sqrt(float64(math.Float32frombits(got[1])))
				d := math.Abs(distance - generation.Distance[at])
				if worstDistance = max(worstDistance, d); !(d <= 1e-5) {
					t.Fatalf("%d objectives, generation %d: candidate %d is %g from its line; want %g", k, g, i, distance, generation.Distance[at])
				}
				for o, v := range c.Lines[generation.Niche[at]] {
					norm := 0.0
					for _, u := range c.Lines[generation.Niche[at]] {
						norm += u * u
					}
					if math.Abs(n.points[got[0]][o]-v/math.Sqrt(norm)) > 1e-8 {
						t.Fatalf("%d objectives, generation %d: candidate %d is with line %v; want %v", k, g, i, n.points[got[0]],
							c.Lines[generation.Niche[at]])
					}
				}
				if got[3] == 2 {
					t.Fatalf("%d objectives, generation %d: candidate %d dies before niching", k, g, i)
				}
			}
			chosen := 0
			for i := range generation.F {
				if niches[4*i+3] != 2 {
					chosen++
				}
			}
			if chosen != len(generation.Chosen) {
				t.Fatalf("%d objectives, generation %d: %d candidates come to niching; want %d", k, g, chosen, len(generation.Chosen))
			}
		}
	}
	t.Logf("largest deviation of ranges %.1e, of distances %.1e", worstRange, worstDistance)
}
