package hybrid

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// TestERLIteration: what an iteration puts into the replay, which candidates the agents' actors replace and with what fitness, and what the algorithm
// learns of it, against a model in Go. A run without injection is the same up to there.
func TestERLIteration(t *testing.T) {
	for _, agent := range []string{"ddpg", "td3", "sac"} {
		t.Run(agent, func(t *testing.T) {
			g := smallERL(agent, genetic())
			e := g.begin(t, 5)
			g.cfg.Injection = 100
			other := g.begin(t, 5)
			actors := func(e *ERL) []float32 { return values(t, e.agents.Policy().Params) }
			first := actors(e)
			head := func(want uint32) {
				t.Helper()
				if got := words(t, saved(t, e, "replay/head")); !slices.Equal(got, []uint32{want, want, want, want}) {
					t.Errorf("heads and sizes of the rings %v; want %d", got, want)
				}
			}
			head(7) // random actions
			const episodes = 6 * 2 * 10
			steps(t, e, 0, 1) // warm-up: the populations alone
			if !slices.Equal(actors(e), first) {
				t.Error("agents learned in the warm-up")
			}
			head(7 + episodes)
			steps(t, e, 1, 2) // 7 steps of each agent, 7 updates
			if slices.Equal(actors(e), first) {
				t.Error("agents learned nothing")
			}
			head(7 + episodes + episodes + 7)
			steps(t, e, 2, 3)
			steps(t, other, 0, 3)
			if !slices.Equal(actors(e), actors(other)) {
				t.Fatal("agents of both runs differ")
			}
			injected := actors(e)
			steps(t, e, 3, 4) // the actors are candidates
			steps(t, other, 3, 4)
			head(7 + 4*episodes + 3*7)

			evaluated, fitness := values(t, e.population.candidates.rows), values(t, e.population.candidates.fitness)
			asked, returns := values(t, other.population.candidates.rows), values(t, other.population.candidates.fitness)
			parents := values(t, saved(t, e, "population/ga/elites"))
			for m := range 2 {
				of := fitness[m*6:][:6]
				x := slices.Clone(rows(asked, m, 2, 6))
				x[5] = rows(injected, m, 2, 1)[0]
				learned := float32(0)
				if of[5] == slices.Max(of) {
					learned = 1
				}
				if got := values(t, e.learned)[m]; got != learned {
					t.Errorf("population %d: %s is %g; want %g", m, learnedRow, got, learned)
				}
				if !slices.Equal(of[:5], returns[m*6:][:5]) || of[5] == returns[m*6+5] {
					t.Errorf("population %d has the fitness %v; want %v, but for the last, the actor's", m, of, returns[m*6:][:6])
				}
				for i, row := range rows(evaluated, m, 2, 6) {
					if !slices.Equal(row, x[i]) {
						t.Errorf("population %d: candidate %d is not the one asked for, or of number 5 not the actor", m, i)
					}
				}
				for i, row := range rows(parents, m, 2, 3) {
					if k := orderOf(of)[i]; !slices.Equal(row, x[k]) {
						t.Errorf("population %d: parent %d is not candidate %d, of fitness %g", m, i, k, of[k])
					}
				}
			}
			if m, err := e.Metrics().Read(3); err != nil || m["population/episode/length"][0] != 10 {
				t.Errorf("metrics %v, %v; want episodes of 10 steps", m, err)
			}
			m, err := other.Metrics().Read(3)
			if err != nil || m[learnedRow][0] == m[learnedRow][0] {
				t.Errorf("metrics %v, %v; want no %s where nothing is injected", m, err, learnedRow)
			}
			if steps, err := engine.EnvSteps(t.Context(), e); err != nil || steps != 2*(7+4*episodes+3*7) {
				t.Errorf("%d environment steps, %v", steps, err)
			}
		})
	}
}

// TestERLPhases: the agents' actors join at intervals, the first time after they have learned; without a warm-up, from the first on.
func TestERLPhases(t *testing.T) {
	for _, c := range []struct {
		warmup, injection int
		want              string
	}{{1, 3, "wllillil"}, {0, 1, "iiiiiiii"}, {2, 1, "wwiiiiii"}, {3, 3, "wwwlllil"}, {0, 3, "lllillil"}} {
		e := &ERL{cfg: ERLConfig{Warmup: c.warmup, Injection: c.injection}}
		got := ""
		for done := range len(c.want) {
			got += string("wli"[e.phase(done)])
		}
		if got != c.want {
			t.Errorf("warm-up %d, injection %d: phases %s; want %s", c.warmup, c.injection, got, c.want)
		}
		first := e.starts()[1]
		if c.injection > 1 && (first <= c.warmup || e.phase(first) != injecting) {
			t.Errorf("warm-up %d, injection %d: the first injection in iteration %d", c.warmup, c.injection, first)
		}
	}
}

// TestERLEvaluates: the side that is asked for is evaluated: agents, or the best candidate of each population.
func TestERLEvaluates(t *testing.T) {
	g := smallERL("td3", genetic())
	g.cfg.Injection = 100
	returns := map[Side][]float64{}
	for _, side := range []Side{Agents, Population} {
		g.cfg.Evaluate = side
		e := g.begin(t, 5)
		steps(t, e, 0, 3)
		best := rows(values(t, e.Generation().Solution()), 0, 2, 1)[0]
		evaluation, err := e.Evaluate(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		returns[side] = evaluation.Means()
		ev, err := e.Evaluator(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		params, _, err := ev.Policy().Member(t.Context(), 0)
		if err != nil || slices.Equal(params, best[:len(params)]) != (side == Population) {
			t.Errorf("side %d: the evaluator's first policy is %v, %v; the population's best %v", side, params[:2], err, best[:2])
		}
	}
	if a, p := returns[Agents], returns[Population]; len(p) != 2 || a[0] == p[0] || a[1] == p[1] {
		t.Errorf("returns %v of agents, %v of populations; want those of other policies", a, p)
	}
}

// TestERLCounters: an iteration is one submission, and nothing crosses the bus: for every agent, and for several beside one population.
func TestERLCounters(t *testing.T) {
	several := smallERL("td3", vanilla())
	several.cfg.Agents, several.replay.Shared = 2, true
	covariance := ec.DefaultCMAES()
	covariance.Population = 6
	for name, g := range map[string]guided{
		"td3": smallERL("td3", genetic()), "sac": smallERL("sac", genetic()), "several agents": several, "ddpg": smallERL("ddpg", covariance),
	} {
		t.Run(name, func(t *testing.T) {
			e := g.begin(t, 7)
			steps(t, e, 0, 6) // all phases are recorded
			transfers(t, e, 6, 12, 6, 0)
		})
	}
}

// TestERLResume: a run that was interrupted before an injection ends with the same bits, and metrics, as one that was not; for several agents beside
// one population too.
func TestERLResume(t *testing.T) {
	several := smallERL("td3", vanilla())
	several.cfg.Agents, several.replay.Shared = 2, true
	covariance := ec.DefaultCMAES()
	covariance.Population = 6
	for name, g := range map[string]guided{"ga": smallERL("sac", genetic()), "several agents": several, "cma-es": smallERL("ddpg", covariance)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			whole := g.begin(t, 8)
			steps(t, whole, 0, 7)
			want := values(t, whole.agents.Policy().Params)
			digest, err := whole.State().Digest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			metrics, err := whole.Metrics().Read(6)
			if err != nil {
				t.Fatal(err)
			}

			half := g.begin(t, 8)
			steps(t, half, 0, 5)
			if _, err := half.State().Save(t.Context(), dir, 5); err != nil {
				t.Fatal(err)
			}
			resumed := g.open(t, 8)
			if err := resumed.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			load(t, resumed, dir, 5)
			steps(t, resumed, 5, 7)
			if got, err := resumed.State().Digest(t.Context()); err != nil || got != digest || !slices.Equal(values(t, resumed.agents.Policy().Params), want) {
				t.Errorf("%s: the resumed run ends with %s, %v; want %s", filepath.Base(dir), got, err, digest)
			}
			again, err := resumed.Metrics().Read(6)
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range metrics {
				for m, v := range values {
					if got := again[name][m]; got != v && (got == got || v == v) {
						t.Errorf("%s of member %d is %g after the resume; want %g", name, m, got, v)
					}
				}
			}
			if name == "several agents" && (metrics["fitness/best"][0] != metrics["fitness/best"][1] || metrics["loss/critic"][0] == metrics["loss/critic"][1]) {
				t.Errorf("metrics %v; want one population's fitness for both agents, and losses of their own", metrics)
			}
		})
	}
}

// TestERLErrors: what does not fit is refused with what would be right.
func TestERLErrors(t *testing.T) {
	normalized := rl.DefaultOffPolicyNetwork()
	normalized.Hidden, normalized.NormalizeObs = []int{8}, true
	for want, c := range map[string]func(*guided) []rl.Option{
		"2 agents in groups of 3": func(g *guided) []rl.Option { g.cfg.Agents = 3; return nil },
		"erl.evaluate": func(g *guided) []rl.Option {
			g.cfg.Agents, g.replay.Shared, g.cfg.Evaluate = 2, true, Population
			return nil
		},
		"replay.shared":               func(g *guided) []rl.Option { g.cfg.Agents, g.replay.Shared = 2, false; return nil },
		"network.normalize_obs":       func(*guided) []rl.Option { return []rl.Option{rl.Network(normalized)} },
		"replay.capacity":             func(g *guided) []rl.Option { g.replay.Capacity = 253; return nil },
		"learns only from candidates": func(g *guided) []rl.Option { g.algorithm = ec.DefaultARS(); return nil },
		"of which there are 1":        func(g *guided) []rl.Option { g.cfg.Agents, g.replay.Shared, g.algorithm = 2, true, one(); return nil },
		"want at least 1":             func(g *guided) []rl.Option { g.cfg.Injection = 0; return nil },
	} {
		g := smallERL("td3", genetic())
		opts := c(&g)
		agents, err := g.agents(t, 1, opts...)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewERL(t.Context(), agents, g.algorithm, g.cfg)
		if err == nil {
			e.Close()
			t.Errorf("no error where one says %q", want)
			continue
		}
		if t.Log(err); !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
	if _, err := NewERL(t.Context(), nil, genetic(), DefaultERL()); err == nil {
		t.Error("ERL of no agents")
	}
}

// one is a search of one candidate.
func one() ec.GAConfig {
	c := genetic()
	c.Population = 1
	return c
}

// TestERLLearns: agents beside populations balance the pendulum.
func TestERLLearns(t *testing.T) {
	g := smallERL("td3", genetic())
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	network, replay, cfg, search := rl.DefaultOffPolicyNetwork(), rl.DefaultReplay(), rl.DefaultTD3(), genetic()
	network.Hidden, replay.Capacity, replay.Batch = []int{32, 32}, 20000, 64
	cfg.Members, cfg.RolloutLength, cfg.LearningStarts, cfg.PolicyDelay = 2, 200, 200, 1
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.Discount = 1e-3, 2e-3, 0.98
	search.Population, search.MutationStd = 8, 0.05
	agents, err := rl.NewTD3(t.Context(), engine.New(open(t), engine.Seed(1)), env, cfg, rl.Network(network), rl.Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	g.cfg.Warmup, g.cfg.Injection, g.cfg.Episodes = 2, 1, 2
	e, err := NewERL(t.Context(), agents, search, g.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := engine.Learn(t.Context(), e, engine.Iterations(30)); err != nil {
		t.Fatal(err)
	}
	evaluation, err := e.Evaluate(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	for m, mean := range evaluation.Means() {
		if t.Logf("agent %d: mean return %.1f", m, mean); !(mean >= -250) {
			t.Errorf("agent %d: mean return %.1f; want at least -250", m, mean)
		}
	}
}
