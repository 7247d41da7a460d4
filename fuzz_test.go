package evorl_test

import (
	"errors"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
)

// Any configuration text is either decoded or rejected with a location, and a decoded one can be encoded and decoded
// again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"workflow = \"pbt\"\nenv = \"Pendulum-v1\"\n[pbt.search.discount]\nprior = \"horizon\"\nlow = 1\nhigh = 3.5\n",
		"workflow = \"a2c\"\nenv = \"CartPole-v1\"\nseed = 4294967295\n[network]\nhidden = [1, 2]\n",
		"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nlearning_rate = 1e-320\nmembers = 0x10\n",
		"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[environment]\nauto_reset = \"fast\"\nreward_scale = -1e-30\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := evorl.Parse("x.toml", []byte(text))
		var at *config.Error
		if err != nil {
			if !errors.As(err, &at) {
				t.Fatalf("error %v; want a *config.Error", err)
			}
			return
		}
		stored, err := cfg.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := evorl.Parse("stored.toml", stored)
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, stored)
		}
		if d := cfg.Differences(again); len(d) > 0 {
			t.Errorf("read back: %v", d)
		}
	})
}
