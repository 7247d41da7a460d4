package evorl_test

import (
	"strings"
	"testing"
)

// TestUnusedSettings: a setting that would do nothing is refused where it is, with what would be right. Its default is not, since the configuration of a
// run lists all settings.
func TestUnusedSettings(t *testing.T) {
	const (
		cartpole = "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n"
		dqn      = "workflow = \"dqn\"\nenv = \"CartPole-v1\"\n"
		images   = "\nenv = \"MinAtar-Breakout-v1\"\n[network]\npreset = \"minatar\"\n"
		search   = "workflow = \"openes\"\nenv = \"Pendulum-v1\"\n"
		cem      = "workflow = \"cem-rl\"\nenv = \"Pendulum-v1\"\n"
	)
	for _, c := range []struct{ text, where, want string }{
		{cartpole + "[network]\nbins = 5", ":4:8", "5 values of each continuous action, and actions are"},
		{cartpole + "[network]\nlog_std = -0.5", ":4:11", "an initial deviation of continuous actions, and actions are"},
		{cartpole + "[network]\nstate_dependent_std = true", ":4:23", "want false"},
		{"workflow = \"ppo\"\nenv = \"Pendulum-v1\"\n[network]\nbins = 5\nlog_std = -0.5", ":5:11", "bins = 5 makes actions discrete; want 0"},
		{"workflow = \"sac\"\nenv = \"CartPole-v1\"\n[network]\nlog_std = -0.5", ":4:11", "and actions are"},
		{dqn + "[network]\nbins = 5", ":4:8", "and actions are"},
		{"workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[network]\nlog_std = -0.5", ":4:11", "and actions are"},
		{"workflow = \"ppo\"\nenv = \"Pendulum-v1\"\n[network]\nstate_dependent_std = true\nlog_std = -0.5",
			":5:11", "the actor outputs deviations (state_dependent_std); want 0"},
		{"workflow = \"td3\"\nenv = \"Pendulum-v1\"\n[network]\nlog_std = -0.5", ":4:11", "no parameter of the actor of td3 is a deviation; want 0"},
		{"workflow = \"sac\"\nenv = \"Pendulum-v1\"\n[network]\nlog_std = -0.5", ":4:11", "no parameter of the actor of sac is a deviation; want 0"},
		{search + "[network]\nlog_std = -0.5", ":4:11", "are not sampled (policy.sample), and have no deviation: want the default, -1"},
		{search + "[policy]\nbins = 5\nsample = true\n[network]\nlog_std = -0.5", ":7:11", "are discretized (policy.bins)"},
		{search + "[environment]\nreward_scale = 0.1", ":4:16", "fitness is the return in the environment's own unit: want 1"},
		{"workflow = \"dvd-es\"\nenv = \"Pendulum-v1\"\n[environment]\nreward_scale = 0.1", ":4:16", "want 1"},
		{"workflow = \"ppo\"" + images + "hidden = [8]", ":5:1", `"hidden" and "preset" in [network] exclude each other`},
		{"workflow = \"dqn\"" + images + "activation = \"elu\"", ":5:14", "elu beside a preset, minatar, which has its own activations; want the default, relu"},
		{"workflow = \"openes\"" + images + "activation = \"elu\"", ":5:14", "want the default, tanh"},
		{"workflow = \"snes\"\nenv = \"mnist\"\n[network]\npreset = \"evojax-mnist\"\nhidden = [8]", ":5:1", "exclude each other"},
		{dqn + "[network]\nactor_gain = 0.5", ":4:14", "dqn has one network, whose output critic_gain multiplies, and no actor besides; want 1"},
		{dqn + "[sequences]\nburn_in = 4", ":4:11", "has no memory, and learns from single transitions"},
		{dqn + "[sequences]\nsteps = 4", ":4:9", `want a layer of type "gru" or "lstm", or the default, 80`},
		{dqn + "[sequences]\nstored = false", ":4:10", "or the default, true"},
		{cem + "[td3]\nexploration_noise = 0.2", ":4:21", "0.2 of agents that do not act: candidates do, without noise; want 0.1"},
		{cem + "[td3]\nenvironments = 4\nexploration_levels = 2", ":5:22", "2 of agents that do not act"},
		{cem + "[cem-rl]\nagent = \"ddpg\"\n[ddpg]\nexploration_noise = 0.2", ":6:21", "want 0.1"},
		{"workflow = \"pga-me\"\nenv = \"Pendulum-v1\"\n[td3]\nexploration_noise = 0.2", ":4:21", "want 0.1"},
		{"workflow = \"qd-pg\"\nenv = \"Pendulum-v1\"\n[td3]\nexploration_noise = 0.2", ":4:21", "want 0.1"},
	} {
		if _, err := parse(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.where) {
			t.Errorf("%s\n%v; want it to say at %s: %s", c.text, err, c.where, c.want)
		}
	}
	for _, text := range []string{
		cartpole + "[network]\nbins = 0\nlog_std = 0.0\nstate_dependent_std = false",
		"workflow = \"sac\"\nenv = \"CartPole-v1\"\n[network]\nstate_dependent_std = true",
		"workflow = \"ppo\"\nenv = \"Pendulum-v1\"\n[network]\nlog_std = -0.5",
		"workflow = \"ppo\"" + images,
		"workflow = \"ppo\"" + images + "activation = \"tanh\"",
		"workflow = \"ppo\"" + images + "activation = \"elu\"\ncritic_hidden = [8]", // the critic's
		"workflow = \"dqn\"" + images,
		"workflow = \"openes\"" + images,
		search + "[policy]\nsample = true\n[network]\nlog_std = -0.5",
		search + "[environment]\nreward_scale = 1.0",
		dqn + "[sequences]\nburn_in = 40\nsteps = 80\nstored = true",
		"workflow = \"erl\"\nenv = \"Pendulum-v1\"\n[td3]\nexploration_noise = 0.2", // whose agents act, too
		cem + "[td3]\nexploration_noise = 0.1",
		cem + "[td3]\nexploration_noise = 0.2\n[replay]\nsave = false", // a run that goes on fills its replay by agents
		"workflow = \"cem-rl\"\nenv = \"Pendulum-v1\"\n[cem-rl]\nagent = \"sac\"",
	} {
		first, err := parse(t, text)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		all, err := first.TOML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(t, string(all)); err != nil {
			t.Errorf("%s\nas a run keeps it: %v", text, err)
		}
	}
}
