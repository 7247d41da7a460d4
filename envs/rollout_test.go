package envs

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// fixture is a rollout with a policy of random parameters, and their host copies.
type fixture struct {
	t      testing.TB
	eng    *engine.Engine
	env    *Environment
	ro     *Rollout
	clock  engine.Clock
	state  *engine.State
	policy *Policy
	params []float32 // [M, row]
	values []float32 // [M, 2, O], of the normalizer
	noise  []float32 // [M], of the head's exploration; nil: none
	steps  int       // taken by every environment so far
}

// newFixture makes a rollout and begins its first episodes. network is the hidden part of the policy; nil acts at
// random.
func newFixture(t testing.TB, eng *engine.Engine, name string, cfg RolloutConfig, network *nn.MLP, more ...func(*Policy)) *fixture {
	t.Helper()
	return fixtureIn(t, eng, lookup(t, name), cfg, network, more...)
}

// fixtureIn is newFixture in any environment.
func fixtureIn(t testing.TB, eng *engine.Engine, env *Environment, cfg RolloutConfig, network *nn.MLP, more ...func(*Policy)) *fixture {
	t.Helper()
	s := eng.NewState()
	f := &fixture{t: t, eng: eng, env: env, state: s, clock: engine.NewClock(s)}
	t.Cleanup(func() { _ = s.Close() })
	dice := rand.New(rand.NewPCG(7, 8))
	if network != nil {
		net := *network
		net.In, net.Out = f.env.ObsSize(), f.env.Action.Size()
		p := engine.Members(cfg.Members)
		f.policy = &Policy{Network: net, Head: f.env.Action.Head(), ObsLimit: 1.5}
		f.values = make([]float32, cfg.Members*2*net.In)
		for i := range f.values {
			f.values[i] = float32(dice.NormFloat64() / 4)
			if i/net.In%2 == 1 {
				f.values[i] = float32(0.5 + dice.Float64())
			}
		}
		normalizer := s.Tensor("normalizer", engine.Float32, p, engine.Axis("moment", 2), engine.Axis("feature", net.In))
		f.policy.Normalizer = normalizer
		for _, m := range more {
			m(f.policy)
		}
		if kind := f.policy.Head.Kind; kind == nn.Deterministic || kind == nn.EpsilonGreedy {
			f.policy.Head.Noise = s.Tensor("noise", engine.Float32, p)
			for range cfg.Members {
				f.noise = append(f.noise, 0.1+0.4*float32(dice.Float64()))
			}
		}
		params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", nn.Align(f.policy.Network.Size()+f.policy.Head.Parameters())))
		f.policy.Params = params
		f.params = make([]float32, params.Len())
		for i := range f.params {
			f.params[i] = float32(dice.NormFloat64() / math.Sqrt(float64(net.Hidden[0])))
		}
	}
	cfg.Policy = f.policy
	var err error
	if f.ro, err = NewRollout(t.Context(), s, f.env, cfg); err != nil {
		t.Fatal(err)
	}
	f.begin()
	return f
}

// begin restarts the run.
func (f *fixture) begin() {
	f.t.Helper()
	must := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	must(f.state.Zero(f.t.Context()))
	if f.policy != nil {
		must(f.policy.Params.WriteFloat32(f.t.Context(), f.params))
		if f.noise != nil {
			must(f.policy.Head.Noise.WriteFloat32(f.t.Context(), f.noise))
		}
		if f.policy.Normalizer != nil {
			must(f.policy.Normalizer.WriteFloat32(f.t.Context(), f.values))
		}
	}
	f.steps = 0
	f.run(func(r *engine.Recorder) { f.ro.RecordFirst(r, f.clock) })
	for _, tensor := range []*engine.Tensor{f.ro.Obs, f.ro.Action, f.ro.LogProb, f.ro.Reward, f.ro.NextObs} {
		if tensor != nil {
			must(tensor.Fill(f.t.Context(), float32(math.NaN())))
		}
	}
}

func (f *fixture) run(record func(*engine.Recorder)) {
	f.t.Helper()
	program, err := f.eng.Record("test", record)
	if err != nil {
		f.t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// advance runs the recording once and advances the clock.
func (f *fixture) advance() {
	f.t.Helper()
	f.run(func(r *engine.Recorder) {
		f.ro.Record(r, f.clock, f.policy)
		f.clock.Tick(r, 1, f.ro.cfg.Horizon)
	})
	f.steps += f.ro.cfg.Horizon
}

func (f *fixture) floats(tensor *engine.Tensor) []float32 {
	f.t.Helper()
	values, err := tensor.ReadFloat32(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return values
}

func (f *fixture) words(tensor *engine.Tensor) []uint32 {
	f.t.Helper()
	values, err := tensor.ReadUint32(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return values
}

// everything returns all results of a recording, as words.
func (f *fixture) everything() []uint32 {
	var all []uint32
	for _, tensor := range []*engine.Tensor{f.ro.Obs, f.ro.Action, f.ro.LogProb, f.ro.Reward, f.ro.NextObs, f.ro.state, f.ro.ret, f.ro.finished,
		f.ro.Global, f.ro.NextGlobal} {
		if tensor != nil {
			all = append(all, wordsOf(f.floats(tensor))...)
		}
	}
	if f.ro.Done != nil {
		all = append(all, f.words(f.ro.Done)...)
	}
	return append(all, f.words(f.ro.step)...)
}

// outputs evaluates the policy's network in float64 at an observation.
func (f *fixture) outputs(member int, obs []float32) []float64 {
	net := f.policy.Network
	row := f.params[member*f.policy.Row():]
	x := make([]float64, len(obs))
	for i, v := range obs {
		x[i] = float64(v)
		if f.policy.Normalizer != nil {
			mean, reciprocal := float64(f.values[(2*member)*net.Inputs().Size()+i]), float64(f.values[(2*member+1)*net.Inputs().Size()+i])
			limit := float64(f.policy.ObsLimit)
			x[i] = min(max((x[i]-mean)*reciprocal, -limit), limit)
		}
	}
	for _, l := range net.Layers() {
		y := make([]float64, l.Out)
		for o := range y {
			y[o] = float64(row[l.Bias+o])
			for i, v := range x {
				y[o] += v * float64(row[l.Weight+i*l.Out+o])
			}
		}
		if l.Norms {
			normalizeLayer(y, row[l.Scale:], row[l.Shift:])
		}
		if l.Hidden {
			for o := range y {
				y[o] = activate(l.Activation, y[o])
			}
		}
		x = y
	}
	return x
}

// normalizeLayer applies layer normalization to y (J. L. Ba et al., 2016, equation 4).
func normalizeLayer(y []float64, scale, shift []float32) {
	mean, square := 0.0, 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		square += (v - mean) * (v - mean) / float64(len(y))
	}
	for o := range y {
		y[o] = float64(scale[o])*(y[o]-mean)/math.Sqrt(square+1e-6) + float64(shift[o])
	}
}

func activate(kind nn.Activation, z float64) float64 {
	switch kind {
	case nn.ReLU:
		return max(z, 0)
	case nn.Tanh:
		return math.Tanh(z)
	case nn.ELU:
		return max(z, math.Expm1(min(z, 0)))
	case nn.Swish:
		return z / (1 + math.Exp(-z))
	case nn.GELU:
		return 0.5 * z * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
	}
	return z
}

// logProb returns the log-probability of an action in the form of trajectories.
func (f *fixture) logProb(member int, y []float64, action []float32) float64 {
	h, lp := f.policy.Head, 0.0
	for i, a := range action {
		switch h.Kind {
		case nn.Categorical, nn.Binned:
			logits, sum := y[i*h.Width():(i+1)*h.Width()], 0.0
			for _, l := range logits {
				sum += math.Exp(l)
			}
			lp += logits[int(a)] - math.Log(sum)
		case nn.EpsilonGreedy:
			epsilon := float64(f.noise[member])
			p := epsilon / float64(h.Size)
			if values := actionValues(h, y); int(a) == slices.Index(values, slices.Max(values)) {
				p += 1 - epsilon
			}
			lp += math.Log(p)
		case nn.Gaussian:
			var logStd float64
			if h.StateDependent {
				low, high := float64(h.LogStdLow), float64(h.LogStdHigh)
				logStd = low + (high-low)*(math.Tanh(y[h.Size+i])+1)/2
			} else {
				logStd = float64(f.params[member*f.policy.Row()+f.policy.Network.Size()+i])
			}
			z := (float64(a) - y[i]) / math.Exp(logStd)
			lp -= z*z/2 + logStd + math.Log(2*math.Pi)/2
		}
	}
	return lp
}

// actionValues returns the values of an epsilon-greedy head's actions, with atoms in units of their spacing.
func actionValues(h nn.Head, y []float64) []float64 {
	atoms := max(h.Atoms, 1)
	values := make([]float64, h.Size)
	for a := range values {
		sum, weighted := 0.0, 0.0
		for i := range atoms {
			logit := y[a*atoms+i]
			if h.Dueling {
				logit += y[h.Size*atoms+i]
				for b := range h.Size {
					logit -= y[b*atoms+i] / float64(h.Size)
				}
			}
			if values[a] = logit; h.Atoms > 1 {
				sum, weighted = sum+math.Exp(logit), weighted+float64(i)*math.Exp(logit)
				values[a] = weighted / sum
			}
		}
	}
	return values
}

// valueOutputs makes a policy epsilon-greedy with the given number of atoms.
func valueOutputs(atoms int, dueling bool) func(*Policy) {
	return func(p *Policy) {
		p.Head.Kind, p.Head.Atoms, p.Head.Dueling = nn.EpsilonGreedy, atoms, dueling
		outputs(p)
	}
}

// outputs gives a policy's network the outputs that its head requires.
func outputs(p *Policy) {
	m := p.Network.(nn.MLP)
	m.Out = p.Head.Outputs()
	p.Network = m
}

// stateDependent makes a policy's deviations outputs of its network.
func stateDependent(p *Policy) {
	p.Head.Squash, p.Head.StateDependent, p.Head.LogStdLow, p.Head.LogStdHigh = true, true, -2, 1
	outputs(p)
}

var small = &nn.MLP{Hidden: []int{7, 6}, Activation: nn.Tanh}

// TestRolloutReplays replays the actions of trajectories in a Batch, compares observations, rewards and flags, and
// recomputes the log-probabilities in float64.
func TestRolloutReplays(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	const members, environments, horizon = 3, 11, 25 // eleven environments are a full subgroup of eight and three
	for _, c := range []struct {
		name    string
		options Options
		policy  func(*Policy)
	}{
		{"CartPole-v1", Options{TimeLimit: 17}, func(*Policy) {}},
		{"CartPole-v1", Options{AutoReset: Fast, ActionRepeat: 2, SparseReward: true}, func(p *Policy) { p.Normalizer = nil }},
		{"CartPole-v1", Options{TimeLimit: 13, RewardScale: 0.5}, func(*Policy) {}}, // with Disabled, only the flags of steps after the end are written
		{"Acrobot-v1", Options{TimeLimit: 20}, func(*Policy) {}},
		{"MountainCar-v0", Options{TimeLimit: 30}, func(p *Policy) { p.Normalizer = nil }},
		{"Pendulum-v1", Options{TimeLimit: 9, RewardScale: 0.1}, func(p *Policy) { p.Head.Squash = true }},
		{"Pendulum-v1", Options{TimeLimit: 9, ActionRepeat: 2}, func(p *Policy) { p.Normalizer = nil }},
		{"MountainCarContinuous-v0", Options{TimeLimit: 19}, func(p *Policy) { p.Head.Squash = true }},
		{"CartPoleSwingUp-easy", Options{TimeLimit: 40}, func(*Policy) {}},
		{"CartPoleSwingUp-hard", Options{}, func(p *Policy) { p.Head.Squash = true }},
		{"Acrobot-v1", Options{TimeLimit: 18}, valueOutputs(0, false)},
		{"Acrobot-v1", Options{TimeLimit: 18}, valueOutputs(0, true)},
		{"Acrobot-v1", Options{TimeLimit: 18}, valueOutputs(5, false)},
		{"CartPole-v1", Options{TimeLimit: 18}, valueOutputs(11, true)},
		{"CartPole-v1", Options{TimeLimit: 16}, func(p *Policy) { valueOutputs(11, true)(p); p.Placement = PlacementStepped }},
		{"Acrobot-v1", Options{TimeLimit: 16}, func(p *Policy) { valueOutputs(5, false)(p); p.Placement = PlacementStepped }},
		{"Pendulum-v1", Options{TimeLimit: 11}, func(p *Policy) { p.Head.Kind, p.Head.Squash = nn.Deterministic, true }},
		{"Pendulum-v1", Options{TimeLimit: 11}, func(p *Policy) { p.Head.Kind, p.Head.Bins = nn.Binned, 5; outputs(p) }},
		{"Pendulum-v1", Options{TimeLimit: 12}, stateDependent},
	} {
		t.Run(fmt.Sprintf("%s/%+v", c.name, c.options), func(t *testing.T) {
			cfg := RolloutConfig{Members: members, Environments: environments, Horizon: horizon, Options: c.options, Trajectory: true}
			f := newFixture(t, eng, c.name, cfg, small, c.policy)
			b := newBatch(t, eng.Device(), c.name, members, environments, c.options)
			first, err := b.Reset(t.Context(), eng.Seed())
			if err != nil {
				t.Fatal(err)
			}
			obs := slices.Clone(first)
			o, a, n := f.env.ObsSize(), f.env.ActionWords(), members*environments
			worst, worstLog, ends := 0.0, 0.0, map[Done]int{}
			for range 2 { // the second recording continues the first
				f.advance()
				seen, actions, rewards, dones, nexts := f.floats(f.ro.Obs), f.floats(f.ro.Action), f.floats(f.ro.Reward), f.words(f.ro.Done), f.floats(f.ro.NextObs)
				logProbs := f.floats(f.ro.LogProb)
				for step := range horizon {
					compare := func(what string, got, want []float32) {
						t.Helper()
						for i, w := range want {
							d := math.Abs(float64(got[i]-w)) / max(1, math.Abs(float64(w)))
							worst = max(worst, d)
							if !(d <= 5e-6) {
								t.Fatalf("step %d: %s %d is %g; a batch gives %g", step, what, i, got[i], w)
							}
						}
					}
					compare("observation", seen[step*n*o:(step+1)*n*o], obs)
					taken := make([][]float64, n)
					for i := range n {
						action := actions[(step*n+i)*a : (step*n+i+1)*a]
						taken[i] = f.environmentAction(action)
						member := i / environments
						// The log-probability belongs to the observation as the rollout saw it.
						y := f.outputs(member, seen[(step*n+i)*o:(step*n+i+1)*o])
						want := f.logProb(member, y, action)
						d := math.Abs(float64(logProbs[step*n+i])-want) / max(1, math.Abs(want))
						worstLog = max(worstLog, d)
						if !(d <= 2e-6) {
							t.Fatalf("step %d: log-probability %d is %g; want %g", step, i, logProbs[step*n+i], want)
						}
					}
					got, err := act(t.Context(), b, taken)
					if err != nil {
						t.Fatal(err)
					}
					compare("reward", rewards[step*n:(step+1)*n], got.Reward)
					compare("next observation", nexts[step*n*o:(step+1)*n*o], got.NextObs)
					for i, d := range got.Done {
						if ends[d]++; Done(dones[step*n+i]) != d {
							t.Fatalf("step %d: done %d is %d; a batch gives %d", step, i, dones[step*n+i], d)
						}
					}
					obs = slices.Clone(got.Obs)
				}
			}
			t.Logf("largest deviation %.1e, of log-probabilities %.1e; steps by done flags %v", worst, worstLog, ends)
			if len(ends) < 2 && c.name != "MountainCar-v0" {
				t.Error("no episode ended")
			}
		})
	}
}

// environmentAction converts an action of a trajectory to the environment's units.
func (f *fixture) environmentAction(raw []float32) []float64 {
	out := make([]float64, len(raw))
	for i, u := range raw {
		out[i] = float64(u)
		if f.env.Action.IsDiscrete() {
			continue
		}
		if f.policy != nil {
			out[i] = f.applied(u)
		}
		low, high := float64(f.env.Action.Low[i]), float64(f.env.Action.High[i])
		out[i] = (low+high)/2 + (high-low)/2*out[i]
	}
	return out
}

// applied converts a sampled continuous action to the applied one.
func (f *fixture) applied(sampled float32) float64 {
	switch h := f.policy.Head; {
	case h.Kind == nn.Binned:
		return 2*float64(sampled)/float64(h.Bins-1) - 1
	case h.Kind == nn.Gaussian && h.Squash:
		return math.Tanh(float64(sampled))
	}
	return float64(sampled)
}

// TestActionForms: applied actions are the sampled ones after squashing or binning, with exact log-probabilities; the
// rest of the trajectories is equal.
func TestActionForms(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(15))
	for _, c := range []struct {
		title  string
		policy func(*Policy)
	}{
		{"squashed", func(p *Policy) { p.Head.Squash = true }},
		{"state-dependent", stateDependent},
		{"Gaussian", func(*Policy) {}},
		{"binned", func(p *Policy) { p.Head.Kind, p.Head.Bins = nn.Binned, 4; outputs(p) }},
		{"deterministic", func(p *Policy) { p.Head.Kind, p.Head.Squash = nn.Deterministic, true }},
	} {
		var f [2]*fixture
		for form := range f {
			cfg := RolloutConfig{Members: 3, Environments: 5, Horizon: 21, Options: Options{TimeLimit: 9}, Trajectory: true, Actions: ActionForm(form)}
			f[form] = newFixture(t, eng, "Pendulum-v1", cfg, small, c.policy)
			f[form].advance()
			if got := f[form].ro.Actions; got != ActionForm(form) {
				t.Errorf("%s: the trajectory says %v; want %v", c.title, got, ActionForm(form))
			}
		}
		for _, pair := range [][2]*engine.Tensor{{f[0].ro.Obs, f[1].ro.Obs}, {f[0].ro.Reward, f[1].ro.Reward}, {f[0].ro.NextObs, f[1].ro.NextObs}} {
			if !slices.Equal(f[0].floats(pair[0]), f[1].floats(pair[1])) {
				t.Errorf("%s: %v differs by the form of actions", c.title, pair[0])
			}
		}
		applied, logs := f[1].floats(f[1].ro.Action), f[1].floats(f[1].ro.LogProb)
		for i, u := range f[0].floats(f[0].ro.Action) {
			if want := f[0].applied(u); !(math.Abs(float64(applied[i])-want) <= 1e-6) {
				t.Fatalf("%s: action %g applied for %g; want %g", c.title, applied[i], u, want)
			}
			want := float64(f[0].floats(f[0].ro.LogProb)[i])
			if h := f[0].policy.Head; h.Kind == nn.Gaussian && h.Squash {
				want += 2 * math.Log(math.Cosh(float64(u)))
			}
			if d := math.Abs(float64(logs[i]) - want); !(d <= 2e-6*max(1, math.Abs(want))) {
				t.Fatalf("%s: log-probability %g of the applied action for %g; want %g", c.title, logs[i], u, want)
			}
		}
	}
}

// TestPolicyRefused: policies that do not suit the environment give errors that say what was wanted.
func TestPolicyRefused(t *testing.T) {
	eng := engine.New(open(t))
	for _, c := range []struct {
		env, want string
		policy    func(f *fixture)
	}{
		{"CartPole-v1", "gaussian head of size 2 acts in \"CartPole-v1\", which has Discrete(2)", func(f *fixture) { f.policy.Head.Kind = nn.Gaussian }},
		{"Pendulum-v1", "its gaussian head wants 2 outputs", func(f *fixture) { f.policy.Head.StateDependent, f.policy.Head.LogStdHigh = true, 1 }},
		{"Pendulum-v1", "begins at 4 of the rows", func(f *fixture) { f.policy.Base = 4 }},
		{"Pendulum-v1", "which are too short", func(f *fixture) {
			wide := f.policy.Network.(nn.MLP)
			wide.Hidden = []int{70, 60}
			f.policy.Network = wide
		}},
		{"Pendulum-v1", "only deterministic and epsilon_greedy heads", func(f *fixture) { f.policy.Head.Noise = f.policy.Params }},
		{"Pendulum-v1", "want one value each", func(f *fixture) { f.policy.Head.Kind, f.policy.Head.Noise = nn.Deterministic, f.policy.Params }},
	} {
		f := newFixture(t, eng, c.env, RolloutConfig{Members: 2, Environments: 1, Horizon: 3}, small)
		c.policy(f)
		p, err := eng.Record("refused", func(r *engine.Recorder) { f.ro.Record(r, f.clock, f.policy) })
		if err == nil {
			p.Free()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.env, err, c.want)
		}
	}
}

// TestRecordReset: the kernel that only resets begins bit-identical episodes.
func TestRecordReset(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	for _, name := range []string{"CartPole-v1", "Pendulum-v1", "CartPoleSwingUp-hard", "InvertedPendulum-v5"} {
		f := newFixture(t, eng, name, RolloutConfig{Members: 3, Environments: 23, Horizon: 1, Trajectory: true}, nil)
		tensors := []*engine.Tensor{f.ro.state, f.ro.step, f.ro.ret}
		read := func() (all [][]byte) {
			for _, tensor := range tensors {
				data, err := tensor.ReadBytes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, data)
			}
			return all
		}
		want := read()
		for _, tensor := range tensors {
			if err := tensor.WriteBytes(t.Context(), bytes.Repeat([]byte{0xde}, 4*tensor.Len())); err != nil {
				t.Fatal(err)
			}
		}
		f.run(f.ro.RecordReset)
		for i, data := range read() {
			if !bytes.Equal(data, want[i]) {
				t.Errorf("%s: %v differs from that of RecordFirst", name, tensors[i])
			}
		}
	}
	f := newFixture(t, eng, "CartPole-v1", RolloutConfig{Members: 1, Environments: 1, Horizon: 1}, nil)
	if _, err := eng.Record("no trajectory", f.ro.RecordReset); err == nil || !strings.Contains(err.Error(), "want a rollout with a trajectory") {
		t.Errorf("error %v of a rollout without a trajectory", err)
	}
}
