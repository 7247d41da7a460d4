package hybrid

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// stylish is EMOGI over PPO in Pong, in games of 40 steps.
func stylish(t testing.TB, members int, options ...rl.Option) *PBT {
	t.Helper()
	ppo := small(members)
	ppo.StillAction = 1
	cfg := DefaultEMOGI()
	cfg.Objective, cfg.ReturnLow, cfg.ReturnHigh, cfg.ActiveWeight, cfg.LazyWeight = Styles, -2, 2, 0.5, 0.75
	cfg.Warmup, cfg.Interval, cfg.Episodes = 1, 2, 3
	cfg.Search = map[string]Prior{
		"learning_rate": {LogUniform, 1e-4, 1e-2}, "motion_weight": {Uniform, -0.1, 0.1}, "discount": {Horizon, 2, 6},
	}
	if len(options) > 0 {
		cfg.Crossover = LayerCrossover
	}
	return made(t)(NewEMOGI(t.Context(), newPPO(t, 5, "Pong-v0", ppo, append(options, rl.Environment(envs.Options{TimeLimit: 40}))...), cfg))
}

// deep has networks of four layers, which begin in a row of Pong's 10 observations at pongLayers.
func deep() rl.Option {
	cfg := rl.DefaultNetwork()
	cfg.Hidden, cfg.NormalizeObs = []int{6, 5, 4}, true
	return rl.Network(cfg)
}

var pongLayers = []int{0, 10*6 + 6, 10*6 + 6 + 6*5 + 5, 10*6 + 6 + 6*5 + 5 + 5*4 + 4}

// crowdedOrder lists candidates by front, then by crowding distance, as K. Deb et al., 2002, sections III.A and III.B say; those that are equal in both by
// their numbers.
func crowdedOrder(objectives [][]float64) []int {
	n := len(objectives)
	front, distance := make([]int, n), make([]float64, n)
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for at := 0; len(left) > 0; at++ {
		var now, later []int
		for _, i := range left {
			if slices.ContainsFunc(left, func(j int) bool {
				a, b := objectives[j], objectives[i]
				return a[0] >= b[0] && a[1] >= b[1] && (a[0] > b[0] || a[1] > b[1])
			}) {
				later = append(later, i)
			} else {
				now = append(now, i)
			}
		}
		for _, i := range now {
			front[i] = at
		}
		for k := range 2 {
			by := slices.Clone(now)
			slices.SortStableFunc(by, func(i, j int) int { return cmp.Compare(objectives[i][k], objectives[j][k]) })
			span := objectives[by[len(by)-1]][k] - objectives[by[0]][k]
			for at, i := range by {
				switch {
				case span == 0:
				case at == 0 || at == len(by)-1:
					distance[i] = math.Inf(1)
				default:
					distance[i] += (objectives[by[at+1]][k] - objectives[by[at-1]][k]) / span
				}
			}
		}
		left = later
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(front[i], front[j]), cmp.Compare(distance[j], distance[i]))
	})
	return order
}

// TestEMOGISelection compares a selection and the breeding after it with a model: every word of every member's tensors. Objectives are multiples of 1/8, so
// that there are ties and twins, and distances are the same in float32.
func TestEMOGISelection(t *testing.T) {
	for i, members := range []int{2, 5, 13, 7} {
		var options []rl.Option
		if i == 3 {
			options = append(options, deep()) // whose networks are crossed
		}
		p := stylish(t, members, options...)
		initialized(t, p)
		e, rng := p.emogi, rand.New(rand.NewPCG(uint64(members), 2))
		moved, stayed := 0, 0
		for iteration := range 4 {
			scramble(t, p, rng, iteration, fitnesses(rng, members))
			for _, c := range e.crossed {
				writeWords(t, c.begins, func(i int) uint32 { return c.layers[i] })
			}
			var objectives [][]float64
			var words []float32
			for range 2 * members {
				a, b := float64(rng.IntN(17))/8, float64(rng.IntN(17))/8
				objectives, words = append(objectives, []float64{a, b}), append(words, float32(a), float32(b))
			}
			if members == 13 { // a child that diverged
				objectives[14] = []float64{-math.MaxFloat32, -math.MaxFloat32}
				words[28], words[29] = -math.MaxFloat32, -math.MaxFloat32
			}
			if err := e.kept.WriteFloat32(t.Context(), words[:2*members]); err != nil {
				t.Fatal(err)
			}
			if err := p.ranking.objectives.WriteFloat32(t.Context(), words[2*members:]); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, p.State())
			run(t, p, func(r *engine.Recorder) { e.settle(r, p) })
			after := snapshot(t, p.State())

			// The best members survive; parents keep their places.
			standing := make([]int, 2*members)
			for at, i := range crowdedOrder(objectives) {
				standing[i] = at
			}
			survivor := make([]int, members) // of each place, among parents and children
			child := members
			for place := range survivor {
				survivor[place] = place
				if standing[place] < members {
					stayed++
					continue
				}
				for standing[child] >= members {
					child++
				}
				survivor[place] = child
				child++
				moved++
			}
			var kept [][]float64
			for place, i := range survivor {
				kept = append(kept, objectives[i])
				if got := int(words32(after, e.standing)[place]); got != standing[i] {
					t.Fatalf("%d members: place %d has rank %d; want %d, of candidate %d", members, place, got, standing[i], i)
				}
				for k := range 2 {
					if got := after.float(e.kept.Name(), 2*place+k); got != objectives[i][k] {
						t.Fatalf("%d members: objective %d of place %d is %g; want %g", members, k, place, got, objectives[i][k])
					}
				}
			}
			for _, c := range e.carried {
				want := before.clone()
				for place, i := range survivor {
					if i >= members {
						taken(want, c.parent, place, want[c.child.Name()], i-members)
					}
				}
				for _, name := range []string{c.parent.Name(), c.child.Name()} {
					if !slices.Equal(after[name], want[c.parent.Name()]) {
						t.Fatalf("%d members: %s is not the survivors'", members, name)
					}
				}
			}
			checkFront(t, p, kept)
			checkChildren(t, p, after)
		}
		if moved == 0 || stayed == 0 {
			t.Errorf("%d members: %d children and %d parents survived; want some of both", members, moved, stayed)
		}
	}
}

func words32(c contents, of *engine.Tensor) []uint32 { return c[of.Name()] }

// taken makes member p of a tensor of c a copy of member from of words, of the same shape.
func taken(c contents, tensor *engine.Tensor, p int, words []uint32, from int) {
	outer, members, inner, _ := tensor.Split(engine.MemberAxis)
	for o := range outer {
		copy(c[tensor.Name()][(o*members+p)*inner:][:inner], words[(o*members+from)*inner:][:inner])
	}
}

// checkFront compares the measures of the front with those of package indicator.
func checkFront(t *testing.T, p *PBT, objectives [][]float64) {
	t.Helper()
	var front [][]float64
	for _, i := range indicator.NonDominated(objectives) {
		front = append(front, objectives[i])
	}
	volume, err := indicator.Hypervolume(front, []float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{float64(len(front)), volume}
	for k := range 2 {
		by := func(a, b []float64) int { return cmp.Compare(a[k], b[k]) }
		want = append(want, slices.MaxFunc(front, by)[k]-slices.MinFunc(front, by)[k])
	}
	for i, of := range p.emogi.front.measures {
		if got := float64(values(t, of)[0]); math.Abs(got-want[i]) > 1e-5 {
			t.Fatalf("%s is %g; want %g of %v", of.Name(), got, want[i], front)
		}
	}
}

// checkChildren breeds from the parents and compares the children with the model: their mothers by tournaments, their tensors their mothers', and their genes
// within the priors.
func checkChildren(t *testing.T, p *PBT, before contents) {
	t.Helper()
	e, members := p.emogi, p.fitness.Len()
	run(t, p, func(r *engine.Recorder) { e.breed(r, p) })
	after, standing := snapshot(t, p.State()), words32(before, e.standing)
	better := func(a, b int) int {
		if standing[a] <= standing[b] {
			return a
		}
		return b
	}
	mates, layers, cuts := words(t, e.mate), p.cfg.Crossover == LayerCrossover, map[int]bool{}
	for c := range members {
		drawn := engine.Philox([2]uint32{5, engine.Stream("pbt/mate/")}, [4]uint32{uint32(c / 2), 0, before["clock"][0], 0})
		at := func(i int) int { return int(uint64(drawn[i]) * uint64(members) >> 32) }
		a, b := better(at(0), at(1)), better(at(2), at(3))
		mother := better(a, b)
		if layers && c%2 == 1 { // a copy of the other parent
			mother = a + b - mother
		}
		if got := int(after["pbt/parent"][c]); got != mother || int(mates[c]) != a+b-mother {
			t.Fatalf("child %d has the parents %d and %d; want %d and %d", c, got, mates[c], mother, a+b-mother)
		}
		cut := 1 + int(uint64(engine.Philox([2]uint32{5, engine.Stream("pbt/cut/")}, [4]uint32{uint32(c / 2), 0, before["clock"][0], 0})[0])*3>>32)
		cuts[cut] = true
		for _, pair := range e.carried {
			name, isHyper := strings.CutPrefix(pair.child.Name(), "hyper/")
			prior, searched := p.cfg.Search[name]
			if !isHyper || !searched {
				want := before.clone()
				taken(want, pair.child, c, want[pair.parent.Name()], mother)
				if name := pair.child.Name(); layers && (strings.HasPrefix(name, "agent/actor/") || strings.HasPrefix(name, "agent/critic/")) {
					width := pair.child.Len() / members
					if width > 100 { // a row of parameters, or of moments
						copy(want[name][c*width:][pongLayers[cut]:width], before[pair.parent.Name()][(a+b-mother)*width:][pongLayers[cut]:width])
					}
				}
				if name := pair.child.Name(); !slices.Equal(member(pair.child, after[name], c), member(pair.child, want[name], c)) {
					t.Fatalf("child %d: %s is not its mother's, %d", c, pair.child.Name(), mother)
				}
				continue
			}
			low, high := ends(prior)
			x := toCoordinate(prior, after.float(pair.child.Name(), c))
			within := func(i int) bool {
				of := toCoordinate(prior, before.float(pair.parent.Name(), i))
				return of >= low && of <= high
			}
			if within(mother) && within(a+b-mother) && (x < low-1e-3 || x > high+1e-3) {
				t.Fatalf("child %d: %s is %g along its prior; want %g to %g", c, name, x, low, high)
			}
		}
	}
	if layers && (len(cuts) < 2 || len(e.crossed) != 6) {
		t.Errorf("cuts %v of %d tensors; want several, of parameters and two moments of actors and critics", cuts, len(e.crossed))
	}
}

// TestStyles: moves are shares of steps, and both objectives are the score and a weighted share.
func TestStyles(t *testing.T) {
	const members = 4
	p := stylish(t, members)
	initialized(t, p)
	run(t, p, func(r *engine.Recorder) { p.ranking.recordFitness(r, p) })
	covered, fitness, objectives := values(t, p.ranking.covered), values(t, p.fitness), values(t, p.ranking.objectives)
	for m := range members {
		share := 0.0
		for _, x := range covered[3*m:][:3] {
			if steps := 40 * float64(x); x <= 0.2 || x >= 1 || math.Abs(steps-math.Round(steps)) > 1e-4 {
				t.Errorf("member %d moves in %g of 40 steps; want a whole number, about two thirds", m, steps)
			}
			share += float64(x) / 3
		}
		score := (float64(fitness[m]) + 2) / 4
		for k, want := range []float64{score + 0.5*share, score + 0.75*(1-share)} {
			if got := float64(objectives[2*m+k]); math.Abs(got-want) > 1e-5 {
				t.Errorf("member %d: objective %d is %g; want %g, of the return %g and moves %v", m, k, got, want, fitness[m], covered[3*m:][:3])
			}
		}
	}
}

// TestEMOGIRenews: with renewed evaluations, parents have the objectives of new episodes, and no others change.
func TestEMOGIRenews(t *testing.T) {
	p := stylish(t, 4)
	p.cfg.Renew = true
	initialized(t, p)
	e := p.emogi
	run(t, p, func(r *engine.Recorder) {
		p.ranking.recordFitness(r, p)
		e.settle(r, p)
	})
	if err := e.kept.Fill(t.Context(), 9); err != nil { // luck
		t.Fatal(err)
	}
	run(t, p, func(r *engine.Recorder) { e.renew(r, p) })
	objectives, fitness := values(t, e.kept), values(t, p.fitness)
	for i, x := range values(t, p.ranking.objectives) {
		if objectives[i] != x || x > 2 {
			t.Fatalf("objectives %v; want those of the evaluation, with %g", objectives, x)
		}
	}
	for _, c := range e.carried {
		if c.child == p.fitness && !slices.Equal(values(t, c.parent), fitness) {
			t.Errorf("the parents' fitness is %v; want %v", values(t, c.parent), fitness)
		}
	}
}

// TestEMOGISteadiness: fitness and steadiness that metrics show are the objectives of the policy at the member's place: of parents and children that survive,
// of parents that are evaluated again, and of children, whose mothers they are.
func TestEMOGISteadiness(t *testing.T) {
	const members, episodes = 5, 3
	cfg := DefaultEMOGI()
	cfg.Episodes, cfg.Search = episodes, map[string]Prior{"discount": {Horizon, 2, 6}}
	p := made(t)(NewEMOGI(t.Context(), newPPO(t, 5, "CartPole-v1", small(members)), cfg))
	initialized(t, p)
	p.ranking.evaluate = func(*engine.Recorder, *engine.Tensor) {}
	e, dice := p.emogi, rand.New(rand.NewPCG(3, 4))
	check := func(after string, source func(place int) int) {
		t.Helper()
		objectives, fitness, steadiness := values(t, e.kept), values(t, p.fitness), values(t, p.ranking.steadiness)
		for place := range members {
			if want := objectives[2*source(place):][:2]; fitness[place] != want[0] || steadiness[place] != want[1] {
				t.Errorf("after %s member %d has fitness %g and steadiness %g; want %v", after, place, fitness[place], steadiness[place], want)
			}
		}
	}
	itself := func(place int) int { return place }
	children, parents := 0, 0
	for i := range 4 {
		writeFloats(t, p.ranking.returns, func(int) float32 { return float32(dice.IntN(100)) })
		run(t, p, func(r *engine.Recorder) {
			p.ranking.recordFitness(r, p)
			e.settle(r, p)
		})
		check("a selection", itself)
		for _, child := range words(t, e.source) {
			switch {
			case i == 0: // all are children
			case child < members:
				children++
			default:
				parents++
			}
		}
		if i == 2 {
			writeFloats(t, p.ranking.returns, func(int) float32 { return float32(dice.IntN(100)) })
			run(t, p, func(r *engine.Recorder) { e.renew(r, p) })
			check("new episodes", itself)
		}
		run(t, p, func(r *engine.Recorder) { e.breed(r, p) })
		mothers := words(t, p.parent)
		check("breeding", func(place int) int { return int(mothers[place]) })
	}
	if children == 0 || parents == 0 {
		t.Errorf("%d children and %d parents survive; want both", children, parents)
	}
}

// TestEMOGIReplays: in replays that members keep, a row is followed by the next observation of its episode, whatever parents came back in the meantime.
func TestEMOGIReplays(t *testing.T) {
	const members = 3
	g := smallERL("td3", genetic())
	g.members = members
	agents, err := g.agents(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultEMOGI()
	cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Search = 0, 1, 2, map[string]Prior{"discount": {Horizon, 2, 6}}
	p := made(t)(NewEMOGI(t.Context(), agents, cfg))
	initialized(t, p)
	obs, newest, link := saved(t, p, "replay/obs"), saved(t, p, "replay/newest"), saved(t, p, "replay/link")
	features, rows, capacity := obs.Size("feature"), obs.Size("row"), g.replay.Capacity
	observation := func(ring, row int) []float32 { return values(t, obs)[(ring*rows+row)*features:][:features] }
	kept, linked := 0, 0
	for i := range 12 {
		var next [members][]float32 // after the newest row: the ring's last observation
		before := words(t, newest)
		for ring := range members {
			next[ring] = observation(ring, rows-1)
		}
		steps(t, p, i, i+1)
		links := words(t, link)
		for ring, row := range before {
			if row == 0 {
				continue // the episode was over
			}
			kept++
			to := int(links[ring*capacity+int(row)-1])
			if to < capacity {
				linked++
			}
			if got := observation(ring, to); !slices.Equal(got, next[ring]) {
				t.Errorf("iteration %d: the newest row of member %d is followed by %v; want %v", i, ring, got, next[ring])
			}
		}
	}
	t.Logf("%d of %d rows are linked", linked, kept)
	if kept == 0 {
		t.Error("no episode was left unfinished")
	}
}

// TestEMOGILearns: a run has a front after the first selection, whose hypervolume never falls, as parents compete with children. It resumes to the same bits.
func TestEMOGILearns(t *testing.T) {
	p := stylish(t, 4)
	initialized(t, p)
	var volumes []float32
	if err := engine.Learn(t.Context(), p, engine.Iterations(7), engine.OnReport(func(_ context.Context, r engine.Report) error {
		volumes = append(volumes, r.Metrics[frontVolumeRow][0])
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	// Selections are at the ends of the iterations 1, 3, 5 and 7.
	for i, v := range volumes {
		if i > 0 && !(v >= volumes[i-1]-1e-6) || i%2 == 1 && v != volumes[i-1] || !(v > 0) {
			t.Errorf("hypervolumes %v; want one that is above 0, does not fall, and changes at selections only", volumes)
			break
		}
	}
	resumes(t, func() engine.Workflow { return stylish(t, 3, deep()) }, 6)
}

// TestEMOGIErrors: settings that EMOGI does not have, and agents that know no action to stay, are refused.
func TestEMOGIErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*PBTConfig)
		want   string
	}{
		{func(c *PBTConfig) { c.Objective = NoObjective }, "two objectives"},
		{func(c *PBTConfig) { c.Explore = PB2 }, "own exchange"},
		{func(c *PBTConfig) { c.Objective = Styles }, "still_action"},
		{func(c *PBTConfig) { c.Objective, c.ReturnHigh = Styles, 0 }, "return_low below return_high"},
	} {
		cfg := DefaultEMOGI()
		c.change(&cfg)
		if _, err := NewEMOGI(t.Context(), newPPO(t, 5, "CartPole-v1", small(4)), cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want an error with %q", err, c.want)
		}
	}
	shallow, cfg := rl.DefaultNetwork(), DefaultEMOGI()
	shallow.Hidden, cfg.Crossover = nil, LayerCrossover
	ppo := newPPO(t, 5, "CartPole-v1", small(4), rl.Network(shallow))
	if _, err := NewEMOGI(t.Context(), ppo, cfg); err == nil || !strings.Contains(err.Error(), "one layer") {
		t.Errorf("layers of networks of one: %v", err)
	}
	if _, err := NewPBT(t.Context(), newPPO(t, 5, "CartPole-v1", small(4)), cfg); err == nil || !strings.Contains(err.Error(), "have one parent") {
		t.Errorf("crossover in pbt: %v", err)
	}
}
