package rl

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/shaders"
)

// race is the embedded sample of two agents that leave when they reach a flag.
func race(t testing.TB) *envs.Environment {
	t.Helper()
	glsl, err := fs.ReadFile(shaders.Files(), "envs/seats_sample.glsl")
	if err != nil {
		t.Fatal(err)
	}
	env, err := envs.FromGLSL("race.glsl", []byte(strings.Replace(string(glsl), "\n", "\n//! max_steps = 30\n//! iterations = 5\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestVoids: every step that is none becomes a copy of a transition of its member, no transition more than once oftener than another.
func TestVoids(t *testing.T) {
	const members, environments, horizon, features = 3, 7, 13, 5
	eng := engine.New(open(t), engine.Seed(3))
	s := eng.NewState()
	defer s.Close()
	c := onPolicyConfig{OnPolicyConfig: OnPolicyConfig{Members: members, Environments: environments, RolloutLength: horizon}}
	e := newEstimates(s, nil, nil, c)
	clock := engine.NewClock(s)
	of := func(name string, more ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, engine.Float32, append([]engine.Dim{engine.Time(horizon), engine.Members(members), engine.Environments(environments)}, more...)...)
	}
	tr := &envs.Trajectory{
		Obs: of("obs", engine.Axis("feature", features)), Action: of("action", engine.Axis("action", 2)), LogProb: of("log_prob"), Reward: of("reward"),
		Done: s.Scratch("done", engine.Uint32, engine.Time(horizon), engine.Members(members), engine.Environments(environments)),
	}
	v, w := newVoids(s, clock, c), &worldStates{seats: 1, states: of("states", engine.Axis("feature", 3))}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := horizon * members * environments
	dice := rand.New(rand.NewPCG(1, 2))
	done := make([]uint32, n)
	for i := range done {
		done[i] = dice.Uint32N(4)
		switch member := i / environments % members; { // the second has few transitions, the third none
		case member == 0 && dice.Uint32N(5) == 0, member == 1 && i%11 != 0, member == 2:
			done[i] |= uint32(envs.Void)
		}
	}
	if err := tr.Done.WriteUint32(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	tensors := []*engine.Tensor{tr.Obs, tr.Action, tr.LogProb, e.value, e.advantage, e.target, w.states}
	for k, tensor := range tensors { // each element says whose it is
		values := make([]float32, tensor.Len())
		for i := range values {
			values[i] = float32(i/(len(values)/n)) + float32(k)/16
		}
		if err := tensor.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
	}
	p, err := eng.Record("void", func(r *engine.Recorder) { v.record(r, tr, e, w) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var copies []int
	for k, tensor := range tensors {
		values, err := tensor.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		each, count := len(values)/n, make([]int, n)
		for i, x := range values {
			row, from := i/each, int(x)
			member := row / environments % members
			if x != float32(from)+float32(k)/16 || from != int(values[row*each]) {
				t.Fatalf("tensor %d: element %d is %g; want one copied row", k, i, x)
			}
			if done[row]&4 == 0 || member == 2 {
				if from != row {
					t.Fatalf("tensor %d: transition %d became %d", k, row, from)
				}
			} else if done[from]&4 != 0 || from/environments%members != member {
				t.Fatalf("tensor %d: step %d of member %d became %d; want a transition of the member", k, row, member, from)
			}
			if i%each == 0 {
				count[from]++
			}
		}
		if copies == nil {
			copies = count
		}
		for member := range members - 1 {
			least, most := n, 0
			for i, c := range count {
				if i/environments%members == member && done[i]&4 == 0 {
					least, most = min(least, c), max(most, c)
				}
				if c != copies[i] {
					t.Fatalf("tensor %d has row %d %d times, the first %d times", k, i, c, copies[i])
				}
			}
			if most > least+1 || least < 1 {
				t.Errorf("member %d: transitions stand %d to %d times; want equally often, or once more", member, least, most)
			}
		}
	}
}

// TestPPOLearnsSeats: agents share a policy. Acting at random they return -0.28.
func TestPPOLearnsSeats(t *testing.T) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 2, 16, 32, 4, 2
	cfg.LearningRate, cfg.EntropyWeight = 3e-3, 0
	network := smallNetwork()
	network.Hidden, network.NormalizeObs = []int{16}, true
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 24000); !(got >= 0.3) {
		t.Errorf("mean return %.2f; want at least 0.3", got)
	}
}

// TestDQNLearnsSeats: agents share a replay, which takes no steps of agents that left.
func TestDQNLearnsSeats(t *testing.T) {
	cfg := DefaultDQN()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 2, 8, 8, 0.25, 512
	cfg.LearningRate, cfg.ExplorationSteps = 2e-3, 6000
	replay := DefaultDQNReplay()
	replay.Capacity, replay.Batch = 20000, 64
	network := smallNetwork()
	network.Hidden = []int{16}
	p, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 20000); !(got >= 0.2) {
		t.Errorf("mean return %.2f; want at least 0.2", got)
	}
}

// TestResumeSeats: a run that is cut has the bits of one that is not.
func TestResumeSeats(t *testing.T) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 3, 5, 9, 2, 2
	network := DefaultNetwork()
	network.Hidden, network.Activation, network.NormalizeObs = []int{7}, nn.Swish, true
	workflow{"ppo", func(t testing.TB, eng *engine.Engine) (counted, error) {
		return NewPPO(t.Context(), eng, race(t), cfg, Network(network))
	}}.resumes(t, open(t))
}

// TestIMPALARefusesSeats: V-trace would go through the steps of agents that left.
func TestIMPALARefusesSeats(t *testing.T) {
	if _, err := NewIMPALA(t.Context(), engine.New(open(t)), race(t), DefaultIMPALA()); err == nil || !strings.Contains(err.Error(), "2 agents") {
		t.Errorf("impala: %v", err)
	}
}

// TestDQNCountsSeats: a member's environment steps, by which exploration anneals, and its updates, by which targets are copied, count all seats.
func TestDQNCountsSeats(t *testing.T) {
	const seats, environments, length, updates = 2, 3, 4, 6 // of an iteration, of 4 × 3 × 2 steps
	cfg := DefaultDQN()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 2, environments, length, 0.25, 24
	cfg.TargetInterval, cfg.ExplorationSteps, cfg.ExplorationEnd = updates, 100, 0
	replay := DefaultDQNReplay()
	replay.Capacity, replay.Batch = 2*length*environments*seats, 8
	network := smallNetwork()
	network.Hidden = []int{5}
	o, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := o.learner.(*qLearner)
	for i := range 5 {
		_, before, err := o.Clock().Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before != length*(i+1) { // learning_starts' included
			t.Fatalf("%d steps before iteration %d", before, i)
		}
		steps(t, o, i, i+1)
		epsilon, err := q.epsilon.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := max(0, 1-float64(before*environments*seats)/100)
		if got := float64(epsilon[1]); math.Abs(got-want) > 1e-6 {
			t.Errorf("iteration %d: epsilon is %g after %d steps; want %g", i, got, before*environments*seats, want)
		}
		target, err := q.target.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if online, err := q.network.params().ReadFloat32(t.Context()); err != nil || !slices.Equal(target, online) {
			t.Errorf("iteration %d: the targets are no copies after %d updates, error %v", i, updates, err)
		}
	}
	replay.Capacity--
	if err := cfg.Check(Parts{Env: race(t), Network: network, Replay: replay}); err == nil || !strings.Contains(err.Error(), "an iteration appends 24") {
		t.Errorf("a replay that is too small: %v", err)
	}
}

// TestMinibatchesOfSeats: minibatches divide the transitions of all seats.
func TestMinibatchesOfSeats(t *testing.T) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 2, 1, 3, 1, 6
	network := smallNetwork()
	network.Hidden = []int{5}
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps(t, p, 0, 2)
	cfg.Minibatches = 7
	const want = "7 minibatches of 6 transitions (rollout_length × environments × agents)"
	if _, err := NewPPO(t.Context(), engine.New(open(t)), race(t), cfg, Network(network)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("more minibatches than transitions: %v; want %s", err, want)
	}
	cfg.Minibatches = 4
	if err := cfg.Check(Parts{Env: lookup(t, "CartPole-v1"), Network: network}); err == nil || !strings.Contains(err.Error(), "ppo.minibatches") {
		t.Errorf("with one agent: %v", err)
	}
}

// TestDQNNormalizesSeats: observations of steps after an agent left have no part in the moments by which observations are normalized.
func TestDQNNormalizesSeats(t *testing.T) {
	cfg := DefaultDQN()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 2, 8, 20, 0.05, 0
	network := smallNetwork()
	network.Hidden, network.NormalizeObs = []int{16}, true
	p, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), race(t), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	begun(t, p)
	done, features := p.collector.Trajectory().Done, p.env.ObsSize()
	want, voids := make([]float64, cfg.Members), 0
	for i := range 3 {
		steps(t, p, i, i+1)
		for k, d := range read(t, done) {
			if envs.Done(d)&envs.Void != 0 {
				voids++
			} else {
				want[k/(done.Len()/cfg.RolloutLength/cfg.Members)%cfg.Members]++
			}
		}
	}
	moments := read(t, p.State().Lookup("agent/normalizer/moments"))
	for m, want := range want {
		for f := range features {
			if got := moments[3*m*features+f]; got != want {
				t.Errorf("member %d: the moments of feature %d are of %g observations; want those of %g transitions", m, f, got, want)
			}
		}
	}
	if voids == 0 {
		t.Error("no agent left")
	}
}
