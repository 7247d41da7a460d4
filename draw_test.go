package evorl_test

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/vk"
)

// Evaluations draw actions where they are asked to: before it has learned, a policy of the cart-pole then acts as random does, 22.2 steps on average, and
// the episode that is recorded is one of the evaluation's.
func TestEvaluationDraws(t *testing.T) {
	dev := openDevice(t)
	text := "workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 1\nseed = 4\n" +
		"[ppo]\nmembers = 2\nenvironments = 2\nrollout_length = 8\nlearning_rate = 1e-7\n[network]\nhidden = [8]\n"
	run, path := trained(t, dev, text, "evaluation.draw=true", "evaluation.episodes=400")
	drawn, err := run.Evaluate(t.Context(), 400, nil)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 3.0 // five deviations of the mean of 400 episodes, whose returns deviate by 12
	for member, mean := range drawn.MemberReturns {
		if math.Abs(float64(mean)-22.2) > limit || !drawn.Draw {
			t.Errorf("member %d returns %v of drawn actions; want 22.2 ± %v", member, mean, limit)
		}
	}
	likely := withoutDrawing(t, dev, path, text)
	switch e, err := likely.Evaluate(t.Context(), 400, nil); {
	case err != nil:
		t.Fatal(err)
	case e.Draw || math.Abs(float64(e.MeanReturn)-22.2) < limit: // by chance; another seed of the run has other policies
		t.Errorf("%+v of the most likely actions", e)
	}
	one, err := run.Evaluate(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	episode, err := run.Record(t.Context(), 1)
	if err != nil || math.Abs(float64(one.MemberReturns[1])-float64(episode.Return())) > 1e-4 {
		t.Errorf("member 1 is evaluated to %v and recorded with %v, %v", one.MemberReturns, episode.Return(), err)
	}
}

// withoutDrawing restores a run to evaluate the most likely actions.
func withoutDrawing(t *testing.T, dev *vk.Device, path, text string, set ...string) *evorl.Restored {
	t.Helper()
	cfg, err := parse(t, text, append([]string{"evaluation.best_episodes=0"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := evorl.Restore(t.Context(), dev, cfg, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Close() })
	return run
}

// evaluation.draw is for policies with a distribution of actions.
func TestEvaluationDrawsOf(t *testing.T) {
	for text, want := range map[string]bool{
		"workflow = \"ppo\"\nenv = \"Pendulum-v1\"": true, "workflow = \"a2c\"\nenv = \"CartPole-v1\"": true, "workflow = \"impala\"\nenv = \"CartPole-v1\"": true,
		"workflow = \"sac\"\nenv = \"Pendulum-v1\"": true, "workflow = \"sac\"\nenv = \"CartPole-v1\"": true, "workflow = \"redq\"\nenv = \"Pendulum-v1\"": true,
		"workflow = \"pbt\"\nenv = \"CartPole-v1\"": true, "workflow = \"self-play\"\nenv = \"KuhnPoker-v0\"": true,
		"workflow = \"pbt\"\nenv = \"KuhnPoker-v0\"\n[pbt]\nover = \"self-play\"":                      true,
		"workflow = \"openes\"\nenv = \"Pendulum-v1\"\n[policy]\nsample = true":                        true,
		"workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[pbt]\nover = \"openes\"\n[policy]\nsample = true": true,

		"workflow = \"td3\"\nenv = \"Pendulum-v1\"": false, "workflow = \"dqn\"\nenv = \"CartPole-v1\"": false, "workflow = \"openes\"\nenv = \"CartPole-v1\"": false,
		"workflow = \"erl\"\nenv = \"Pendulum-v1\"": false, "workflow = \"snes\"\nenv = \"sphere\"": false,
		"workflow = \"pbt\"\nenv = \"Pendulum-v1\"\n[pbt]\nover = \"td3\"": false,
	} {
		cfg, err := parse(t, text+"\n", "evaluation.draw=true")
		switch {
		case !want && (err == nil || !strings.Contains(err.Error(), "evaluation.draw")):
			t.Errorf("%s\n%v; want evaluation.draw refused", text, err)
		case want && err != nil:
			t.Errorf("%s\n%v", text, err)
		case want && !cfg.Evaluation.Draw:
			t.Errorf("%s\nevaluation.draw is lost", text)
		}
	}
}

// Policies whose actions are normally distributed draw them, too, those of an agent and those of a search.
func TestEvaluationDrawsNormal(t *testing.T) {
	head := "env = \"Pendulum-v1\"\niterations = 1\nseed = 4\n[network]\nhidden = [8]\n"
	t.Run("sac", func(t *testing.T) {
		drawsNormal(t, "workflow = \"sac\"\n"+head+"[sac]\nrollout_length = 8\n[replay]\ncapacity = 100\nbatch = 8\n")
	})
	t.Run("openes", func(t *testing.T) {
		drawsNormal(t, "workflow = \"openes\"\n"+head+"[policy]\nsample = true\n[openes]\npopulation = 4\n")
	})
}

func drawsNormal(t *testing.T, text string) {
	dev := openDevice(t)
	run, path := trained(t, dev, text, "evaluation.draw=true", "environment.time_limit=20")
	one, err := run.Evaluate(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	episode, err := run.Record(t.Context(), 0)
	if err != nil || math.Abs(float64(one.MemberReturns[0])-float64(episode.Return())) > 1e-3 {
		t.Fatalf("evaluated to %v and recorded with %v, %v", one.MemberReturns, episode.Return(), err)
	}
	likely := withoutDrawing(t, dev, path, text, "environment.time_limit=20")
	other, err := likely.Record(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for k, x := range other.States[0] { // both begin alike
		if episode.States[0][k] != x {
			t.Errorf("the episodes begin in %v and %v", episode.States[0], other.States[0])
		}
	}
	if a, b := episode.Actions[0][0], other.Actions[0][0]; math.Abs(float64(a-b)) < 1e-3 {
		t.Errorf("the drawn action is %v, the most likely one %v", a, b)
	}
}
