package evorl

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/catalog"
)

// Catalog has the workflows, environments and problems that configurations can name: the built-in ones, and those of a
// program's own that NewCatalog was given. nil is the catalog of the built-in ones.
type Catalog = catalog.Catalog

// Part is an environment, a strategy or a problem of a program's own: OwnEnvironment, OwnStrategy, OwnProblem. It is
// added to the catalog of NewCatalog, and to the command line of cmd.Main.
type Part = catalog.Part

// Workflow describes a learning method: Name, Summary in one line, and Source, its paper.
type Workflow = catalog.Workflow

// Problem describes a problem that a search can solve instead of learning in an environment (env = "bbob" and a
// section [bbob]): Name, Summary in one line, Source, and Sections with its keys.
type Problem = catalog.Problem

// ProblemSettings is the section of a problem, a pointer to a struct that holds the defaults until it is decoded.
// Problem makes the problem; it needs no device.
type ProblemSettings = catalog.ProblemSettings

// Section documents one section of a configuration, Name and Keys; that of the top level is named "".
type Section = catalog.Section

// Sections of configurations. Package rl, ec and hybrid have those of algorithms.
type (
	SearchConfig     = catalog.SearchConfig     // [search]: the number of searches
	RunConfig        = catalog.RunConfig        // the top level
	EvaluationConfig = catalog.EvaluationConfig // [evaluation]: when members are evaluated, apart from training, and in how many episodes
	CheckpointConfig = catalog.CheckpointConfig // [checkpoint]: when the state is saved, and how many checkpoints are kept
	VaryConfig       = catalog.VaryConfig       // [vary]: hyperparameters of which every member has a value of its own
	SourceConfig     = catalog.SourceConfig     // [source]: the digest of a file that env names
)

// What env may name besides environments and problems, and the section of an environment's own options.
const (
	SourceSuffix = catalog.SourceSuffix // files of environments or problems in GLSL
	RobotSuffix  = catalog.RobotSuffix  // MJCF files: robots with a task in section [task]
	TaskSection  = catalog.TaskSection  // envs.Spec.Options
)

// NewCatalog returns the catalog of the built-in names and of those of a program's own parts. The error names all parts
// that are wrong.
func NewCatalog(parts ...Part) (*Catalog, error) { return catalog.NewCatalog(parts...) }

// OwnEnvironment is an environment of a program's own: what envs.New or envs.FromGLSL returns, with its error, as in
// OwnEnvironment(envs.New(spec, glsl)). Configurations name it by env.
func OwnEnvironment(e *envs.Environment, err error) Part { return catalog.OwnEnvironment(e, err) }

// OwnStrategy is an algorithm of a program's own, a struct whose exported fields are the keys of its section, with tags
// as package config describes them; defaults returns their defaults. Its name, Algorithm.Name, is that of the workflow
// and of the section. It searches for policies and solves problems of one objective, and PBT can train it.
func OwnStrategy[C ec.Algorithm](summary string, defaults func() C) Part {
	return catalog.OwnStrategy(summary, defaults)
}

// OwnProblem is a problem of a program's own. defaults returns a pointer to a struct whose exported fields are the keys
// of the section of the problem's name. Configurations name it by env or problem.
func OwnProblem(name, summary string, defaults func() ProblemSettings) Part {
	return catalog.OwnProblem(name, summary, defaults)
}

// Workflows lists the built-in methods, in the order in which they are documented.
func Workflows() []Workflow { return (*Catalog)(nil).Workflows() }

// Problems lists the built-in problems, in the order in which they are documented.
func Problems() []Problem { return catalog.Problems() }

// Lacks tells that evorl does not do what a name stands for, in a sentence with the page that lists such things; "" if
// nothing is known of the name.
func Lacks(name string) string { return catalog.Lacks(name) }
