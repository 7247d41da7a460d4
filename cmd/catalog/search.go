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
// [network] and [policy], and [behaviour] where they are described, or the solution of a problem, by its section.
type searchParts[C ec.Algorithm] struct {
	needs     needs
	network   problem.NetworkConfig
	policy    problem.PolicyConfig
	behaviour problem.BehaviourConfig
	search    Search
	algo      C

	problem  string          // "": policies
	settings problemSettings // of the problem
}

// needs is what an algorithm has to be told of its candidates.
type needs int

const (
	fitness    needs = iota
	objectives       // several
	behaviour        // fitness, and descriptors
)

// searcher are parts that can solve problems.
type searcher interface {
	on(p Problem)
	solves() bool
}

func (p *searchParts[C]) on(of Problem) { p.problem, p.settings = of.Name, of.settings() }

// solves says whether it is a problem that is solved, as it always is with several objectives: an environment has one return.
func (p *searchParts[C]) solves() bool { return p.settings != nil || p.needs == objectives }

// Search are the settings that searches by any algorithm have.
type Search struct {
	Members int `min:"1" max:"65536" doc:"Independent searches at once, each with random numbers of its own."`
}

// newSearch makes the parts of an algorithm from its defaults.
func newSearch[C ec.Algorithm](algo func() C) func() parts { return newSearchOf(fitness, algo) }

func newSearchOf[C ec.Algorithm](needs needs, algo func() C) func() parts {
	return func() parts {
		return &searchParts[C]{needs: needs, network: problem.DefaultNetwork(), policy: problem.DefaultPolicy(), search: Search{Members: 1}, algo: algo()}
	}
}

func (p *searchParts[C]) sections() config.Sections {
	var of config.Sections
	switch {
	case p.settings != nil:
		of = config.Sections{{Name: p.problem, Value: p.settings}}
	case p.needs == fitness:
		of = config.Sections{{Name: "network", Value: &p.network}, {Name: "policy", Value: &p.policy}}
	case p.needs == behaviour:
		of = config.Sections{{Name: "network", Value: &p.network}, {Name: "policy", Value: &p.policy}, {Name: "behaviour", Value: &p.behaviour}}
	}
	return append(of, config.Section{Name: "search", Value: &p.search}, config.Section{Name: p.algo.Name(), Value: &p.algo})
}

// front is the true front of the problem, nil where there is none.
func (p *searchParts[C]) front(points int) [][]float64 {
	if p.settings == nil {
		return nil
	}
	of, err := p.settings.Problem()
	if f, ok := of.(interface {
		Front(points int) ([][]float64, error)
	}); ok && err == nil {
		front, _ := f.Front(points) // none is known
		return front
	}
	return nil
}

func (p *searchParts[C]) check(d *config.Document, env *envs.Environment, options envs.Options) error {
	if p.settings == nil {
		return p.checkPolicy(d, env, options)
	}
	of, err := p.settings.Problem()
	if err != nil {
		return d.Errorf(p.problem, "%v", err)
	}
	switch k, name := of.Objectives(), p.algo.Name(); {
	case k == 1 && p.needs == objectives:
		return d.Errorf("env", "%q has one objective, and %s is for several: want a problem that has them, such as env = \"zdt\"", p.problem, name)
	case k > 1 && p.needs != objectives:
		return d.Errorf("env", "%q has %d objectives, and %s maximises one: want an algorithm for several, such as workflow = \"nsga-ii\"", p.problem, k, name)
	case p.needs == behaviour && len(of.Space(1).DescriptorLow) == 0:
		return d.Errorf("env", "%q does not describe how candidates behave, which %s goes by: want a problem that does, such as env = \"arm\", or an environment", p.problem, name)
	}
	if points, ok := any(p.algo).(interface{ Fits(objectives int) error }); ok {
		if err := points.Fits(of.Objectives()); err != nil {
			return d.Errorf(p.algo.Name(), "%v", err)
		}
	}
	return p.suits(d, of)
}

// suits says what of the algorithm's settings does not suit the problem's candidates.
func (p *searchParts[C]) suits(d *config.Document, of ec.Problem) error {
	if algo, ok := any(p.algo).(interface{ Suits(ec.Space) error }); ok {
		if err := algo.Suits(of.Space(p.search.Members)); err != nil {
			return d.Errorf(p.algo.Name(), "%v", err)
		}
	}
	return nil
}

func (p *searchParts[C]) checkPolicy(d *config.Document, env *envs.Environment, options envs.Options) error {
	if p.needs == objectives {
		return d.Errorf("env", "%q has one objective, its return, and %s is for several: want a problem that has them, such as env = \"zdt\"", env.Name, p.algo.Name())
	}
	err := problem.CheckPolicy(env, options, p.network, p.policy)
	if err == nil {
		var of ec.Problem
		if of, err = p.inEnvironment(env, options); err == nil {
			err = p.suits(d, of)
		}
	}
	var of *problem.SettingError
	if errors.As(err, &of) {
		return d.Errorf(of.Section+"."+of.Key, "%s", of.Message)
	}
	return err
}

// inEnvironment is the search for policies.
func (p *searchParts[C]) inEnvironment(env *envs.Environment, options envs.Options) (ec.Problem, error) {
	if p.needs == behaviour {
		return problem.DescribedPolicy(env, options, p.network, p.policy, p.behaviour)
	}
	return problem.Policy(env, options, p.network, p.policy), nil
}

func (p *searchParts[C]) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	var of ec.Problem
	var err error
	if p.settings != nil {
		of, err = p.settings.Problem()
	} else {
		of, err = p.inEnvironment(env, options)
	}
	if err != nil {
		return nil, err
	}
	return ec.NewSearch(ctx, eng, p.algo, of, p.search.Members)
}
