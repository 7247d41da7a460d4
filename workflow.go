package evorl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Workflow describes a learning method. A new one is an entry in the list of its family.
type Workflow struct {
	Name    string
	Summary string // description in one line
	Source  string // the paper
	parts   func() parts
	catalog *Catalog // that it was found in; nil: the built-in names
}

// settings makes the settings of the workflow, with their defaults.
func (w Workflow) settings() parts {
	of := w.parts()
	if p, ok := of.(*pbt); ok {
		p.catalog = w.catalog
	}
	return of
}

// parts are the settings that one workflow has besides those of every run.
type parts interface {
	// sections returns pointers to the settings, which hold the defaults until they are decoded.
	sections() config.Sections
	// members returns the setting of the number of members, and its key from the top level.
	members() (count *int, key string)
	// check checks constraints between settings. It needs no device. Errors are those of config.Invalid, with the key
	// from the top level.
	check(env *envs.Environment, options envs.Options) error
	// build makes the workflow.
	build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error)
}

// dependent is implemented by settings of workflows whose members may be no repetitions of each other.
type dependent interface{ dependent() bool }

// Workflows lists the built-in methods, in the order in which they are documented.
func Workflows() []Workflow { return (*Catalog)(nil).Workflows() }

func names(of []Workflow) []string {
	var names []string
	for _, w := range of {
		names = append(names, w.Name)
	}
	return names
}

// Section documents one section of a configuration; that of the top level is named "".
type Section struct {
	Name string       `json:"name"`
	Keys []config.Key `json:"keys"`
}

// Sections documents all keys of a workflow's configuration with their defaults, in TOML's order.
func (w Workflow) Sections() ([]Section, error) {
	cfg := newConfig(w)
	var out []Section
	for _, s := range cfg.Sections() {
		keys, err := config.Schema(s.Value)
		if err != nil {
			return nil, err
		}
		if of, ok := cfg.parts.(composed); ok && s.Name == of.section() {
			if keys, err = of.document(keys); err != nil {
				return nil, err
			}
		}
		out = append(out, Section{s.Name, keys})
	}
	return out, nil
}
