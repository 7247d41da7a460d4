package evorl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/catalog"
)

// Config is a validated configuration: the workflow, its environment or problem, and all settings. It is made by New,
// Read or Parse.
type Config struct {
	Run         RunConfig        // the top level
	Environment envs.Options     // [environment]; ignored for problems
	Evaluation  EvaluationConfig // [evaluation]
	Checkpoint  CheckpointConfig // [checkpoint]

	setup    *catalog.Setup   // the workflow, its settings, and where it learns
	vary     *VaryConfig      // nil: all members begin with the same hyperparameters
	document *config.Document // for the locations of errors
}

func newConfig(of *catalog.Setup) *Config {
	return &Config{
		Run: catalog.DefaultRun(), Environment: catalog.DefaultEnvironment(), Evaluation: catalog.DefaultEvaluation(), Checkpoint: catalog.DefaultCheckpoint(),
		setup: of,
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
	o.Folder = filepath.Dir(path)
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
	of, err := o.Select(d)
	if err != nil {
		return nil, err
	}
	cfg := newConfig(of)
	cfg.Run.Workflow, cfg.Run.Env, cfg.document = of.Workflow.Name, of.Place, d
	if d.Defined(catalog.VarySection) {
		cfg.vary = &VaryConfig{}
	}
	if err := cfg.with(o.Values); err != nil {
		return nil, err
	}
	of.Complete()
	if err := d.Decode(cfg.Sections(), config.Absent(of.Absent)); err != nil {
		return nil, err
	}
	if err := of.Finish(d); err != nil {
		return nil, err
	}
	cfg.Run.Env = of.Place
	if err := d.Locate(of.Check(cfg.options())); err != nil {
		return nil, err
	}
	if err := d.Locate(of.CheckVary(cfg.vary, cfg.checkValue)); err != nil {
		return nil, err
	}
	return cfg, nil
}

// checkValue checks a value of [vary], at the key `at`, as the value of a key.
func (c *Config) checkValue(at, key string, x float64) error {
	plain := *c
	plain.vary = nil
	text, err := plain.TOML()
	if err != nil {
		return err
	}
	number := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(number, ".e") {
		number += ".0"
	}
	_, err = Parse(baseFile, text, Flag(at, key+"="+number), c.sameSource())
	var wrong *config.Error
	if errors.As(err, &wrong) {
		return config.Invalid(at, "%s", wrong.Message)
	}
	return err
}

// check returns an error if the configuration is nil, or was not made by New, Read or Parse.
func (c *Config) check() error {
	if err := engine.Require(map[string]any{"configuration": c}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if c.setup == nil {
		return errors.New("evorl: an empty configuration: want one made by New, Read or Parse")
	}
	return nil
}

// Sections returns pointers to all settings, in TOML's order.
func (c *Config) Sections() config.Sections {
	return c.setup.Sections(catalog.Config{
		Run: &c.Run, Environment: &c.Environment, Vary: c.vary, Evaluation: &c.Evaluation, Checkpoint: &c.Checkpoint,
	})
}

// TOML encodes all settings, including defaults; Parse decodes it to the same configuration.
func (c *Config) TOML() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections(), config.WithDocs()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Workflow returns the description of the workflow.
func (c *Config) Workflow() Workflow { return c.setup.Workflow }

// options are what a workflow is made with.
func (c *Config) options() envs.Options {
	of := c.Environment
	of.DrawEvaluations = c.Evaluation.Draw
	return of
}

// Env returns the environment, nil for problems.
func (c *Config) Env() *envs.Environment { return c.setup.Env }

// Warnings lists what reading the configuration found and did not refuse: what is approximated of a robot's model, each with file, line and element. A
// configuration that a run keeps has none, since it contains the model as GLSL.
func (c *Config) Warnings() []string { return slices.Clone(c.setup.Warnings) }

// Members returns the number of members: agents, or searches.
func (c *Config) Members() int {
	count, _ := c.setup.Settings.Members()
	return *count
}

// MembersKey returns the dotted key of the number of members, such as ppo.members.
func (c *Config) MembersKey() string {
	_, key := c.setup.Settings.Members()
	return key
}

// Independent reports whether members are independent repetitions of one experiment, so that each counts as a run: agents, searches, and agents
// with a population, or searches with critics, of their own. Members of PBT and of a population of diverse agents compete or cooperate, as do agents
// that share a replay or a population, and with [vary] they are experiments of their own.
func (c *Config) Independent() bool {
	return c.setup.Independent() && c.vary == nil
}

// Selects reports whether members are a population under selection (PBT), which is represented by its best member.
func (c *Config) Selects() bool { return c.setup.Selects() }

// Archive returns what bounds the descriptors of a map of elites, and how many cells its grid has along each; low is nil where nothing is described, and
// cells where there is no grid.
func (c *Config) Archive() (low, high []float64, cells []int) { return c.setup.Archive(c.options()) }

// Front returns approximately the given number of points of the problem's true front, [points][objectives],
// maximised; nil if unknown.
func (c *Config) Front(points int) [][]float64 { return c.setup.Front(points) }

// Build makes the workflow on an engine, whose seed determines its random numbers. Init or a checkpoint must fill its
// state before the first step (Config.Init where there is [vary]). Settings that were changed after the configuration was made are checked again.
func (c *Config) Build(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	if err := c.check(); err != nil {
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
	if err := c.setup.Check(c.options()); err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	w, err := c.setup.Settings.Build(ctx, eng, c.setup.Env, c.options())
	if err != nil {
		return nil, err // no nil pointer in the interface
	}
	if err := c.setup.DeclareVary(c.vary, w); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Init begins a workflow made by Build: its own Init, and then the values of [vary].
func (c *Config) Init(ctx context.Context, w engine.Workflow) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := engine.Require(map[string]any{"workflow": w}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if err := w.Init(ctx); err != nil || c.vary == nil {
		return err
	}
	return c.vary.Write(ctx, w)
}

// prepared makes the workflow and everything that a run needs, so that sizes and memory are checked before learning
// begins.
func (c *Config) prepared(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	w, err := c.Build(ctx, eng)
	if err != nil {
		return nil, err
	}
	if err := w.Prepare(ctx, c.Evaluation.Episodes); err != nil {
		return nil, errors.Join(fmt.Errorf("evorl: %s on %s: %w", c.Run.Workflow, c.Run.Env, err), w.Close())
	}
	return w, nil
}

// explain makes the error of prepared one of settings, if it is one of sizes, memory or the device's abilities.
func (c *Config) explain(ctx context.Context, eng *engine.Engine, err error) error {
	l := catalog.Limits{Sections: c.Sections(), Device: eng.Device().Info(), Try: func(ctx context.Context) error {
		w, err := c.prepared(ctx, eng)
		if err != nil {
			return err
		}
		return w.Close()
	}}
	return c.document.Locate(l.Explain(ctx, err))
}

// placed returns the configuration with another form of its setup.
func (c *Config) placed(of *catalog.Setup) *Config {
	copied := *c
	copied.setup, copied.Run.Env = of, of.Place
	return &copied
}

// Template is TOML for a new configuration: it names the file of an environment as it was given, without the digest of its
// present contents, and has the task of a robot.
func (c *Config) Template() ([]byte, error) {
	text, err := c.placed(c.setup.Original()).TOML()
	names, e := c.setup.RobotNames()
	if err = errors.Join(err, e); err != nil || names == nil {
		return text, err
	}
	return fmt.Appendf(text, "\n# Names for the expressions of [task]:\n# %s\n", strings.Join(names, ", ")), nil
}

// Difference is a setting that differs between two configurations: its dotted Key, and its Value and Other as TOML, "" where a configuration does not
// have it.
type Difference = config.Difference

// Differences lists the settings in which a configuration differs from another, except the number of iterations.
func (c *Config) Differences(other *Config) []Difference {
	return slices.DeleteFunc(config.Differences(c.known(), other.known()), func(d Difference) bool { return d.Key == "iterations" })
}

// known returns the sections; none if the configuration was not made by New, Read or Parse.
func (c *Config) known() config.Sections {
	if c.check() != nil {
		return nil
	}
	return c.Sections()
}

// OfTask reports whether a setting, by its dotted key, belongs to the task, which is the environment or the problem, not
// to the method.
func (c *Config) OfTask(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return c.setup.IsTask(section)
}

// Value returns a setting as TOML, by its dotted key; ok is false if the configuration has no such key.
func (c *Config) Value(key string) (text string, ok bool) {
	_, values := config.Flat(c.known())
	text, ok = values[key]
	return text, ok
}
