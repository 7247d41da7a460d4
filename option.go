package evorl

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Option is a setting of New, Read and Parse.
type Option func(*options)

type options struct {
	overrides    []config.Override
	sections     []any
	environments *envs.Registry
}

// Set sets a key of the configuration, as --set does on the command line: evorl.Set("ppo.members=64"). It goes before the file's value.
func Set(text string) Option { return override(config.Set(text)) }

// Flag is Set on behalf of a command-line flag, by which errors name it: evorl.Flag("--seed", "seed=7").
func Flag(flag, text string) Option { return override(config.Override{Flag: flag, Text: text}) }

func override(of config.Override) Option {
	return func(o *options) { o.overrides = append(o.overrides, of) }
}

// With replaces the defaults of sections by Go values, each of them the section of its type: evorl.With(rl.PPOConfig{...}) is [ppo]. Keys of
// a file or of Set go before them. A type that the workflow and environment have no section of is an error.
func With(sections ...any) Option {
	return func(o *options) { o.sections = append(o.sections, sections...) }
}

// Environments looks environments up in a registry, which may have more than the built-in ones. Default, and for nil: those.
func Environments(r *envs.Registry) Option {
	return func(o *options) {
		if r != nil {
			o.environments = r
		}
	}
}

func newOptions(opts []Option) options {
	o := options{environments: new(envs.Registry)}
	for _, set := range opts {
		set(&o)
	}
	return o
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

// sectionOf is the section of the type of a value, or of what it points to.
func (c *Config) sectionOf(value any) (config.Section, error) {
	want := reflect.Indirect(reflect.ValueOf(value))
	var types []string
	for _, s := range c.Sections() {
		t := reflect.TypeOf(s.Value).Elem()
		if s.Name == "" {
			continue // workflow and env are given already; Set has the others
		}
		if want.IsValid() && want.Type() == t {
			return s, nil
		}
		types = append(types, t.String())
	}
	return config.Section{}, fmt.Errorf("evorl: With(%T): %s on %s has no section of this type: want one of %s", value, c.workflow.Name,
		c.Run.Env, strings.Join(types, ", "))
}
