package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Catalog has the workflows, environments and problems that configurations can name: the built-in ones and a
// program's own that NewCatalog was given. nil is the catalog of the built-in ones.
type Catalog struct {
	environments envs.Registry
	workflows    []Workflow
	problems     []Problem
}

// Part is an environment, a strategy or a problem of a program's own: OwnEnvironment, OwnStrategy, OwnProblem. It is
// added to the catalog of NewCatalog, and to the command line of cmd.Main.
type Part func(*Catalog) error

// NewCatalog returns the catalog of the built-in names and of a program's own parts. The error names all parts
// that are wrong.
func NewCatalog(parts ...Part) (*Catalog, error) {
	c := &Catalog{}
	var errs []error
	for _, add := range parts {
		if add == nil {
			errs = append(errs, errors.New("evorl: a part is nil: want one of OwnEnvironment, OwnStrategy or OwnProblem"))
		} else if err := add(c); err != nil {
			errs = append(errs, err)
		}
	}
	return c, errors.Join(errs...)
}

// OwnEnvironment is an environment of a program's own: what envs.New or envs.FromGLSL returns, with its error, as in
// OwnEnvironment(envs.New(spec, glsl)). Configurations name it by env.
func OwnEnvironment(e *envs.Environment, err error) Part {
	return func(c *Catalog) error {
		if err != nil {
			return err
		}
		if e == nil {
			return errors.New("evorl: an environment is nil: want what envs.New or envs.FromGLSL returns")
		}
		if err := c.checkName("environment", e.Name, c.places()); err != nil {
			return err
		}
		return c.environments.Add(e)
	}
}

// OwnStrategy is an algorithm of a program's own, a struct whose exported fields are the keys of its section, with tags
// as package config describes them; defaults returns their defaults. Its name, Algorithm.Name, names the workflow
// and of the section. It searches for policies and solves problems of one objective, and PBT can train it.
func OwnStrategy[C ec.Algorithm](summary string, defaults func() C) Part {
	return func(c *Catalog) error {
		if defaults == nil {
			return errors.New("evorl: a strategy has no defaults: want a function that returns them")
		}
		algorithm := defaults()
		if t := reflect.TypeOf(algorithm); t == nil || t.Kind() != reflect.Struct {
			return fmt.Errorf("evorl: a strategy's configuration is a %T: want a struct", algorithm)
		}
		name := algorithm.Name()
		if err := c.checkName("strategy", name, append(Names(c.Workflows()), c.sectionNames()...)); err != nil {
			return err
		}
		if err := config.Check(&algorithm); err != nil {
			return fmt.Errorf("evorl: the defaults of strategy %q: %w", name, err)
		}
		c.workflows = append(c.workflows, Workflow{Name: name, Summary: summary, Source: ownSource, settings: newSearch(defaults)})
		return nil
	}
}

// OwnProblem is a problem of a program's own. defaults returns a pointer to a struct whose exported fields are the keys
// of the section of the problem's name. Configurations name it by env or problem.
func OwnProblem(name, summary string, defaults func() ProblemSettings) Part {
	return func(c *Catalog) error {
		if defaults == nil {
			return fmt.Errorf("evorl: problem %q has no settings: want a function that returns their defaults", name)
		}
		settings := defaults()
		if t := reflect.TypeOf(settings); t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return fmt.Errorf("evorl: the settings of problem %q are a %T: want a pointer to a struct", name, settings)
		}
		if err := c.checkName("problem", name, append(c.places(), c.sectionNames()...)); err != nil {
			return err
		}
		if _, err := config.Schema(settings); err != nil {
			return fmt.Errorf("evorl: the settings of problem %q: %w", name, err)
		}
		c.problems = append(c.problems, Problem{Name: name, Summary: summary, Source: ownSource, settings: defaults})
		return nil
	}
}

// ownSource is the source of a program's own parts.
const ownSource = "this program's own"

// Workflows lists all workflows, in the order in which they are documented, the program's own last.
func (c *Catalog) Workflows() []Workflow {
	all := slices.Concat(agents, populations, guides, hybrids, games, searches)
	if c == nil {
		return all
	}
	all = append(all, c.workflows...)
	for i := range all {
		all[i].catalog = c
	}
	return all
}

// Problems lists all problems, in the order in which they are documented, the program's own last.
func (c *Catalog) Problems() []Problem {
	if c == nil {
		return Problems()
	}
	return append(Problems(), c.problems...)
}

// Environments finds environments by name.
func (c *Catalog) Environments() *envs.Registry {
	if c == nil {
		return new(envs.Registry)
	}
	return &c.environments
}

// searches are the workflows that are one search: the built-in ones and the program's own.
func (c *Catalog) searches() []Workflow {
	if c == nil {
		return searches
	}
	return append(slices.Clone(searches), c.workflows...)
}

// Workflow finds a workflow by name.
func (c *Catalog) Workflow(name string) (Workflow, bool) {
	for _, w := range c.Workflows() {
		if w.Name == name {
			return w, true
		}
	}
	return Workflow{}, false
}

// Problem finds a problem by name.
func (c *Catalog) Problem(name string) (Problem, bool) {
	for _, p := range c.Problems() {
		if p.Name == name {
			return p, true
		}
	}
	return Problem{}, false
}

func (c *Catalog) problemNames() []string {
	var names []string
	for _, p := range c.Problems() {
		names = append(names, p.Name)
	}
	return names
}

// places returns all values of env.
func (c *Catalog) places() []string { return append(c.Environments().Names(), c.problemNames()...) }

// sectionNames returns the names of all sections of configurations.
func (c *Catalog) sectionNames() []string {
	of := []string{"environment", "evaluation", "checkpoint", sourceSection, TaskSection, BridgeSection, RemoteSection, functionSection, VarySection}
	for _, w := range c.Workflows() {
		for _, s := range w.Settings().Sections() {
			of = append(of, s.Name)
		}
	}
	return append(of, c.problemNames()...)
}

// namePattern is the pattern of the names of parts, which also name sections and folders.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// checkName checks the name of a part.
func (c *Catalog) checkName(what, name string, taken []string) error {
	switch {
	case !namePattern.MatchString(name):
		return fmt.Errorf("evorl: %s %q: want a name of letters, digits, - and _", what, name)
	case slices.Contains(taken, name):
		return fmt.Errorf("evorl: %s %q: the name is taken; want another one", what, name)
	}
	return nil
}
