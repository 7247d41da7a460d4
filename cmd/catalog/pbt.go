package catalog

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// pbtPopulation is EvoRL's.
const pbtPopulation = 32

// ppoHyper are the hyperparameters of PPO that a population can search: those of [ppo] that each member has for itself.
var ppoHyper = []string{"learning_rate", "discount", "gae_lambda", "clip_epsilon", "entropy_weight", "actor_weight", "critic_weight"}

// pbtParts are [network], [ppo] and [pbt].
type pbtParts struct {
	*ppoParts
	pbt  hybrid.PBTConfig
	over func(context.Context, hybrid.Trainable, hybrid.PBTConfig) (*hybrid.PBT, error)
}

func newPBT(over func(context.Context, hybrid.Trainable, hybrid.PBTConfig) (*hybrid.PBT, error)) func() parts {
	return func() parts {
		p := &pbtParts{&ppoParts{rl.DefaultNetwork(), rl.DefaultPPO()}, hybrid.DefaultPBT(), over}
		p.ppo.Members = pbtPopulation
		return p
	}
}

func (p *pbtParts) sections() config.Sections {
	return append(p.ppoParts.sections(), config.Section{Name: "pbt", Value: &p.pbt})
}

func (p *pbtParts) check(d *config.Document, _ *envs.Environment, _ envs.Options) error {
	if p.ppo.Members < 2 {
		return d.Errorf("ppo.members", "a population of %d has nobody to learn from: want at least 2 members", p.ppo.Members)
	}
	for _, name := range slices.Sorted(maps.Keys(p.pbt.Search)) {
		key := "pbt.search." + name
		if !slices.Contains(ppoHyper, name) {
			return d.UnknownKey(key, "hyperparameter", ppoHyper)
		}
		prior := p.pbt.Search[name]
		for _, end := range []struct {
			key string
			g   float64
		}{{"low", prior.Low}, {"high", prior.High}} {
			value := end.g
			if prior.Prior == hybrid.Horizon {
				value = -math.Expm1(-end.g)
			}
			if want := outside(name, value); want != "" {
				return d.Errorf(key+"."+end.key, "%s of %g is out of range: want %s", name, value, want)
			}
		}
	}
	return nil
}

// outside says what a value of a hyperparameter of [ppo] should be; "" when it is allowed.
func outside(name string, value float64) string {
	keys, err := config.Schema(rl.DefaultPPO())
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%s = %.17g", name, value)
	if value == math.Trunc(value) {
		text += ".0"
	}
	d, err := config.Parse("", []byte(text))
	if err != nil {
		return err.Error()
	}
	cfg := rl.DefaultPPO()
	if d.Decode(config.Sections{{Value: &cfg}}) == nil {
		return ""
	}
	at := slices.IndexFunc(keys, func(k config.Key) bool { return k.Name == name })
	return keys[at].Range
}

// searchKeys document the hyperparameters that are searched unless a configuration names its own.
func searchKeys(value any) []config.Key {
	cfg, ok := value.(*hybrid.PBTConfig)
	if !ok {
		return nil
	}
	var keys []config.Key
	for _, name := range ppoHyper {
		if prior, ok := cfg.Search[name]; ok {
			keys = append(keys, config.Key{
				Name: "search." + name, Type: "table", Doc: "Searched unless a configuration has searches of its own.",
				Default: fmt.Sprintf("{prior = %q, low = %g, high = %g}", prior.Prior, prior.Low, prior.High),
			})
		}
	}
	return keys
}

func (p *pbtParts) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	ppo, err := p.make(ctx, eng, env, options)
	if err != nil {
		return nil, err
	}
	return p.over(ctx, ppo, p.pbt)
}
