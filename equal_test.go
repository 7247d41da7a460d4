package evorl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/evorl/evorl"
)

// wallTimes are the values of a record that differ between equal runs.
var wallTimes = regexp.MustCompile(`,"(seconds|time/steps_per_second)":[^,}]+`)

// sameRecords checks that two runs have equal records, but for wall times.
func sameRecords(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{"metrics.jsonl", "members.jsonl", "lineage.jsonl"} {
		var texts [2]string
		for i, run := range []string{a, b} {
			text, err := os.ReadFile(filepath.Join(run, name))
			if err != nil && (!os.IsNotExist(err) || name == "metrics.jsonl") {
				t.Fatal(err)
			}
			texts[i] = string(wallTimes.ReplaceAll(text, nil))
		}
		if texts[0] != texts[1] {
			t.Errorf("%s of equal runs:\n%s\nand\n%s", name, texts[0], texts[1])
		}
	}
}

// Equal runs have equal records, in every workflow, and in PBT over each kind.
func TestEqualRuns(t *testing.T) {
	dev := openDevice(t)
	equal := func(name, text string, set ...string) {
		t.Run(name, func(t *testing.T) {
			cfg, err := parse(t, text, append(set, "seed=3", "iterations=3", "evaluation.every=2", "evaluation.episodes=2")...)
			if err != nil {
				t.Fatal(err)
			}
			paths := [2]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
			for _, path := range paths {
				if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
					t.Fatal(err)
				}
			}
			sameRecords(t, paths[0], paths[1])
		})
	}
	of := func(workflow, env string) string { return "workflow = \"" + workflow + "\"\nenv = \"" + env + "\"\n" }
	const exchanging = "[pbt]\nwarmup = 1\ninterval = 1\nepisodes = 2\nover = "
	for _, w := range evorl.Workflows() {
		at, agent := home(w)
		switch {
		case several(w):
			equal(w.Name, of(w.Name, "zdt"), "zdt.function=1", "search.members=2")
		case w.Name == "pbt" || w.Name == "pbt-cso" || w.Name == "emogi":
			equal(w.Name, of(w.Name, "CartPole-v1"), "ppo.members=4", "ppo.environments=2", "ppo.rollout_length=8", "network.hidden=[4]")
			if w.Name == "emogi" {
				equal(w.Name+" over dqn", of(w.Name, "CartPole-v1")+exchanging+"\"dqn\"\n", "dqn.members=3", "dqn.rollout_length=8", "dqn.learning_starts=8",
					"dqn.updates_per_step=0.125", "replay.capacity=1000", "replay.batch=8", "network.hidden=[4]")
				break
			}
			equal(w.Name+" over openes", of(w.Name, "sphere")+exchanging+"\"openes\"\n", "search.members=4", "openes.population=8")
		case w.Name == "cem-rl": // in TestGuided
		case w.Name == "erl":
			set := []string{"td3.members=4", "td3.rollout_length=8", "td3.learning_starts=8", "replay.capacity=4000", "replay.batch=8", "network.hidden=[4]",
				"environment.time_limit=10"}
			equal("pbt over "+w.Name, of("pbt", at)+exchanging+"\""+w.Name+"\"\n", set...)
		case w.Name == "dvd":
			equal(w.Name, of(w.Name, at), "dvd.members=2", "dvd.rollout_length=8", "dvd.learning_starts=8", "dvd.states=4", "replay.capacity=1000", "replay.batch=8",
				"network.hidden=[4]")
		case w.Name == "dvd-es":
			equal(w.Name, of(w.Name, at), "network.hidden=[4]", "environment.time_limit=10", "dvd-es.agents=2")
		case w.Name == "self-play":
			equal(w.Name, of(w.Name, at), "ppo.members=2", "ppo.environments=2", "ppo.rollout_length=8", "network.hidden=[4]", "task.rounds=1",
				"environment.time_limit=10", "self-play.append_samples=16", "self-play.capacity=2")
			equal("pbt over "+w.Name, of("pbt", at)+exchanging+"\""+w.Name+"\"\n", "ppo.members=4", "ppo.environments=2", "ppo.rollout_length=8",
				"network.hidden=[4]", "task.rounds=1", "environment.time_limit=10", "self-play.append_samples=16", "self-play.capacity=2", "self-play.population=0.2")
		case composed(w): // agents and archives are compared in TestGuided
		case agent:
			set := []string{w.Name + ".members=2", w.Name + ".environments=2", w.Name + ".rollout_length=8", "network.hidden=[4]"}
			if at != "CartPole-v1" || w.Name == "dqn" {
				set = append(set, w.Name+".learning_starts=8", w.Name+".updates_per_step=0.125", "replay.capacity=1000", "replay.batch=8")
			}
			if w.Name == "redq" {
				set = append(set, "redq.policy_interval=2")
			}
			if w.Name == "impala" {
				set = append(set, "impala.minibatches=2")
			}
			equal(w.Name, of(w.Name, at), set...)
		default:
			equal(w.Name, of(w.Name, "arm"), "search.members=2")
		}
	}
}
