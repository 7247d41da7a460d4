package rl

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl/internal/lane"
	"github.com/evorl/evorl/vk"
)

// updateForms are networks in lanes and layer by layer.
var updateForms = [][]int{{16, 12}, {9, 7, 5}}

// stepDeterministic is an update of DDPG and TD3 (S. Fujimoto et al., 2018, algorithm 1).
func stepDeterministic(f *memberReference) {
	d, err := f.c.o.deterministic()
	if err != nil {
		panic(err)
	}
	twin, delayed := f.c.o.learner.(*td3)
	policy := func(actor, obs []float64) []float64 {
		y := forward(d.actor.Model(), actor, obs)
		for o := range y {
			y[o] = math.Tanh(y[o])
		}
		return y
	}
	due := true
	if f.c.pass != ActorsOnly {
		f.descendCritics(0, func(row int) ([]float64, float64) {
			action := policy(f.values["target actor"], f.row("next", row, updateObs))
			if delayed {
				rng, c := f.rng(twin.smoothing.stream, row), f.hyper["noise_clip"]
				for o := range action {
					action[o] = min(max(action[o]+min(max(f.hyper["target_noise"]*float64(rng.Normal()), -c), c), -1), 1)
				}
			}
			return action, 0
		})
		if delayed {
			f.credit++
			if due = f.credit >= f.hyper["policy_delay"]; due {
				f.credit -= f.hyper["policy_delay"]
			}
		}
		if due || delayed && twin.promptTargets {
			f.follow("target critics", "critics")
		}
	}
	if !due || f.c.pass == CriticsOnly {
		return
	}
	f.descend("actor", "actor_learning_rate", func(actor []float64) (loss float64) {
		for i := range updateRows {
			obs := f.row("obs", i, updateObs)
			q := f.q(f.values["critics"], obs, policy(actor, obs))
			switch d := d.distribution; {
			case d != nil && d.ClippedDouble:
				q[0] = min(q[0], q[1])
			case d != nil:
				q[0] = (q[0] + q[1]) / 2
			}
			loss -= q[0] / updateRows
		}
		return loss
	})
	f.follow("target actor", "actor")
}

// Updates of DDPG and TD3 against float64, as several dispatches and fused, with a delay that is a pattern and one that is a mask.
func TestDeterministicUpdates(t *testing.T) {
	all := func(x float64) [updateMembers]float64 { return [updateMembers]float64{x, x, x} }
	td3 := TD3Config{PolicyDelay: 2, DelayTargets: true, TargetActor: true}
	prompt := td3
	prompt.DelayTargets = false
	promptAtOnce := prompt // but for members whose own delay is longer
	promptAtOnce.PolicyDelay = 1
	noise := map[string][updateMembers]float64{"target_noise": {0.2, 1, 0}, "noise_clip": {0.5, 0.3, 0.1}}
	for _, c := range []struct {
		name    string
		cfg     any // of DDPG or TD3
		updates int
		delay   [updateMembers]float64
		varied  bool
		many    bool // as many updates an iteration as are worth the fused form
		fused   bool
		forms   [][]int
	}{
		{"ddpg", DDPGConfig{}, 2, all(0), false, false, false, updateForms},
		{"td3, delay by pattern", td3, 4, all(2), false, false, false, updateForms},
		{"td3, delay by mask", td3, 4, [updateMembers]float64{2, 1, 1.5}, true, false, false, updateForms[1:]},
		{"td3, distributional", distributional(td3, true), 4, all(2), false, false, false, updateForms[1:]},
		{"td3, distributional, unclipped, delay by mask", distributional(td3, false), 4, [updateMembers]float64{2, 1, 1.5}, true, false, false, updateForms[1:]},
		{"ddpg, clipped", DDPGConfig{CriticMaxGradNorm: 0.3}, 2, all(0), false, false, false, updateForms[1:]},
		{"td3, prompt targets", prompt, 4, all(2), false, false, false, updateForms[1:]},
		{"td3, prompt targets, delay by mask", prompt, 4, [updateMembers]float64{2, 1, 1.5}, true, false, false, updateForms[:1]},
		{"td3, prompt targets, many updates", promptAtOnce, 4, [updateMembers]float64{2, 1, 1.5}, true, true, false, [][]int{{16, 12}}},
		{"ddpg, fused", DDPGConfig{}, 2, all(0), false, true, true, [][]int{{16}}},
		{"td3, delay by pattern, fused", td3, 4, all(2), false, true, true, [][]int{{16, 12}, {32, 9}}},
		{"td3, delay by mask, fused", td3, 4, [updateMembers]float64{2, 1, 1.5}, true, true, true, [][]int{{16, 12}}},
	} {
		for _, hidden := range c.forms {
			t.Run(fmt.Sprint(c.name, hidden), func(t *testing.T) {
				network := DefaultOffPolicyNetwork()
				network.Hidden = hidden
				extra := map[string][updateMembers]float64{}
				twins, ok := c.cfg.(TD3Config)
				if ok {
					extra["policy_delay"] = c.delay
					for name, values := range noise {
						extra[name] = values
					}
				}
				u := newUpdateCase(t, network, func(o *OffPolicy, parts learnerParts) (learner, error) {
					if c.varied {
						o.Hyper().Vary("policy_delay")
					}
					if c.many {
						o.cfg.Environments, o.cfg.RolloutLength, o.cfg.UpdatesPerStep = 1, lane.Worth, 1
					}
					if ok {
						return newTD3(o, parts, twins, nil)
					}
					return newDDPG(o, parts, c.cfg.(DDPGConfig))
				}, extra)
				requireFused(t, u.o, c.fused)
				d, err := u.o.deterministic()
				if err != nil {
					t.Fatal(err)
				}
				u.run(t, c.updates, stepDeterministic, map[string]*engine.Tensor{
					"actor": d.actor.params(), "critics": d.critics.params(), "target critics": d.targetCritics, "target actor": d.targetActor,
				})
			})
		}
	}
}

// TestPasses compares updates of the critics alone, then of the actors alone, with float64.
func TestPasses(t *testing.T) {
	network := DefaultOffPolicyNetwork()
	network.Hidden = updateForms[0]
	u := newUpdateCase(t, network, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newTD3(o, parts, TD3Config{PolicyDelay: 1, DelayTargets: true, TargetActor: true}, nil)
	}, map[string][updateMembers]float64{"policy_delay": {1, 1, 1}})
	d := u.o.learner.(*td3)
	for _, u.pass = range []Pass{CriticsOnly, ActorsOnly} {
		u.run(t, 2, stepDeterministic, map[string]*engine.Tensor{
			"actor": d.actor.params(), "critics": d.critics.params(), "target critics": d.targetCritics, "target actor": d.targetActor,
		})
	}
}

// requireFused fails if a learner has another form than it should, and skips where no updates are fused.
func requireFused(t *testing.T, o *OffPolicy, want bool) {
	t.Helper()
	updates := o.learner.many().Together
	if info := o.State().Engine().Device().Info(); want && updates == 0 && (info.Type != vk.CPU || !info.Features.Has(vk.Int64)) {
		t.Skip("updates are fused on software drivers with 64-bit integers alone")
	}
	if want != (updates > 0) {
		t.Fatalf("fused by %d updates; want fused: %v", updates, want)
	}
}

// alpha is the temperature.
func (f *memberReference) alpha(a *sac) float64 {
	if a.learned() {
		return math.Exp(f.values["temperature"][0])
	}
	return f.hyper["temperature"]
}

// sample draws the action of a row, and its log-probability.
func (f *memberReference) sample(a *sac, actors, obs []float64, stream uint32, row int) (action []float64, logProb float64) {
	actor := actors[row/updateRows*(len(actors)/a.actors):]
	rng, y := f.rng(stream, row), forward(a.actor.Model(), actor, obs)
	for o := range updateAction {
		low, high := float64(a.head.LogStdLow), float64(a.head.LogStdHigh)
		logStd, noise := low+(high-low)*(math.Tanh(y[updateAction+o])+1)/2, float64(rng.Normal())
		u := y[o] + math.Exp(logStd)*noise
		action = append(action, math.Tanh(u))
		logProb += -noise*noise/2 - logStd - math.Log(2*math.Pi)/2 + 2*math.Log(math.Cosh(u))
	}
	return action, logProb
}

// stepSAC is an update of SAC (T. Haarnoja et al., 2018, algorithm 1). Each of a member's actors has its own rows.
func stepSAC(f *memberReference) {
	a := f.c.o.learner.(*sac)
	alpha := f.alpha(a)
	sample := func(actors, obs []float64, stream uint32, row int) ([]float64, float64) {
		return f.sample(a, actors, obs, stream, row)
	}
	f.descendCritics(alpha, func(row int) ([]float64, float64) {
		return sample(f.values["actor"], f.row("next", row, updateObs), a.nextStream, row)
	})
	f.follow("target critics", "critics")
	rows, entropy := updateRows*a.actors, 0.0
	for i := range rows {
		_, logProb := sample(f.values["actor"], f.row("obs", i, updateObs), a.ownStream, i)
		entropy -= logProb / float64(rows)
	}
	f.descend("actor", "actor_learning_rate", func(actors []float64) (loss float64) {
		for i := range rows {
			obs := f.row("obs", i, updateObs)
			action, logProb := sample(actors, obs, a.ownStream, i)
			q := f.q(f.values["critics"], obs, action)
			loss += (alpha*logProb - min(q[0], q[1])) / updateRows
		}
		return loss
	})
	if a.learned() {
		f.adam("temperature", "temperature_learning_rate", []float64{alpha * (entropy - updateAction*f.hyper["target_entropy"])})
	}
}

// Two updates of SAC against float64, with a temperature that is learned and one that is not, with critics that are distributions, and fused.
func TestSACUpdates(t *testing.T) {
	for _, c := range []struct{ learned, distributional, fused bool }{
		{true, false, false}, {false, false, false}, {true, true, false}, {false, true, false}, {true, false, true}, {false, false, true},
	} {
		forms := updateForms
		if c.fused {
			forms = [][]int{{16, 12}, {9}}
		}
		for _, hidden := range forms {
			learned := c.learned
			t.Run(fmt.Sprintf("%+v, %v", c, hidden), func(t *testing.T) {
				cfg := SACConfig{LearnTemperature: learned}
				if c.distributional {
					cfg.CriticConfig = updateAtoms
				}
				network := DefaultSACNetwork()
				network.Hidden = hidden
				extra := map[string][updateMembers]float64{"target_entropy": {-1, -0.5, -2}, "temperature_learning_rate": {1e-2, 1e-3, 0.1}}
				if !learned {
					extra["temperature"] = [updateMembers]float64{0.2, 1, 0.01}
				}
				u := newUpdateCase(t, network, func(o *OffPolicy, parts learnerParts) (learner, error) {
					if c.fused {
						o.cfg.Environments, o.cfg.RolloutLength, o.cfg.UpdatesPerStep = 1, lane.Worth, 1
					}
					return newSAC(o, parts, cfg)
				}, extra)
				a := u.o.learner.(*sac)
				requireFused(t, u.o, c.fused)
				compared := map[string]*engine.Tensor{"actor": a.actor.params(), "critics": a.critics.params(), "target critics": a.targetCritics}
				if learned {
					compared["temperature"] = a.temperature
				}
				u.run(t, 2, stepSAC, compared)
			})
		}
	}
}

// TestActorLoss: the metric of the actor's loss is minus the mean value of the actions that the actor chose in the last update, by the critics after
// their own step, whether or not the update needs these values itself.
func TestActorLoss(t *testing.T) {
	for _, hidden := range updateForms {
		network := DefaultOffPolicyNetwork()
		network.Hidden = hidden
		delay := map[string][updateMembers]float64{"policy_delay": {1, 1, 1}}
		u := newUpdateCase(t, network, func(o *OffPolicy, parts learnerParts) (learner, error) {
			return newTD3(o, parts, TD3Config{PolicyDelay: 1, DelayTargets: true, TargetActor: true}, nil)
		}, delay)
		d := u.o.learner.(*td3)
		var actors [][]float64
		for _, f := range u.references {
			actors = append(actors, append([]float64(nil), f.values["actor"]...))
		}
		u.run(t, 1, stepDeterministic, map[string]*engine.Tensor{"actor": d.actor.params(), "critics": d.critics.params()})
		if layered := d.first.Layered(); layered != (d.unvalued == nil) {
			t.Errorf("%v: layered %v, but the update writes values: %v", hidden, layered, d.unvalued == nil)
		}
		run(t, u.o.State().Engine(), d.recordMetrics)
		for m, f := range u.references {
			want := 0.0
			for i := range updateRows {
				obs := f.row("obs", i, updateObs)
				action := forward(d.actor.Model(), actors[m], obs)
				for o := range action {
					action[o] = math.Tanh(action[o])
				}
				want -= f.q(f.values["critics"], obs, action)[0] / updateRows
			}
			if got := read(t, d.actorRow)[m]; !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
				t.Errorf("%v: the loss of member %d is %g; want %g", hidden, m, got, want)
			}
		}
	}
}
