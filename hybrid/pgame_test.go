package hybrid

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// swings describe policies of the pendulum by the mean height and side of its end.
var swings = problem.BehaviourConfig{Observations: []int{0, 1}}

// smallPGAME has two archives of 3 × 3 cells and six candidates a generation: two climb and one is the agent's actor after a generation of
// warm-up.
func smallPGAME() (guided, PGAMEConfig) {
	archive := ec.DefaultMAPElites()
	archive.Population, archive.Cells, archive.InitialStd = 6, []int{3}, 0.5
	g := smallERL("td3", archive)
	c := DefaultPGAME()
	c.Climbers, c.Steps, c.Episodes = 2, 3, 2
	return g, c
}

func (g guided) newPGAME(t testing.TB, seed uint32, behaviour problem.BehaviourConfig, cfg PGAMEConfig) (*PGAME, error) {
	agents, err := g.agents(t, seed)
	if err != nil {
		return nil, err
	}
	return NewPGAME(t.Context(), agents, g.algorithm, behaviour, cfg)
}

func (g guided) openPGAME(t testing.TB, seed uint32, cfg PGAMEConfig) *PGAME {
	t.Helper()
	p, err := g.newPGAME(t, seed, swings, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestPGAMEIteration: which candidates come of gradients and where they began, what an iteration puts into the replay, what the agents learn, and what
// the archive holds after it. A run that never ends its warm-up is the same up to there.
func TestPGAMEIteration(t *testing.T) {
	for _, greedy := range []bool{true, false} {
		g, cfg := smallPGAME()
		cfg.Greedy = greedy
		p := g.openPGAME(t, 5, cfg)
		initialized(t, p)
		if first := values(t, saved(t, p, "population/map-elites/start")); !slices.Equal(values(t, p.agents.Policy().Params), first) ||
			!slices.Equal(values(t, saved(t, p, "agent/target_actor")), first) {
			t.Error("the agents' actors and their targets do not begin as the first candidate")
		}
		cfg.Warmup = 100
		other := g.openPGAME(t, 5, cfg)
		initialized(t, other)
		steps(t, p, 0, 1)
		steps(t, other, 0, 2)
		elites, actors, before := values(t, p.archive.Elites), values(t, p.agents.Policy().Params), values(t, p.archive.Fitness)
		steps(t, p, 1, 2)
		const total = 7 + 2*6*2*10
		if head := words(t, saved(t, p, "replay/head")); !slices.Equal(head, []uint32{total, total, total, total}) {
			t.Errorf("heads and sizes of the rings %v; want %d", head, total)
		}
		if got := words(t, saved(t, p, "agent/critics/optimizer/updates")); !slices.Equal(got, []uint32{14, 14}) {
			t.Errorf("updates %v; want 7 in each iteration", got)
		}
		asked, evaluated, parents := values(t, other.population.candidates.rows), values(t, p.population.candidates.rows), words(t, p.parents)
		fitness, descriptors := values(t, p.population.candidates.fitness), values(t, p.Generation().Descriptors())
		after, kept := values(t, p.archive.Fitness), values(t, p.archive.Elites)
		sides := learnedBest(t, p, 2)
		for m := range 2 {
			x := rows(evaluated, m, 2, 6)
			offspring := 6 - cfg.gradients(1)
			if of := fitness[6*m:][:6]; sides[m] != (slices.Max(of[offspring:]) == slices.Max(of)) {
				t.Errorf("archive %d: %s is %v; fitness %v, the last %d of gradients", m, learnedRow, sides[m], of, cfg.gradients(1))
			}
			for k, formed := range rows(asked, m, 2, 6)[:offspring] {
				if !slices.Equal(x[k], formed) {
					t.Errorf("archive %d: candidate %d is not what the archive formed", m, k)
				}
			}
			for i := range 2 {
				cell := int(parents[2*m+i])
				if elite := rows(elites, m, 2, 9)[cell]; before[9*m+cell] != before[9*m+cell] || slices.Equal(x[offspring+i], elite) ||
					!near(x[offspring+i], elite, 3.1e-3) { // as far as so many steps of Adam go
					t.Errorf("archive %d: candidate %d did not climb from the elite of cell %d", m, offspring+i, cell)
				}
			}
			if greedy && !slices.Equal(x[5], rows(actors, m, 2, 1)[0]) {
				t.Errorf("archive %d: the last candidate is not the agent's actor", m)
			}
			want, row := slices.Clone(before[9*m:][:9]), slices.Clone(rows(elites, m, 2, 9))
			for k, f := range fitness[6*m:][:6] {
				at := 0
				for _, d := range descriptors[2*(6*m+k):][:2] {
					at = 3*at + min(max(int((d+1)/2*3), 0), 2)
				}
				if !(want[at] >= f) {
					want[at], row[at] = f, x[k]
				}
			}
			for cell, f := range want {
				if got := after[9*m+cell]; got != f && (got == got || f == f) || f == f && !slices.Equal(rows(kept, m, 2, 9)[cell], row[cell]) {
					t.Errorf("archive %d: cell %d has an elite of fitness %g; want %g", m, cell, got, f)
				}
			}
		}
	}
}

// learnedBest returns the metric of the best candidates' sides after an iteration with learners that followed one
// without, in which it must have no value.
func learnedBest(t *testing.T, w engine.Workflow, archives int) (learned []bool) {
	t.Helper()
	for i := range 2 {
		metrics, err := w.Metrics().Read(i)
		if err != nil || len(metrics[learnedRow]) != archives {
			t.Fatalf("%s: %v, %v; want %d values", learnedRow, metrics[learnedRow], err, archives)
		}
		for m, x := range metrics[learnedRow] {
			switch {
			case (x != x) != (i == 0), i == 1 && x != 0 && x != 1:
				t.Errorf("iteration %d, archive %d: %s is %g; want no value before candidates learn, then 0 or 1", i, m, learnedRow, x)
			case i == 1:
				learned = append(learned, x == 1)
			}
		}
	}
	return learned
}

// TestPGAMECounters: an iteration is one submission, and nothing crosses the bus.
func TestPGAMECounters(t *testing.T) {
	g, cfg := smallPGAME()
	p := g.openPGAME(t, 7, cfg)
	staysOnDevice(t, p)
}

// TestPGAMEResume: a run that was interrupted ends with the same bits as one that was not, of both kinds of archive.
func TestPGAMEResume(t *testing.T) {
	tessellation := ec.DefaultCVTMAPElites()
	tessellation.Population, tessellation.Centroids, tessellation.Samples = 6, 7, 200
	grid, cfg := smallPGAME()
	for _, algorithm := range []ec.Algorithm{grid.algorithm, tessellation} {
		g := grid
		g.algorithm = algorithm
		resumes(t, func() engine.Workflow { return g.openPGAME(t, 8, cfg) }, 5)
	}
}

// TestPGAMEErrors: what does not fit is refused with what would be right.
func TestPGAMEErrors(t *testing.T) {
	for want, change := range map[string]func(*guided, *problem.BehaviourConfig, *PGAMEConfig){
		"the agents' actors (1) are to be among 6 candidates": func(_ *guided, _ *problem.BehaviourConfig, c *PGAMEConfig) { c.Climbers = 6 },
		"an ascent: rl: sac has no deterministic actor":       func(g *guided, _ *problem.BehaviourConfig, _ *PGAMEConfig) { g.agent = "sac" },
		"\"Pendulum-v1\" has no feet":                         func(_ *guided, b *problem.BehaviourConfig, _ *PGAMEConfig) { b.Observations, b.Feet = nil, true },
		"ga keeps no archive":                                 func(g *guided, _ *problem.BehaviourConfig, _ *PGAMEConfig) { g.algorithm = genetic() },
		"replay.capacity":                                     func(g *guided, _ *problem.BehaviourConfig, _ *PGAMEConfig) { g.replay.Capacity = 200 },
		"\"warmup\" is 0: want at least 1":                    func(_ *guided, _ *problem.BehaviourConfig, c *PGAMEConfig) { c.Warmup = 0 },
		"learns only from candidates":                         func(g *guided, _ *problem.BehaviourConfig, _ *PGAMEConfig) { g.algorithm = ec.DefaultARS() },
		"\"climbers\" is 0: want at least":                    func(_ *guided, _ *problem.BehaviourConfig, c *PGAMEConfig) { c.Climbers = 0 },
		"observation 9 of \"Pendulum-v1\";":                   func(_ *guided, b *problem.BehaviourConfig, _ *PGAMEConfig) { b.Observations = []int{9} },
	} {
		g, cfg := smallPGAME()
		behaviour := swings
		change(&g, &behaviour, &cfg)
		p, err := g.newPGAME(t, 1, behaviour, cfg)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
}

// TestPGAMELearns: the fittest of two archives balance the pendulum, and most cells that the archives fill hold policies better than hanging about.
func TestPGAMELearns(t *testing.T) {
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	network, replay, agent := rl.DefaultOffPolicyNetwork(), rl.DefaultReplay(), rl.DefaultTD3()
	network.Hidden, replay.Capacity, replay.Batch = []int{32, 32}, 60000, 64
	agent.Members, agent.RolloutLength, agent.LearningStarts, agent.PolicyDelay = 2, 200, 1000, 1
	agent.ActorLearningRate, agent.CriticLearningRate, agent.Discount = 1e-3, 2e-3, 0.98
	agents, err := rl.NewTD3(t.Context(), engine.New(open(t), engine.Seed(1)), env, agent, rl.Network(network), rl.Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	archive, cfg := ec.DefaultMAPElites(), DefaultPGAME()
	archive.Population, archive.Cells, archive.InitialStd, archive.MutationStd = 10, []int{6}, 0.5, 0.05
	cfg.Climbers, cfg.Steps, cfg.Episodes = 4, 30, 2
	p, err := NewPGAME(t.Context(), agents, archive, swings, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := engine.Learn(t.Context(), p, engine.Iterations(20)); err != nil {
		t.Fatal(err)
	}
	evaluation, err := p.Evaluate(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.Metrics().Read(19)
	if err != nil {
		t.Fatal(err)
	}
	for m, mean := range evaluation.Means() {
		coverage := rows["archive/coverage"][m]
		t.Logf("archive %d: mean return %.1f, coverage %.2f, fitness %.1f", m, mean, coverage, rows["archive/fitness"][m])
		if !(mean >= -300) || !(coverage >= 0.15) {
			t.Errorf("archive %d: mean return %.1f, coverage %.2f; want at least -300 and 0.15", m, mean, coverage)
		}
	}
}
