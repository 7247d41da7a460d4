package evorl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
)

// hybrids are the workflows of package hybrid.
var hybrids = []Workflow{
	{
		Name: "pbt", Summary: "population based training over PPO: the worst members become copies of the best and explore other hyperparameters",
		Source: "M. Jaderberg et al., \"Population Based Training of Neural Networks\", 2017",
		parts:  newPBT("ppo", hybrid.NewPBT),
	},
	{
		Name: "pbt-cso", Summary: "population based training over PPO whose losers move towards their winners' hyperparameters, as a competitive swarm",
		Source: "B. Zheng et al., \"EvoRL\", 2025, section 5.2.3",
		parts:  newPBT("ppo", hybrid.NewPBTCSO),
	},
}

// pbtPopulation is EvoRL's.
const pbtPopulation = 32

// trainable are the parts of a workflow whose members PBT can vary.
type trainable interface {
	parts
	// learner is the section whose keys with the tag member can be varied.
	learner() config.Section
}

// pbt is the settings of population based training: those of the workflow that it trains, and [pbt].
type pbt struct {
	trainable
	cfg hybrid.PBTConfig
	err error // in the declared search space
	new pbtFunc
}

// pbtFunc makes a workflow of package hybrid over another.
type pbtFunc func(context.Context, engine.Trainable, hybrid.PBTConfig) (*hybrid.PBT, error)

// newPBT makes the settings of PBT over a workflow of package rl, given by its name.
func newPBT(over string, new pbtFunc) func() parts {
	return func() parts {
		at := slices.IndexFunc(agents, func(w Workflow) bool { return w.Name == over })
		p := &pbt{trainable: agents[at].parts().(trainable), cfg: hybrid.DefaultPBT(), new: new}
		*p.members() = pbtPopulation
		p.cfg.Search, p.err = hybrid.DefaultSearch(p.learner().Value)
		return p
	}
}

func (p *pbt) sections() config.Sections {
	return append(p.trainable.sections(), config.Section{Name: "pbt", Value: &p.cfg})
}

func (p *pbt) check(env *envs.Environment, options envs.Options) error {
	if p.err != nil {
		return p.err
	}
	of := p.learner()
	if n := *p.members(); n < 2 {
		return config.Invalid(of.Name+".members", "a population of %d has no other member to learn from: want at least 2", n)
	}
	keys, err := config.MemberFields(of.Value)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Search)) {
		if err := checkSearch(name, p.cfg.Search[name], keys); err != nil {
			return err
		}
	}
	return p.trainable.check(env, options)
}

// checkSearch checks the ends of a hyperparameter's prior against the range of its key.
func checkSearch(name string, prior hybrid.Prior, keys []config.Key) error {
	key := "pbt.search." + name
	at := slices.IndexFunc(keys, func(k config.Key) bool { return k.Name == name })
	if at < 0 {
		var known []string
		for _, k := range keys {
			known = append(known, k.Name)
		}
		return config.Unknown(key, "hyperparameter", known)
	}
	for _, end := range []struct {
		key   string
		value float64
	}{{"low", prior.Low}, {"high", prior.High}} {
		x := end.value
		if prior.Prior == hybrid.Horizon {
			x = -math.Expm1(-x)
		}
		if want := keys[at].Want(x); want != "" {
			return config.Invalid(key+"."+end.key, "%s of %g is out of range: want %s", name, x, want)
		}
	}
	return nil
}

// documented are keys of [pbt] that its struct does not list: the hyperparameters searched by default.
func (p *pbt) documented() ([]config.Key, error) {
	searched, err := config.MemberFields(p.learner().Value)
	if err != nil {
		return nil, err
	}
	var keys []config.Key
	for _, k := range searched {
		if prior, ok := p.cfg.Search[k.Name]; ok {
			keys = append(keys, config.Key{
				Name: "search." + k.Name, Type: "table", Doc: "Searched unless a configuration has searches of its own.",
				Default: fmt.Sprintf("{prior = %q, low = %g, high = %g}", prior.Prior, prior.Low, prior.High),
			})
		}
	}
	return keys, nil
}

func (p *pbt) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	inner, err := p.trainable.build(ctx, eng, env, options)
	if err != nil {
		return nil, err
	}
	over, ok := inner.(engine.Trainable)
	if !ok {
		return nil, errors.Join(fmt.Errorf("evorl: %s cannot be trained by PBT", inner.Describe().Workflow), inner.Close())
	}
	return p.new(ctx, over, p.cfg)
}
