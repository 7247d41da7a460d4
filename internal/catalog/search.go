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

// search holds the settings of an algorithm of package ec: [search], the algorithm's section, and the candidates'. Candidates are
// policies ([network], [policy] and, for descriptors, [behaviour]) or solutions of a problem (its section).
type search struct {
	single
	needs     needs
	network   problem.NetworkConfig
	policy    problem.PolicyConfig
	behaviour problem.BehaviourConfig
	cfg       SearchConfig
	algo      any                 // pointer to the algorithm's configuration
	algorithm func() ec.Algorithm // with the present settings

	problem  string          // "": policies
	settings ProblemSettings // of the problem
}

// needs is the information about candidates that an algorithm uses.
type needs int

const (
	fitness    needs = iota
	objectives       // several
	behaviour        // fitness and descriptors
)

// on makes the search solve a problem.
func (s *search) on(of Problem) { s.problem, s.settings = of.Name, of.settings() }

// solves reports whether candidates are solutions of a problem instead of policies. With several objectives they
// always are, since an environment has one return.
func (s *search) solves() bool { return s.settings != nil || s.needs == objectives }

// several reports whether the search is for several objectives.
func (s *search) several() bool { return s.needs == objectives }

// SearchConfig are the settings of a search by any algorithm.
type SearchConfig struct {
	Members int `min:"1" max:"65536" doc:"Number of independent searches, each with its own random numbers."`
	Slice   int `min:"0" max:"1048576" doc:"Candidates that are evaluated at once, so that several devices can share the run; 0: as many as suit one device."`
}

// newSearch makes the settings of a single-objective algorithm from its defaults.
func newSearch[C ec.Algorithm](algo func() C) func(*Catalog) Settings {
	return newSearchOf(fitness, algo)
}

func newSearchOf[C ec.Algorithm](needs needs, algo func() C) func(*Catalog) Settings {
	return func(*Catalog) Settings {
		cfg := algo()
		return &search{
			needs: needs, network: problem.DefaultNetwork(), policy: problem.DefaultPolicy(), cfg: SearchConfig{Members: 1},
			algo: &cfg, algorithm: func() ec.Algorithm { return cfg },
		}
	}
}

func (s *search) Sections() config.Sections {
	var of config.Sections
	switch {
	case s.settings != nil:
		of = sectionsOf(s.problem, s.settings)
	case s.needs == fitness:
		of = config.Sections{{Name: "network", Value: &s.network}, {Name: "policy", Value: &s.policy}}
	case s.needs == behaviour:
		of = config.Sections{{Name: "network", Value: &s.network}, {Name: "policy", Value: &s.policy}, {Name: "behaviour", Value: &s.behaviour}}
	}
	return append(of, config.Section{Name: "search", Value: &s.cfg}, s.learner())
}

func (s *search) learner() config.Section { return config.Section{Name: s.name(), Value: s.algo} }

// name returns the name of the algorithm.
func (s *search) name() string { return s.algorithm().Name() }

// descriptors returns the settings of the descriptors; nil: the algorithm uses none.
func (s *search) descriptors() *problem.BehaviourConfig {
	if s.needs != behaviour {
		return nil
	}
	return &s.behaviour
}

func (s *search) Members() (count *int, key string) { return &s.cfg.Members, "search.members" }

// measure returns the name of what the problem's evaluations measure; "": its fitness.
func (s *search) measure() string {
	if s.settings == nil {
		return ""
	}
	of, err := s.settings.Problem()
	if measured, ok := of.(interface{ Measure() string }); ok && err == nil {
		return measured.Measure()
	}
	return ""
}

// front returns the true front of the problem; nil if unknown.
func (s *search) front(points int) [][]float64 {
	if s.settings == nil {
		return nil
	}
	of, err := s.settings.Problem()
	if f, ok := of.(interface {
		Front(points int) ([][]float64, error)
	}); ok && err == nil {
		front, _ := f.Front(points) // unknown
		return front
	}
	return nil
}

func (s *search) draws() bool { return s.settings == nil && s.policy.Sample }

func (s *search) Check(env *envs.Environment, options envs.Options) error {
	if s.settings == nil {
		return s.checkPolicy(env, options)
	}
	of, err := s.settings.Problem()
	if _, own := s.settings.(sectioned); err != nil && own {
		return err // at a key of one of its sections
	}
	if err != nil {
		return config.Invalid(s.problem, "%v", err)
	}
	switch k, name := of.Objectives(), s.name(); {
	case k == 1 && s.needs == objectives:
		return config.Invalid("env", "%q has one objective, and %s is for several: want a problem that has them, such as env = \"zdt\"", s.problem, name)
	case k > 1 && s.needs != objectives:
		return config.Invalid("env", "%q has %d objectives, and %s maximises one: want an algorithm for several, "+
			"such as workflow = \"nsga-ii\"", s.problem, k, name)
	case s.needs == behaviour && len(of.Space(1).DescriptorLow) == 0:
		return config.Invalid("env", "%q does not describe the behaviour of candidates, which %s needs: want a problem that does, such as env = \"arm\", "+
			"or an environment", s.problem, name)
	}
	return s.checkSpace(of)
}

// checkSpace checks the algorithm's settings against the problem's candidates.
func (s *search) checkSpace(of ec.Problem) error {
	if _, err := ec.Slice(of, s.cfg.Slice); err != nil {
		return config.Invalid("search.slice", "%v", err)
	}
	if err := ec.CheckLowRank(s.algorithm(), of); err != nil {
		return config.Invalid(s.name()+".rank", "%v", err)
	}
	if algo, ok := s.algorithm().(interface{ Check(ec.Space) error }); ok {
		space := of.Space(s.cfg.Members)
		space.Objectives = of.Objectives()
		if err := algo.Check(space); err != nil {
			return config.Invalid(s.name(), "%v", err)
		}
	}
	return nil
}

func (s *search) checkPolicy(env *envs.Environment, options envs.Options) error {
	if s.needs == objectives {
		return config.Invalid("env", "%q has one objective, its return, and %s is for several: want a problem that has them, "+
			"such as env = \"zdt\"", env.Name, s.name())
	}
	if err := checkPreset(s.network.Config, problem.DefaultNetwork().Config); err != nil {
		return err
	}
	err := problem.Parts{Env: env, Options: options, Network: s.network, Policy: s.policy}.Check()
	if err == nil && s.cfg.Slice > 0 && s.policy.Group > 0 {
		return config.Invalid("search.slice", "groups of %d candidates (policy.group) are evaluated with all others: want 0 in one of both", s.policy.Group)
	}
	if err == nil {
		var of ec.Problem
		if of, err = s.inEnvironment(env, options); err == nil {
			err = s.checkSpace(of)
		}
	}
	return keyed(err)
}

// keyed adds the key from the top level to the error of a policy's setting.
func keyed(err error) error {
	var of *problem.SettingError
	if errors.As(err, &of) {
		return config.Invalid(of.Section+"."+of.Key, "%s", of.Message)
	}
	return err
}

// solved returns the problem that is solved: the configured one, or finding a policy.
func (s *search) solved(env *envs.Environment, options envs.Options) (ec.Problem, error) {
	if s.settings != nil {
		return s.settings.Problem()
	}
	return s.inEnvironment(env, options)
}

// inEnvironment returns the problem of finding a policy.
func (s *search) inEnvironment(env *envs.Environment, options envs.Options) (ec.Problem, error) {
	if s.needs == behaviour {
		return problem.DescribedPolicy(env, options, s.network, s.policy, s.behaviour)
	}
	return problem.Policy(env, options, s.network, s.policy), nil
}

// archive returns what bounds the descriptors, and the cells of a grid; see Setup.Archive.
func (s *search) archive(env *envs.Environment, options envs.Options) (low, high []float64, cells []int) {
	of, err := s.solved(env, options)
	if err != nil {
		return nil, nil, nil // what was checked has none
	}
	space := of.Space(1)
	low, high = float64s(space.DescriptorLow), float64s(space.DescriptorHigh)
	if grid, ok := s.algorithm().(ec.MAPElitesConfig); ok {
		for i := range low {
			cells = append(cells, grid.Cells[min(i, len(grid.Cells)-1)])
		}
	}
	return low, high, cells
}

func (s *search) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	of, err := s.solved(env, options)
	if err != nil {
		return nil, err
	}
	if of, err = ec.Slice(of, s.cfg.Slice); err != nil {
		return nil, err
	}
	return ec.NewSearch(ctx, eng, s.algorithm(), of, s.cfg.Members)
}

func float64s(of []float32) []float64 {
	x := make([]float64, len(of))
	for i, v := range of {
		x[i] = float64(v)
	}
	return x
}
