package evorl_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
)

// track is walked to its end, place 8: action 1 is a step to the right, 0 one to the left.
type track struct{ at int }

func (c *track) Reset(seed uint32, obs []float32) error {
	c.at = int(seed % 4)
	obs[0] = float32(c.at) / 8
	return nil
}

func (c *track) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	c.at = max(0, c.at+2*int(action[0])-1)
	obs[0] = float32(c.at) / 8
	return -1, c.at == 8, false, nil
}

func (c *track) Save(state []byte) error {
	binary.LittleEndian.PutUint16(state, uint16(c.at))
	return nil
}

func (c *track) Load(state []byte) error {
	c.at = int(binary.LittleEndian.Uint16(state))
	return nil
}

// TestRunOutside: runs in an environment that the host steps learn, and are resumed with the same bits if it is saved, or if the workflow begins new episodes
// in every iteration. Otherwise a resumed run warns. Population based training copies members with the environments that are saved, also in the first
// iteration after resuming.
func TestRunOutside(t *testing.T) {
	const warning = `the environments of "Track-v0" are not in checkpoints: new episodes begin in them, so that it does not continue exactly`
	for _, c := range []struct {
		workflow   string
		saved      int
		settings   []string
		iterations int
		exact      bool
	}{
		{"openes", 0, []string{"openes.population=32", "openes.learning_rate=0.2", "policy.episodes=2"}, 20, true},
		{"ppo", 2, []string{"ppo.members=2", "ppo.environments=8", "ppo.rollout_length=32", "ppo.learning_rate=0.02"}, 12, true},
		{"ppo", 0, []string{"ppo.members=2", "ppo.environments=8", "ppo.rollout_length=32", "ppo.learning_rate=0.02"}, 12, false},
		{"pbt", 2, []string{"ppo.members=4", "ppo.environments=4", "ppo.rollout_length=31", "pbt.warmup=2", "pbt.interval=2", "pbt.episodes=2",
			"evaluation.best_episodes=8"}, 12, true},
	} {
		env, err := envs.NewOutside(envs.Spec{
			Name: "Track-v0", MaxSteps: 50, Observation: envs.Box([]float32{0}, []float32{1}), Action: envs.Discrete(2), Saved: c.saved,
		}, envs.Worlds(func() (envs.World, error) { return new(track), nil }))
		catalog, err := evorl.NewCatalog(evorl.OwnEnvironment(env, err))
		if err != nil {
			t.Fatal(err)
		}
		options := []evorl.Option{evorl.Use(catalog), evorl.Set("seed=3"), evorl.Set("network.hidden=[4]"), evorl.Set("evaluation.episodes=8")}
		for _, s := range c.settings {
			options = append(options, evorl.Set(s))
		}
		cfg, err := evorl.New(c.workflow, "Track-v0", options...)
		if err != nil {
			t.Fatal(err)
		}
		dev, whole, parts := openDevice(t), filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
		digest := func(r *evorl.Run) string {
			result, err := r.Result(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if mean := result.MeanReturn; float64(mean) < -8 { // -6.5 is the best, and an agent at random has about -40
				t.Errorf("%s: mean return %v; want at least -8", c.workflow, mean)
			}
			return result.Digest
		}
		cfg.Run.Iterations = c.iterations
		want := digest(learn(t, evorl.Start, dev, cfg, whole))
		cfg.Run.Iterations = c.iterations / 2
		if err := learn(t, evorl.Start, dev, cfg, parts).Close(); err != nil {
			t.Fatal(err)
		}
		cfg.Run.Iterations = c.iterations
		resumed := learn(t, evorl.Resume, dev, cfg, parts)
		if got := digest(resumed); (got == want) != c.exact {
			t.Errorf("%s, saved in %d bytes: resumed, it ends in %s; uninterrupted in %s", c.workflow, c.saved, got, want)
		}
		if got := resumed.Warnings(); slices.Contains(got, warning) == c.exact {
			t.Errorf("%s, saved in %d bytes: warnings %q", c.workflow, c.saved, strings.Join(got, "; "))
		}
	}
}
