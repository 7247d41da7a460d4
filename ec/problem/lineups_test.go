package problem

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// lineupUnit is a unit in the float64 reference of the battles.
type lineupUnit struct {
	attack, defence, health, cost, mending float64
	kind                                   int
}

// lineupOf decodes a candidate by sorting keys, and returns its teams and the heroes and pieces of its units.
func lineupOf(table []float32, teams int, x []float64) (units [][]lineupUnit, heroes, pieces []int) {
	order := func(keys []float64) []int {
		of := make([]int, len(keys))
		for i := range of {
			of[i] = i
		}
		slices.SortStableFunc(of, func(a, b int) int {
			switch {
			case keys[a] > keys[b]:
				return -1
			case keys[a] < keys[b]:
				return 1
			}
			return 0
		})
		return of
	}
	slots := 3 * teams
	heroes, pieces = order(x[:51])[:slots], order(x[51:130])[:slots]
	for s := range slots {
		h, p := table[8*heroes[s]:], table[8*51+4*pieces[s]:]
		kind, skill := min(int(3*x[130+s]), 2), min(int(4*x[130+slots+s]), 3)
		var stats [3]float64
		for k := range stats {
			stats[k] = float64(h[k]) * (1 + float64(p[k]))
			if skill == k {
				stats[k] *= 1 + 0.4*float64(h[4+k])
			}
		}
		u := lineupUnit{attack: stats[0], defence: stats[1], health: stats[2], cost: float64(h[3]) + float64(p[3]), kind: kind}
		if skill == 3 {
			u.mending = 0.1 * float64(h[7])
		}
		if s%3 == 0 {
			units = append(units, nil)
		}
		units[s/3] = append(units[s/3], u)
	}
	return units, heroes, pieces
}

// lineupBattle returns what both teams have left of their health, as a share, and of their resources.
func lineupBattle(a, b []lineupUnit) (share, resources [2]float64) {
	sides, left := [2][]lineupUnit{a, b}, [2][]float64{{1, 1, 1}, {1, 1, 1}}
	advantage := [3][3]float64{{1, 1.3, 0.77}, {0.77, 1, 1.3}, {1.3, 0.77, 1}}
	for range 8 {
		var next [2][]float64
		for side := range sides {
			own, other := sides[side], sides[1-side]
			all := left[side][0] + left[side][1] + left[side][2]
			for j, u := range own {
				harm := 0.0
				for i, v := range other {
					harm += left[1-side][i] * 0.15 * v.attack * advantage[v.kind][u.kind] / (u.defence * u.health)
				}
				s := 0.0
				if all > 0 {
					s = max(left[side][j]-harm*left[side][j]/all, 0)
				}
				next[side] = append(next[side], s+u.mending*s*(1-s))
			}
		}
		left = next
	}
	for side, units := range sides {
		whole := 0.0
		for j, u := range units {
			share[side] += left[side][j] * u.health
			resources[side] += left[side][j] * u.cost
			whole += u.health
		}
		share[side] /= whole
	}
	return share, resources
}

// lineupObjectives returns the objectives of a candidate, and how close the comparisons of teams were.
func lineupObjectives(table []float32, teams int, x []float64) (f [3]float64, close float64) {
	units, _, _ := lineupOf(table, teams, x)
	strength, resources := make([]float64, teams), make([]float64, teams)
	for a := range teams {
		for b := range teams {
			if a != b {
				share, left := lineupBattle(units[a], units[b])
				strength[a] += share[0] / float64(teams-1)
				resources[a] += left[0] / float64(teams-1)
			}
		}
	}
	best, worst := slices.Index(strength, slices.Max(strength)), slices.Index(strength, slices.Min(strength))
	sorted := slices.Sorted(slices.Values(strength))
	close = min(sorted[1]-sorted[0], sorted[teams-1]-sorted[teams-2])
	whole := 0.0
	for _, u := range units[worst] {
		whole += u.cost
	}
	f[0], f[1] = strength[best]-strength[worst], resources[best]/max(resources[worst], whole/20)
	for b := range 4 {
		var baseline []lineupUnit
		for i := range 3 {
			v := table[8*51+4*79+6*(3*b+i):]
			baseline = append(baseline, lineupUnit{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3]), float64(v[4]), int(v[5])})
		}
		share, _ := lineupBattle(units[worst], baseline)
		f[2] += (share[0] - share[1]) / 4
	}
	return f, close
}

// TestLineups compares lineups of three and of eight teams with the float64 reference, by random keys, equal ones and those that choose the last of all kinds;
// a candidate with a coordinate that is not finite has no objectives.
func TestLineups(t *testing.T) {
	eng := engine.New(open(t))
	worst, ranges := 0.0, [3][2]float64{{9, -9}, {9, -9}, {9, -9}}
	for _, teams := range []int{3, 8} {
		p, err := Lineups(LineupsConfig{Teams: teams, Table: 4})
		if err != nil {
			t.Fatal(err)
		}
		const members, population, first, window = 2, 41, 3, 37
		dim, row := p.Space(1).Dim, p.Space(1).Row()
		rng := engine.NewRng(5, 1, uint32(teams), 0, 0)
		values := make([]float32, members*window*row)
		for i := range members * window {
			for j := range dim {
				x := rng.Uniform()
				switch i % 6 {
				case 1:
					x = float32(math.Floor(4*float64(x))) / 4 // equal keys
				case 2:
					x = 1
				case 3:
					x = 0
				}
				values[i*row+j] = x
			}
		}
		broken := map[int]float32{5: float32(math.NaN()), window + 9: float32(math.Inf(1))}
		for i, v := range broken {
			values[i*row+dim-1] = v
		}
		got := lineupsOnDevice(t, eng, p, values, members, population, first)
		table := lineupTable(4)
		compared := 0
		for i := range members * population {
			at, f := i%population-first, got[3*i:][:3]
			of := i/population*window + at
			if _, is := broken[of]; is && at >= 0 && at < window || at < 0 || at >= window {
				if !slices.ContainsFunc(f, func(v float32) bool { return v == v }) {
					continue
				}
				t.Fatalf("%d teams, candidate %d: %v; want NaN", teams, i, f)
			}
			x := make([]float64, dim)
			for j := range x {
				x[j] = float64(values[of*row+j])
			}
			want, close := lineupObjectives(table, teams, x)
			if close < 1e-5 {
				continue // rounding may change which team is the strongest
			}
			compared++
			for k, v := range want {
				d := math.Abs(float64(f[k])-v) / max(1, math.Abs(v))
				ranges[k] = [2]float64{min(ranges[k][0], v), max(ranges[k][1], v)}
				if worst = max(worst, d); !(d < 2e-5) {
					t.Errorf("%d teams, candidate %d: objective %d is %g; want %g", teams, i, k, f[k], v)
				}
			}
		}
		if compared < members*window-12 {
			t.Errorf("%d teams: %d candidates compared", teams, compared)
		}
	}
	t.Logf("largest deviation %.1e, objectives %.3f", worst, ranges)
}

// lineupsOnDevice returns the objectives [M, N, 3] of a window of candidates [M · window, row].
func lineupsOnDevice(t testing.TB, eng *engine.Engine, p *Function, values []float32, members, population, first int) []float32 {
	t.Helper()
	s := eng.NewState()
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := p.New(t.Context(), s, engine.NewClock(s), members, population)
	must(err)
	row := p.Space(members).Row()
	candidates := s.Scratch("candidates", engine.Float32, engine.Members(len(values)/row), engine.Axis("parameter", row))
	objectives := s.Scratch("objectives", engine.Float32, engine.Members(members), engine.Axis("candidate", population), engine.Axis("objective", 3))
	must(s.Poison(t.Context()))
	must(candidates.WriteFloat32(t.Context(), values))
	program, err := eng.Record("lineups", func(r *engine.Recorder) { e.Record(r, candidates, first, objectives) })
	must(err)
	defer program.Free()
	must(program.Run(t.Context()))
	got, err := objectives.ReadFloat32(t.Context())
	must(err)
	return got
}

// TestLineupsStayValid: whatever operator makes offspring, no hero and no piece of equipment is twice in a lineup.
func TestLineupsStayValid(t *testing.T) {
	dev := open(t)
	p, err := Lineups(DefaultLineups())
	if err != nil {
		t.Fatal(err)
	}
	for _, crossover := range []ec.Crossover{ec.UniformCrossover, ec.SBX} {
		cfg := ec.DefaultNSGA2()
		cfg.Population, cfg.Crossover, cfg.CrossoverRate, cfg.MutationRate = 12, crossover, 1, 0.1
		front := searchedFront(t, dev, cfg, p, 3)
		for i, x := range front.Solutions {
			wide := make([]float64, len(x))
			for j, v := range x {
				wide[j] = float64(v)
			}
			_, heroes, pieces := lineupOf(lineupTable(1), 3, wide)
			for _, chosen := range [][]int{heroes, pieces} {
				slices.Sort(chosen)
				if len(slices.Compact(chosen)) != 9 {
					t.Errorf("%v, solution %d: %v; want nine different ones", crossover, i, chosen)
				}
			}
		}
	}
}

// searchedFront returns the front after generations of one search.
func searchedFront(t testing.TB, dev *vk.Device, cfg ec.NSGA2Config, p ec.Problem, generations int) ec.Front {
	t.Helper()
	s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(2)), cfg, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := engine.Learn(t.Context(), s, engine.Iterations(generations)); err != nil {
		t.Fatal(err)
	}
	front, err := s.ReadFront(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return front[0]
}

// TestLineupsBeatRandom: with equally many evaluations, NSGA-II's front has a greater hypervolume than that of random lineups, the first generation of a
// search with one generation. The search evaluates its front by the same volume.
func TestLineupsBeatRandom(t *testing.T) {
	dev := open(t)
	p, err := Lineups(DefaultLineups())
	if err != nil {
		t.Fatal(err)
	}
	volume := func(f ec.Front) float64 {
		v, err := indicator.Hypervolume(f.Objectives, []float64{0, 0, -1})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	cfg := ec.DefaultNSGA2()
	cfg.Population, cfg.Crossover = 50, ec.UniformCrossover
	random := cfg
	random.Population = 2000
	searched, drawn := volume(searchedFront(t, dev, cfg, p, 40)), volume(searchedFront(t, dev, random, p, 1))
	t.Logf("hypervolume %.3f by NSGA-II, %.3f by random lineups, with 2000 evaluations", searched, drawn)
	if !(searched > 1.2*drawn) {
		t.Errorf("hypervolume %g by NSGA-II, %g by random lineups; want a fifth more", searched, drawn)
	}
	s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(2)), cfg, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := engine.Learn(t.Context(), s, engine.Iterations(2)); err != nil {
		t.Fatal(err)
	}
	front, err := s.ReadFront(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ev, err := s.Evaluate(t.Context(), 1)
	if err != nil || math.Abs(float64(ev.Returns[0][0])-volume(front[0])) > 1e-4 {
		t.Errorf("evaluates to %v, %v; want %g", ev.Returns, err, volume(front[0]))
	}
}
