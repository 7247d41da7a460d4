package catalog

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
)

// Problem describes a problem that a search can solve instead of learning in an environment: env = "bbob" and a
// section [bbob].
type Problem struct {
	Name     string
	Summary  string // description in one line
	Source   string // the paper
	settings func() ProblemSettings
}

// ProblemSettings is the section of a problem, a pointer to a struct that holds the defaults until it is decoded.
// Problem makes the problem; it needs no device.
type ProblemSettings interface {
	Problem() (ec.Problem, error)
}

// sectioned is a ProblemSettings that has several sections, such as [task] and [network], in place of the one with the problem's name.
type sectioned interface {
	sections() config.Sections
}

// located is a ProblemSettings that names files. locate makes their paths absolute.
type located interface {
	locate(path func(name string) string)
}

// sectionsOf returns the sections of a problem's settings.
func sectionsOf(problem string, settings ProblemSettings) config.Sections {
	if of, ok := settings.(sectioned); ok {
		return of.sections()
	}
	return config.Sections{{Name: problem, Value: settings}}
}

// Problems lists the built-in problems, in the order in which they are documented.
func Problems() []Problem {
	return []Problem{
		{
			Name: "bbob", Summary: "black-box optimization benchmark: 24 functions without noise and 30 with it; each member has an instance of its own",
			Source:   "N. Hansen, S. Finck, R. Ros, A. Auger, \"Real-Parameter Black-Box Optimization Benchmarking 2009\", 2009",
			settings: func() ProblemSettings { return &bbob{problem.DefaultBBOB()} },
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
		{
			Name: "arm", Summary: "planar arm with an even bend, described by where it ends: for quality diversity",
			Source:   "V. Vassiliades, J.-B. Mouret, \"Discovering the Elite Hypervolume by Leveraging Interspecies Correlation\", 2018",
			settings: func() ProblemSettings { return &arm{8} },
		},
		{
			Name: "zdt", Summary: "six functions of two objectives; evaluated by the negative of the IGD+ from the true front",
			Source:   "E. Zitzler, K. Deb, L. Thiele, \"Comparison of Multiobjective Evolutionary Algorithms: Empirical Results\", 2000",
			settings: func() ProblemSettings { return &zdt{} },
		},
		{
			Name: "dtlz", Summary: "seven functions of any number of objectives; evaluated by the negative of the IGD+ from the true front",
			Source:   "K. Deb, L. Thiele, M. Laumanns, E. Zitzler, \"Scalable Test Problems for Evolutionary Multi-Objective Optimization\", 2001",
			settings: func() ProblemSettings { return &dtlz{Objectives: 3} },
		},
		{
			Name: "lineups", Summary: "lineups of teams that show where a synthetic strategy game is out of balance: three objectives; evaluated by the hypervolume",
			Source: "H. Bai et al., \"Lamarckian Platform: Pushing the Boundaries of Evolutionary Reinforcement Learning Towards Asynchronous " +
				"Commercial Games\", 2022, section V.B",
			settings: func() ProblemSettings { return &lineups{problem.DefaultLineups()} },
		},
		{
			Name: "mnist", Summary: "a network that tells handwritten digits apart, on batches of images; evaluated by its accuracy on the test images",
			Source: "Y. Tang, Y. Tian, D. Ha, \"EvoJAX: Hardware-Accelerated Neuroevolution\", 2022; " +
				"Y. LeCun, C. Cortes, C. J. C. Burges, \"The MNIST database of handwritten digits\"",
			settings: newMNIST,
		},
		{
			Name: "painting", Summary: "a picture like a target, of transparent triangles; evaluated by one minus the mean squared error",
			Source: "Y. Tian, D. Ha, \"Modern Evolution Strategies for Creativity: Fitting Concrete Images and Abstract Concepts\", 2021; " +
				"Y. Tang, Y. Tian, D. Ha, \"EvoJAX: Hardware-Accelerated Neuroevolution\", 2022",
			settings: newPainting,
		},
		{
			Name: "addition", Summary: "an encoder and decoder with memory that adds decimal numbers digit by digit; evaluated by the share of right sums",
			Source: "Y. Tang, Y. Tian, D. Ha, \"EvoJAX: Hardware-Accelerated Neuroevolution\", 2022; " +
				"I. Sutskever, O. Vinyals, Q. V. Le, \"Sequence to Sequence Learning with Neural Networks\", 2014",
			settings: newAddition,
		},
	}
}

// arm is [arm].
type arm struct {
	Joints int `min:"1" max:"1000" doc:"Joints of the arm, the dimensions of a candidate."`
}

func (a *arm) Problem() (ec.Problem, error) { return problem.Arm(a.Joints), nil }

// zdt is [zdt].
type zdt struct {
	Function  int `required:"true" min:"1" max:"6" doc:"Number of the function."`
	Dimension int `min:"0" max:"1000" doc:"Dimensions of a candidate; 0: the paper's number."`
}

func (z *zdt) Problem() (ec.Problem, error) { return found(problem.ZDT(z.Function, z.Dimension)) }

// dtlz is [dtlz].
type dtlz struct {
	Function   int `required:"true" min:"1" max:"7" doc:"Number of the function."`
	Objectives int `min:"2" max:"16" doc:"Objectives, K."`
	Dimension  int `min:"0" max:"1000" doc:"Dimensions of a candidate; 0: the paper's number."`
}

func (z *dtlz) Problem() (ec.Problem, error) {
	return found(problem.DTLZ(z.Function, z.Objectives, z.Dimension))
}

// lineups is [lineups].
type lineups struct{ problem.LineupsConfig }

func (l *lineups) Problem() (ec.Problem, error) { return problem.Lineups(l.LineupsConfig) }

// found rejects a function whose front is unknown, which evaluations need.
func found(f *problem.Function, err error) (ec.Problem, error) {
	if err == nil {
		_, err = f.Front(2)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// bbob is [bbob].
type bbob struct{ problem.BBOBConfig }

func (b *bbob) Problem() (ec.Problem, error) { return problem.BBOB(b.BBOBConfig) }

// classicSettings is the section of a function that has only a dimension.
type classicSettings struct {
	Dimension int `min:"1" max:"1000" doc:"Dimensions of a candidate."`
	function  func(dim int) *problem.Function
}

func classic(function func(dim int) *problem.Function) func() ProblemSettings {
	return func() ProblemSettings { return &classicSettings{10, function} }
}

func (c *classicSettings) Problem() (ec.Problem, error) { return c.function(c.Dimension), nil }

// Sections documents all keys of a problem with their defaults.
func (p Problem) Sections() (all []Section, err error) {
	for _, of := range sectionsOf(p.Name, p.settings()) {
		keys, err := config.Schema(of.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, Section{of.Name, keys})
	}
	return all, nil
}
