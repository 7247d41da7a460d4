// Package catalog makes workflows from configurations in TOML: it knows every workflow by name, the sections of its configuration
// with their defaults, and how it is built. The command evorl is one user of it, a Go program that starts from TOML another.
//
//	cfg, err := new(catalog.Catalog).Read("configs/pbt.toml", config.Set("seed=7"))
//	w, err := cfg.Build(ctx, engine.New(dev, engine.Seed(cfg.Run.Seed)))
package catalog

import (
	"bytes"
	"context"
	"errors"
	"reflect"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Catalog finds workflows and environments by name. The zero value has the built-in ones.
type Catalog struct {
	// Environments has environments of the caller's own beside the built-in ones; nil: only those.
	Environments *envs.Registry
}

// TaskSection is the name of the section of an environment's own options, envs.Spec.Options.
const TaskSection = "task"

// Config is a configuration that was read and found right.
type Config struct {
	Run         Run
	Environment envs.Options
	Evaluation  Evaluation
	Checkpoint  Checkpoint

	workflow Workflow
	env      *envs.Environment // nil: a problem is solved
	task     any               // pointer to the environment's options; nil: it has none
	parts    parts
}

func newConfig(w Workflow) *Config {
	return &Config{
		Run: defaultRun(), Environment: envs.Options{ActionRepeat: 1, RewardScale: 1}, Evaluation: defaultEvaluation(), Checkpoint: defaultCheckpoint(),
		workflow: w, parts: w.parts(),
	}
}

// Read reads a TOML file and applies overrides to it. What is wrong with either is a *config.Error; a file that cannot be read is the
// system's error. Nothing is done with a device.
func (c *Catalog) Read(path string, overrides ...config.Override) (*Config, error) {
	d, err := config.Read(path, overrides...)
	if err != nil {
		return nil, err
	}
	return c.decode(d)
}

// Parse is Read for a text that is in memory already; name stands for it in errors.
func (c *Catalog) Parse(name string, text []byte, overrides ...config.Override) (*Config, error) {
	d, err := config.Parse(name, text, overrides...)
	if err != nil {
		return nil, err
	}
	return c.decode(d)
}

func (c *Catalog) decode(d *config.Document) (*Config, error) {
	var names struct {
		Workflow string `required:"true" doc:"Name what learns, for example workflow = \"pbt\"."`
		Env      string `required:"true" doc:"Name where it learns, for example env = \"CartPole-v1\", or what a search solves, for example env = \"bbob\"."`
	}
	if err := d.Peek(&names); err != nil {
		return nil, err
	}
	w, ok := workflow(names.Workflow)
	if !ok {
		return nil, d.UnknownValue("workflow", "workflow", workflowNames())
	}
	cfg := newConfig(w)
	of, isProblem := problemOf(names.Env)
	if isProblem {
		search, ok := cfg.parts.(searcher)
		if !ok {
			return nil, d.Errorf("env", "%q is a problem, and %s learns in environments: want one, or a search such as workflow = \"snes\"", of.Name, w.Name)
		}
		search.on(of)
	} else if err := c.environment(cfg, d, names.Env); err != nil {
		return nil, err
	}
	if err := d.Decode(cfg.Sections(), config.Absent(func(section string) string { return cfg.absent(section, names.Env) })); err != nil {
		return nil, err
	}
	if cfg.task != nil {
		var err error
		if cfg.env, err = cfg.env.With(reflect.ValueOf(cfg.task).Elem().Interface()); err != nil {
			return nil, d.Errorf(TaskSection, "%v", err)
		}
	}
	return cfg, cfg.check(d)
}

// environment looks the environment up.
func (c *Catalog) environment(cfg *Config, d *config.Document, name string) (err error) {
	registry := c.Environments
	if registry == nil {
		registry = new(envs.Registry)
	}
	cfg.env, err = registry.Lookup(name)
	var unknown *envs.UnknownError
	switch {
	case errors.As(err, &unknown):
		what, known := "environment", unknown.Known
		if _, ok := cfg.parts.(searcher); ok {
			what, known = "environment or problem", append(append([]string(nil), known...), problemNames()...)
		}
		return d.UnknownValue("env", what, known)
	case err != nil:
		return d.Errorf("env", "%v", err)
	}
	if cfg.env.Options != nil {
		task := reflect.New(reflect.TypeOf(cfg.env.Options))
		task.Elem().Set(reflect.ValueOf(cfg.env.Options))
		cfg.task = task.Interface()
	}
	return nil
}

func (c *Config) check(d *config.Document) error {
	switch {
	case c.env == nil:
	case c.Environment.TimeLimit == envs.NoTimeLimit || c.Environment.TimeLimit == 0 && c.env.MaxSteps == 0:
		return d.Errorf("environment.time_limit", "without a time limit an evaluation episode might never end: want at least 1")
	case c.Environment.AutoReset != envs.Normal && c.Environment.AutoReset != envs.Fast:
		return d.Errorf("environment.auto_reset", "%q loses transitions that learning needs: want \"normal\" or \"fast\"", c.Environment.AutoReset)
	}
	return c.parts.check(d, c.env, c.Environment)
}

// Sections are all settings where they stand in TOML.
func (c *Config) Sections() config.Sections {
	s := config.Sections{{Name: "", Value: &c.Run}}
	if search, ok := c.parts.(searcher); !ok || !search.solves() {
		s = append(s, config.Section{Name: "environment", Value: &c.Environment})
		if c.task != nil {
			s = append(s, config.Section{Name: TaskSection, Value: c.task})
		}
	}
	s = append(s, c.parts.sections()...)
	return append(s, config.Section{Name: "evaluation", Value: &c.Evaluation}, config.Section{Name: "checkpoint", Value: &c.Checkpoint})
}

// TOML writes all settings, defaults included; Parse reads it back to the same.
func (c *Config) TOML() ([]byte, error) {
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections(), config.WithDocs()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Workflow is what the configuration is of.
func (c *Config) Workflow() Workflow { return c.workflow }

// Env is the environment; nil where a problem is solved.
func (c *Config) Env() *envs.Environment { return c.env }

// Front is about so many points of the true front of the problem that is solved, [points][objectives], maximised; nil where there is none.
func (c *Config) Front(points int) [][]float64 {
	if p, ok := c.parts.(interface{ front(points int) [][]float64 }); ok {
		return p.front(points)
	}
	return nil
}

// Build makes the workflow on an engine, whose seed is to be Run.Seed. Init or a checkpoint must fill its state.
func (c *Config) Build(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	w, err := c.parts.build(ctx, eng, c.env, c.Environment)
	if err != nil {
		return nil, err // without a nil pointer in the interface
	}
	return w, nil
}
