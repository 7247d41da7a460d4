package hybrid

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// smallCEMRL has two searches of six candidates; three learn after an iteration of warm-up.
func smallCEMRL(agent string) (guided, CEMRLConfig) {
	g := smallERL(agent, crossEntropy())
	c := DefaultCEMRL()
	c.Learners, c.Warmup, c.Episodes = 3, 1, 2
	return g, c
}

func crossEntropy() ec.CEMConfig {
	c := ec.DefaultCEM()
	c.Population, c.Elites = 6, 3
	return c
}

func (g guided) newCEMRL(t testing.TB, seed uint32, cfg CEMRLConfig) (*CEMRL, error) {
	return NewCEMRL(t.Context(), func(opts ...rl.Option) (*rl.OffPolicy, error) { return g.agents(t, seed, opts...) }, g.algorithm, cfg)
}

func (g guided) openCEMRL(t testing.TB, seed uint32, cfg CEMRLConfig) *CEMRL {
	t.Helper()
	c, err := g.newCEMRL(t, seed, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestCEMRLIteration: which candidates learn, what an iteration puts into the replay, and what the search learns of it, against a model in Go. A run
// that never ends its warm-up is the same up to there.
func TestCEMRLIteration(t *testing.T) {
	for _, random := range []bool{true, false} {
		g, cfg := smallCEMRL("td3")
		cfg.RandomLearners = random
		c := g.openCEMRL(t, 5, cfg)
		initialized(t, c)
		cfg.Warmup = 100
		other := g.openCEMRL(t, 5, cfg)
		initialized(t, other)
		steps(t, c, 0, 2)
		steps(t, other, 0, 2)
		const total = 7 + 2*6*2*10
		if head := words(t, saved(t, c, "replay/head")); !slices.Equal(head, []uint32{total, total, total, total}) {
			t.Errorf("heads and sizes of the rings %v; want %d", head, total)
		}
		asked, evaluated := values(t, other.population.candidates.rows), values(t, c.population.candidates.rows)
		actors, fitness := values(t, c.agents.Policy().Params), values(t, c.population.candidates.fitness)
		scores, row := values(t, c.Generation().Solution()), len(asked)/12
		for m := range 2 {
			learners := []int{0, 1, 2}
			if random {
				key := engine.Philox([2]uint32{5, c.stream}, [4]uint32{uint32(m), 0, 1, 0})
				for i := range learners {
					learners[i] = int(engine.Permute(uint32(i), 6, key))
				}
			}
			best := orderOf(fitness[m*6:][:6])[0]
			if got := values(t, c.learned)[m]; (got == 1) != slices.Contains(learners, best) || got != 0 && got != 1 {
				t.Errorf("search %d: %s is %g; the best candidate is %d, and %v learn", m, learnedRow, got, best, learners)
			}
			x := rows(evaluated, m, 2, 6)
			for k, before := range rows(asked, m, 2, 6) {
				i := slices.Index(learners, k)
				switch {
				case i < 0 && !slices.Equal(x[k], before):
					t.Errorf("search %d: candidate %d has changed; learners are %v", m, k, learners)
				case i >= 0 && (slices.Equal(x[k], before) || !slices.Equal(x[k], rows(actors, m, 2, 3)[i])):
					t.Errorf("search %d: candidate %d is not what learner %d has become", m, k, i)
				case i >= 0 && !near(x[k], before, 7.1*3e-4): // as far as so many steps of Adam go
					t.Errorf("search %d: learner %d did not begin where candidate %d is", m, i, k)
				}
			}
			// Equation 1 of the paper: the weighted mean of the elites.
			want := make([]float32, row)
			for i, k := range orderOf(fitness[m*6:][:6])[:3] {
				weight := math.Log(4/float64(i+1)) / math.Log(4*4*4/6.0)
				for j, v := range x[k] {
					want[j] += float32(weight * float64(v))
				}
			}
			if got := rows(scores, m, 2, 1)[0]; !near(got, want, 1e-6) {
				t.Errorf("search %d: the mean is %v; want %v", m, got, want)
			}
		}
		if got := words(t, saved(t, c, "agent/actor/optimizer/updates")); !slices.Equal(got, []uint32{7, 7, 7, 7, 7, 7}) {
			t.Errorf("updates %v; want 7 of each learner", got)
		}
		steps(t, c, 2, 3)
		made, critics := words(t, saved(t, c, "agent/actor/optimizer/updates")), words(t, saved(t, c, "agent/critics/optimizer/updates"))
		if made[0] != 7 || critics[0] != 14 {
			t.Errorf("updates of actors %v, of critics %v; want those of one iteration, and of all", made, critics)
		}
	}
}

// mixing is a search that moves slowly; half of its candidates do not learn and can be reused.
func mixing() (guided, CEMRLConfig) {
	g, cfg := smallCEMRL("td3")
	open := ec.DefaultOpenES()
	open.Population, open.NoiseStd = 12, 0.3
	g.algorithm, cfg.ImportanceMixing = open, true
	return g, cfg
}

// TestCEMRLMixing: reused candidates keep parameters and fitness, take no steps, and add nothing to the replay; those that learn, or did in the last
// iteration, are not among them.
func TestCEMRLMixing(t *testing.T) {
	g, cfg := mixing()
	c := g.openCEMRL(t, 5, cfg)
	initialized(t, c)
	total, taken, all := [2]uint32{7, 7}, int64(14), 0
	var before, fitness []float32
	learned := [2][]uint32{}
	for iteration := range 4 {
		steps(t, c, iteration, iteration+1)
		rows, kept := values(t, c.population.candidates.rows), values(t, c.population.candidates.fitness)
		marks, row := words(t, c.mixed.Reused()), len(rows)/24
		learners := words(t, c.learners)
		metrics, err := c.Metrics().Read(iteration)
		if err != nil {
			t.Fatal(err)
		}
		for m := range 2 {
			now := learners[3*m:][:3]
			if iteration < cfg.Warmup {
				now = nil
			}
			reused := 0
			for k := range 12 {
				i := 12*m + k
				if marks[i] == 0 {
					continue
				}
				reused++
				if slices.Contains(now, uint32(k)) {
					t.Errorf("iteration %d, search %d: candidate %d learned, and was reused", iteration, m, k)
				}
				from := -1
				for old := range 12 {
					if slices.Equal(rows[i*row:][:row], before[(12*m+old)*row:][:row]) {
						from = old
					}
				}
				if from < 0 || fitness[12*m+from] != kept[i] || slices.Contains(learned[m], uint32(from)) {
					t.Errorf("iteration %d, search %d: candidate %d with fitness %g is old candidate %d; learners were %v", iteration, m, k, kept[i], from, learned[m])
				}
			}
			total[m] += uint32(12-reused) * 2 * 10
			taken += int64(12-reused) * 2 * 10
			all += reused
			learned[m] = now
			if got, want := metrics["reused"][m], float32(reused)/12; got != want {
				t.Errorf("iteration %d, search %d: the metric says that %g are reused; want %g", iteration, m, got, want)
			}
			if length := metrics["episode/length"][m]; length != 10 {
				t.Errorf("iteration %d, search %d: mean length %g of the episodes; want 10", iteration, m, length)
			}
		}
		if head := words(t, saved(t, c, "replay/head")); head[0] != total[0] || head[2] != total[1] {
			t.Errorf("iteration %d: heads of the rings %v; want %v", iteration, head, total)
		}
		if got, err := engine.EnvSteps(t.Context(), c); err != nil || got != taken {
			t.Errorf("iteration %d: %d environment steps, %v; want %d", iteration, got, err, taken)
		}
		before, fitness = rows, kept
	}
	if all < 10 {
		t.Errorf("%d candidates were reused; want at least 10", all)
	}
}

// TestCEMRLCounters: an iteration is one submission, and nothing crosses the bus.
func TestCEMRLCounters(t *testing.T) {
	g, cfg := smallCEMRL("ddpg")
	staysOnDevice(t, g.openCEMRL(t, 7, cfg))
	g, cfg = mixing()
	staysOnDevice(t, g.openCEMRL(t, 7, cfg))
}

// TestCEMRLResume: a run that was interrupted ends with the same bits as one that was not: of CEM-RL-OpenES and SAC too, and with importance mixing.
func TestCEMRLResume(t *testing.T) {
	open, covariance := ec.DefaultOpenES(), ec.DefaultCMAES()
	open.Population, covariance.Population = 6, 6
	for _, of := range []struct {
		agent     string
		algorithm ec.Algorithm
		mixing    bool
	}{{"td3", crossEntropy(), false}, {"td3", open, false}, {"sac", crossEntropy(), false}, {"td3", open, true}, {"td3", covariance, true}} {
		g, cfg := smallCEMRL(of.agent)
		g.algorithm, cfg.ImportanceMixing = of.algorithm, of.mixing
		resumes(t, func() engine.Workflow { return g.openCEMRL(t, 8, cfg) }, 5)
	}
}

// TestCEMRLReplayNotSaved: a run with checkpoints that leave the replay out goes on with experience by random actions.
func TestCEMRLReplayNotSaved(t *testing.T) {
	g, cfg := smallCEMRL("td3")
	g.replay.Save = false
	c, dir := g.openCEMRL(t, 8, cfg), t.TempDir()
	initialized(t, c)
	steps(t, c, 0, 2)
	if _, err := c.State().Save(t.Context(), dir, 2); err != nil {
		t.Fatal(err)
	}
	resumed := g.openCEMRL(t, 8, cfg)
	load(t, resumed, dir, 2)
	steps(t, resumed, 2, 4)
	if taken, err := engine.EnvSteps(t.Context(), resumed); err != nil || taken != 2*(7+4*6*2*10+7) {
		t.Errorf("%d environment steps, %v; want those of four iterations, and of random actions twice", taken, err)
	}
}

// TestCEMRLErrors: what does not fit is refused with what would be right.
func TestCEMRLErrors(t *testing.T) {
	for want, change := range map[string]func(*guided, *CEMRLConfig){
		"of 6 candidates are to learn": func(_ *guided, c *CEMRLConfig) { c.Learners = 7 },
		"cma-es, sep-cma-es":           func(g *guided, c *CEMRLConfig) { g.algorithm, c.ImportanceMixing = genetic(), true },
		"learns only from candidates":  func(g *guided, _ *CEMRLConfig) { g.algorithm = ec.DefaultARS() },
		"replay.capacity":              func(g *guided, _ *CEMRLConfig) { g.replay.Capacity = 253 },
		"\"learners\" is 0":            func(_ *guided, c *CEMRLConfig) { c.Learners = 0 },
	} {
		g, cfg := smallCEMRL("td3")
		change(&g, &cfg)
		c, err := g.newCEMRL(t, 1, cfg)
		if err == nil {
			c.Close()
			t.Errorf("no error where one says %q", want)
			continue
		}
		if t.Log(err); !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
	if _, err := NewCEMRL(t.Context(), nil, crossEntropy(), DefaultCEMRL()); err == nil {
		t.Error("CEM-RL of no agents")
	}
}

// TestCEMRLLearns: the means of the searches balance the pendulum, with TD3 and with SAC, and with importance mixing.
func TestCEMRLLearns(t *testing.T) {
	for _, agent := range []string{"td3", "sac"} {
		t.Run(agent, func(t *testing.T) { learnsPendulum(t, agent, false) })
	}
	t.Run("mixing", func(t *testing.T) { learnsPendulum(t, "td3", true) })
}

// learnsPendulum learns until the means of two searches are at least -250 (-1,200 by chance), and fails if they are not in time.
func learnsPendulum(t *testing.T, agent string, mixing bool) {
	iterations := 18
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	network, replay := rl.DefaultOffPolicyNetwork(), rl.DefaultReplay()
	network.Hidden, replay.Capacity, replay.Batch = []int{32, 32}, 40000, 64
	search, cfg := ec.DefaultCEM(), DefaultCEMRL()
	search.Population, search.Elites, search.ExtraVariance, search.ExtraVarianceDecay = 8, 4, 1e-3, 0.05
	cfg.Learners, cfg.Warmup, cfg.Episodes, cfg.ImportanceMixing = 4, 0, 2, mixing
	if mixing { // a smaller network and a larger population, so that successive distributions have something in common
		network.Hidden, search.Population, search.Elites, search.ExtraVariance = []int{32}, 16, 8, 1e-2
		cfg.Learners, iterations = 8, 30
	}
	set := func(c *rl.OffPolicyConfig) {
		c.Members, c.RolloutLength, c.LearningStarts, c.UpdatesPerStep, c.Discount = 2, 200, 1000, 2, 0.98
	}
	c, err := NewCEMRL(t.Context(), func(opts ...rl.Option) (*rl.OffPolicy, error) {
		eng := engine.New(open(t), engine.Seed(1))
		if agent == "sac" {
			network.StateDependentStd = true
			cfg := rl.DefaultSAC()
			set(&cfg.OffPolicyConfig)
			cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.TemperatureLearningRate, cfg.Temperature = 1e-3, 2e-3, 1e-3, 0.2
			return rl.NewSAC(t.Context(), eng, env, cfg, append(opts, rl.Network(network), rl.Replays(replay))...)
		}
		cfg := rl.DefaultTD3()
		set(&cfg.OffPolicyConfig)
		cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.PolicyDelay = 1e-3, 2e-3, 1
		return rl.NewTD3(t.Context(), eng, env, cfg, append(opts, rl.Network(network), rl.Replays(replay))...)
	}, search, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	initialized(t, c)
	var reused float32
	for i := range iterations {
		steps(t, c, i, i+1)
		metrics, err := c.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range metrics["reused"] {
			reused += share / 2
		}
		if (i+1)%3 != 0 {
			continue
		}
		evaluation, err := c.Evaluate(t.Context(), 50)
		if err != nil {
			t.Fatal(err)
		}
		means, share := evaluation.Means(), reused/float32(i+1)
		t.Logf("%d iterations: mean returns %.1f; %.3f reused", i+1, means, share)
		if slices.Min(means) >= -250 {
			if mixing && !(share > 0.02) {
				t.Errorf("%g of the candidates were reused; want at least 0.02", share)
			}
			return
		}
	}
	t.Error("the searches have not reached mean returns of -250")
}
