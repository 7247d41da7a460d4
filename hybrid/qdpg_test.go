package hybrid

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// smallQDPG has two archives of 3 x 3 cells and eight candidates a generation: after a generation of warm-up, two climb
// by quality, two by diversity, and two are the agents' actors.
func smallQDPG() (guided, QDPGConfig) {
	g, emitter := smallPGAME()
	archive := g.algorithm.(ec.MAPElitesConfig)
	archive.Population = 8
	g.algorithm, g.replay.Shared = archive, true
	return g, QDPGConfig{EmitterConfig: emitter.EmitterConfig, Neighbours: 3}
}

func (g guided) newQDPG(t testing.TB, seed uint32, behaviour problem.BehaviourConfig, cfg QDPGConfig) (*QDPG, error) {
	return NewQDPG(t.Context(), func(opts ...rl.Option) (*rl.OffPolicy, error) { return g.agents(t, seed, opts...) }, g.algorithm, behaviour, cfg)
}

func (g guided) openQDPG(t testing.TB, seed uint32, cfg QDPGConfig) *QDPG {
	t.Helper()
	q, err := g.newQDPG(t, seed, swings, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

// novelty is the mean squared distance of a state's descriptor from the nearest elites of an archive, in float64.
func novelty(state []float32, low, high []float32, fitness, elites []float32, neighbours int) float64 {
	scaled := func(x float32, d int) float64 {
		return min(max((float64(x)-float64(low[d]))/(float64(high[d])-float64(low[d])), 0), 1)
	}
	var distances []float64
	for k, f := range fitness {
		if f != f {
			continue
		}
		far := 0.0
		for d := range low {
			far += math.Pow(scaled(state[d], d)-scaled(elites[k*len(low)+d], d), 2)
		}
		distances = append(distances, far)
	}
	slices.Sort(distances)
	distances = distances[:min(neighbours, len(distances))]
	sum := 0.0
	for _, d := range distances {
		sum += d / float64(len(distances))
	}
	return sum
}

// TestNovelty: the kernel agrees with float64 for full, nearly empty and empty archives, several updates at once and
// states out of bounds, and writes the rewards of second agents only.
func TestNovelty(t *testing.T) {
	eng := engine.New(open(t))
	const updates, archives, batch, cells, descriptors = 3, 4, 7, 19, 3
	for _, neighbours := range []int{1, 5} {
		s := eng.NewState()
		defer s.Close()
		tensor := func(name string, typ engine.DType, n int) *engine.Tensor {
			return s.Tensor(name, typ, engine.Axis("number", n))
		}
		state, bounds := tensor("state", engine.Float32, updates*2*archives*batch*descriptors), tensor("bounds", engine.Float32, 2*descriptors)
		elite, occupied := tensor("elite", engine.Float32, archives*cells*descriptors), tensor("occupied", engine.Uint32, archives*cells)
		held, reward := tensor("held", engine.Uint32, archives), s.Scratch("reward", engine.Float32, engine.Axis("number", updates*2*archives*batch))
		rng := rand.New(rand.NewPCG(uint64(neighbours), 2))
		normal := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x
		}
		low, high := []float32{-1, 0, -2}, []float32{1, 3, 2}
		states, elites, fitness := normal(state.Len()), normal(elite.Len()), normal(archives*cells)
		var list, counts []uint32
		for m := range archives {
			var of []uint32
			for k := range cells {
				if full := m == 0 || m == 1 && k%3 == 0 || m == 2 && k == 11; full {
					of = append(of, uint32(k))
				} else {
					fitness[m*cells+k] = float32(math.NaN())
				}
			}
			counts = append(counts, uint32(len(of)))
			for len(of) < cells {
				of = append(of, 1<<30) // undefined
			}
			list = append(list, of...)
		}
		size := uint32(8)
		program, err := eng.Record("novelty", func(r *engine.Recorder) {
			r.Dispatch(noveltyKernel{
				State: state.Range(), Bounds: bounds.Range(), Elite: elite.Range(), Occupied: occupied.Range(), Held: held.Range(), Reward: reward.Range(),
				Count: updates * archives * batch, Archives: archives, Batch: batch, Cells: cells, Descriptors: descriptors, Neighbours: uint32(neighbours),
				LocalSizeX: size,
			}.call((updates*archives*batch+size-1)/size, 1, 1))
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		ctx := t.Context()
		if err := errors.Join(s.Poison(ctx), state.WriteFloat32(ctx, states), bounds.WriteFloat32(ctx, append(slices.Clone(low), high...)),
			elite.WriteFloat32(ctx, elites), occupied.WriteUint32(ctx, list), held.WriteUint32(ctx, counts), program.Run(ctx)); err != nil {
			t.Fatal(err)
		}
		for i, got := range values(t, reward) {
			agent := i / batch % (2 * archives)
			if agent%2 == 0 {
				if got == got {
					t.Fatalf("reward %d of a first agent is %g; want it unchanged", i, got)
				}
				continue
			}
			m := agent / 2
			want := novelty(states[i*descriptors:], low, high, fitness[m*cells:][:cells], elites[m*cells*descriptors:], neighbours)
			if !(math.Abs(float64(got)-want) <= 1e-6) {
				t.Errorf("%d neighbours, archive %d: reward %d is %g; want %g", neighbours, m, i, got, want)
			}
		}
	}
}

// TestQDPGIteration: which candidates come from which gradient and where they began, which rewards are
// replaced and by what, and the update of the diversity agent's critics against float64.
func TestQDPGIteration(t *testing.T) {
	g, cfg := smallQDPG()
	g.perStep, g.discount = 1.0/7, 0
	q := g.openQDPG(t, 5, cfg)
	var batch rl.ReplayBatch
	q.agents.Rewards(func(r *engine.Recorder, b rl.ReplayBatch) {
		batch = b
		q.reward(r, b)
	})
	initialized(t, q)
	cfg.Warmup = 100
	other := g.openQDPG(t, 5, cfg)
	initialized(t, other)
	if d := q.Describe(); d.Members != 2 || d.Workflow != "qd-pg" || d.StepsPerIter != 2*8*2*10 {
		t.Errorf("described as %+v", d)
	}
	steps(t, q, 0, 1)
	steps(t, other, 0, 2)
	elites, actors, critics := values(t, q.archive.Elites), values(t, q.agents.Policy().Params), values(t, saved(t, q, "agent/critics/params"))
	first, second := values(t, saved(t, q, "agent/critics/optimizer/first_moment")), values(t, saved(t, q, "agent/critics/optimizer/second_moment"))
	steps(t, q, 1, 2)
	const total = 4*7 + 2*2*8*2*10
	if head := words(t, saved(t, q, "replay/head")); !slices.Equal(head, []uint32{total % 1000, min(total, 1000)}) {
		t.Errorf("head and size of the ring %v; want %d", head, total)
	}
	asked, evaluated, parents := values(t, other.population.candidates.rows), values(t, q.population.candidates.rows), words(t, q.parents)
	returned, sides := values(t, q.population.candidates.fitness), learnedBest(t, q, 2)
	for m := range 2 {
		if of := returned[8*m:][:8]; sides[m] != (slices.Max(of[2:]) == slices.Max(of)) {
			t.Errorf("archive %d: %s is %v; fitness %v, all but the first two of gradients", m, learnedRow, sides[m], of)
		}
		x := rows(evaluated, m, 2, 8)
		for k, formed := range rows(asked, m, 2, 8)[:2] {
			if !slices.Equal(x[k], formed) {
				t.Errorf("archive %d: candidate %d is not what the archive formed", m, k)
			}
		}
		for i := range 4 {
			elite := rows(elites, m, 2, 9)[parents[4*m+i]]
			if slices.Equal(x[2+i], elite) || !near(x[2+i], elite, 3.1e-3) { // as far as so many steps of Adam go
				t.Errorf("archive %d: candidate %d did not climb from the elite of cell %d", m, 2+i, parents[4*m+i])
			}
		}
		for i, actor := range rows(actors, m, 2, 2) {
			if !slices.Equal(x[6+i], actor) {
				t.Errorf("archive %d: candidate %d is not the actor of agent %d", m, 6+i, i)
			}
		}
	}

	obs, actions, next := values(t, batch.Obs), values(t, batch.Action), values(t, batch.NextObs)
	rewards, index, stored := values(t, batch.Reward), words(t, batch.Index), values(t, saved(t, q, "replay/reward"))
	fitness, descriptors := values(t, q.archive.Fitness), values(t, q.archive.Descriptor)
	after, size := values(t, saved(t, q, "agent/critics/params")), len(index)/4
	some := false
	for i, got := range rewards {
		agent := i / size
		want := float64(stored[index[i]])
		if agent%2 == 1 {
			m := agent / 2
			want = novelty(next[3*i:], []float32{-1, -1}, []float32{1, 1}, fitness[9*m:][:9], descriptors[18*m:][:18], 3)
			some = some || want > 0.01
		}
		if !(math.Abs(float64(got)-want) <= 1e-6) {
			t.Errorf("agent %d learns from the reward %g; want %g", agent, got, want)
		}
	}
	if !some {
		t.Error("no state is novel")
	}
	mlp := nn.MLP{In: 4, Out: 1, Hidden: []int{8}, Activation: rl.DefaultOffPolicyNetwork().Activation}
	for critic := range 8 { // two of each agent
		row, rate := len(critics)/8, rl.DefaultTD3().CriticLearningRate
		x := make([]float64, row)
		for i := range x {
			x[i] = float64(critics[critic*row+i])
		}
		loss := func() (sum float64) {
			for b := critic / 2 * size; b < (critic/2+1)*size; b++ {
				see := []float64{float64(obs[3*b]), float64(obs[3*b+1]), float64(obs[3*b+2]), float64(actions[b])}
				sum += math.Pow(value(mlp, x, see)-float64(rewards[b]), 2) / float64(size)
			}
			return sum
		}
		for i := range mlp.Size() {
			const h = 1e-5
			was := x[i]
			x[i] = was + h
			up := loss()
			x[i] = was - h
			gradient := (up - loss()) / (2 * h)
			x[i] = was
			// The second step of Adam.
			m, v := 0.9*float64(first[critic*row+i])+0.1*gradient, 0.999*float64(second[critic*row+i])+0.001*gradient*gradient
			want := -rate * m / (1 - 0.9*0.9) / (math.Sqrt(v/(1-0.999*0.999)) + 1e-8)
			if moved := float64(after[critic*row+i]) - was; !(math.Abs(moved-want) <= 1e-3*rate) {
				t.Errorf("critic %d of agent %d moves parameter %d by %g; want %g", critic%2, critic/2, i, moved, want)
			}
		}
	}
}

// value is the output of a network with one layer of ReLU, in float64.
func value(m nn.MLP, row, x []float64) float64 {
	for _, l := range m.Layers() {
		y := slices.Clone(row[l.Bias:][:l.Out])
		for o := range y {
			for i, v := range x {
				y[o] += v * row[l.Weight+i*l.Out+o]
			}
			if l.Hidden {
				y[o] = max(y[o], 0)
			}
		}
		x = y
	}
	return x[0]
}

// TestQDPGCounters: an iteration is one submission, and nothing crosses the bus.
func TestQDPGCounters(t *testing.T) {
	g, cfg := smallQDPG()
	q := g.openQDPG(t, 7, cfg)
	staysOnDevice(t, q)
}

// TestQDPGResume: a run that was interrupted ends with the same bits as one that was not.
func TestQDPGResume(t *testing.T) {
	g, cfg := smallQDPG()
	resumes(t, func() engine.Workflow { return g.openQDPG(t, 8, cfg) }, 5)
}

// TestQDPGErrors: what does not fit is refused with what would be right.
func TestQDPGErrors(t *testing.T) {
	for want, change := range map[string]func(*guided, *problem.BehaviourConfig, *QDPGConfig){
		"the agents' actors (2) are to be among 8 candidates": func(_ *guided, _ *problem.BehaviourConfig, c *QDPGConfig) { c.Climbers = 4 },
		"a member has one actor, not 2":                       func(g *guided, _ *problem.BehaviourConfig, _ *QDPGConfig) { g.agent = "sac" },
		"\"Pendulum-v1\" has no feet":                         func(_ *guided, b *problem.BehaviourConfig, _ *QDPGConfig) { b.Observations, b.Feet = nil, true },
		"ga keeps no archive":                                 func(g *guided, _ *problem.BehaviourConfig, _ *QDPGConfig) { g.algorithm = genetic() },
		"\"replay.shared\"":                                   func(g *guided, _ *problem.BehaviourConfig, _ *QDPGConfig) { g.replay.Shared = false },
		"\"replay.steps\"":                                    func(g *guided, _ *problem.BehaviourConfig, _ *QDPGConfig) { g.replay.Steps = 2 },
		"\"neighbours\" is 0: want at least 1":                func(_ *guided, _ *problem.BehaviourConfig, c *QDPGConfig) { c.Neighbours = 0 },
		"replay.capacity":                                     func(g *guided, _ *problem.BehaviourConfig, _ *QDPGConfig) { g.replay.Capacity = 300 },
	} {
		g, cfg := smallQDPG()
		behaviour := swings
		change(&g, &behaviour, &cfg)
		q, err := g.newQDPG(t, 1, behaviour, cfg)
		if err == nil {
			q.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
}

// TestQDPGLearns: the fittest of two archives balance the pendulum, and the archives fill.
func TestQDPGLearns(t *testing.T) {
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	network, replay, agent := rl.DefaultOffPolicyNetwork(), rl.DefaultReplay(), rl.DefaultTD3()
	network.Hidden, replay.Capacity, replay.Batch, replay.Shared = []int{32, 32}, 100000, 64, true
	agent.Members, agent.RolloutLength, agent.LearningStarts, agent.PolicyDelay = 2, 200, 1000, 1
	agent.ActorLearningRate, agent.CriticLearningRate, agent.Discount = 1e-3, 2e-3, 0.98
	archive, cfg := ec.DefaultMAPElites(), DefaultQDPG()
	archive.Population, archive.Cells, archive.InitialStd, archive.MutationStd = 12, []int{6}, 0.5, 0.05
	cfg.Climbers, cfg.Steps, cfg.Episodes = 3, 30, 2
	q, err := NewQDPG(t.Context(), func(opts ...rl.Option) (*rl.OffPolicy, error) {
		return rl.NewTD3(t.Context(), engine.New(open(t), engine.Seed(1)), env, agent, append(opts, rl.Network(network), rl.Replays(replay))...)
	}, archive, swings, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := engine.Learn(t.Context(), q, engine.Iterations(30)); err != nil {
		t.Fatal(err)
	}
	evaluation, err := q.Evaluate(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := q.Metrics().Read(29)
	if err != nil {
		t.Fatal(err)
	}
	for m, mean := range evaluation.Means() {
		coverage := rows["archive/coverage"][m]
		t.Logf("archive %d: mean return %.1f, coverage %.2f, critics' losses %.3g and %.3g",
			m, mean, coverage, rows["loss/critic"][m], rows["diversity/loss/critic"][m])
		if !(mean >= -300) || !(coverage >= 0.15) {
			t.Errorf("archive %d: mean return %.1f, coverage %.2f; want at least -300 and 0.15", m, mean, coverage)
		}
	}
}
