package evorl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
)

// A value in its documented range either runs, or is rejected at its location before there is a run directory, with
// the largest value that this device supports, limited by workgroups or memory. That value starts; one larger by 2,
// or by 2%, does not.
func TestLargestValues(t *testing.T) {
	dev := openDevice(t)
	for _, c := range []struct {
		key      string
		value    int
		settings string
	}{
		{"openes.population", 1 << 20, "workflow = \"openes\"\nenv = \"sphere\"\n"},
		{"openes.population", 1 << 20, "workflow = \"openes\"\nenv = \"CartPole-v1\"\nnetwork.hidden = [2]\n"},
		{"search.members", 1 << 16, "workflow = \"openes\"\nenv = \"sphere\"\nopenes.population = 16\n"},
		{"pgpe.population", 1 << 15, "workflow = \"pgpe\"\nenv = \"sphere\"\nsearch.members = 2\n"},
		{"policy.episodes", 1 << 16, "workflow = \"openes\"\nenv = \"CartPole-v1\"\nopenes.population = 64\n"},
		{"evaluation.episodes", 1 << 16, "workflow = \"snes\"\nenv = \"CartPole-v1\"\nnetwork.hidden = [2]\nsearch.members = 64\n"},
		{"ppo.environments", 1 << 20, "workflow = \"ppo\"\nenv = \"CartPole-v1\"\nnetwork.hidden = [2]\nppo.rollout_length = 2\nppo.minibatches = 1\n"},
		{"ppo.members", 1 << 20, "workflow = \"ppo\"\nenv = \"CartPole-v1\"\nppo.environments = 100\n"},
		{"ppo.members", 1 << 20, "workflow = \"ppo\"\nenv = \"CartPole-v1\"\nnetwork.hidden = [1000, 1000]\nnetwork.initializer = \"lecun_uniform\"\n"},
		{"openes.population", 1 << 20, "workflow = \"openes\"\nenv = \"CartPole-v1\"\npolicy.episodes = 10_000\n"},
		{"search.members", 4000, "workflow = \"cma-es\"\nenv = \"HalfCheetah-v5\"\n"},
	} {
		t.Run(fmt.Sprintf("%s=%d", c.key, c.value), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			start := func(value int) error {
				cfg, err := parse(t, fmt.Sprintf("%s%s = %d\n", c.settings, c.key, value))
				if err != nil {
					t.Fatal(err)
				}
				run, err := evorl.Start(t.Context(), dev, cfg, path)
				if err != nil {
					if _, e := os.Stat(path); !errors.Is(e, os.ErrNotExist) {
						t.Errorf("%d left a run directory: %v", value, e)
					}
					return err
				}
				return errors.Join(run.Close(), os.RemoveAll(path))
			}
			err := start(c.value)
			if err == nil {
				return // this device supports it
			}
			var of *config.Error
			if !errors.As(err, &of) || of.Line != strings.Count(c.settings, "\n")+1 || !strings.Contains(of.Message, fmt.Sprintf("%s = %d", c.key, c.value)) {
				t.Fatalf("error %v; want one of %s at its line", err, c.key)
			}
			found := regexp.MustCompile(`want at most (\d+)`).FindStringSubmatch(of.Message)
			if found == nil {
				t.Fatalf("error %v; want one with the largest value", err)
			}
			most, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := start(most); err != nil {
				t.Errorf("%d does not start: %v", most, err)
			}
			if more := min(most+2*max(1, most/100), c.value); start(more) == nil {
				t.Errorf("%d starts too", more)
			}
		})
	}
}
