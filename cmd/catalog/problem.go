package catalog

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
)

// Problem describes what searches can solve instead of learning in an environment: env = "bbob" and a section [bbob].
type Problem struct {
	Name     string
	Summary  string // what it is, in a line
	Source   string // the paper
	settings func() problemSettings
}

// problemSettings are the section of a problem, a pointer to a struct that holds defaults until it is decoded.
type problemSettings interface {
	Problem() (ec.Problem, error)
}

// Problems lists what there is, in the order in which it is documented.
func Problems() []Problem {
	return []Problem{
		{
			Name: "bbob", Summary: "black-box optimization benchmark: 24 functions without noise and 30 with it; each member has an instance of its own",
			Source:   "N. Hansen, S. Finck, R. Ros, A. Auger, \"Real-Parameter Black-Box Optimization Benchmarking 2009\", 2009",
			settings: func() problemSettings { return &bbob{problem.DefaultBBOB()} },
		},
		{
			Name: "sphere", Summary: "sum of squares, best at 0",
			Source:   "the simplest problem",
			settings: classic(problem.Sphere),
		},
		{
			Name: "rosenbrock", Summary: "bent valley, best at 1",
			Source:   "H. H. Rosenbrock, \"An Automatic Method for Finding the Greatest or Least Value of a Function\", 1960",
			settings: classic(problem.Rosenbrock),
		},
		{
			Name: "rastrigin", Summary: "many local optima on a sphere, best at 0",
			Source:   "L. A. Rastrigin, \"Systems of Extremal Control\", 1974",
			settings: classic(problem.Rastrigin),
		},
		{
			Name: "ackley", Summary: "many local optima around a funnel, best at 0",
			Source:   "D. H. Ackley, \"A Connectionist Machine for Genetic Hillclimbing\", 1987",
			settings: classic(problem.Ackley),
		},
	}
}

// bbob is [bbob].
type bbob struct{ problem.BBOBConfig }

func (b *bbob) Problem() (ec.Problem, error) { return problem.BBOB(b.BBOBConfig) }

// classicSettings are the section of a function that is known by its number of dimensions.
type classicSettings struct {
	Dimension int `min:"1" max:"1000" doc:"Numbers a candidate has."`
	function  func(dim int) *problem.Function
}

func classic(function func(dim int) *problem.Function) func() problemSettings {
	return func() problemSettings { return &classicSettings{10, function} }
}

func (c *classicSettings) Problem() (ec.Problem, error) { return c.function(c.Dimension), nil }

// Sections documents all keys of a problem with their defaults.
func (p Problem) Sections() ([]Section, error) {
	keys, err := config.Schema(p.settings())
	return []Section{{p.Name, keys}}, err
}

func problemOf(name string) (Problem, bool) {
	for _, p := range Problems() {
		if p.Name == name {
			return p, true
		}
	}
	return Problem{}, false
}

func problemNames() []string {
	var names []string
	for _, p := range Problems() {
		names = append(names, p.Name)
	}
	return names
}
