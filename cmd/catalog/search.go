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

// searchParts are [search], the section of an algorithm of evolutionary computation, whose configuration is C, and what is searched for: policies, by
// [network] and [policy], or the solution of a problem, by its section.
type searchParts[C ec.Algorithm] struct {
	network problem.NetworkConfig
	policy  problem.PolicyConfig
	search  Search
	algo    C

	problem  string          // "": policies
	settings problemSettings // of the problem
}

// searcher are parts that can solve problems.
type searcher interface {
	on(p Problem)
	solves() bool
}

func (p *searchParts[C]) on(of Problem) { p.problem, p.settings = of.Name, of.settings() }

func (p *searchParts[C]) solves() bool { return p.settings != nil }

// Search are the settings that searches by any algorithm have.
type Search struct {
	Members int `min:"1" max:"65536" doc:"Independent searches at once, each with random numbers of its own."`
}

// newSearch makes the parts of an algorithm from its defaults.
func newSearch[C ec.Algorithm](algo func() C) func() parts {
	return func() parts {
		return &searchParts[C]{network: problem.DefaultNetwork(), policy: problem.DefaultPolicy(), search: Search{Members: 1}, algo: algo()}
	}
}

func (p *searchParts[C]) algorithm() ec.Algorithm { return p.algo }

func (p *searchParts[C]) sections() config.Sections {
	of := config.Sections{{Name: "network", Value: &p.network}, {Name: "policy", Value: &p.policy}}
	if p.solves() {
		of = config.Sections{{Name: p.problem, Value: p.settings}}
	}
	return append(of, config.Section{Name: "search", Value: &p.search}, config.Section{Name: p.algo.Name(), Value: &p.algo})
}

func (p *searchParts[C]) check(d *config.Document, env *envs.Environment, options envs.Options) error {
	if p.solves() {
		if _, err := p.settings.Problem(); err != nil {
			return d.Errorf(p.problem, "%v", err)
		}
		return nil
	}
	err := problem.CheckPolicy(env, options, p.network, p.policy)
	var of *problem.SettingError
	if errors.As(err, &of) {
		return d.Errorf(of.Section+"."+of.Key, "%s", of.Message)
	}
	return err
}

func (p *searchParts[C]) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	if !p.solves() {
		return ec.NewSearch(ctx, eng, p.algo, problem.Policy(env, options, p.network, p.policy), p.search.Members)
	}
	of, err := p.settings.Problem()
	if err != nil {
		return nil, err
	}
	return ec.NewSearch(ctx, eng, p.algo, of, p.search.Members)
}
