package rl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// stepREDQ is an update of REDQ (X. Chen et al., 2021, algorithm 1, lines 6 to 12).
func stepREDQ(f *memberReference) {
	a := f.c.o.learner.(*redq)
	alpha, critics := f.alpha(a.sac), a.cfg.Critics
	key := engine.Philox([2]uint32{f.c.o.State().Engine().Seed(), a.stream}, [4]uint32{uint32(f.member), 0, 0, uint32(f.updates)})
	y := make([]float64, updateRows)
	for i := range y {
		next := f.row("next", i, updateObs)
		action, logProb := f.sample(a.sac, f.values["actor"], next, a.nextStream, i)
		q, least := f.q(f.values["target critics"], next, action), math.Inf(1)
		for m := range a.cfg.Subset {
			least = min(least, q[engine.Permute(uint32(m), uint32(critics), key)])
		}
		y[i] = f.hyper["reward_scale"]*f.values["reward"][i] + f.values["factor"][i]*(least-alpha*logProb)
	}
	f.descend("critics", "critic_learning_rate", func(params []float64) (loss float64) {
		for i := range y {
			for _, q := range f.q(params, f.row("obs", i, updateObs), f.row("action", i, updateAction)) {
				loss += (q - y[i]) * (q - y[i]) / updateRows
			}
		}
		return loss
	})
	f.follow("target critics", "critics")
	if (f.updates+1)%a.cfg.PolicyInterval != 0 {
		return
	}
	entropy := 0.0
	for i := range updateRows {
		_, logProb := f.sample(a.sac, f.values["actor"], f.row("obs", i, updateObs), a.ownStream, i)
		entropy -= logProb / updateRows
	}
	f.descend("actor", "actor_learning_rate", func(actor []float64) (loss float64) {
		for i := range updateRows {
			obs := f.row("obs", i, updateObs)
			action, logProb := f.sample(a.sac, actor, obs, a.ownStream, i)
			loss += alpha * logProb / updateRows
			for _, q := range f.q(f.values["critics"], obs, action) {
				loss -= q / float64(critics*updateRows)
			}
		}
		return loss
	})
	if a.learned() {
		f.adam("temperature", "temperature_learning_rate", []float64{alpha * (entropy - updateAction*f.hyper["target_entropy"])})
	}
}

// Four updates of REDQ, the actor's in every second, against float64, with a temperature that is learned and one that is not.
func TestREDQUpdates(t *testing.T) {
	for i, hidden := range updateForms {
		cfg := REDQConfig{Critics: 3, Subset: 2, PolicyInterval: 2, LearnTemperature: i == 0}
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			network := DefaultSACNetwork()
			network.Hidden = hidden
			extra := map[string][updateMembers]float64{"target_entropy": {-1, -0.5, -2}, "temperature_learning_rate": {1e-2, 1e-3, 0.1}}
			if !cfg.LearnTemperature {
				extra["temperature"] = [updateMembers]float64{0.2, 1, 0.01}
			}
			u := newUpdateCase(t, network, func(o *OffPolicy, parts learnerParts) (learner, error) { return newREDQ(o, parts, cfg) }, extra)
			a := u.o.learner.(*redq)
			compared := map[string]*engine.Tensor{"actor": a.actor.params(), "critics": a.critics.params(), "target critics": a.targetCritics}
			if cfg.LearnTemperature {
				compared["temperature"] = a.temperature
			}
			u.run(t, 4, stepREDQ, compared)
		})
	}
}

// TestREDQLearns: two agents swing a pendulum up in 1,500 steps each, half of what SAC takes in TestOffPolicyLearns.
func TestREDQLearns(t *testing.T) {
	_, _, sac, replay, _, network := pendulumOffPolicy()
	cfg := DefaultREDQ()
	cfg.OffPolicyConfig, cfg.Critics, cfg.PolicyInterval = sac.OffPolicyConfig, 5, 5
	cfg.Members, cfg.UpdatesPerStep = 2, 5
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.TemperatureLearningRate = 2e-3, 2e-3, 2e-3
	cfg.Tau, cfg.Temperature = 0.02, 0.2
	o, err := NewREDQ(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	learnOffPolicy(t, o, 20, -300)
}

// TestREDQRefused: settings that cannot be are one error each, which names the setting.
func TestREDQRefused(t *testing.T) {
	for want, change := range map[string]func(*REDQConfig, *NetworkConfig) *envs.Environment{
		`"subset": a subset of 11 of 10 critics`: func(c *REDQConfig, _ *NetworkConfig) *envs.Environment {
			c.Subset = 11
			return lookup(t, "Pendulum-v1")
		},
		`"policy_interval": an update of the actor after every 3 of an iteration's 1000 updates`: func(c *REDQConfig, _ *NetworkConfig) *envs.Environment {
			c.PolicyInterval = 3
			return lookup(t, "Pendulum-v1")
		},
		`"network.state_dependent_std": the actor of redq outputs the deviations`: func(_ *REDQConfig, n *NetworkConfig) *envs.Environment {
			n.StateDependentStd = false
			return lookup(t, "Pendulum-v1")
		},
		`redq needs continuous actions`: func(*REDQConfig, *NetworkConfig) *envs.Environment { return lookup(t, "CartPole-v1") },
	} {
		cfg, network := DefaultREDQ(), DefaultSACNetwork()
		env := change(&cfg, &network)
		_, err := NewREDQ(t.Context(), engine.New(open(t)), env, cfg, Network(network))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
}
