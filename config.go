package evorl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// TaskSection is the name of the section of an environment's own options, envs.Spec.Options.
const TaskSection = "task"

// Config is a validated configuration: what learns, where, and with which settings. It is made by New, Read or Parse.
type Config struct {
	Run         RunConfig        // the top level
	Environment envs.Options     // [environment]; of no effect where a problem is solved
	Evaluation  EvaluationConfig // [evaluation]
	Checkpoint  CheckpointConfig // [checkpoint]

	workflow Workflow
	env      *envs.Environment // nil: a problem is solved
	task     any               // pointer to the environment's options; nil: it has none
	parts    parts

	environments *envs.Registry   // where env was looked up
	document     *config.Document // for the places of errors
}

func newConfig(w Workflow) *Config {
	return &Config{
		Run: defaultRun(), Environment: envs.Options{ActionRepeat: 1, RewardScale: 1}, Evaluation: defaultEvaluation(), Checkpoint: defaultCheckpoint(),
		workflow: w, parts: w.parts(),
	}
}

// New makes a configuration of a workflow on an environment or problem, by their names, with defaults for all that options do not
// set. A wrong setting is a *config.Error, or an error that names its section and key.
func New(workflow, env string, opts ...Option) (*Config, error) {
	const name = "evorl.New"
	o := newOptions(opts)
	names := []config.Override{{Flag: name, Text: "workflow=" + workflow}, {Flag: name, Text: "env=" + env}}
	d, err := config.Overrides(name, append(names, o.overrides...)...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// Read reads a configuration from a TOML file. A mistake in the file or in an option is a *config.Error with file, line and what would be
// right; a file that cannot be read is the error of the system.
func Read(path string, opts ...Option) (*Config, error) {
	o := newOptions(opts)
	d, err := config.Read(path, o.overrides...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// Parse is Read for a text in memory; name stands for the file in errors.
func Parse(name string, text []byte, opts ...Option) (*Config, error) {
	o := newOptions(opts)
	d, err := config.Parse(name, text, o.overrides...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// decode makes a configuration of a document: what learns and where decide which sections there are.
func decode(d *config.Document, o options) (*Config, error) {
	var top struct {
		Workflow string `required:"true" doc:"Name what learns, for example workflow = \"pbt\"."`
		Env      string `required:"true" doc:"Name where it learns, for example env = \"CartPole-v1\", or what a search solves, for example env = \"bbob\"."`
	}
	if err := d.Peek("", &top); err != nil {
		return nil, err
	}
	w, ok := lookupWorkflow(top.Workflow)
	if !ok {
		return nil, d.UnknownValue("workflow", "workflow", names(Workflows()))
	}
	cfg := newConfig(w)
	cfg.Run.Workflow, cfg.Run.Env, cfg.environments, cfg.document = top.Workflow, top.Env, o.environments, d
	of, composes := cfg.parts.(composed)
	if composes {
		if err := of.choose(d, o.sections); err != nil {
			return nil, err
		}
	}
	if err := cfg.place(top.Env, d); err != nil {
		return nil, err
	}
	if err := cfg.with(o.sections); err != nil {
		return nil, err
	}
	if composes {
		of.complete()
	}
	if err := d.Decode(cfg.Sections(), config.Absent(func(section string) string { return cfg.absent(section, top.Env) })); err != nil {
		return nil, err
	}
	if cfg.task != nil {
		var err error
		if cfg.env, err = cfg.env.With(reflect.ValueOf(cfg.task).Elem().Interface()); err != nil {
			return nil, d.Errorf(TaskSection, "%v", err)
		}
	}
	if err := d.Locate(cfg.check()); err != nil {
		return nil, err
	}
	return cfg, nil
}

// place finds the environment or the problem.
func (c *Config) place(name string, d *config.Document) error {
	search, searches := c.searcher()
	learner, key, _ := c.learner()
	if of, ok := lookupProblem(name); ok {
		if !searches {
			return d.Errorf("env", "%q is a problem, and %s learns in environments: want an environment, or a search such as %s = \"snes\"",
				of.Name, learner, key)
		}
		search.on(of)
		return nil
	}
	var err error
	c.env, err = c.environments.Lookup(name)
	var unknown *envs.UnknownError
	switch {
	case errors.As(err, &unknown) && searches:
		return d.UnknownValue("env", "environment or problem", append(append([]string(nil), unknown.Known...), problemNames()...))
	case errors.As(err, &unknown):
		return d.UnknownValue("env", "environment", unknown.Known)
	case err != nil:
		return d.Errorf("env", "%v", err)
	}
	if c.env.Options != nil {
		task := reflect.New(reflect.TypeOf(c.env.Options))
		task.Elem().Set(reflect.ValueOf(c.env.Options))
		c.task = task.Interface()
	}
	return nil
}

// learner is the name of the workflow that learns, the key that chooses it, and the choices.
func (c *Config) learner() (name, key string, choices []Workflow) {
	if p, ok := c.parts.(*pbt); ok {
		return p.over, "[pbt] over", trainables()
	}
	return c.workflow.Name, "workflow", Workflows()
}

// searcher is the search that learns, if one does.
func (c *Config) searcher() (searcher, bool) {
	of := c.parts
	if p, ok := of.(*pbt); ok {
		of = p.trainable
	}
	s, ok := of.(searcher)
	return s, ok
}

// check checks settings against each other. Errors are those of config.Invalid, with the key from the top level.
func (c *Config) check() error {
	switch {
	case c.env == nil:
	case c.Environment.TimeLimit == envs.NoTimeLimit || c.Environment.TimeLimit == 0 && c.env.MaxSteps == 0:
		return config.Invalid("environment.time_limit", "without a time limit an evaluation episode might never end: want at least 1")
	case c.Environment.AutoReset != envs.Normal && c.Environment.AutoReset != envs.Fast:
		return config.Invalid("environment.auto_reset", "%q loses transitions that learning needs: want \"normal\" or \"fast\"", c.Environment.AutoReset)
	}
	return c.parts.check(c.env, c.Environment)
}

// Sections are pointers to all settings, in the order in which TOML has them.
func (c *Config) Sections() config.Sections {
	s := config.Sections{{Name: "", Value: &c.Run}}
	if search, ok := c.searcher(); !ok || !search.solves() {
		s = append(s, config.Section{Name: "environment", Value: &c.Environment})
		if c.task != nil {
			s = append(s, config.Section{Name: TaskSection, Value: c.task})
		}
	}
	s = append(s, c.parts.sections()...)
	return append(s, config.Section{Name: "evaluation", Value: &c.Evaluation}, config.Section{Name: "checkpoint", Value: &c.Checkpoint})
}

// TOML writes all settings, defaults included; Parse reads it back to the same configuration.
func (c *Config) TOML() ([]byte, error) {
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections(), config.WithDocs()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Workflow describes what learns.
func (c *Config) Workflow() Workflow { return c.workflow }

// Env is the environment, nil where a problem is solved.
func (c *Config) Env() *envs.Environment { return c.env }

// Members is the number of members: agents, or searches.
func (c *Config) Members() int {
	count, _ := c.parts.members()
	return *count
}

// MembersKey is the dotted key of the number of members, such as ppo.members.
func (c *Config) MembersKey() string {
	_, key := c.parts.members()
	return key
}

// Independent tells whether members are independent repetitions of one experiment, so that each of them counts as a run: those of agents and
// searches. Members of other workflows work together or compete.
func (c *Config) Independent() bool {
	_, composes := c.parts.(composed)
	return !composes
}

// Selects tells whether members are a population under selection (PBT), which stands for its best member.
func (c *Config) Selects() bool {
	_, ok := c.parts.(*pbt)
	return ok
}

// Front is about the given number of points of the true front of the problem, [points][objectives], maximised; nil where none is known.
func (c *Config) Front(points int) [][]float64 {
	if s, ok := c.searcher(); ok {
		return s.front(points)
	}
	return nil
}

// Build makes the workflow on an engine, whose seed the workflow's random numbers come from. Init or a checkpoint must fill its state
// before the first step. Settings that were changed since the configuration was made are checked again.
func (c *Config) Build(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	if err := engine.Require(map[string]any{"configuration": c, "engine": eng}); err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	for _, s := range c.Sections() {
		if err := config.Check(s.Value); err != nil {
			return nil, fmt.Errorf("evorl: [%s]: %w", s.Name, err)
		}
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	w, err := c.parts.build(ctx, eng, c.env, c.Environment)
	if err != nil {
		return nil, err // without a nil pointer in the interface
	}
	return w, nil
}
