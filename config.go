package evorl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/mjcf"
	"github.com/evorl/evorl/rl"
)

// TaskSection is the name of the section of an environment's own options, envs.Spec.Options.
const TaskSection = "task"

// Config is a validated configuration: the workflow, its environment or problem, and all settings. It is made by New,
// Read or Parse.
type Config struct {
	Run         RunConfig        // the top level
	Environment envs.Options     // [environment]; ignored for problems
	Evaluation  EvaluationConfig // [evaluation]
	Checkpoint  CheckpointConfig // [checkpoint]

	workflow Workflow
	env      *envs.Environment // nil for problems
	task     any               // pointer to the environment's options; nil: none
	parts    parts
	vary     *VaryConfig // nil: all members begin with the same hyperparameters

	source     *source       // nil: env is a name
	registered *SourceConfig // of a program's own environment; nil: env is another one
	robot      *mjcf.Task    // [task] while it is decoded, if env is an MJCF file
	template   struct {      // see original
		env   string // as it was given
		robot *robot // nil: env is no model
	}
	catalog  *Catalog         // where workflow and env were looked up
	document *config.Document // for the locations of errors
}

func newConfig(w Workflow) *Config {
	return &Config{
		Run: defaultRun(), Environment: envs.Options{ActionRepeat: 1, RewardScale: 1}, Evaluation: defaultEvaluation(), Checkpoint: defaultCheckpoint(),
		workflow: w, parts: w.settings(),
	}
}

// New makes a configuration of a workflow on an environment or problem, by their names or a file's (see SourceSuffix),
// with defaults for all other settings. An invalid setting gives a *config.Error, or an error that names its section and
// key.
func New(workflow, env string, opts ...Option) (*Config, error) {
	const name = "evorl.New"
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	names := []config.Override{{Flag: name, Text: "workflow=" + workflow}, {Flag: name, Text: "env=" + env}}
	d, err := config.Overrides(name, append(names, o.overrides...)...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// Read reads a configuration from a TOML file. A mistake in the file or in an option gives a *config.Error with file,
// line and what would be right; a file that cannot be read gives the system's error.
func Read(path string, opts ...Option) (*Config, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	o.folder = filepath.Dir(path)
	d, err := config.Read(path, o.overrides...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// Parse is Read for a text in memory; name is the file name in errors.
func Parse(name string, text []byte, opts ...Option) (*Config, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	d, err := config.Parse(name, text, o.overrides...)
	if err != nil {
		return nil, err
	}
	return decode(d, o)
}

// decode makes a configuration from a document. Workflow and environment determine its sections.
func decode(d *config.Document, o options) (*Config, error) {
	var top struct {
		Workflow string `required:"true" doc:"Name the workflow, for example workflow = \"pbt\"."`
		Env      string `required:"true" doc:"Name the environment, for example env = \"CartPole-v1\", or the problem of a search, for example env = \"bbob\"."`
	}
	d.Rename("problem", "env") // the other name of the key
	if err := d.Peek("", &top); err != nil {
		return nil, err
	}
	w, ok := o.catalog.workflow(top.Workflow)
	if !ok {
		return nil, o.unknown(d, "workflow", "workflow", names(o.catalog.Workflows()))
	}
	cfg := newConfig(w)
	cfg.Run.Workflow, cfg.Run.Env, cfg.catalog, cfg.document = top.Workflow, top.Env, o.catalog, d
	of, composes := cfg.parts.(composed)
	if composes {
		if err := of.choose(d, o.sections); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(top.Env, SourceSuffix) {
		if err := cfg.placeSource(top.Env, d, o); err != nil {
			return nil, err
		}
	} else if isRobot(top.Env) {
		if err := cfg.placeRobot(top.Env, d, o); err != nil {
			return nil, err
		}
	} else if err := cfg.place(top.Env, d, o); err != nil {
		return nil, err
	}
	cfg.placeVary(d)
	if err := cfg.with(o.sections); err != nil {
		return nil, err
	}
	if composes {
		of.complete()
	}
	if err := d.Decode(cfg.Sections(), config.Absent(func(section string) string { return cfg.absent(section, top.Env) })); err != nil {
		return nil, err
	}
	if cfg.source != nil { // as the run directory has it
		cfg.Run.Env, cfg.source.settings = cfg.source.name, SourceConfig{cfg.source.digest}
		cfg.template.env, cfg.robot = top.Env, nil // the source contains the robot's task
	}
	if cfg.registered != nil {
		*cfg.registered = SourceConfig{digestOf([]byte(cfg.env.GLSL()))} // also where the document has it empty
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
	if err := d.Locate(cfg.checkVary()); err != nil {
		return nil, err
	}
	return cfg, nil
}

// place looks up the environment or problem.
func (c *Config) place(name string, d *config.Document, o options) error {
	search, searches := c.searcher()
	learner, key, _ := c.learner()
	if of, ok := c.catalog.problem(name); ok {
		if !searches {
			return d.Errorf("env", "%q is a problem, and %s learns in environments: want an environment, or a search such as %s = \"snes\"",
				of.Name, learner, key)
		}
		search.on(of)
		return nil
	}
	var err error
	c.env, err = c.catalog.Environments().Lookup(name)
	var unknown *envs.UnknownError
	switch {
	case errors.As(err, &unknown) && searches:
		return o.unknown(d, "env", "environment or problem", c.catalog.places())
	case errors.As(err, &unknown):
		return o.unknown(d, "env", "environment", unknown.Known)
	case err != nil:
		return d.Errorf("env", "%v", err)
	}
	if !c.env.IsBuiltIn() {
		if err := c.register(d); err != nil {
			return err
		}
	}
	if c.env.Options != nil {
		task := reflect.New(reflect.TypeOf(c.env.Options))
		task.Elem().Set(reflect.ValueOf(c.env.Options))
		c.task = task.Interface()
	}
	return nil
}

// learner returns the name of the innermost workflow, the key that selects it, and the choices.
func (c *Config) learner() (name, key string, choices []Workflow) {
	if p, ok := c.parts.(*pbt); ok {
		return p.over, "[pbt] over", c.catalog.trainables()
	}
	return c.workflow.Name, "workflow", c.catalog.Workflows()
}

// searcher returns the innermost workflow if it is a search.
func (c *Config) searcher() (searcher, bool) {
	of := c.parts
	if p, ok := of.(*pbt); ok {
		of = p.trainable
	}
	s, ok := of.(searcher)
	return s, ok
}

// check checks constraints between settings. Errors are those of config.Invalid, with the key from the top level.
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

// made returns an error if the configuration is nil, or was not made by New, Read or Parse.
func (c *Config) made() error {
	if err := engine.Require(map[string]any{"configuration": c}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if c.parts == nil {
		return errors.New("evorl: an empty configuration: want one made by New, Read or Parse")
	}
	return nil
}

// Sections returns pointers to all settings, in TOML's order.
func (c *Config) Sections() config.Sections {
	s := config.Sections{{Name: "", Value: &c.Run}}
	if c.source != nil {
		s = append(s, config.Section{Name: sourceSection, Value: &c.source.settings})
	}
	if c.registered != nil {
		s = append(s, config.Section{Name: sourceSection, Value: c.registered})
	}
	if search, ok := c.searcher(); !ok || !search.solves() {
		s = append(s, config.Section{Name: "environment", Value: &c.Environment})
		if c.robot != nil {
			s = append(s, config.Section{Name: TaskSection, Value: c.robot})
		}
		if c.task != nil {
			s = append(s, config.Section{Name: TaskSection, Value: c.task})
		}
	}
	s = append(s, c.parts.sections()...)
	if c.vary != nil {
		s = append(s, config.Section{Name: varySection, Value: c.vary})
	}
	return append(s, config.Section{Name: "evaluation", Value: &c.Evaluation}, config.Section{Name: "checkpoint", Value: &c.Checkpoint})
}

// TOML encodes all settings, including defaults; Parse decodes it to the same configuration.
func (c *Config) TOML() ([]byte, error) {
	if err := c.made(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections(), config.WithDocs()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Workflow returns the description of the workflow.
func (c *Config) Workflow() Workflow { return c.workflow }

// Env returns the environment, nil for problems.
func (c *Config) Env() *envs.Environment { return c.env }

// Members returns the number of members: agents, or searches.
func (c *Config) Members() int {
	count, _ := c.parts.members()
	return *count
}

// MembersKey returns the dotted key of the number of members, such as ppo.members.
func (c *Config) MembersKey() string {
	_, key := c.parts.members()
	return key
}

// Independent reports whether members are independent repetitions of one experiment, each of which counts as a run: agents, searches, and agents
// with a population, or searches with critics, of their own. Members of PBT and of a population of diverse agents compete or cooperate, as do agents
// that share a replay or a population, and those of [vary] are experiments of their own.
func (c *Config) Independent() bool {
	of, ok := c.parts.(dependent)
	shares := slices.ContainsFunc(c.parts.sections(), func(s config.Section) bool {
		replay, ok := s.Value.(*rl.ReplayConfig)
		return ok && replay.Shared
	})
	return !(ok && of.dependent()) && !shares && c.vary == nil
}

// Selects reports whether members are a population under selection (PBT), which is represented by its best member.
func (c *Config) Selects() bool {
	_, ok := c.parts.(*pbt)
	return ok
}

// Archive returns what bounds the descriptors of a map of elites, and how many cells its grid has along each; low is nil where nothing is described, and
// cells where there is no grid.
func (c *Config) Archive() (low, high []float64, cells []int) {
	s, ok := c.searcher()
	if !ok {
		return nil, nil, nil
	}
	return s.archive(c.env, c.Environment)
}

// Front returns approximately the given number of points of the problem's true front, [points][objectives],
// maximised; nil if unknown.
func (c *Config) Front(points int) [][]float64 {
	if s, ok := c.searcher(); ok {
		return s.front(points)
	}
	return nil
}

// Build makes the workflow on an engine, whose seed determines its random numbers. Init or a checkpoint must fill its
// state before the first step (Config.Init where there is [vary]). Settings that were changed after the configuration was made are checked again.
func (c *Config) Build(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	if err := c.made(); err != nil {
		return nil, err
	}
	if err := engine.Require(map[string]any{"engine": eng}); err != nil {
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
		return nil, err // no nil pointer in the interface
	}
	if err := c.varied(w); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}
