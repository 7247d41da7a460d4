package evorl

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/catalog"
)

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

// Checking calls f before ReadSweep checks each of all trials, done of which are checked.
func Checking(f func(done, all int)) Option { return func(o *options) { o.checking = f } }

// Use looks up workflows, environments and problems in a catalog, which may have more than the built-in ones. nil, the
// default, has the built-in ones.
func Use(c *Catalog) Option { return func(o *options) { o.Catalog = c } }

// Context makes a context end what reading starts: MuJoCo's compiler, which an MJCF file needs. The error is the context's cause then.
func Context(ctx context.Context) Option {
	return func(o *options) {
		if ctx != nil {
			o.Context = ctx
		}
	}
}

// sameSource makes another configuration have this one's catalog and the file or the model that env names.
func (c *Config) sameSource() Option { return func(o *options) { o.Same(c.setup) } }

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
