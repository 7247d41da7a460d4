package problem

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// lowRankES is OpenES of rank 1 for tests.
func lowRankES(population, rank int, mirrored bool) ec.OpenESConfig {
	cfg := ec.DefaultOpenES()
	cfg.Population, cfg.Rank, cfg.Mirrored, cfg.NoiseStd, cfg.LearningRate = population, rank, mirrored, 0.3, 0.05
	return cfg
}

// lowRankPGPE is PGPE of a rank for tests.
func lowRankPGPE(population, rank int) ec.PGPEConfig {
	cfg := ec.DefaultPGPE()
	cfg.Population, cfg.Rank, cfg.InitStd = population, rank, 0.3
	return cfg
}

// lowRankSNES is SNES of a rank for tests.
func lowRankSNES(population, rank int) ec.SNESConfig {
	cfg := ec.DefaultSNES()
	cfg.Population, cfg.Rank, cfg.InitStd = population, rank, 0.3
	return cfg
}

// newLowRank makes a search and begins it.
func newLowRank(t *testing.T, seed uint32, algo ec.Algorithm, problem ec.Problem, members int) *ec.Search {
	t.Helper()
	s, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(seed)), algo, problem, members)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.State().Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// generations takes steps and returns the state's digest.
func generations(t *testing.T, s *ec.Search, n int) string {
	t.Helper()
	done, _, err := s.Clock().Read(t.Context())
	for i := range n {
		if err != nil {
			t.Fatal(err)
		}
		ticket, failed := s.Step(t.Context(), done+i)
		if err = failed; err == nil {
			err = ticket.Wait(t.Context())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.State().Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// withMemory is a network with a cell of so many units.
func withMemory(kind nn.Kind, units int) NetworkConfig {
	network := DefaultNetwork()
	network.Hidden, network.Layers = nil, []nn.LayerConfig{{Kind: kind, Units: units}}
	return network
}

// TestLowRankFitness: the fitness of candidates of low rank is that of their rows, formed whole and evaluated each as a network of its own.
func TestLowRankFitness(t *testing.T) {
	for _, c := range []struct {
		env        string
		norms      bool
		sample     bool
		population int
		algo       ec.Algorithm
		cell       nn.Kind
	}{
		{"Pendulum-v1", false, true, 6, lowRankES(6, 2, true), 0}, {"Pendulum-v1", true, false, 5, lowRankES(5, 2, false), 0},
		{"CartPole-v1", false, false, 8, lowRankES(8, 2, true), 0}, {"Pendulum-v1", false, true, 6, lowRankPGPE(6, 2), 0},
		{"Pendulum-v1", true, true, 7, lowRankSNES(7, 3), 0},
		{"Swimmer-v5", false, false, 6, lowRankES(6, 1, true), 0}, // its reward is a velocity, in which roundings of actions add up over the steps
		{"PendulumMasked-v1", false, true, 6, lowRankES(6, 2, true), nn.GRU}, {"CartPoleMasked-v1", false, false, 7, lowRankSNES(7, 3), nn.LSTM},
	} {
		t.Run(c.algo.Name()+"/"+c.env, func(t *testing.T) {
			network, cfg := DefaultNetwork(), DefaultPolicy()
			network.Hidden = []int{13, 21, 9}
			if c.cell != 0 {
				network = withMemory(c.cell, 11)
			}
			network.LayerNorm, network.NormalizeObs = c.norms, Running
			cfg.Episodes, cfg.Sample = 2, c.sample
			limit := 20
			if c.env == "Swimmer-v5" {
				limit = 5
			}
			p := Policy(lookup(t, c.env), envs.Options{TimeLimit: limit}, network, cfg).(*policy)
			rows := *p
			rows.cfg.Placement = envs.PlacementStepped
			compareLowRank(t, p, &rows, c.algo, c.population)
		})
	}
}

// compareLowRank compares the fitness of candidates of low rank in a problem with that of their rows in another one.
func compareLowRank(t *testing.T, p ec.LowRankProblem, rows ec.Problem, algo ec.Algorithm, population int) {
	t.Helper()
	const members, generations = 2, 3
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	eng := engine.New(open(t), engine.Seed(7))
	s := eng.NewState()
	defer func() { _ = s.Close() }()
	clock, hyper := engine.NewClock(s), engine.NewHyper(s, members)
	g, err := ec.NewGeneration(s, clock, hyper, algo, p.Space(members))
	must(err)
	of := g.Strategy().(ec.LowRankStrategy)
	low, err := p.NewLowRank(t.Context(), s.Sub("problem"), clock, members, population, of.LowRank())
	must(err)
	other := eng.NewState() // of the same streams
	defer func() { _ = other.Close() }()
	whole, err := rows.New(t.Context(), other.Sub("problem"), clock, members, population)
	must(err)
	for _, e := range []ec.Evaluation{low, whole} {
		e.Rows(engine.NewMetrics(eng.NewState(), members, 32))
	}
	candidates := g.NewCandidates("candidates", population)
	fitness, reference := g.NewFitness("fitness"), g.NewFitness("reference")
	into := of.NewPerturbation(s, population)
	must(s.Zero(t.Context()))
	must(other.Zero(t.Context()))
	must(s.Poison(t.Context()))
	must(other.Poison(t.Context()))
	must(hyper.Init(t.Context()))
	must(low.Init(t.Context()))
	must(whole.Init(t.Context()))
	must(g.Init(t.Context(), p.Start(7, 1, members)))
	program, err := eng.Record("generation", func(r *engine.Recorder) {
		g.Ask(r)
		low.RecordLowRank(r, of.Perturb(r, 0, into), 0, fitness)
		low.Finish(r)
		g.Candidates(r, ec.Pick{}, candidates)
		whole.Record(r, candidates, 0, reference)
		whole.Finish(r)
		g.Tell(r, fitness)
		clock.Tick(r, 1, 20)
	})
	must(err)
	defer program.Free()
	for range generations {
		must(program.Run(t.Context()))
		a, err := fitness.ReadFloat32(t.Context())
		must(err)
		b, err := reference.ReadFloat32(t.Context())
		must(err)
		for i := range a {
			if !(math.Abs(float64(a[i]-b[i])) <= 2e-4*max(1, math.Abs(float64(b[i])))) {
				t.Errorf("candidate %d of member %d: fitness %g; want %g", i%population, i/population, a[i], b[i])
			}
		}
	}
}

// TestLowRankWindows: the same bits whatever part of a population is evaluated at once, and on every run.
func TestLowRankWindows(t *testing.T) {
	const members, population = 2, 10
	dense := DefaultNetwork()
	dense.Hidden = []int{21, 34}
	for name, network := range map[string]NetworkConfig{"dense": dense, "gru": withMemory(nn.GRU, 13), "lstm": withMemory(nn.LSTM, 10)} {
		var want string
		for _, window := range []int{population, population, 3, 1, 7} {
			p := Policy(lookup(t, "CartPole-v1"), envs.Options{TimeLimit: 30}, network, DefaultPolicy()).(*policy)
			layout, err := nn.NewLowRank(p.Space(1).Parameters, 1)
			if err != nil {
				t.Fatal(err)
			}
			p.memory = window * members * p.lowRankBytes(layout, open(t).Info())
			s := newLowRank(t, 3, lowRankES(population, 1, true), p, members)
			got := generations(t, s, 3)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s in windows of %d: digest %s; want %s", name, window, got, want)
			}
		}
	}
}

// TestLowRankResume: a resumed search of low rank has the same bits.
func TestLowRankResume(t *testing.T) {
	grouped := lowRankES(6, 2, true)
	grouped.Shaping, grouped.Group, grouped.NoiseReuse = ec.Grouped, 2, 3 // the resumed generation uses the draws of the one before
	p := Policy(lookup(t, "CartPole-v1"), envs.Options{TimeLimit: 30}, DefaultNetwork(), DefaultPolicy())
	memory := Policy(lookup(t, "TMaze-v0"), envs.Options{}, withMemory(nn.GRU, 12), DefaultPolicy())
	for _, of := range []struct {
		algo    ec.Algorithm
		problem ec.Problem
	}{
		{lowRankES(6, 1, true), p}, {grouped, p}, {ec.VanillaESConfig{Population: 5, Elites: 2, NoiseStd: 0.2, Rank: 2}, p},
		{ec.ARSConfig{Population: 6, Elites: 2, NoiseStd: 0.2, LearningRate: 0.1, Rank: 1}, p}, {lowRankPGPE(6, 2), p}, {lowRankSNES(5, 1), p},
		{lowRankES(6, 1, true), memory}, {lowRankPGPE(6, 2), lowRankDigits(t, 9)},
		{lowRankES(6, 1, true), adder(t, 5, 6, 1, 1)},
	} {
		algo, p := of.algo, of.problem
		s := newLowRank(t, 5, algo, p, 2)
		generations(t, s, 2)
		dir := t.TempDir()
		if _, err := s.State().Save(t.Context(), dir, 2); err != nil {
			t.Fatal(err)
		}
		want := generations(t, s, 2)
		again := newLowRank(t, 5, algo, p, 2)
		saved, _, err := checkpoint.Latest(dir)
		if err == nil {
			err = again.State().Load(t.Context(), saved)
		}
		if err == nil {
			err = again.State().Poison(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := generations(t, again, 2); got != want {
			t.Errorf("%s on %s: digest %s after a resume; want %s", algo.Name(), p.Name(), got, want)
		}
	}
}

// TestLowRankRefused: problems whose candidates are no networks, or not ones that act step by step.
func TestLowRankRefused(t *testing.T) {
	lanes := DefaultPolicy()
	lanes.Placement = envs.PlacementLanes
	env := lookup(t, "CartPole-v1")
	for want, p := range map[string]ec.Problem{
		"has other candidates": Sphere(4),
		"policy.placement":     Policy(env, envs.Options{}, DefaultNetwork(), lanes),
		"actors of":            Actors(env, envs.Options{}, DefaultNetwork(), nn.Head{Kind: nn.Deterministic, Size: 1}, DefaultPolicy()),
	} {
		if err := ec.CheckLowRank(lowRankES(4, 1, true), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if _, err := ec.NewSearch(t.Context(), engine.New(open(t)), lowRankES(4, 1, true), p, 1); err == nil {
			t.Errorf("a search is made; want %q", want)
		}
		if err := ec.CheckLowRank(lowRankES(4, 0, true), p); err != nil {
			t.Error(err)
		}
	}
}

// TestLowRankMemoryLearns: OpenES of rank 1 balances the pole without its velocities by a memory.
func TestLowRankMemoryLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("learns for seconds; make validate runs it")
	}
	algo, network, cfg := lowRankES(64, 1, true), withMemory(nn.GRU, 16), DefaultPolicy()
	algo.NoiseStd, algo.WeightDecay, network.NormalizeObs, cfg.Episodes = 0.2, 0, Running, 2
	s := newLowRank(t, 1, algo, Policy(lookup(t, "CartPoleMasked-v1"), envs.Options{TimeLimit: 200}, network, cfg), 1)
	generations(t, s, 45)
	ev, err := s.Evaluator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of, err := ev.Run(t.Context(), s.Clock(), 20)
	if err != nil {
		t.Fatal(err)
	}
	if mean := of.Means()[0]; mean < 150 {
		t.Errorf("mean return %.0f of 200; want at least 150", mean)
	}
}

// TestLowRankLearns: OpenES, PGPE and SNES of rank 1 balance the pole.
func TestLowRankLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("learns for seconds; make validate runs it")
	}
	openES, pgpe, snes := lowRankES(64, 1, true), lowRankPGPE(64, 1), lowRankSNES(64, 1)
	openES.NoiseStd, openES.WeightDecay, pgpe.InitStd, snes.InitStd = 0.1, 0, 0.1, 0.1
	for _, algo := range []ec.Algorithm{openES, pgpe, snes} {
		t.Run(algo.Name(), func(t *testing.T) {
			network := DefaultNetwork()
			network.Hidden = []int{32, 32}
			s := newLowRank(t, 1, algo, Policy(lookup(t, "CartPole-v1"), envs.Options{TimeLimit: 200}, network, DefaultPolicy()), 1)
			generations(t, s, 25)
			ev, err := s.Evaluator(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			of, err := ev.Run(t.Context(), s.Clock(), 20)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, r := range of.Returns[0] {
				sum += float64(r) / 20
			}
			if t.Logf("mean return %.0f", sum); sum < 150 {
				t.Errorf("mean return %.0f of 200; want at least 150", sum)
			}
		})
	}
}
