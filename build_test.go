package evorl_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Every workflow can be built from its defaults in two lines, and makes a step.
func TestBuild(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	ctx := t.Context()
	for _, w := range evorl.Workflows() {
		if several(w) {
			continue // see TestBuildProblems
		}
		t.Run(w.Name, func(t *testing.T) {
			env, ok := home(w)
			if !ok {
				env = "CartPole-v1"
			}
			cfg, err := parse(t, "workflow = \""+w.Name+"\"\nenv = \""+env+"\"\n", "network.hidden=[8]")
			if err != nil {
				t.Fatal(err)
			}
			run, err := cfg.Build(ctx, engine.New(dev))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if err := run.Init(ctx); err != nil {
				t.Fatal(err)
			}
			ticket, err := run.Step(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := ticket.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			if got := run.Describe().Workflow; got != w.Name {
				t.Errorf("it calls itself %q; want %q", got, w.Name)
			}
			if ppo, ok := run.(*rl.PPO); ok && w.Name == "ppo" {
				searchable(t, ppo.Hyper().Names())
			}
		})
	}
}

// trainable reports whether PBT can train a workflow.
func trainable(w evorl.Workflow) bool { return !several(w) && (!composed(w) || w.Name == "self-play") }

// composed reports whether a workflow is composed of others, or its members depend on each other.
func composed(w evorl.Workflow) bool {
	return slices.Contains([]string{"dvd", "dvd-es", "emogi", "pga-me", "qd-pg", "self-play"}, w.Name) || strings.HasPrefix(w.Name, "pbt")
}

// home returns an environment in which an agent can act; ok is false for workflows without an agent of their own.
func home(w evorl.Workflow) (env string, ok bool) {
	switch w.Name {
	case "a2c", "dqn", "impala", "ppo":
		return "CartPole-v1", true
	case "cem-rl", "ddpg", "dvd", "dvd-es", "erl", "pga-me", "qd-pg", "redq", "sac", "td3":
		return "Pendulum-v1", true
	case "self-play":
		return "PongDuel-v0", true
	}
	return "", false
}

// Every problem can be built; every search makes a step on one and evaluates its solutions.
func TestBuildProblems(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	ctx := t.Context()
	step := func(workflow, problem string) {
		t.Helper()
		settings := []string{"search.members=2"}
		if problem == "bbob" || problem == "zdt" || problem == "dtlz" {
			settings = append(settings, problem+".function=1")
		}
		low, high := float32(math.Inf(-1)), float32(0)
		if problem == "mnist" {
			settings = append(settings, "task.batch=3", "network.hidden=[2]")
			low, high = 0, 1 // accuracy
		}
		if problem == "painting" {
			settings = append(settings, "task.size=9", "task.triangles=3")
			low, high = 0, 1 // score
		}
		if problem == "lineups" {
			low, high = 0, 1000 // hypervolume
		}
		if problem == "addition" {
			settings = append(settings, "task.batch=3", "network.hidden=2")
			low, high = 0, 1
		}
		cfg, err := parse(t, "workflow = \""+workflow+"\"\nenv = \""+problem+"\"\n", settings...)
		if err != nil {
			t.Fatal(err)
		}
		run, err := cfg.Build(ctx, engine.New(dev))
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Init(ctx); err != nil {
			t.Fatal(err)
		}
		ticket, err := run.Step(ctx, 0)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		ev, err := run.Evaluate(ctx, 2)
		if err != nil || len(ev.Returns) != 2 || len(ev.Returns[1]) != 2 || !(ev.Returns[1][1] >= low && ev.Returns[1][1] <= high) {
			t.Errorf("%s on %s: evaluates to %v, %v", workflow, problem, ev.Returns, err)
		}
	}
	for _, p := range evorl.Problems() {
		workflow := "snes"
		if p.Name == "zdt" || p.Name == "dtlz" || p.Name == "lineups" {
			workflow = "nsga-iii"
		}
		step(workflow, p.Name)
	}
	for _, w := range evorl.Workflows() {
		for _, problem := range []string{"arm", "zdt"} {
			_, err := parse(t, "workflow = \""+w.Name+"\"\nenv = \""+problem+"\"\n")
			if several(w) == (problem == "zdt") && (err == nil || !strings.Contains(err.Error(), "is a problem")) {
				step(w.Name, problem)
			}
		}
	}
}

// searchable checks that exactly the given hyperparameters can be searched.
func searchable(t *testing.T, names []string) {
	t.Helper()
	for _, name := range append(slices.Clone(names), "epochs") {
		_, err := evorl.Parse("x.toml", []byte("workflow = \"pbt\"\nenv = \"CartPole-v1\"\n"),
			evorl.Set("pbt.search."+name+"={prior=\"uniform\",low=0.1,high=0.2}"))
		if known := slices.Contains(names, name); (err == nil) != known {
			t.Errorf("searching %s: %v; PPO has it: %v", name, err, known)
		}
	}
}

// The state of agents and searches differs by the number of members in member axes alone, so that some members can continue in another run.
func TestStatesOfMembers(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, w := range evorl.Workflows() {
		if several(w) || composed(w) {
			continue
		}
		env, ok := home(w)
		if !ok {
			env = "CartPole-v1"
		}
		var states []*engine.State
		for _, members := range []int{1, 3} {
			text := "workflow = \"" + w.Name + "\"\nenv = \"" + env + "\"\n"
			cfg, err := parse(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if cfg, err = parse(t, text, fmt.Sprintf("%s=%d", cfg.MembersKey(), members)); err != nil {
				t.Fatal(err)
			}
			run, err := cfg.Build(t.Context(), engine.New(dev))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			states = append(states, run.State())
		}
		if !states[0].FitsMembers(states[1], 1, 3) || !states[1].FitsMembers(states[0], 3, 1) {
			t.Errorf("%s: %v\nof one member, %v of three", w.Name, states[0].Tensors(), states[1].Tensors())
		}
	}
}
