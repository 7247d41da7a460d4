package config

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	if err := Check(defaults()); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if err := Check(*defaults()); err != nil {
		t.Errorf("the defaults, not by pointer: %v", err)
	}
	for _, c := range []struct {
		change func(a *all)
		want   string
	}{
		{func(a *all) { a.PPO.Members = 0 }, `"ppo.members" is 0: want at least 1`},
		{func(a *all) { a.PPO.LearningRate = 0 }, `"ppo.learning_rate" is 0: want above 0`},
		{func(a *all) { a.PPO.GAELambda = math.NaN() }, `"ppo.gae_lambda" is NaN: want a finite number`},
		{func(a *all) { a.PPO.LearningRate = math.Inf(1) }, `"ppo.learning_rate" is +Inf: want a finite number`},
		{func(a *all) { a.PPO.Slice = time.Microsecond }, `"ppo.slice" is 1µs: want at least 1ms and at most 1s`},
		{func(a *all) { kl := float32(-1); a.PPO.TargetKL = &kl }, `"ppo.target_kl" is -1: want above 0`},
		{func(a *all) { a.PPO.Level = 2 }, `"ppo.level": `},
		{func(a *all) { a.PPO.Betas[1] = 1 }, `"ppo.betas[1]" is 1: want at least 0 and below 1`},
		{func(a *all) { a.PPO.Weights = map[string]int{"x": 1, "y z": -1} }, `"ppo.weights.\"y z\"" is -1: want at least 0`},
		{func(a *all) { a.Network.Activation = "sine" }, `"network.activation" is sine: want one of "relu", "tanh", "elu"`},
		{func(a *all) { a.Network.HiddenSize = []int{64, 0} }, `"network.hidden[1]" is 0: want at least 1`},
		{func(a *all) { a.Network.Layers = []layer{{4}, {}} }, `"network.layers[1].units" is 0: want at least 1`},
		{func(a *all) { a.PBT.Search["learning_rate"] = prior{"uniform", 2, 1} }, `"pbt.search.learning_rate": "high": 1 is not above low = 2`},
	} {
		a := defaults()
		c.change(a)
		if err := Check(a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want %q in it", err, c.want)
		}
	}
	if err := Check(1); err == nil {
		t.Error("an integer passes")
	}
}
