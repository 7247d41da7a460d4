package rl

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// echoWorld observes which environment it is, its step of the run, its step of the episode and the action before, in eighths, 1024ths, eighths and itself.
// Episodes of environment i end after 3 + i mod 3 steps, in turn by termination and truncation. The reward is 1 - |action - 0.5|: 0.5 at random, and at
// most 1.
type echoWorld struct{ id, run, episode, ended int }

func (e *echoWorld) observe(obs []float32, action float32) {
	obs[0], obs[1], obs[2], obs[3] = float32(e.id)/8, float32(e.run)/1024, float32(e.episode)/8, action
}

func (e *echoWorld) Reset(_ uint32, obs []float32) error {
	e.episode = 0
	e.observe(obs, -2)
	return nil
}

// end is how the n-th episode of environment id ends after so many steps; 0: it goes on.
func (e *echoWorld) end() envs.Done {
	if e.episode < 3+e.id%3 {
		return 0
	}
	return envs.Terminated << (e.ended % 2)
}

func (e *echoWorld) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	e.run++
	e.episode++
	e.observe(obs, action[0])
	end := e.end()
	if end != 0 {
		e.ended++
	}
	return echoReward(action[0]), end == envs.Terminated, end == envs.Truncated, nil
}

func echoReward(action float32) float32 { return 1 - float32(math.Abs(float64(action)-0.5)) }

func (e *echoWorld) Save(state []byte) error {
	for i, v := range []int{e.id, e.run, e.episode, e.ended} {
		binary.LittleEndian.PutUint32(state[4*i:], uint32(v))
	}
	return nil
}

func (e *echoWorld) Load(state []byte) error {
	for i, v := range []*int{&e.id, &e.run, &e.episode, &e.ended} {
		*v = int(binary.LittleEndian.Uint32(state[4*i:]))
	}
	return nil
}

// newEchoWorlds is the echo; each of its Steppers counts its environments.
func newEchoWorlds(t testing.TB) *envs.Environment {
	t.Helper()
	high := []float32{8, 64, 1, 1}
	low := []float32{0, 0, 0, -2}
	made := 0
	env, err := envs.NewOutside(envs.Spec{
		Name: "Echo-v0", Observation: envs.Box(low, high), Action: envs.Box([]float32{-1}, []float32{1}), MaxSteps: 5, Saved: 16,
	}, envs.Worlds(func() (envs.World, error) {
		made++
		return &echoWorld{id: (made - 1) % echoCopies}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

const echoMembers, echoEnvironments = 2, 4

// echoCopies is the number of environments of a run; it may make several Steppers.
const echoCopies = echoMembers * echoEnvironments

func echoSAC(t testing.TB, eng *engine.Engine) (*OffPolicy, error) {
	cfg := DefaultSAC()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = echoMembers, echoEnvironments, 8, 0.5, 64
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.TemperatureLearningRate, cfg.Discount = 3e-3, 3e-3, 3e-3, 0.5
	network, replay := DefaultSACNetwork(), DefaultReplay()
	network.Hidden = []int{16, 16}
	replay.Capacity, replay.Batch, replay.Save = 4096, 64, true
	return NewSAC(t.Context(), eng, newEchoWorlds(t), cfg, Network(network), Replays(replay))
}

func echoPPO(t testing.TB, eng *engine.Engine) (*PPO, error) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = echoMembers, echoEnvironments, 32, 4, 4
	cfg.LearningRate, cfg.Discount, cfg.EntropyWeight = 1e-2, 0.5, 0
	return NewPPO(t.Context(), eng, newEchoWorlds(t), cfg, Network(smallNetwork()))
}

// TestOutsideLearns: PPO and SAC learn in a world that the host steps. Actions at random get 0.5 a step.
func TestOutsideLearns(t *testing.T) {
	for name, c := range map[string]struct {
		make       func(testing.TB, *engine.Engine) (engine.Workflow, error)
		iterations int
	}{
		"ppo": {func(t testing.TB, eng *engine.Engine) (engine.Workflow, error) { return echoPPO(t, eng) }, 16},
		"sac": {func(t testing.TB, eng *engine.Engine) (engine.Workflow, error) { return echoSAC(t, eng) }, 50},
	} {
		p, err := c.make(t, engine.New(open(t), engine.Seed(1)))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := engine.Learn(t.Context(), p, engine.Iterations(c.iterations)); err != nil {
			t.Fatal(err)
		}
		e, err := p.Evaluate(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		reward, steps := 0.0, 0.0
		for m := range e.Returns {
			for i := range e.Returns[m] {
				reward, steps = reward+float64(e.Returns[m][i]), steps+float64(e.Lengths[m][i])
			}
		}
		t.Logf("%s: %.3f a step", name, reward/steps)
		if !(reward/steps > 0.9) {
			t.Errorf("%s: a reward of %.3f a step; want more than 0.9", name, reward/steps)
		}
	}
}

// TestOutsideReplay: every transition that SAC's replay gives is one that an environment made, and every one that was made is given.
func TestOutsideReplay(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	o, err := echoSAC(t, eng)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	const iterations, discount = 9, 0.5
	steps(t, o, 0, iterations)
	s := eng.NewState()
	defer s.Close()
	update := s.Tensor("update", engine.Uint32, engine.Axis("update", 1))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	var batch ReplayBatch
	p, err := eng.Record("sample", func(r *engine.Recorder) { batch = o.replay.Sample(r, o.Clock(), update, o.discount) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	read := func(x *engine.Tensor) []float32 {
		v, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const each = 64 + 8*echoEnvironments*iterations // transitions of a member: of warm-up and iterations
	found := map[[2]int]bool{}
	for n := uint32(0); len(found) < echoMembers*each && n < 100; n++ {
		if err := update.WriteUint32(t.Context(), []uint32{n}); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs, next, action, reward, factor := read(batch.Obs), read(batch.NextObs), read(batch.Action), read(batch.Reward), read(batch.Factor)
		for i, a := range action {
			before, after := obs[4*i:4*i+4], next[4*i:4*i+4]
			e := &echoWorld{id: int(8 * before[0]), run: int(1024 * before[1]), episode: int(8 * before[2])}
			each := 3 + e.id%3
			e.ended = (e.run) / each
			member := i / (len(action) / echoMembers)
			previous := float32(-2) // what a first observation has
			if e.episode > 0 {
				previous = before[3]
			}
			want := make([]float32, 8)
			e.observe(want[:4], previous)
			ok := e.id/echoEnvironments == member && e.run%each == e.episode && slices.Equal(before, want[:4])
			e.run, e.episode = e.run+1, e.episode+1
			e.observe(want[4:], a)
			future := float32(discount)
			if e.end() == envs.Terminated {
				future = 0
			}
			if !ok || !slices.Equal(after, want[4:]) || math.Abs(float64(reward[i]-echoReward(a))) > 1e-6 || factor[i] != future {
				t.Fatalf("member %d: after %v action %g, reward %g, factor %g, then %v; want after %v reward %g, factor %g, then %v", member,
					before, a, reward[i], factor[i], after, want[:4], echoReward(a), future, want[4:])
			}
			found[[2]int{e.id, e.run}] = true
		}
	}
	if len(found) != echoMembers*each {
		t.Errorf("%d transitions were found; %d were made", len(found), echoMembers*each)
	}
}

// TestOutsideResumes: runs in a world that can be saved are resumed with the same bits.
func TestOutsideResumes(t *testing.T) {
	for _, w := range []workflow{
		{"ppo", func(t testing.TB, eng *engine.Engine) (counted, error) { return echoPPO(t, eng) }},
		{"sac", func(t testing.TB, eng *engine.Engine) (counted, error) { return echoSAC(t, eng) }},
	} {
		t.Run(w.name, func(t *testing.T) { w.resumes(t, open(t)) })
	}
}
