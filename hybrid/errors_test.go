package hybrid

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// TestRefused: what cannot be trained is one error that says so, and frees everything.
func TestRefused(t *testing.T) {
	search := func(name string, p Prior) func(*PBTConfig) {
		return func(c *PBTConfig) {
			c.Search = maps.Clone(c.Search)
			c.Search[name] = p
		}
	}
	for _, c := range []struct {
		name    string
		members int
		change  func(*PBTConfig)
		want    string
	}{
		{"a population of one", 1, func(*PBTConfig) {}, "a population of 1; want at least 2 members"},
		{"unknown hyperparameter", 2, search("learning_rat", Prior{LogUniform, 1e-5, 1e-3}),
			`there is no hyperparameter "learning_rat" to search; did you mean "learning_rate"?`},
		{"unlike any", 2, search("zzz", Prior{Uniform, 0, 1}), "there are: learning_rate, discount,"},
		{"empty range", 2, search("learning_rate", Prior{Uniform, 2, 1}), `"search.learning_rate": "high": the range is [2, 1]; want low at most high`},
		{"NaN range", 2, search("learning_rate", Prior{Uniform, math.NaN(), 1}), `"search.learning_rate.low" is NaN: want a finite number`},
		{"logarithm of 0", 2, search("learning_rate", Prior{LogUniform, 0, 1}), `"search.learning_rate": "low": 0; want above 0 for log_uniform`},
		{"horizon too far", 2, search("discount", Prior{Horizon, 1, 16}), `"search.discount": "high": the range of g is [1, 16]; want it within [0, 15] for horizon`},
		{"no such prior", 2, search("discount", Prior{PriorKind(9), 1, 2}), `"search.discount.prior": prior 9; want 0 to 2`},
		{"top and bottom overlap", 4, func(c *PBTConfig) { c.Top, c.Bottom = 0.6, 0.5 }, `"bottom": top and bottom are 0.6 and 0.5; want at most 1 together`},
		{"a policy of one that cannot tell it", 2, func(c *PBTConfig) { c.Inherit = PolicyOnly },
			`"pbt.inherit": ppo does not support copying the policy alone; want everything, or an off-policy agent`},
		{"a t-test of one episode", 2, func(c *PBTConfig) { c.Exploit, c.Episodes = TTest, 1 }, `"episodes": t_test needs the deviation`},
		{"steadiness of one episode", 2, func(c *PBTConfig) { c.Objective, c.Episodes = Steadiness, 1 }, `"episodes": steadiness needs the deviation`},
		{"tournaments of two objectives", 2, func(c *PBTConfig) { c.Objective, c.Exploit = Steadiness, Tournament },
			`"exploit": tournament compares one objective, and there are two; want truncation`},
		{"no significance", 2, func(c *PBTConfig) { c.Exploit, c.Significance = TTest, 0 },
			`"significance": nothing is significant at 0; want more, such as 0.05`},
		{"a large population of pb2", 35, func(c *PBTConfig) { c.Explore = PB2 }, "pb2 of 35 members; want at most 34"},
		{"pb2 of nothing", 2, func(c *PBTConfig) { c.Explore, c.Search = PB2, map[string]Prior{} }, `"search": 0 values for pb2 to choose; want 1 to 16`},
		{"no interval", 2, func(c *PBTConfig) { c.Interval = 0 }, `"interval" is 0: want at least 1`},
		{"no episodes", 2, func(c *PBTConfig) { c.Episodes = 0 }, `"episodes" is 0: want at least 1`},
		{"a warm-up below 0", 2, func(c *PBTConfig) { c.Warmup = -1 }, `"warmup" is -1: want at least 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := open(t).Memory()
			inner := newPPO(t, 1, "CartPole-v1", small(c.members))
			cfg := overPPO()
			c.change(&cfg)
			p, err := NewPBT(t.Context(), inner, cfg)
			if err == nil {
				p.Close()
			}
			if err == nil || !strings.HasPrefix(err.Error(), "hybrid: PBT over ppo: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v; want %q in it", err, c.want)
			}
			var hyper *HyperError
			if strings.Contains(c.want, "hyperparameter") != errors.As(err, &hyper) && c.name != "unlike any" {
				t.Errorf("error %v: is it a *HyperError?", err)
			}
			if after := open(t).Memory(); after.Used != before.Used || after.Buffers != before.Buffers {
				t.Errorf("%d bytes in %d buffers are left", after.Used-before.Used, after.Buffers-before.Buffers)
			}
			if err := inner.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSwarmRefused: PBT-CSO has its own ways.
func TestSwarmRefused(t *testing.T) {
	for _, change := range []func(*PBTConfig){func(c *PBTConfig) { c.Exploit = Tournament }, func(c *PBTConfig) { c.Explore = PB2 }} {
		cfg := overPPO()
		change(&cfg)
		p, err := NewPBTCSO(t.Context(), newPPO(t, 1, "CartPole-v1", small(2)), cfg)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "pbt-cso has its own exchange") {
			t.Errorf("error %v of exploit %v", err, cfg.Exploit)
		}
	}
}

// TestTooManyEpisodes: a population fits, and its evaluation does not.
func TestTooManyEpisodes(t *testing.T) {
	before := open(t).Memory()
	cfg := overPPO()
	cfg.Episodes = 65536
	most := open(t).Info().Limits.MaxStorageRange
	members := int(most/4/4/65536) + 1 // CartPole's state is four floats
	p, err := NewPBT(t.Context(), newPPO(t, 1, "CartPole-v1", small(members)), cfg)
	if err == nil {
		p.Close()
	}
	var memory *vk.OutOfMemoryError
	if !errors.As(err, &memory) || !strings.Contains(err.Error(), "pbt/evaluation/env_state") || memory.Need <= memory.Have {
		t.Errorf("error %v; want a *vk.OutOfMemoryError of the evaluation", err)
	}
	if after := open(t).Memory(); after.Used != before.Used {
		t.Errorf("%d bytes are left", after.Used-before.Used)
	}
}

// TestNoPopulation: a population of none is refused before there is anything to train.
func TestNoPopulation(t *testing.T) {
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rl.NewPPO(t.Context(), engine.New(open(t)), env, small(0)); err == nil || !strings.Contains(err.Error(), `"members" is 0: want at least 1`) {
		t.Errorf("error %v", err)
	}
}
