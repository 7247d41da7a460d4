package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// logDeterminant returns equation 1 in float64, by LU factorization, and the inverse of the kernel matrix.
func logDeterminant(c diversityConfig, actions [][]float64) (float64, *mat.Dense) {
	n := len(actions)
	k := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			sum := 0.0
			for a, x := range actions[i] {
				sum += (x - actions[j][a]) * (x - actions[j][a])
			}
			value := (1 - c.jitter) * math.Exp(-sum/float64(len(actions[i]))/(2*c.width*c.width))
			if i == j {
				value += c.jitter
			}
			k.Set(i, j, value)
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(k); err != nil {
		panic(err)
	}
	value, _ := mat.LogDet(k)
	return value, &inverse
}

// TestDiversity: determinant and gradient agree with float64, and float64's gradient with finite differences; for agents that agree too.
// An agent that has diverged changes neither for the others.
func TestDiversity(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	dice := rand.New(rand.NewPCG(7, 1))
	for _, c := range []struct {
		agents, batch, states, actions int
		spread                         float64 // between the agents' actions
		environments                   int
		weight                         float64 // that the schedule gives
		diverged                       int     // agents, the first ones
	}{
		{2, 5, 3, 1, 1, 1, 0.25, 0}, {5, 23, 20, 3, 1, 3, 2, 0}, {32, 9, 9, 2, 0.5, 1, 2, 0}, {7, 30, 11, 17, 1e-3, 2, 0.25, 0}, {3, 4, 4, 1, 0, 1, 0.25, 0},
		{5, 23, 20, 3, 1, 3, 2, 1}, {4, 5, 3, 2, 1, 1, 0.25, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := eng.NewState()
			defer s.Close()
			cfg := diversityConfig{states: c.states, width: 0.7, jitter: 0.01, weights: []float64{0.25, 2}, from: []int{0, 300}}
			o := &OffPolicy{Base: engine.NewBase(eng, c.agents, maxMetrics), cfg: OffPolicyConfig{Members: c.agents, Environments: 1}}
			o.rates = newRates(o.State(), o.Clock(), ScheduleConfig{}, 1, 1)
			defer o.State().Close()
			o.cfg.Environments = c.environments
			a := &actorCritic{actors: c.agents, batch: c.batch, head: nn.Head{Size: c.actions}, metrics: o.Metrics().Sub("", c.agents)}
			d := newDiversity(o.State(), o, a, cfg)
			dims := []engine.Dim{engine.Members(1), engine.Axis("transition", c.agents*c.batch), engine.Axis("action", c.actions)}
			actions, gradient := s.Scratch("actions", engine.Float32, dims...), s.Scratch("gradient", engine.Float32, dims...)
			for _, state := range []*engine.State{s, o.State()} {
				if err := state.Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := state.Poison(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			write(t, o.Clock().Tensor(), []float64{0, 20})
			x, g, common := make([]float64, actions.Len()), make([]float64, actions.Len()), make([]float64, c.batch*c.actions)
			for i := range common {
				common[i] = 2*dice.Float64() - 1
			}
			for i := range x {
				x[i] = float64(float32(common[i%len(common)] + c.spread*(2*dice.Float64()-1)))
				g[i] = float64(float32(dice.NormFloat64()))
			}
			stride, size := c.batch*c.actions, c.states*c.actions
			for i := range c.diverged * stride {
				x[i] = math.NaN()
			}
			write(t, actions, x)
			write(t, gradient, g)
			run(t, eng, func(r *engine.Recorder) { d.record(r, actions, gradient) })
			x, g = x[c.diverged*stride:], g[c.diverged*stride:]
			phi := make([][]float64, c.agents-c.diverged)
			for i := range phi {
				phi[i] = x[i*stride:][:size]
			}
			want, _ := logDeterminant(cfg, phi)
			if got := read(t, d.logDet)[0]; !(math.Abs(got-want) <= 2e-5*math.Max(1, math.Abs(want))) {
				t.Errorf("log det is %g; want %g", got, want)
			}
			if got := read(t, d.weight)[0]; got != c.weight {
				t.Errorf("a weight of %g after %d steps; want %g", got, 20*c.agents*c.environments, c.weight)
			}
			for i := range phi {
				for n := range phi[i] {
					const h = 1e-5
					was := phi[i][n]
					phi[i][n] = was + h
					up, _ := logDeterminant(cfg, phi)
					phi[i][n] = was - h
					down, _ := logDeterminant(cfg, phi)
					phi[i][n] = was
					g[i*stride+n] -= c.weight * (up - down) / (2 * h)
				}
			}
			if off := deviation(read(t, gradient)[c.diverged*stride:], g); !(off <= 1e-5) {
				t.Errorf("the gradient deviates by %g of the largest", off)
			}
		})
	}
}

// dvdReference is a population in float64: the critics' values are the first agent's.
type dvdReference struct {
	*updateCase
	cfg diversityConfig
}

// step is an update: TD3's, with the states of the first agent's batch and the diversity for the actors.
func (r dvdReference) step(now bool) {
	d := r.o.learner.(*td3)
	policy := func(actor, obs []float64) []float64 {
		y := forward(d.actor.Model(), actor, obs)
		for o := range y {
			y[o] = math.Tanh(y[o])
		}
		return y
	}
	first, y := r.references[0], []float64(nil)
	rows := updateMembers * updateRows
	at := func(name string, row, n int) []float64 {
		return r.references[row/updateRows].row(name, row%updateRows, n)
	}
	for row := range rows {
		f := r.references[row/updateRows]
		rng, next := first.rng(d.smoothing.stream, row), at("next", row, updateObs)
		action := policy(f.values["target actor"], next)
		for o := range action {
			noise := min(max(f.hyper["target_noise"]*float64(rng.Normal()), -f.hyper["noise_clip"]), f.hyper["noise_clip"])
			action[o] = min(max(action[o]+noise, -1), 1)
		}
		q := first.q(first.values["target critics"], next, action)
		y = append(y, first.hyper["reward_scale"]*at("reward", row, 1)[0]+at("factor", row, 1)[0]*min(q[0], q[1]))
	}
	first.descend("critics", "critic_learning_rate", func(critics []float64) (loss float64) {
		for row := range rows {
			for _, q := range first.q(critics, at("obs", row, updateObs), at("action", row, updateAction)) {
				loss += (q - y[row]) * (q - y[row]) / float64(rows)
			}
		}
		return loss
	})
	if !now {
		return
	}
	var before [][]float64
	for _, f := range r.references {
		before = append(before, append([]float64(nil), f.values["actor"]...))
	}
	for i, f := range r.references {
		f.descend("actor", "actor_learning_rate", func(actor []float64) (loss float64) {
			phi := make([][]float64, updateMembers)
			for row := range updateRows {
				obs := at("obs", row, updateObs)
				for j := range phi {
					of := before[j]
					if i == j {
						of = actor
					}
					action := policy(of, obs)
					if i == j {
						loss -= first.q(first.values["critics"], obs, action)[0] / updateRows
					}
					if row < r.cfg.states {
						phi[j] = append(phi[j], action...)
					}
				}
			}
			value, _ := logDeterminant(r.cfg, phi)
			return loss - r.cfg.weights[0]*value
		})
		f.follow("target actor", "actor")
	}
	first.follow("target critics", "critics")
}

// TestDvDUpdate: updates of a population with shared critics, against float64.
func TestDvDUpdate(t *testing.T) {
	for _, hidden := range updateForms {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			cfg := diversityConfig{states: 5, width: 0.5, jitter: 0.02, weights: []float64{0.4}, from: []int{0}}
			network := DefaultOffPolicyNetwork()
			network.Hidden, network.Activation = hidden, nn.Tanh
			adam := optim.DefaultAdam
			adam.Epsilon = 1e-3
			parts := learnerParts{
				env: spaces(updateObs, envs.Symmetric(make([]float32, updateAction)...)), network: network, batch: updateRows, optimizer: adam, together: true,
			}
			eng := engine.New(open(t), engine.Seed(3))
			o, batch := bareOffPolicy(t, eng, updateMembers, parts, func(o *OffPolicy, parts learnerParts) (learner, error) {
				o.cfg.UpdatesPerStep, o.cfg.Environments, o.cfg.RolloutLength = 1, 1, 4
				return newTD3(o, parts, TD3Config{PolicyDelay: 2, DelayTargets: true, TargetActor: true}, &cfg)
			})
			d := o.learner.(*td3)
			r := dvdReference{&updateCase{o: o, ac: d.actorCritic, batch: batch}, cfg}
			equal := func(x float64) [updateMembers]float64 { return [updateMembers]float64{x, x, x} }
			r.draw(t, map[string][updateMembers]float64{
				"reward_scale": equal(0.5), "actor_learning_rate": equal(1e-2), "critic_learning_rate": equal(3e-3), "tau": equal(0.3),
				"target_noise": equal(0.2), "noise_clip": equal(0.3), "policy_delay": equal(2),
			})
			for name, x := range map[string]*engine.Tensor{"critics": d.critics.params(), "target critics": d.targetCritics} {
				r.references[0].values[name] = read(t, x)
			}
			number := o.State().Sub("test").Scratch("number", engine.Uint32, engine.Axis("count", 1))
			for i := range 4 {
				write(t, number, []float64{float64(i)})
				shared := read(t, batch.Obs)
				run(t, eng, func(rec *engine.Recorder) {
					d.prepare(rec)
					d.update(rec, update{batch: batch, number: number, block: d.block(4), at: i % d.block(4)})
				})
				write(t, batch.Obs, shared)
				r.step(i%2 == 1)
				for _, f := range r.references {
					f.updates++
				}
				r.compare(t, i)
			}
		})
	}
}

// compare compares the parameters with the references'.
func (r dvdReference) compare(t *testing.T, update int) {
	t.Helper()
	d := r.o.learner.(*td3)
	for name, x := range map[string]*engine.Tensor{
		"actor": d.actor.params(), "target actor": d.targetActor, "critics": d.critics.params(), "target critics": d.targetCritics,
	} {
		all := read(t, x)
		for m, f := range r.references {
			want := f.values[name]
			if strings.Contains(name, "critics") && m > 0 {
				break // all have the first's
			}
			if off := deviation(all[m*len(want):][:len(want)], want); !(off <= 1e-5) {
				t.Errorf("update %d: %s of agent %d deviates by %g of the largest", update, name, m, off)
			}
		}
	}
}

// TestDvDRefused: settings that cannot be are one error each, which names the setting.
func TestDvDRefused(t *testing.T) {
	for want, change := range map[string]func(*DvDConfig, *NetworkConfig, *ReplayConfig){
		`"members": a population of 1 agents`:            func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Members = 1 },
		`"members": a population of 33 agents`:           func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Members = 33 },
		`"diversity_from": 4 steps for 1 weights`:        func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Diversity = []float64{1} },
		`want 0, followed by increasing numbers`:         func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.DiversityFrom = []int{0, 5, 5, 6} },
		`"dvd.states": 20 states of a batch of 19`:       func(_ *DvDConfig, _ *NetworkConfig, r *ReplayConfig) { r.Batch = 19 },
		`"atoms": 5 atoms of the critics`:                func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Atoms = 5 },
		`"replay.shared"`:                                func(_ *DvDConfig, _ *NetworkConfig, r *ReplayConfig) { r.Shared = false },
		`"network.normalize_obs"`:                        func(_ *DvDConfig, n *NetworkConfig, _ *ReplayConfig) { n.NormalizeObs = true },
		`"updates_per_step": 0.025 updates`:              func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.UpdatesPerStep = 0.025 },
		`"jitter" is 0: want above 0`:                    func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Jitter = 0 },
		`"network.squash": dvd squashes actions by tanh`: func(_ *DvDConfig, n *NetworkConfig, _ *ReplayConfig) { n.Squash = false },
		`"diversity[1]" is -1: want at least 0`:          func(c *DvDConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Diversity[1] = -1 },
	} {
		cfg, network, replay := DefaultDvD(), DefaultOffPolicyNetwork(), DefaultDvDReplay()
		change(&cfg, &network, &replay)
		o, err := NewDvD(t.Context(), engine.New(open(t)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
		if err == nil {
			o.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one line with %q", err, want)
		}
	}
}

// TestDvDLearns: three agents that keep apart swing a pendulum up in 3,000 steps each.
func TestDvDLearns(t *testing.T) {
	cfg, replay, network := DefaultDvD(), DefaultDvDReplay(), DefaultOffPolicyNetwork()
	cfg.OffPolicyConfig = OffPolicyConfig{
		Members: 3, Environments: 1, RolloutLength: 50, UpdatesPerStep: 1, LearningStarts: 350, Discount: 0.95, RewardScale: 0.1, Actors: 1,
	}
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.Tau = 2e-3, 2e-3, 0.02
	cfg.Diversity, cfg.DiversityFrom, cfg.States = []float64{0, 0.02}, []int{0, 2000}, 16
	replay.Capacity, replay.Batch, network.Hidden = 10000, 64, []int{32, 32}
	o, err := NewDvD(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	learnOffPolicy(t, o, 60, -300)
}
