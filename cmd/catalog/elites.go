package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// elitesParts are those of a search, and [behaviour], for an algorithm of quality diversity.
type elitesParts[C ec.Algorithm] struct {
	searchParts[C]
	behaviour problem.BehaviourConfig
}

// newElites makes the parts of an algorithm from its defaults.
func newElites[C ec.Algorithm](algo func() C) func() parts {
	return func() parts {
		return &elitesParts[C]{searchParts: *newSearch(algo)().(*searchParts[C])}
	}
}

func (p *elitesParts[C]) sections() config.Sections {
	s := p.searchParts.sections()
	at := slices.IndexFunc(s, func(s config.Section) bool { return s.Name == "policy" }) + 1
	return slices.Insert(s, at, config.Section{Name: "behaviour", Value: &p.behaviour})
}

func (p *elitesParts[C]) problem(env *envs.Environment, options envs.Options) (ec.Problem, error) {
	return problem.DescribedPolicy(env, options, p.network, p.policy, p.behaviour)
}

func (p *elitesParts[C]) check(d *config.Document, env *envs.Environment, options envs.Options) error {
	if err := p.searchParts.check(d, env, options); err != nil {
		return err
	}
	_, err := p.problem(env, options)
	var of *problem.SettingError
	if errors.As(err, &of) {
		return d.Errorf(of.Section+"."+of.Key, "%s", of.Message)
	}
	return err
}

func (p *elitesParts[C]) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	described, err := p.problem(env, options)
	if err != nil {
		return nil, err
	}
	return ec.NewSearch(ctx, eng, p.algo, described, p.search.Members)
}
