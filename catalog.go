package evorl

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/internal/catalog"
)

// Catalog has the workflows, environments and problems that configurations can name: the built-in ones and a
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

// Section documents one section of a configuration, Name and Keys; the top level is named "".
type Section = catalog.Section

// Sections of configurations. Packages rl, ec and hybrid have the algorithms'.
type (
	SearchConfig     = catalog.SearchConfig     // [search]: the number of searches
	RunConfig        = catalog.RunConfig        // the top level
	EvaluationConfig = catalog.EvaluationConfig // [evaluation]: when members are evaluated, apart from training, and in how many episodes
	CheckpointConfig = catalog.CheckpointConfig // [checkpoint]: when the state is saved, and how many checkpoints are kept
	VaryConfig       = catalog.VaryConfig       // [vary]: hyperparameters with a value of its own for every member
	SourceConfig     = catalog.SourceConfig     // [source]: the digest of a file that env names
)

// What env may name besides environments and problems, and the section of an environment's own options.
const (
	SourceSuffix = catalog.SourceSuffix // files of environments or problems in GLSL
	RobotSuffix  = catalog.RobotSuffix  // MJCF files: robots with a task in section [task]
	TaskSection  = catalog.TaskSection  // envs.Spec.Options
)

// Outside documents the environments outside of evorl that env may name, such as "gymnasium:CartPole-v1", by their prefixes, and their section, [bridge].
func Outside() (kinds []bridge.Kind, section Section, err error) { return catalog.OutsideKinds() }

// Remote documents the environments of servers of dm_env_rpc that env may name, and their section, [dm_env_rpc].
func Remote() (kind bridge.Kind, section Section, err error) { return catalog.RemoteKinds() }

// NewCatalog returns the catalog of the built-in names and of a program's own parts. The error names all parts
// that are wrong.
func NewCatalog(parts ...Part) (*Catalog, error) { return catalog.NewCatalog(parts...) }

// OwnEnvironment is an environment of a program's own: what envs.New or envs.FromGLSL returns, with its error, as in
// OwnEnvironment(envs.New(spec, glsl)). Configurations name it by env.
func OwnEnvironment(e *envs.Environment, err error) Part { return catalog.OwnEnvironment(e, err) }

// OwnStrategy is an algorithm of a program's own, a struct whose exported fields are the keys of its section, with tags
// as package config describes them; defaults returns their defaults. Its name, Algorithm.Name, names the workflow
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

// Option is an option of New, Read and Parse.
type Option func(*options)

type options struct {
	catalog.Reader
	overrides []config.Override
	checking  func(done, all int) // see Checking
}

// Set sets a key of the configuration, as --set does on the command line: evorl.Set("ppo.members=64"). It overrides
// the file.
func Set(text string) Option { return override(config.Set(text)) }

// Flag is Set on behalf of a command-line flag, which errors then name: evorl.Flag("--seed", "seed=7").
func Flag(flag, text string) Option { return override(config.Override{Flag: flag, Text: text}) }

func override(of config.Override) Option {
	return func(o *options) { o.overrides = append(o.overrides, of) }
}

// With replaces the defaults of sections by Go values, each of the type of its section: evorl.With(rl.PPOConfig{...})
// is [ppo]. Keys of a file or of Set override them. It is an error if the workflow and environment have no section of
// a value's type.
func With(sections ...any) Option {
	return func(o *options) { o.Values = append(o.Values, sections...) }
}

// Checking calls f before ReadSweep checks each trial: done of all are checked.
func Checking(f func(done, all int)) Option { return func(o *options) { o.checking = f } }

// Use looks up workflows, environments and problems in a catalog, which may have more than the built-in ones. nil, the
// default, has the built-in ones.
func Use(c *Catalog) Option { return func(o *options) { o.Catalog = c } }

// Context makes a context end what reading starts: MuJoCo's compiler, which an MJCF file needs, or the server of an environment outside. The error is the
// context's cause then.
func Context(ctx context.Context) Option {
	return func(o *options) {
		if ctx != nil {
			o.Context = ctx
		}
	}
}

// sameSource makes another configuration have this one's catalog and the file or the model that env names.
func (c *Config) sameSource() Option { return func(o *options) { o.Same(c.setup) } }

// kept is the option of a configuration that a run keeps in its folder or in a checkpoint. Reading it starts nothing, since the files may have come from
// another machine.
func kept() Option { return func(o *options) { o.Kept = true } }

// programOf is the option of the configuration of a run, for errors about parts that this program does not have.
func programOf(dir *rundir.Dir) Option {
	return func(o *options) {
		o.Program = func() string {
			p, err := dir.ReadProvenance()
			if err != nil || len(p.Sessions) == 0 || len(p.Sessions[0].Command) == 0 {
				return ""
			}
			return p.Sessions[0].Command[0]
		}
	}
}

func newOptions(opts []Option) (options, error) {
	o := options{Reader: catalog.Reader{Context: context.Background()}}
	for i, set := range opts {
		if set == nil {
			return o, fmt.Errorf("evorl: option %d of %d: %w", i+1, len(opts), &engine.NilError{What: "option"})
		}
		set(&o)
	}
	return o, nil
}

// with replaces the sections of the values' types.
func (c *Config) with(values []any) error {
	for _, v := range values {
		of, err := c.sectionOf(v)
		if err != nil {
			return err
		}
		if err := config.Check(v); err != nil {
			return fmt.Errorf("evorl: [%s]: %w", of.Name, err)
		}
		reflect.ValueOf(of.Value).Elem().Set(reflect.Indirect(reflect.ValueOf(v)))
	}
	return nil
}

// sectionOf returns the section of the type of a value, or of what it points to.
func (c *Config) sectionOf(value any) (config.Section, error) {
	want := reflect.Indirect(reflect.ValueOf(value))
	var types []string
	for _, s := range c.Sections() {
		t := reflect.TypeOf(s.Value).Elem()
		if s.Name == "" {
			continue // workflow and env are given separately; Set can set the others
		}
		if want.IsValid() && want.Type() == t {
			return s, nil
		}
		types = append(types, strings.Replace(t.String(), "catalog.", "evorl.", 1)) // their names in this package
	}
	return config.Section{}, fmt.Errorf("evorl: With(%T): %s on %s has no section of this type: want one of %s", value, c.setup.Workflow.Name,
		c.Run.Env, strings.Join(types, ", "))
}
