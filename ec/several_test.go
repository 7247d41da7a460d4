package ec

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// The following is the float64 reference of the parts for several objectives, written from the papers. Objectives are
// [candidates][K], maximised.

func dominatesAnother(a, b []float64) bool {
	better := false
	for k := range a {
		if a[k] < b[k] {
			return false
		}
		better = better || a[k] > b[k]
	}
	return better
}

// frontsOf removes one front after the other (K. Deb et al., 2002, section III.A). Without twins, the first of
// several candidates with equal objectives dominates the others.
func frontsOf(all [][]float64, twins bool) []int {
	front := make([]int, len(all))
	for i := range front {
		front[i] = -1
	}
	for f, left := 0, len(all); left > 0; f++ {
		var now []int
		for i, a := range all {
			free := front[i] < 0
			for j, b := range all {
				free = free && !(front[j] < 0 && (dominatesAnother(b, a) || !twins && j < i && slices.Equal(a, b) && a[0] > -math.MaxFloat32))
			}
			if free {
				now = append(now, i)
			}
		}
		for _, i := range now {
			front[i] = f
		}
		left -= len(now)
	}
	return front
}

// crowdingOf sorts every front by every objective (K. Deb et al., 2002, section III.B).
func crowdingOf(all [][]float64, front []int) []float64 {
	distance := make([]float64, len(all))
	for f := range slices.Max(front) + 1 {
		var members []int
		for i := range all {
			if front[i] == f {
				members = append(members, i)
			}
		}
		for k := range all[0] {
			slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(all[a][k], all[b][k]) })
			first, last := members[0], members[len(members)-1]
			span := all[last][k]/2 - all[first][k]/2
			if span == 0 {
				continue
			}
			distance[first], distance[last] = math.Inf(1), math.Inf(1)
			for at := 1; at < len(members)-1; at++ {
				distance[members[at]] += (all[members[at+1]][k]/2 - all[members[at-1]][k]/2) / span
			}
			slices.Sort(members)
		}
	}
	return distance
}

// finiteObjectives returns objectives [N][K]. If one objective of a candidate is not finite, all its objectives are
// the lowest value.
func finiteObjectives(flat []float32, k int) [][]float64 {
	out := make([][]float64, len(flat)/k)
	for i := range out {
		out[i] = wide(flat[i*k:][:k])
		if slices.ContainsFunc(out[i], func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			for o := range out[i] {
				out[i][o] = -math.MaxFloat32
			}
		}
	}
	return out
}

// shapes returns objectives [n · K] of n candidates that are hard to sort.
func shapes(name string, eng *engine.Engine, member, n, k int) []float32 {
	out := make([]float32, n*k)
	for i := range n {
		w := words(eng, name, uint32(member), uint32(i), uint32(k), 0)
		for o := range k {
			u := words(eng, name, uint32(member), uint32(i), uint32(k), uint32(1+o))[0]
			f := float32(unit(u))
			switch name {
			case "ties":
				f = float32(u % 3)
			case "line": // each dominates all earlier ones
				f = float32(i) * float32(o+1)
			case "equal":
				f = 2
			case "front": // no candidate dominates another
				f = float32(i)
				if o == 0 {
					f = -float32(i)
				}
			case "not finite":
				if o == int(w[0])%k {
					f = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), f}[w[1]%4]
				}
			case "nothing finite":
				f = float32(math.NaN())
			case "largest":
				f = math.MaxFloat32 * []float32{-0.9, 1, 0.5}[u%3]
			}
			out[i*k+o] = f
		}
	}
	return out
}

var shapeNames = []string{"random", "ties", "line", "equal", "front", "not finite", "nothing finite", "largest"}

// TestDominance compares fronts, crowding distances and survivors of several members with float64, for populations
// that are no multiple of a word.
func TestDominance(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(8))
	worst := 0.0
	for i, c := range []struct{ members, kept, population, k int }{{1, 1, 1, 2}, {2, 9, 12, 2}, {1, 40, 31, 3}, {2, 3, 4, 2}, {3, 16, 17,
		3}, {1, 40, 31, 5}, {2, 33, 64, 2}, {1, 5, 9, 16}, {1, 150, 150, 2}} {
		s := eng.NewState()
		defer s.Close()
		space := Space{Members: c.members, Dim: 1, Objectives: c.k}
		all, err := newMerged(s, space, c.kept, c.population)
		if err != nil {
			t.Fatal(err)
		}
		all.twins = i > 2
		m, objective := engine.Members(c.members), engine.Axis("objective", c.k)
		parents, raw := s.Scratch("parents", engine.Float32, m, candidates(c.kept), objective), s.Scratch("raw", engine.Float32, m,
			candidates(c.population), objective)
		out := s.Scratch("survivors", engine.Float32, m, candidates(c.kept), objective)
		evaluated := newObjectives(s, space, c.population, nil)
		program, err := eng.Record("dominance", func(r *engine.Recorder) {
			all.record(r, parents, evaluated.record(r, raw).Objectives)
			all.crowd(r)
			all.survive(r, out)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		for _, name := range shapeNames {
			if err := s.Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			var first, second []float32
			sets := make([][][]float64, c.members)
			for m := range c.members {
				whole := shapes(name, eng, m, c.kept+c.population, c.k)
				sets[m] = finiteObjectives(whole, c.k)
				for _, point := range sets[m][:c.kept] { // parents are already finite
					for _, v := range point {
						first = append(first, float32(v))
					}
				}
				second = append(second, whole[c.kept*c.k:]...)
			}
			read := func(tensor *engine.Tensor) []uint32 {
				values, err := tensor.ReadUint32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return values
			}
			for _, err := range []error{parents.WriteFloat32(t.Context(), first), raw.WriteFloat32(t.Context(), second), program.Run(t.Context())} {
				if err != nil {
					t.Fatal(err)
				}
			}
			fronts, divided, keys, order := read(all.front), read(all.divided), read(all.key), read(all.order)
			survivors, err := out.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n := c.kept + c.population
			for m, set := range sets {
				front := frontsOf(set, all.twins)
				distance := crowdingOf(set, front)
				numbers := make([]int, n)
				got := make([]float64, n)
				for i := range n {
					numbers[i] = i
					if int(fronts[m*n+i]) != front[i] {
						t.Fatalf("%v %s: member %d, candidate %d is in front %d; want %d", c, name, m, i, fronts[m*n+i], front[i])
					}
					got[i] = float64(math.Float32frombits(^keys[4*(m*n+i)+1]))
					d := math.Abs(got[i]-distance[i]) / max(1, distance[i])
					if math.IsInf(distance[i], 1) && math.IsInf(got[i], 1) {
						d = 0
					}
					if worst = max(worst, d); !(d <= 1e-6) {
						t.Fatalf("%v %s: member %d, candidate %d has crowding distance %g; want %g", c, name, m, i, got[i], distance[i])
					}
				}
				// The order is by the rounded distances.
				slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Or(cmp.Compare(front[a], front[b]), cmp.Compare(got[b], got[a])) })
				before := 0
				for _, f := range front {
					if f < front[numbers[c.kept-1]] {
						before++
					}
				}
				if int(divided[2*m]) != front[numbers[c.kept-1]] || int(divided[2*m+1]) != before {
					t.Fatalf("%v %s: member %d: front %d is divided, behind %d; want %d behind %d", c, name, m, divided[2*m],
						divided[2*m+1], front[numbers[c.kept-1]], before)
				}
				for place, i := range numbers[:c.kept] {
					if int(order[m*c.kept+place]) != i {
						t.Fatalf("%v %s: member %d: survivor %d is %d; want %d", c, name, m, place, order[m*c.kept+place], i)
					}
					if !slices.Equal(wide(survivors[(m*c.kept+place)*c.k:][:c.k]), set[i]) {
						t.Fatalf("%v %s: member %d: survivor %d has objectives %v; want %v", c, name, m, place, survivors[(m*c.kept+place)*c.k:][:c.k], set[i])
					}
				}
			}
		}
	}
	t.Logf("largest deviation of crowding distances %.1e", worst)
}

// severalReference is the output of tools/reference/ec/several.py; pymoo minimises.
type severalReference struct {
	Sorts []struct {
		F        [][]float64
		Front    []int
		Distance []float64 // −1: infinite
	}
	NSGA3 []struct {
		Objectives, Partitions int
		Lines                  [][]float64
		Generations            []struct {
			F            [][]float64
			Ideal, Nadir []float64
			Chosen       []int
			Niche        []int
			Distance     []float64
		}
	}
	Decompositions []struct {
		F, Weights       [][]float64
		Ideal            []float64
		Tchebycheff, PBI []float64
	}
}

func readSeveral(t testing.TB) (r severalReference) {
	t.Helper()
	data, err := os.ReadFile("testdata/several.json")
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sorts) == 0 || len(r.NSGA3) == 0 || len(r.Decompositions) == 0 {
		t.Fatal("reference data are missing")
	}
	return r
}

// TestSortLikePymoo: the reference of TestDominance agrees with pymoo.
func TestSortLikePymoo(t *testing.T) {
	for i, c := range readSeveral(t).Sorts {
		set := make([][]float64, len(c.F))
		for i, f := range c.F {
			for _, v := range f {
				set[i] = append(set[i], -v)
			}
		}
		front := frontsOf(set, true)
		if !slices.Equal(front, c.Front) {
			t.Fatalf("case %d: fronts %v; want %v", i, front, c.Front)
		}
		for j, d := range crowdingOf(set, front) {
			want := c.Distance[j]
			if want < 0 {
				want = math.Inf(1)
			}
			if d != want && !(math.Abs(d-want) <= 1e-8*want) {
				t.Errorf("case %d: candidate %d has crowding distance %g; want %g", i, j, d, want)
			}
		}
	}
}

// TestObjectives: the metrics of a search: the size of the population's front, its ideal point, and the number of
// candidates with non-finite objectives.
func TestObjectives(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(8))
	for _, name := range shapeNames {
		const k, n = 3, 37
		s := eng.NewState()
		defer s.Close()
		space := Space{Members: 2, Dim: 1, Objectives: k}
		raw := s.Scratch("raw", engine.Float32, engine.Members(2), candidates(n), engine.Axis("objective", k))
		p := newObjectives(s, space, n, nil)
		p.strategy = &standing{objectives: p.finite}
		clock := engine.NewClock(s)
		metrics := engine.NewMetrics(s, 2, 8)
		rows := p.Rows(metrics)
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Poison(t.Context()); err != nil {
			t.Fatal(err)
		}
		values := append(shapes(name, eng, 0, n, k), shapes(name, eng, 1, n, k)...)
		if err := raw.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		program, err := eng.Record("objectives", func(r *engine.Recorder) {
			p.record(r, raw)
			rows(r)
			metrics.Record(r, clock)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := metrics.Read(0)
		if err != nil {
			t.Fatal(err)
		}
		for m := range 2 {
			set := finiteObjectives(values[m*n*k:][:n*k], k)
			size, bad := 0, 0
			for i, f := range frontsOf(set, true) {
				if f == 0 {
					size++
				}
				if set[i][0] == -math.MaxFloat32 {
					bad++
				}
			}
			if got["front/size"][m] != float32(size) || got["front/not_finite"][m] != float32(bad) {
				t.Errorf("%s: member %d: a front of %g, %g not finite; want %d and %d", name, m, got["front/size"][m], got["front/not_finite"][m], size, bad)
			}
			for o := range k {
				want := set[0][o]
				for _, x := range set {
					want = max(want, x[o])
				}
				if row := got[[]string{"front/ideal_1", "front/ideal_2", "front/ideal_3"}[o]]; float64(row[m]) != want {
					t.Errorf("%s: member %d: ideal value %d is %g; want %g", name, m, o, row[m], want)
				}
			}
		}
	}
}

// standing is a strategy that has objectives and does nothing.
type standing struct {
	Strategy
	objectives *engine.Tensor
}

func (s *standing) Objectives() *engine.Tensor { return s.objectives }
