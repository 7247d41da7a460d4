package evorl

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Option is an option of New, Read and Parse.
type Option func(*options)

type options struct {
	ctx       context.Context // ends what reading a configuration starts
	overrides []config.Override
	sections  []any
	catalog   *Catalog
	made      func() (program string) // the program that made the run whose configuration it is, "" if unknown; nil: no run's
	folder    string                  // folder to which the paths of files are relative
	source    *source                 // of the file that env names; nil: it is read from there
	robot     *robot                  // the same of a model
	checking  func(done, all int)     // see Checking
	given     string                  // the path by which env named the file of source or robot, before its name alone did
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
	return func(o *options) { o.sections = append(o.sections, sections...) }
}

// Checking calls f before ReadSweep checks each of all trials, done of which are checked.
func Checking(f func(done, all int)) Option { return func(o *options) { o.checking = f } }

// Use looks up workflows, environments and problems in a catalog, which may have more than the built-in ones. nil, the
// default, has the built-in ones.
func Use(c *Catalog) Option { return func(o *options) { o.catalog = c } }

// Context makes a context end what reading starts: MuJoCo's compiler, which an MJCF file needs. The error is the context's cause then.
func Context(ctx context.Context) Option {
	return func(o *options) {
		if ctx != nil {
			o.ctx = ctx
		}
	}
}

func newOptions(opts []Option) (options, error) {
	o := options{ctx: context.Background()}
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
		types = append(types, t.String())
	}
	return config.Section{}, fmt.Errorf("evorl: With(%T): %s on %s has no section of this type: want one of %s", value, c.workflow.Name,
		c.Run.Env, strings.Join(types, ", "))
}
