// Package catalog has the workflows, environments and problems that configurations name, with the sections of their settings, and makes of a document
// what it selects.
package catalog

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Workflow describes a learning method. A new one is an entry in the list of its family.
type Workflow struct {
	Name     string
	Summary  string // description in one line
	Source   string // the paper
	settings func(*Catalog) Settings
	catalog  *Catalog // that it was found in; nil: the built-in names
}

// Settings makes the settings of the workflow, with their defaults.
func (w Workflow) Settings() Settings { return w.settings(w.catalog) }

// Settings are the settings that one workflow has besides every run's.
type Settings interface {
	// Sections returns pointers to the settings, which hold the defaults until they are decoded.
	Sections() config.Sections
	// Members returns the setting of the number of members, and its key from the top level.
	Members() (count *int, key string)
	// Independent reports whether members are repetitions of one experiment.
	Independent() bool
	// Composed reports whether the workflow is composed of others, on which its sections depend.
	Composed() bool
	// Check checks the settings in an environment, nil for problems. It needs no device. Errors are config.Invalid's, with the key
	// from the top level.
	Check(env *envs.Environment, options envs.Options) error
	// Build makes the workflow.
	Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error)

	// draws reports whether all policies act by drawing from a distribution when they learn, so that evaluations may, too.
	draws() bool
	// learner returns the section whose keys with the tag member PBT can vary.
	learner() config.Section
	// choose selects the workflows named in the document or, if it names none, in a section's value.
	choose(d *config.Document, values []any) error
	// complete sets what depends on the choice, after the sections' values.
	complete()
	// document completes the keys of a section.
	document(section string, keys []config.Key) ([]config.Key, error)
}

// single are the settings of a workflow that is composed of no others and whose members are repetitions.
type single struct{}

func (single) Independent() bool                    { return true }
func (single) Composed() bool                       { return false }
func (single) choose(*config.Document, []any) error { return nil }
func (single) complete()                            {}
func (single) draws() bool                          { return false }
func (single) document(_ string, keys []config.Key) ([]config.Key, error) {
	return keys, nil
}

// innermost returns the settings of the workflow that learns: for PBT of the one that it trains.
func innermost(of Settings) Settings {
	if p, ok := of.(*pbt); ok {
		return p.Settings
	}
	return of
}

// Names lists the names of workflows.
func Names(of []Workflow) []string {
	var names []string
	for _, w := range of {
		names = append(names, w.Name)
	}
	return names
}

// Section documents one section of a configuration; the top level is named "".
type Section struct {
	Name string       `json:"name"`
	Keys []config.Key `json:"keys"`
}

// Sections documents all keys of a workflow's configuration with their defaults, in TOML's order.
func (w Workflow) Sections() ([]Section, error) {
	s := New(w)
	run, environment, evaluation, checkpoint := DefaultRun(), DefaultEnvironment(), DefaultEvaluation(), DefaultCheckpoint()
	var out []Section
	for _, of := range s.Sections(Config{Run: &run, Environment: &environment, Evaluation: &evaluation, Checkpoint: &checkpoint}) {
		keys, err := config.Schema(of.Value)
		if err == nil {
			keys, err = s.Settings.document(of.Name, keys)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Section{of.Name, keys})
	}
	return out, nil
}
