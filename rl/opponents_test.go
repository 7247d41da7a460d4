package rl

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// duel is a PPO that plays against pools of random opponents in games of at most five steps, after two iterations.
func duel(t *testing.T, eng *engine.Engine, env *envs.Environment, cfg PPOConfig, network NetworkConfig, alone float64) *PPO {
	t.Helper()
	p, err := NewPPO(t.Context(), eng, env, cfg, Network(network), Environment(envs.Options{TimeLimit: 5}), Pool(PoolConfig{Opponents: 3, Alone: alone}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	rows := read(t, p.opponents.Rows())
	for i := len(rows) / 4; i < len(rows); i++ { // after the members' own
		rows[i] = dice.NormFloat64()
	}
	write(t, p.opponents.Rows(), rows)
	for i := range 2 {
		ticket, err := p.Step(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run(t, eng, p.collector.Record)
	return p
}

// recordDuelUpdates records all of an iteration after its rollout that changes parameters.
func (p *PPO) recordDuelUpdates(r *engine.Recorder) {
	p.estimates.Record(r, p.agent, p.minibatches.Trajectory)
	if p.voids != nil {
		p.voids.record(r, p.minibatches.Trajectory, p.estimates, p.agent.world)
	}
	p.recordUpdates(r)
}

func duelSettings() (PPOConfig, NetworkConfig) {
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 3, 5, 13, 3, 1
	cfg.Optimizer, cfg.LearningRate = optim.SGD, 0.1 // parameters change in proportion to gradients
	network.Hidden = []int{7}
	return cfg, network
}

// TestOpponentsUpdate: an update against a pool is that of an agent of one seat which is given the learner's transitions alone, once each.
func TestOpponentsUpdate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	env, err := envs.Lookup("PongDuel-v0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, network := duelSettings()
	p := duel(t, eng, env, cfg, network, 0)
	seats, done := env.Seats(), read(t, p.minibatches.Trajectory.Done)
	if seats != 2 {
		t.Fatalf("%d seats", seats)
	}
	isVoid := func(row int) bool { return envs.Done(done[row])&envs.Void != 0 }
	all := cfg.Members * cfg.Environments * seats
	for i, row := range read(t, p.opponents.Matches().Rows()) { // of the last step
		if member := i / (cfg.Environments * seats); isVoid(len(done)-all+i) != (int(row) != member) {
			t.Errorf("the seat %d of member %d is played by row %g; void is %v", i, member, row, isVoid(len(done)-all+i))
		}
	}
	// chosen returns the step of every world's seat that is played by the learner, or by an opponent: [T, M, E, …].
	chosen := func(of *engine.Tensor, learner bool) []float64 {
		values := read(t, of)
		each, out := len(values)/len(done), []float64(nil)
		for row := 0; row < len(done); row += seats {
			if isVoid(row) == isVoid(row+1) {
				t.Fatalf("steps %d and %d: want one of the learner, and one of an opponent", row, row+1)
			}
			from := row
			if isVoid(row) == learner {
				from++
			}
			out = append(out, values[from*each:][:each]...)
		}
		return out
	}
	before := p.joint("params").read(t)
	changes := map[bool][]float64{}
	for _, learner := range []bool{true, false} {
		alone := newLearner(t, eng, spaces(env.ObsSize(), env.Action), network, cfg)
		for _, to := range alone.State().Tensors() {
			if from := p.State().Lookup(to.Name()); strings.HasPrefix(to.Name(), "agent/") && from != nil {
				write(t, to, read(t, from))
			}
		}
		write(t, alone.Clock().Tensor(), read(t, p.Clock().Tensor()))
		from, to := p.minibatches.Trajectory, alone.minibatches.Trajectory
		for _, pair := range [][2]*engine.Tensor{
			{from.Obs, to.Obs}, {from.Action, to.Action}, {from.LogProb, to.LogProb}, {from.Reward, to.Reward}, {from.NextObs, to.NextObs},
		} {
			write(t, pair[1], chosen(pair[0], learner))
		}
		ends := chosen(from.Done, learner)
		for i := range ends {
			ends[i] = float64(envs.Done(ends[i]) &^ envs.Void)
		}
		write(t, to.Done, ends)
		if got := alone.joint("params").read(t); deviation(got, before) != 0 {
			t.Fatal("the agents begin with different parameters")
		}
		run(t, eng, alone.recordDuelUpdates)
		changes[learner] = difference(alone.joint("params").read(t), before)
	}
	run(t, eng, p.recordDuelUpdates)
	got := difference(p.joint("params").read(t), before)
	with, without := deviation(got, changes[true]), deviation(got, changes[false])
	t.Logf("changes of parameters deviate by %.2g of the largest from those by the learner's transitions, by %.2g from those by the opponents'", with, without)
	if !(with < 1e-5) {
		t.Errorf("the change of the parameters deviates by %g of its largest from that by the learner's transitions; want at most 1e-5", with)
	}
	if !(without > 0.1) {
		t.Errorf("the change by the opponents' steps deviates by %g only, so that the test says nothing", without)
	}
}

func difference(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// TestOpponentsInherit: copied members take over their sources' own rows and pools, and the moments of these rows.
func TestOpponentsInherit(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	env, err := envs.Lookup("PongDuel-v0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, network := duelSettings()
	cfg.Members, network.NormalizeObs = 5, true
	p := duel(t, eng, env, cfg, network, 0)
	source := p.State().Sub("test").Scratch("source", engine.Uint32, engine.Members(cfg.Members))
	parents := []float64{3, 1, 1, 3, 3}
	write(t, source, parents)
	o := p.opponents
	before := map[*engine.Tensor][]float64{}
	for i, tensor := range []*engine.Tensor{o.rows, o.normalizers, o.filled} {
		values := make([]float64, tensor.Len())
		for k := range values {
			values[k] = float64(k + i)
		}
		write(t, tensor, values)
		before[tensor] = values
	}
	run(t, eng, func(r *engine.Recorder) { p.State().Inherit(r, source) })
	for tensor, was := range before {
		row := func(of []float64, at int) []float64 {
			width := len(of) / (cfg.Members * 4)
			return of[at*width:][:width]
		}
		first := cfg.Members // row of the first pool
		if tensor == o.filled {
			row, first = func(of []float64, at int) []float64 { return of[at : at+1] }, 0
		}
		got := read(t, tensor)
		for member, parent := range parents {
			for place := range o.size {
				if at, from := first+member*o.size+place, first+int(parent)*o.size+place; deviation(row(got, at), row(was, from)) != 0 {
					t.Errorf("%v: place %d of member %d, a copy of %g, has %v; want %v", tensor, place, member, parent, row(got, at), row(was, from))
				}
			}
			if first > 0 && deviation(row(got, member), row(was, int(parent))) != 0 {
				t.Errorf("%v: member %d, a copy of %g, has its own row %v; want %v", tensor, member, parent, row(got, member), row(was, int(parent)))
			}
		}
	}
}

// TestOpponentsDiffer: a member differs from an opponent by a single bit of its row or of its moments.
func TestOpponentsDiffer(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	env, err := envs.Lookup("PongDuel-v0")
	if err != nil {
		t.Fatal(err)
	}
	for _, normalize := range []bool{false, true} {
		cfg, network := duelSettings()
		cfg.Members, network.NormalizeObs, network.Hidden = 7, normalize, []int{41}
		p := duel(t, eng, env, cfg, network, 0)
		o, s := p.opponents, p.State().Sub("test")
		places, differs := s.Scratch("places", engine.Uint32, engine.Members(cfg.Members)), s.Scratch("differs", engine.Uint32, engine.Members(cfg.Members))
		at, want := []float64{0, 1, 2, 0, 1, 2, 0}, make([]float64, cfg.Members)
		write(t, places, at)
		poison(t, differs)
		for k, of := range o.copied() {
			from, err := of.from.ReadBytes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]byte, 4*of.to.Len())
			for i := range rows {
				rows[i] = 0xff
			}
			width := len(from) / cfg.Members
			for m := range cfg.Members {
				row := rows[(cfg.Members+m*o.size+int(at[m]))*width:][:width]
				copy(row, from[m*width:][:width])
				switch {
				case m == 1 && k == 0: // the first bit of the row
					row[0] ^= 1
					want[m] = 1
				case m == 4: // the last bit of the last
					row[width-1] ^= 0x80
					want[m] = 1
				case m == 5 && k == 1: // of the moments alone
					row[width/2] ^= 1
					want[m] = 1
				}
			}
			if err := of.to.WriteBytes(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
		}
		run(t, eng, func(r *engine.Recorder) { o.Differ(r, places, differs) })
		if got := read(t, differs); !slices.Equal(got, want) {
			t.Errorf("normalizing %v: %v differ; want %v", normalize, got, want)
		}
	}
}

// keepAgent returns a function that sets the agent's state, with that of its optimizers, to what it is now.
func (p *PPO) keepAgent(t *testing.T) func() {
	kept := map[*engine.Tensor][]byte{}
	for _, of := range p.State().Tensors() {
		if strings.HasPrefix(of.Name(), "agent/") {
			data, err := of.ReadBytes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kept[of] = data
		}
	}
	return func() {
		t.Helper()
		for of, data := range kept {
			if err := of.WriteBytes(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOpponentsStayOut: no bit of an update depends on the steps of seats that opponents played, where others are played by the member alone.
func TestOpponentsStayOut(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	env, err := envs.Lookup("PongDuel-v0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, network := duelSettings()
	cfg.Minibatches = 4
	p := duel(t, eng, env, cfg, network, 0.4)
	trajectory := p.minibatches.Trajectory
	done, before := read(t, trajectory.Done), p.joint("params").read(t)
	var opponents, mirrored int
	for row := 0; row < len(done); row += 2 {
		for seat := range 2 {
			if envs.Done(done[row+seat])&envs.Void != 0 {
				opponents++
			}
		}
		if (envs.Done(done[row])|envs.Done(done[row+1]))&envs.Void == 0 {
			mirrored++
		}
	}
	if opponents == 0 || mirrored == 0 {
		t.Fatalf("%d steps of opponents, %d of a member against itself; want both", opponents, mirrored)
	}
	tensors := []*engine.Tensor{trajectory.Obs, trajectory.Action, trajectory.LogProb, trajectory.Reward, trajectory.NextObs}
	restore := p.keepAgent(t)
	kept := make([][]float64, len(tensors))
	for i, tensor := range tensors {
		kept[i] = read(t, tensor)
	}
	update := func(void float64) []float64 {
		t.Helper()
		restore()
		for i, tensor := range tensors {
			each, values := tensor.Len()/len(done), append([]float64(nil), kept[i]...)
			for at := range values {
				if envs.Done(done[at/each])&envs.Void != 0 {
					values[at] = void
				}
			}
			write(t, tensor, values)
		}
		run(t, eng, p.recordDuelUpdates)
		return p.joint("params").read(t)
	}
	want := update(0)
	if deviation(want, before) == 0 {
		t.Fatal("an update changes nothing")
	}
	for _, void := range []float64{1, -1e6, math.NaN()} {
		for i, got := range update(void) {
			if got != want[i] {
				t.Fatalf("parameter %d is %g after an update with %g in the opponents' steps, %g with 0", i, got, void, want[i])
			}
		}
	}
}
