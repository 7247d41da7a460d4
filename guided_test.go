package evorl_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/hybrid"
)

// guide returns the beginning of a hybrid's configuration: two agents in the pendulum, populations of six.
func guide(workflow, agent, search string) string {
	return "workflow = \"" + workflow + "\"\nenv = \"Pendulum-v1\"\niterations = 3\nseed = 3\n[" + workflow + "]\nagent = \"" + agent + "\"\nsearch = \"" +
		search + "\"\nwarmup = 1\n[" + agent + "]\nmembers = 2\nrollout_length = 8\nlearning_starts = 8\n[network]\nhidden = [8]\n" +
		"[replay]\ncapacity = 1000\nbatch = 8\n[" + search + "]\npopulation = 6\n[environment]\ntime_limit = 10\n[evaluation]\nepisodes = 2\n"
}

// A run of a hybrid ends with the same digest after an interruption; its policies can be evaluated and recorded.
func TestGuided(t *testing.T) {
	for _, c := range []struct {
		workflow, agent, search string
		set                     []string
	}{
		{"erl", "td3", "ga", nil},
		{"erl", "sac", "openes", nil},
		{"erl", "ddpg", "cem", []string{"erl.agents=2", "replay.shared=true", "cem.elites=3"}},
		{"cem-rl", "td3", "cem", []string{"cem.elites=3"}},
		{"cem-rl", "ddpg", "openes", []string{"cem-rl.random_learners=false", "cem-rl.importance_mixing=true"}},
		{"cem-rl", "sac", "cem", []string{"cem.elites=3"}},
		{"pga-me", "td3", "map-elites", []string{"pga-me.climbers=2", "pga-me.steps=2", "behaviour.observations=[0, 1]"}},
		{"pga-me", "ddpg", "cvt-map-elites", []string{"pga-me.climbers=2", "pga-me.steps=2", "pga-me.greedy=false"}},
		{"qd-pg", "td3", "map-elites", []string{"qd-pg.climbers=2", "qd-pg.steps=2", "qd-pg.greedy=false", "behaviour.observations=[0, 1]"}},
	} {
		t.Run(c.workflow+" of "+c.agent+" and "+c.search, func(t *testing.T) {
			// Both runs evaluate where one is interrupted.
			cfg, err := parse(t, guide(c.workflow, c.agent, c.search), append(c.set, "evaluation.every=2")...)
			if err != nil {
				t.Fatal(err)
			}
			dev, dir := openDevice(t), t.TempDir()
			whole := learn(t, evorl.Start, dev, cfg, filepath.Join(dir, "whole"))
			result, err := whole.Result(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			cfg.Run.Iterations = 2
			path := filepath.Join(dir, "interrupted")
			if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
				t.Fatal(err)
			}
			cfg.Run.Iterations = 3
			resumed, err := learn(t, evorl.Resume, dev, cfg, path).Result(t.Context())
			if err != nil || resumed.Digest != result.Digest {
				t.Errorf("resumed, the digest is %s, %v; want %s", resumed.Digest, err, result.Digest)
			}
			sameRecords(t, whole.Path(), path)
			restored, err := evorl.Restore(t.Context(), dev, cfg, path, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer restored.Close()
			evaluation, err := restored.Evaluate(t.Context(), 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			episode, err := restored.Record(t.Context(), 1)
			if err != nil || len(episode.Actions) != 10 || math.Abs(float64(evaluation.MemberReturns[1])-float64(episode.Return())) > 1e-4 {
				t.Errorf("member 1 is evaluated to %v and recorded as %+v, %v", evaluation.MemberReturns, episode, err)
			}
		})
	}
}

// Mistakes in a hybrid's configuration are reported with the key and what would be right.
func TestGuidedErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       []string
	}{
		{"an unknown agent", guide("erl", "tdd", "ga"), nil, []string{"x.toml:6:9", `unknown agent "tdd"`, `did you mean "td3"?`}},
		{"an agent that keeps nothing", guide("erl", "ppo", "ga"), nil, []string{"x.toml:6:9", "ppo does not serve as the agent of erl", "td3"}},
		{"a search that knows only its own", guide("erl", "td3", "ars"), nil, []string{"x.toml:7:10", "ars does not serve as the search of erl", "ga"}},
		{"another agent's section", guide("erl", "td3", "ga") + "[sac]\ntau = 0.1\n", nil, []string{`[sac] is for [erl] agent = "sac", and that is "td3"`}},
		{"a part of a group", guide("erl", "td3", "ga"), []string{"erl.agents=3"}, []string{"--set", "2 agents in groups of 3"}},
		{"rings of their own", guide("erl", "td3", "ga"), []string{"erl.agents=2"}, []string{"replay.shared", "want true"}},
		{"normalized observations", guide("erl", "td3", "ga"), []string{"network.normalize_obs=true"}, []string{"--set", "want false"}},
		{"discrete actions", strings.Replace(guide("erl", "td3", "ga"), "Pendulum-v1", "CartPole-v1", 1), nil, []string{"x.toml:2:7", "needs continuous actions"}},
		{"a search without an archive", guide("pga-me", "td3", "ga"), nil, []string{"x.toml:7:10", "ga does not serve as the search of pga-me", "cvt-map-elites"}},
		{"an archive for agents without descriptors", guide("erl", "td3", "map-elites"), nil, []string{"map-elites does not serve as the search of erl"}},
		{"one ring for both gradients", guide("qd-pg", "td3", "map-elites"), []string{"replay.shared=false"}, []string{"both agents of an archive", "want true"}},
		{"no feet", guide("pga-me", "td3", "map-elites"), []string{"behaviour.feet=true"}, []string{"--set", "\"Pendulum-v1\" has no feet"}},
		{"an agent of discrete actions", guide("cem-rl", "dqn", "cem"), nil, []string{"x.toml:6:9", "dqn does not serve as the agent of cem-rl", "td3"}},
		{"actors that do not share critics", strings.Replace(guide("cem-rl", "sac", "cem"), "Pendulum-v1", "CartPole-v1", 1), []string{"cem.elites=3"},
			[]string{"x.toml:6:9", "sac with the discrete actions of \"CartPole-v1\" do not share critics"}},
		{"a search without densities", guide("cem-rl", "td3", "ga"), []string{"cem-rl.importance_mixing=true"}, []string{"--set", "ga is not known", "sep-cma-es"}},
		{"a problem", "workflow = \"erl\"\nenv = \"sphere\"\n", nil, []string{"x.toml:2:7", "is a problem"}},
		{"PBT over it", "workflow = \"pbt\"\nenv = \"Pendulum-v1\"\n[pbt]\nover = \"pga-me\"\n", nil,
			[]string{"x.toml:4:8", "pga-me begins with generations of the archive alone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.text, c.set...)
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

// The value of With also chooses agent and search.
func TestGuidedWith(t *testing.T) {
	of := hybrid.DefaultERL()
	of.Agent, of.Search = "sac", "cma-es"
	cfg, err := evorl.New("erl", "Pendulum-v1", evorl.With(of))
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, s := range cfg.Sections() {
		sections = append(sections, s.Name)
	}
	if !slices.Contains(sections, "sac") || !slices.Contains(sections, "cma-es") || slices.Contains(sections, "td3") {
		t.Errorf("sections %v; want those of sac and cma-es", sections)
	}
}

// EvoRL's settings of agents that a search guides, with fixed updates and with updates by steps, run, here with small networks, short
// episodes and few updates.
func TestGuidedConfigurations(t *testing.T) {
	for _, c := range []struct {
		pattern, workflow, agent string
		n                        int
	}{
		{"configs/evorl/erl-*.toml", "erl", "td3", 8}, {"configs/evorl/cem-rl-*.toml", "cem-rl", "td3", 8}, {"configs/khadka/*.toml", "erl", "ddpg", 1},
		{"configs/pourchot/*.toml", "cem-rl", "td3", 2},
	} {
		for _, file := range configurations(t, c.pattern, c.n) {
			started(t, file, criticLearns, "network.hidden=[8]", "environment.time_limit=5", c.agent+".rollout_length=10", c.agent+".updates_per_step=0.2",
				c.agent+".learning_starts=10", "replay.batch=4", "replay.capacity=1000", c.workflow+".warmup=0")
		}
	}
}

// The settings of EvoRL's and fastpbrl's PBT over off-policy agents run: here with few members, small networks, short episodes, and an exchange before
// the second iteration.
func TestPBTConfigurations(t *testing.T) {
	for pattern, n := range map[string]int{"configs/evorl/pbt-sac-*.toml": 4, "configs/fastpbrl/pbt-sac-*.toml": 5, "configs/fastpbrl/pbt-td3-*.toml": 5} {
		for _, file := range configurations(t, pattern, n) {
			agent := strings.Split(filepath.Base(file), "-")[1]
			started(t, file, criticLearns, "network.hidden=[8]", "environment.time_limit=5", agent+".rollout_length=10", agent+".learning_starts=10", agent+".members=4",
				"replay.batch=4", "replay.capacity=1000", "pbt.warmup=1", "pbt.interval=1")
		}
	}
}

// The settings of EvoRL's PBT over PPO and of its evolution strategies run: here with few members and candidates, small networks and short episodes.
func TestEvoRLConfigurations(t *testing.T) {
	files := configurations(t, "configs/evorl/pbt-*.toml", 13)
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "pbt-sac") }) {
		started(t, file, criticLearns, "network.hidden=[8]", "environment.time_limit=5", "ppo.members=4", "ppo.rollout_length=16", "ppo.minibatches=2",
			"pbt.warmup=1", "pbt.interval=1")
	}
	ranked := func(m map[string][]float32) bool { return m["fitness/best"][0] >= m["fitness/mean"][0] } // false if not finite
	for search, n := range map[string]int{"ars": 4, "cma-es": 4, "openes": 9, "vanilla-es": 4} {
		for _, file := range configurations(t, "configs/evorl/"+search+"-*.toml", n) {
			set := []string{"network.hidden=[8]", "environment.time_limit=5", search + ".population=16"}
			if search == "ars" || search == "vanilla-es" {
				set = append(set, search+".elites=4")
			}
			started(t, file, ranked, set...)
		}
	}
}

// criticLearns reports whether an agent's critic has a loss.
func criticLearns(m map[string][]float32) bool { return m["loss/critic"][0] > 0 }

// configurations are the files of a pattern, in a known number.
func configurations(t *testing.T, pattern string, n int) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != n {
		t.Fatalf("configurations %v, %v; want %d of %s", files, err, n, pattern)
	}
	return files
}

// alike are the configurations that started has run, as TOML.
var alike = map[string]bool{}

// started runs the first two iterations of a configuration; learns checks the metrics of the second. The hopper's run with their robot; others are
// read for theirs and run with the pendulum, since rollouts take up to a minute to compile. Then many are alike, and one of them is run.
func started(t *testing.T, file string, learns func(map[string][]float32) bool, set ...string) {
	t.Run(filepath.Base(file), func(t *testing.T) {
		if _, err := evorl.Read(file); err != nil {
			t.Fatal(err)
		}
		opts := []evorl.Option{evorl.Set("iterations=2"), evorl.Set("seed=1")}
		if !strings.HasSuffix(file, "-hopper.toml") {
			opts = append(opts, evorl.Set(`env="InvertedPendulum-v5"`))
		}
		for _, s := range set {
			opts = append(opts, evorl.Set(s))
		}
		cfg, err := evorl.Read(file, opts...)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cfg.TOML()
		if err != nil {
			t.Fatal(err)
		}
		if alike[string(text)] {
			return
		}
		alike[string(text)] = true
		run, err := cfg.Build(t.Context(), open(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			ticket, err := run.Step(t.Context(), i)
			if err == nil {
				err = ticket.Wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m, err := run.Metrics().Read(1)
		if err != nil || !learns(m) || slices.ContainsFunc(m["fitness/not_finite"], func(n float32) bool { return n != 0 }) {
			t.Errorf("metrics %v, %v; want a loss or ranks, and fitness that is finite", m, err)
		}
	})
}
