package problem

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// constant returns a row for which the network gives the same outputs for every input.
func constant(p *policy, outputs ...float64) []float32 {
	layers := p.model().Layers()
	row := make([]float32, p.Space(1).Row())
	for i, y := range outputs {
		row[layers[len(layers)-1].Bias+i] = float32(y)
	}
	return row
}

// TestBins: a bin is exactly the action that a continuous policy takes with the same value.
func TestBins(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(8))
	const bins = 5
	for _, name := range []string{"Pendulum-v1", "CartPoleSwingUp-easy"} {
		env := lookup(t, name)
		network, cfg := DefaultNetwork(), DefaultPolicy()
		network.Hidden, network.Squash = []int{4}, false
		fitness := func(cfg PolicyConfig, outputs func(p *policy, bin int) []float32) []float32 {
			p := Policy(env, envs.Options{TimeLimit: 40}, network, cfg)
			g := newGeneration(t, eng, p, 1, bins)
			g.set(func(_, c int) []float32 { return outputs(p.(*policy), c) })
			g.run()
			return g.floats(g.fitness)
		}
		want := fitness(cfg, func(p *policy, bin int) []float32 { return constant(p, 2*float64(bin)/(bins-1)-1) })
		cfg.Bins = bins
		got := fitness(cfg, func(p *policy, bin int) []float32 {
			logits := []float64{0.1, 0.2, -1, 0.3, 0}
			logits[bin] = 0.5
			return constant(p, logits...)
		})
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, bin %d: fitness %v; want %v of the continuous action", name, i, got[i], want[i])
			}
			for j := range i {
				if want[i] == want[j] {
					t.Errorf("%s: bins %d and %d do the same", name, i, j)
				}
			}
		}
	}
}

// TestSampledActions: bins are drawn with their probabilities, and continuous actions with the candidate's deviation.
// In a single step of MountainCarContinuous the reward is -0.1 times the squared action.
func TestSampledActions(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	const population = 4000
	env := lookup(t, "MountainCarContinuous-v0")
	network, cfg := DefaultNetwork(), DefaultPolicy()
	network.Hidden, network.Squash, cfg.Sample, cfg.Common, cfg.Bins = []int{3}, false, true, false, 3
	p := Policy(env, envs.Options{TimeLimit: 1}, network, cfg).(*policy)
	g := newGeneration(t, eng, p, 1, population)
	g.set(func(int, int) []float32 { return constant(p, math.Log(0.2), math.Log(0.7), math.Log(0.1)) })
	g.run()
	zero := 0.0
	for _, f := range g.floats(g.fitness) {
		switch {
		case f == 0:
			zero++
		case math.Abs(float64(f)+0.1) > 1e-6:
			t.Fatalf("fitness %v; want 0 of the middle bin, -0.1 of the others", f)
		}
	}
	if limit := 4 * math.Sqrt(population*0.7*0.3); math.Abs(zero-0.7*population) > limit {
		t.Errorf("the middle bin was drawn %v times of %d; want 0.7 of them ± %v", zero, population, limit)
	}

	cfg.Bins, network.LogStd = 0, -1.5
	p = Policy(env, envs.Options{TimeLimit: 1}, network, cfg).(*policy)
	if size := p.model().Size(); p.Space(1).Dim != size+1 || p.Start(1, 0, 2)[2*size+1] != -1.5 || p.Start(1, 0, 2)[size] != -1.5 {
		t.Errorf("a space of %d dimensions, beginning at %v; want a log standard deviation of -1.5 behind the network's %d parameters",
			p.Space(1).Dim, p.Start(1, 0, 2), size)
	}
	g = newGeneration(t, eng, p, 2, population)
	means, deviations := []float64{0.2, 0}, []float64{0.3, 0.05}
	g.set(func(m, _ int) []float32 {
		row := constant(p, means[m])
		row[p.model().Size()] = float32(math.Log(deviations[m]))
		return row
	})
	g.run()
	all := g.floats(g.fitness)
	for m, mu := range means {
		std, sum := deviations[m], 0.0
		for _, f := range all[m*population : (m+1)*population] {
			sum += float64(f)
		}
		want := -0.1 * (mu*mu + std*std)
		// The variance of the square of a normal number is 2 std^4 + 4 mu^2 std^2.
		limit := 4 * 0.1 * math.Sqrt((2*math.Pow(std, 4)+4*mu*mu*std*std)/population)
		if got := sum / population; math.Abs(got-want) > limit {
			t.Errorf("mean fitness %v of actions %v ± %v; want %v ± %v", got, mu, std, want, limit)
		}
	}
}

// TestCap: episodes end at twice the mean length of the previous generation, and no earlier.
func TestCap(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(10))
	const members, population, episodes, limit = 2, 9, 2, 500
	env := lookup(t, "CartPole-v1")
	network, cfg := DefaultNetwork(), DefaultPolicy()
	network.Hidden, cfg.Cap, cfg.Episodes = []int{4}, true, episodes
	p := Policy(env, envs.Options{}, network, cfg).(*policy)
	g := newGeneration(t, eng, p, members, population)
	if p.limit() != limit {
		t.Fatalf("a limit of %d steps", p.limit())
	}
	// In the first search one candidate can balance, in the second all can.
	balances := func(m, c int) bool { return m == 1 || c == 3 }
	g.set(func(m, c int) []float32 {
		if !balances(m, c) {
			return constant(p, 1, 0)
		}
		// Unit u is tanh of a combination of observations, and the output follows it: push in the direction in which
		// the pole falls.
		row := constant(p)
		layers := p.model().Layers()
		for k, w := range []float32{0.1, 0.3, 2, 1} {
			row[layers[0].Weight+k*4] = w
		}
		row[layers[1].Weight+1] = 1
		return row
	})
	caps, total := []uint32{limit, limit}, uint64(0)
	for i := range 4 {
		before := append([]uint32(nil), caps...)
		g.run()
		steps, lengths := g.words(g.e.steps), g.floats(g.length)
		for m := range members {
			sum := uint32(0)
			for c, n := range steps[m*population : (m+1)*population] {
				sum += n
				if balances(m, c) && n != episodes*before[m] {
					t.Errorf("generation %d: candidate %d of search %d took %d steps; want %d episodes of %d", i, c, m, n, episodes, before[m])
				}
				if !balances(m, c) && n >= 40 {
					t.Errorf("generation %d: candidate %d of search %d took %d steps", i, c, m, n)
				}
			}
			mean := float64(sum) / (population * episodes)
			caps[m] = uint32(min(limit, math.Ceil(2*mean)))
			total += uint64(sum)
			if math.Abs(float64(lengths[m])-mean) > 1e-4*mean {
				t.Errorf("generation %d: episodes of search %d take %v steps; want %v", i, m, lengths[m], mean)
			}
		}
		if got := g.words(g.e.cap); got[0] != caps[0] || got[1] != caps[1] {
			t.Errorf("generation %d: caps %v; want %v", i, got, caps)
		}
		if taken := g.words(g.e.taken); uint64(taken[0]) != total {
			t.Errorf("generation %d: %d steps counted; want %d", i, taken[0], total)
		}
	}
	if caps[0] >= limit/2 || caps[1] != limit {
		t.Errorf("caps %v; want a small one, and %d", caps, limit)
	}
}
