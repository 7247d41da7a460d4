package evorl_test

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/hybrid"
)

// savedTensors reads tensors of 32-bit values from the newest checkpoint of a run.
func savedTensors[T uint32 | float32](t *testing.T, run, name string) (values []T) {
	t.Helper()
	_, err := checkpoint.Newest(filepath.Join(run, "checkpoints"), func(c *checkpoint.Checkpoint) error {
		return c.Load(func(of checkpoint.Tensor) error {
			data, err := io.ReadAll(of.Data)
			if of.Name == name && err == nil {
				values = make([]T, len(data)/4)
				_, err = binary.Decode(data, binary.LittleEndian, values)
			}
			return err
		})
	})
	if err != nil || values == nil {
		t.Fatalf("no tensor %s: %v", name, err)
	}
	return values
}

// origins restores a run and returns the origins of its members.
func origins(t *testing.T, cfg *evorl.Config, run string) (of []*evorl.Origin) {
	t.Helper()
	restored, err := evorl.Restore(t.Context(), openDevice(t), cfg, run, cfg.Run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	for member := range cfg.Members() {
		o, damage, err := restored.Origin(member)
		if err != nil || damage != nil {
			t.Fatalf("member %d: %v, %v", member, err, damage)
		}
		of = append(of, o)
	}
	if _, _, err := restored.Origin(cfg.Members()); err == nil || !strings.Contains(err.Error(), "has no member") {
		t.Errorf("a member that does not exist: %v", err)
	}
	return of
}

// The origins of members agree with what the device keeps: the members' ancestors and the best fitness of a line, which
// PBT copies with the member. The records of an interrupted run go on where it stopped.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		side       hybrid.Side
	}{
		{"pbt of ppo", over("ppo", "CartPole-v1"), []string{"ppo.members=6", "ppo.environments=1", "ppo.rollout_length=16", "ppo.epochs=1", "ppo.minibatches=1"}, 0},
		{"pbt of erl", over("erl", "Pendulum-v1"), []string{"td3.members=6", "td3.rollout_length=8", "td3.learning_starts=8", "replay.capacity=5000",
			"replay.batch=8", "ga.population=4", "environment.time_limit=20"}, hybrid.Agents},
		{"erl", guide("erl", "td3", "ga"), []string{"erl.evaluate=population", "ga.plus=true"}, hybrid.Population},
		{"two agents", guide("erl", "td3", "ga"), []string{"erl.agents=2", "replay.shared=true"}, hybrid.Agents},
		{"cem-rl", guide("cem-rl", "td3", "cem"), []string{"cem.elites=3"}, hybrid.Population},
		{"pga-me", guide("pga-me", "td3", "map-elites"), []string{"td3.members=1", "pga-me.climbers=2", "pga-me.steps=2", "behaviour.observations=[0, 1]"},
			hybrid.Population},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := parse(t, c.text, append(c.set, "network.hidden=[4]", "iterations=5")...)
			if err != nil {
				t.Fatal(err)
			}
			run, dev := filepath.Join(t.TempDir(), "run"), openDevice(t)
			if err := learn(t, evorl.Start, dev, cfg, run).Close(); err != nil {
				t.Fatal(err)
			}
			cfg.Run.Iterations = 10
			if err := learn(t, evorl.Resume, dev, cfg, run).Close(); err != nil {
				t.Fatal(err)
			}
			of := origins(t, cfg, run)
			if strings.HasPrefix(c.name, "pbt") {
				checkDescent(t, run, of)
			}
			if c.name != "pbt of ppo" {
				checkBest(t, run, cfg.Members(), c.side, of)
			}
		})
	}
}

// checkDescent demands that copies lead from the members back to the ancestors that the device keeps.
func checkDescent(t *testing.T, run string, of []*evorl.Origin) {
	t.Helper()
	copies := 0
	parents := savedTensors[uint32](t, run, "pbt/parent")
	for member, want := range savedTensors[uint32](t, run, "pbt/ancestor") {
		o, at, iteration := of[member], member, 11
		if o.Ancestor == nil || *o.Ancestor != int(want) {
			t.Errorf("member %d: %+v; want ancestor %d", member, o, want)
		}
		for _, c := range o.Copies {
			if c.Member != at || c.Of == at || c.Iteration >= iteration || c.Iteration < 2 {
				t.Errorf("member %d: copies %+v", member, o.Copies)
			}
			at, iteration = c.Of, c.Iteration
		}
		if last := len(o.Copies) > 0 && o.Copies[0].Iteration == 10; last != (int(parents[member]) != member) || last && o.Copies[0].Of != int(parents[member]) {
			t.Errorf("member %d: copies %+v; want one of %d in the last iteration", member, o.Copies, parents[member])
		}
		copies += len(o.Copies)
	}
	if copies < len(of) {
		t.Errorf("%d copies in all; want more to follow", copies)
	}
}

// checkBest demands the best fitness that the device keeps, in an iteration whose records have it and its side.
func checkBest(t *testing.T, run string, members int, side hybrid.Side, of []*evorl.Origin) {
	t.Helper()
	best := savedTensors[float32](t, run, "population/search/best_fitness")
	file := "members.jsonl"
	if members == 1 {
		file = "metrics.jsonl"
	}
	records, bad, err := metrics.ReadFile(filepath.Join(run, file))
	if err != nil || bad != nil || len(records) != 10 {
		t.Fatalf("%d records, %v, %v; want 10", len(records), bad, err)
	}
	for member, o := range of {
		if o == nil || o.Side == nil || *o.Side != side || o.Best == nil || o.Last == nil || o.Last.Iteration != 10 {
			t.Fatalf("member %d: %+v; want side %v, and candidates up to iteration 10", member, o, side)
		}
		if want := float64(best[member*len(best)/members]); float64(o.Best.Fitness) != want {
			t.Errorf("member %d: best candidate %+v; want fitness %v", member, *o.Best, want)
		}
		at := member // in the iteration of the best candidate
		for _, c := range o.Copies {
			if c.Iteration > o.Best.Iteration {
				at = c.Of
			}
		}
		value := func(metric string) float64 {
			if members > 1 {
				metric = evorl.MemberMetric(metric, at)
			}
			return records[o.Best.Iteration-1].Values[metric]
		}
		if value("fitness/best") != float64(o.Best.Fitness) || (value("best/learned") == 1) != o.Best.Learned {
			t.Errorf("member %d: best candidate %+v; its record has %v", member, *o.Best, records[o.Best.Iteration-1])
		}
	}
}

// Members that do not descend from each other have no origin. Damaged files are reported and do not end a command.
func TestOriginOfOthers(t *testing.T) {
	cfg, run := small(t), filepath.Join(t.TempDir(), "run")
	if err := learn(t, evorl.Start, openDevice(t), cfg, run).Close(); err != nil {
		t.Fatal(err)
	}
	if of := origins(t, cfg, run); of[0] != nil {
		t.Errorf("an origin: %+v", of[0])
	}
	line := func(iteration, member, parent string) string {
		return "{\"iteration\":" + iteration + ",\"env_steps\":1,\"seconds\":1,\"fitness\":1,\"member\":" + member + ",\"parent\":" + parent + "}\n"
	}
	first := line("1", "0", "0") + line("1", "1", "1")
	for _, c := range []struct {
		text        string
		generations int
		damaged     bool
		want        string // error
	}{
		{first + line("3", "0", "1") + line("3", "1", "1"), 2, false, ""},
		{first + line("3", "0", "1") + line("3", "1", "1")[:20], 1, false, ""}, // cut in the last line
		{first + line("3", "0", "1"), 1, false, ""},
		{first + "nonsense\n" + line("3", "0", "1") + line("3", "1", "1"), 2, true, ""},
		{first + "nonsense\n" + line("3", "1", "1"), 0, true, "iteration 3 has a record of member 1: want member 0 next"},
		{first + line("3", "0", "1") + line("5", "0", "0") + line("5", "1", "1"), 0, false, "iteration 3 has records of 1 members: want 2"},
		{first + line("3", "0", "7") + line("3", "1", "1"), 0, false, "member 0 has parent 7: want 0 to 1"},
		{"", 0, false, ""},
	} {
		if err := os.WriteFile(filepath.Join(run, "lineage.jsonl"), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, damage, err := evorl.Lineage(run)
		if len(got) != c.generations || (damage != nil) != c.damaged || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %d generations, %v, %v; want %d, error %q", c.text, len(got), damage, err, c.generations, c.want)
		}
	}
	if _, _, err := evorl.Lineage(filepath.Join(run, "nowhere")); err == nil {
		t.Error("a run that is not there has a lineage")
	}
}
