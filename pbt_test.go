package evorl_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// over returns the beginning of a configuration of PBT whose second iteration begins with an exchange.
func over(workflow, env string) string {
	return "workflow = \"pbt\"\nenv = \"" + env + "\"\niterations = 2\nseed = 3\n[pbt]\nover = \"" + workflow +
		"\"\nwarmup = 1\ninterval = 1\nepisodes = 2\nbottom = 0.5\n[evaluation]\nepisodes = 2\n"
}

// PBT over an agent and over searches runs, exchanges members, and ends with the same digest after an interruption.
func TestPBTOver(t *testing.T) {
	for _, c := range []struct {
		over, env string
		set       []string
		searched  []string
	}{
		{"a2c", "CartPole-v1", []string{"a2c.members=4", "network.hidden=[4]"},
			[]string{"actor_weight", "critic_weight", "discount", "entropy_weight", "gae_lambda", "learning_rate"}},
		{"impala", "CartPole-v1", []string{"impala.members=4", "impala.environments=4", "impala.minibatches=2", "network.hidden=[4]"},
			[]string{"actor_weight", "c_threshold", "critic_weight", "discount", "entropy_weight", "lambda", "learning_rate", "pg_rho_threshold", "rho_threshold"}},
		{"self-play", "PongDuel-v0", []string{"ppo.members=4", "ppo.environments=2", "ppo.rollout_length=16", "network.hidden=[4]", "environment.time_limit=10",
			"self-play.capacity=2", "self-play.append_samples=16", "self-play.population=0.5", "self-play.latest=0.2", "pbt.episodes=16"},
			[]string{"actor_weight", "clip_epsilon", "critic_weight", "discount", "entropy_weight", "gae_lambda", "learning_rate"}},
		{"openes", "CartPole-v1", []string{"search.members=4", "openes.population=8", "network.hidden=[4]"}, []string{"learning_rate", "noise_std"}},
		{"cma-es", "sphere", []string{"search.members=4"}, nil},
		{"erl", "Pendulum-v1", []string{"erl.agent=sac", "sac.members=4", "sac.rollout_length=8", "sac.learning_starts=8", "replay.capacity=5000",
			"network.hidden=[4]", "ga.population=4", "environment.time_limit=20"},
			[]string{"actor_learning_rate", "critic_learning_rate", "discount", "target_entropy", "target_entropy_scale", "temperature_learning_rate"}},
		{"cem-rl", "Pendulum-v1", []string{"td3.members=4", "td3.rollout_length=8", "td3.learning_starts=8", "replay.capacity=5000", "replay.batch=8",
			"network.hidden=[4]", "cem.population=4", "cem.elites=2", "cem-rl.learners=2", "environment.time_limit=20"},
			[]string{"actor_learning_rate", "critic_learning_rate", "discount", "exploration_noise", "noise_clip", "policy_delay", "target_noise"}},
	} {
		for _, workflow := range []string{"pbt", "pbt-cso"} {
			t.Run(workflow+" over "+c.over, func(t *testing.T) {
				set := append([]string{"workflow=" + workflow}, c.set...)
				cfg, err := parse(t, over(c.over, c.env), set...)
				if err != nil {
					t.Fatal(err)
				}
				if got := slices.Sorted(maps.Keys(pbtOf(t, cfg).Search)); !slices.Equal(got, c.searched) {
					t.Errorf("it searches %v; want %v", got, c.searched)
				}
				dev, dir := openDevice(t), t.TempDir()
				whole := learn(t, evorl.Start, dev, cfg, filepath.Join(dir, "whole"))
				result, err := whole.Result(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				descended := 0
				for _, m := range result.Members {
					if m.Ancestor != m.Index {
						descended++
					}
				}
				if len(result.Members) != 4 || descended == 0 {
					t.Errorf("members %+v; want four, of which some descend from others", result.Members)
				}

				cfg.Run.Iterations = 1
				path := filepath.Join(dir, "interrupted")
				if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
					t.Fatal(err)
				}
				cfg.Run.Iterations = 2
				resumed, err := learn(t, evorl.Resume, dev, cfg, path).Result(t.Context())
				if err != nil || resumed.Digest != result.Digest {
					t.Errorf("resumed, the digest is %s, %v; want %s", resumed.Digest, err, result.Digest)
				}
			})
		}
	}
}

func pbtOf(t *testing.T, cfg *evorl.Config) *hybrid.PBTConfig {
	t.Helper()
	for _, s := range cfg.Sections() {
		if of, ok := s.Value.(*hybrid.PBTConfig); ok {
			return of
		}
	}
	t.Fatal("no [pbt]")
	return nil
}

// PBT accepts every agent, self-play and every single-objective search, and their stored configurations are decoded unchanged;
// multi-objective searches and PBT itself are rejected.
func TestPBTOverEveryWorkflow(t *testing.T) {
	for _, w := range evorl.Workflows() {
		env, ok := home(w)
		if !ok {
			env = "CartPole-v1"
		}
		cfg, err := parse(t, over(w.Name, env))
		if !trainable(w) {
			if err == nil || !strings.Contains(err.Error(), "x.toml:6:8") {
				t.Errorf("over %s: error %v; want one at the value of over", w.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("over %s: %v", w.Name, err)
			continue
		}
		text, err := cfg.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := evorl.Parse("again.toml", text)
		if err != nil {
			t.Errorf("over %s: %v", w.Name, err)
		} else if d := cfg.Differences(again); len(d) > 0 || cfg.Members() != 32 {
			t.Errorf("over %s: %d members, differences %v", w.Name, cfg.Members(), d)
		}
	}
}

// Every workflow that PBT can train exchanges members between two iterations.
func TestBuildPBTOver(t *testing.T) {
	eng := open(t, 3)
	for _, w := range evorl.Workflows() {
		env, members := "arm", "search.members=3"
		if !trainable(w) {
			continue
		}
		if at, agent := home(w); agent {
			env, members = at, w.Name+".members=3"
		}
		switch w.Name {
		case "erl", "cem-rl":
			members = "td3.members=3"
		case "self-play":
			members = "ppo.members=3"
		}
		set := []string{members}
		if _, agent := home(w); agent {
			set = append(set, "network.hidden=[16, 16]") // not the forms of networks are tested here
		}
		switch w.Name {
		case "impala":
			set = append(set, "impala.environments=16") // 256 by default
		case "self-play":
			set = append(set, "environment.time_limit=10") // 21,000 by default
		}
		if w.Name == "redq" { // an iteration has twenty updates of ten critics for each step by default
			set = append(set, "redq.critics=3", "redq.updates_per_step=1", "redq.policy_interval=1", "redq.rollout_length=2")
		}
		cfg, err := parse(t, over(w.Name, env), set...)
		if err != nil {
			t.Fatal(err)
		}
		run, err := cfg.Build(t.Context(), eng)
		if err != nil {
			t.Fatal(err)
		}
		err = run.Init(t.Context())
		for iteration := 0; iteration < 2 && err == nil; iteration++ {
			var ticket *vk.Ticket
			if ticket, err = run.Step(t.Context(), iteration); err == nil {
				err = ticket.Wait(t.Context())
			}
		}
		if err != nil {
			t.Fatalf("over %s: %v", w.Name, err)
		}
		known, err := run.(*hybrid.PBT).Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		copied := 0
		for _, m := range known {
			if m.Parent != m.Index {
				copied++
			}
		}
		if copied != 1 {
			t.Errorf("over %s: %d members of 3 are copies; want the worse half, 1", w.Name, copied)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongPBTOver(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"unknown", over("openess", "CartPole-v1"), []string{"x.toml:6:8", `unknown workflow "openess"`, `did you mean "openes"?`, "^^^"}},
		{"empty", over("", "CartPole-v1"), []string{"x.toml:6:8", `unknown workflow ""`}},
		{"a number", strings.Replace(over("ppo", "CartPole-v1"), `"ppo"`, "3", 1), []string{"x.toml:6:8", "over", "string"}},
		{"several objectives", over("nsga-ii", "zdt"), []string{"x.toml:6:8", "nsga-ii has several objectives", `over = "openes"`}},
		{"itself", over("pbt-cso", "CartPole-v1"), []string{"x.toml:6:8", "cannot be trained itself"}},
		{"an agent on a problem", over("a2c", "sphere"), []string{"x.toml:2:7", "a2c learns in environments", `[pbt] over = "snes"`}},
		{"one objective on a problem of several", over("openes", "zdt") + "[zdt]\nfunction = 1\n", []string{"x.toml:2:7", "maximises one"}},
		{"another workflow's section", over("openes", "CartPole-v1") + "[ppo]\nepochs = 3\n",
			[]string{"x.toml:13:2", `[ppo] is for [pbt] over = "ppo" or "self-play", and [pbt] over is "openes"`}},
		{"a section of policies", over("snes", "sphere") + "[network]\nhidden = [4]\n", []string{"[network] is for policies"}},
		{"one member", over("openes", "CartPole-v1") + "[search]\nmembers = 1\n", []string{"x.toml:14:11", "at least 2"}},
		{"another workflow's hyperparameter", over("openes", "CartPole-v1") + "[pbt.search.discount]\nprior = \"uniform\"\nlow = 0.1\nhigh = 0.2\n",
			[]string{"x.toml:13:13", `unknown hyperparameter "discount"`, "learning_rate, noise_std"}},
		{"out of the key's range", over("de", "sphere") + "[pbt.search.crossover_rate]\nprior = \"uniform\"\nlow = 0.1\nhigh = 1.5\n",
			[]string{"x.toml:16:8", "crossover_rate of 1.5", "at most 1"}},
		{"no table", "pbt = 3\nworkflow = \"pbt\"\nenv = \"CartPole-v1\"\n", []string{"x.toml:1:7", "pbt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.text)
			var of *config.Error
			if !errors.As(err, &of) {
				t.Fatalf("error %v; want a *config.Error", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error\n%v\nlacks %q", err, w)
				}
			}
		})
	}
}

// The exponents of priorities can be searched, per member, only if batches are drawn by priorities.
func TestPBTSearchesPriorities(t *testing.T) {
	text := over("dqn", "CartPole-v1") + "[dqn]\nmembers = 3\nlearning_starts = 10\nrollout_length = 10\n[replay]\ncapacity = 100\nprioritized = %v\n" +
		"[pbt.search.priority_exponent]\nprior = \"uniform\"\nlow = 0.2\nhigh = 0.9\n[pbt.search.importance_exponent]\nprior = \"uniform\"\nlow = 0.1\nhigh = 0.2\n"
	if _, err := parse(t, fmt.Sprintf(text, false)); err == nil || !strings.Contains(err.Error(), `unknown hyperparameter "importance_exponent"`) {
		t.Errorf("without priorities: error %v", err)
	}
	shares := over("dqn", "CartPole-v1") + "[replay]\nprioritized = %v\n[pbt.search.batch_share]\nprior = \"uniform\"\nlow = 0.2\nhigh = 1.0\n"
	if _, err := parse(t, fmt.Sprintf(shares, true)); err == nil || !strings.Contains(err.Error(), `unknown hyperparameter "batch_share"`) {
		t.Errorf("shares of batches by priorities: error %v", err)
	}
	if _, err := parse(t, fmt.Sprintf(shares, false)); err != nil {
		t.Error(err)
	}
	c, err := parse(t, fmt.Sprintf(text, true))
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Build(t.Context(), open(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	exponents, err := run.State().Lookup("hyper/priority_exponent").ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exponents[0] == exponents[1] || exponents[1] == exponents[2] || min(exponents[0], exponents[1], exponents[2]) < 0.2 {
		t.Errorf("exponents %v; want three from 0.2 to 0.9", exponents)
	}
}

// A Go value of [pbt] also chooses the workflow, before the values of its sections; a document's choice overrides it.
func TestPBTOverByValue(t *testing.T) {
	openes := ec.DefaultOpenES()
	openes.Population = 8
	pbt := hybrid.PBTConfig{Over: "openes", Interval: 7, Episodes: 3}
	got, err := evorl.New("pbt", "CartPole-v1", evorl.With(openes, &pbt))
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(t, "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[openes]\npopulation = 8\n[pbt]\nover = \"openes\"\nwarmup = 0\ninterval = 7\n"+
		"episodes = 3\ntop = 0.0\nbottom = 0.0\nsignificance = 0.0\nperturb = 0.0\nreturn_high = 0.0\nactive_weight = 0.0\nlazy_weight = 0.0\n")
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Differences(want); len(d) > 0 {
		t.Errorf("it differs by %v from TOML", d)
	}
	if got, err = evorl.New("pbt", "sphere", evorl.With(pbt), evorl.Set("pbt.over=\"pso\"")); err != nil {
		t.Fatal(err)
	}
	if of := pbtOf(t, got); of.Over != "pso" || len(of.Search) != 0 {
		t.Errorf("over %q, searching %v; want \"pso\" and its search space, which is empty", of.Over, of.Search)
	}
	for _, c := range []struct {
		over string
		want string
	}{{"", `unknown workflow ""`}, {"moead", "several objectives"}} {
		pbt.Over = c.over
		if _, err := evorl.New("pbt", "sphere", evorl.With(pbt)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("over %q: error %v; want %s in it", c.over, err, c.want)
		}
	}

	pbtOf(t, got).Over = "snes"
	dev := vktest.Open(t, vk.Validate(false))
	if _, err := got.Build(t.Context(), engine.New(dev)); err == nil || !strings.Contains(err.Error(), `made for "pso"`) {
		t.Errorf("error %v; want one that says that over cannot be changed", err)
	}
}
