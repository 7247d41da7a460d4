package catalog

import (
	"context"
	"errors"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// searchParts are [network], [policy], [search] and the section of an algorithm of evolutionary computation, whose configuration is C.
type searchParts[C ec.Algorithm] struct {
	network problem.NetworkConfig
	policy  problem.PolicyConfig
	search  Search
	algo    C
}

// Search are the settings that searches by any algorithm have.
type Search struct {
	Members int `min:"1" max:"65536" doc:"Independent searches at once, each with random numbers of its own."`
}

// newSearch makes the parts of an algorithm from its defaults.
func newSearch[C ec.Algorithm](algo func() C) func() parts {
	return func() parts {
		return &searchParts[C]{problem.DefaultNetwork(), problem.DefaultPolicy(), Search{Members: 1}, algo()}
	}
}

func (p *searchParts[C]) algorithm() ec.Algorithm { return p.algo }

func (p *searchParts[C]) sections() config.Sections {
	return config.Sections{
		{Name: "network", Value: &p.network}, {Name: "policy", Value: &p.policy}, {Name: "search", Value: &p.search}, {Name: p.algo.Name(), Value: &p.algo},
	}
}

func (p *searchParts[C]) check(d *config.Document, env *envs.Environment, options envs.Options) error {
	err := problem.CheckPolicy(env, options, p.network, p.policy)
	var of *problem.SettingError
	if errors.As(err, &of) {
		return d.Errorf(of.Section+"."+of.Key, "%s", of.Message)
	}
	return err
}

func (p *searchParts[C]) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return ec.NewSearch(ctx, eng, p.algo, problem.Policy(env, options, p.network, p.policy), p.search.Members)
}
