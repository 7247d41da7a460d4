package evorl

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/mjcf"
)

// RobotSuffix is the suffix of MJCF files that env may name: robots with a task in section [task].
const RobotSuffix = ".xml"

// modelSuffix is the suffix of models that MuJoCo has compiled. A sweep of keys of [task] keeps one with its digest, so that it continues without
// the MJCF file and MuJoCo.
const modelSuffix = ".json"

// robot is a model with its task.
type robot struct {
	name  string // of the file, without folders and suffix
	text  []byte // the model as JSON
	model *mjcf.Model
	task  *mjcf.Task
}

// isRobot reports whether env names a model.
func isRobot(env string) bool {
	return strings.HasSuffix(env, RobotSuffix) || strings.HasSuffix(env, modelSuffix)
}

// stem returns the name of a file without folders and suffix.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// placeRobot makes the environment of a model and [task]. A run keeps it as GLSL, which contains both, so it continues without the file and
// without MuJoCo.
func (c *Config) placeRobot(name string, d *config.Document, o options) error {
	task := mjcf.DefaultTask()
	c.robot = &task
	if err := d.Only(TaskSection, c.robot); err != nil {
		return err
	}
	of, err := o.loadRobot(name, d)
	if err != nil {
		return err
	}
	text, err := task.Environment(of.model)
	if located := d.Locate(err); located != nil {
		var wrong *config.Error
		if errors.As(located, &wrong) {
			return located
		}
		return d.Errorf("env", "%v", located)
	}
	of.task, c.template.robot = c.robot, of
	c.Run.Env = of.name + SourceSuffix
	c.source = &source{name: c.Run.Env, text: []byte(text)}
	return c.useSource(name, d)
}

// loadRobot returns the model of a file that env names.
func (o *options) loadRobot(name string, d *config.Document) (*robot, error) {
	of := &robot{name: stem(name)}
	if same := o.robot; same != nil && (name == same.name+modelSuffix || name == o.given) {
		of.text, of.model = same.text, same.model
		return of, nil
	}
	path := o.locate(name)
	if strings.HasSuffix(name, modelSuffix) {
		return of, of.read(path, d)
	}
	var err error
	if of.model, _, err = mjcf.Load(o.ctx, path); err == nil {
		of.text, err = json.Marshal(of.model)
	}
	if err != nil {
		return nil, o.unread(err, d)
	}
	return of, nil
}

// read reads the model that a sweep keeps.
func (r *robot) read(path string, d *config.Document) (err error) {
	if r.text, err = readSource(path); err != nil {
		return d.Errorf("env", "%v", err)
	}
	if !d.Defined(sourceSection) {
		return d.Errorf("env", "%s: a compiled model is what a sweep keeps, with its digest: want the MJCF file, %s%s", path, r.name, RobotSuffix)
	}
	if err := checkDigest(path, digestOf(r.text), d); err != nil {
		return err
	}
	if r.model, err = mjcf.ParseModel(path, r.text); err != nil {
		return d.Errorf("env", "%v", err)
	}
	return nil
}

// original returns the configuration with a file of an environment as it was given, without the digest of the environment's present contents, and with
// the task of a robot.
func (c *Config) original() *Config {
	of := *c
	of.registered = nil
	if of.source != nil {
		of.Run.Env, of.source = c.template.env, nil
	}
	if of.template.robot != nil {
		of.robot = of.template.robot.task
	}
	return &of
}

// portable is original for another folder, in which the file of the result's source is: the model.
func (c *Config) portable() *Config {
	of := c.original()
	of.Run.Env = of.template.robot.name + modelSuffix
	of.source = &source{name: of.Run.Env, text: of.template.robot.text, settings: SourceConfig{digestOf(of.template.robot.text)}}
	return of
}

// Template is TOML for a new configuration: it names the file of an environment as it was given, without the digest of its
// present contents, and has the task of a robot.
func (c *Config) Template() ([]byte, error) {
	of := c.original()
	text, err := of.TOML()
	if err != nil || of.template.robot == nil {
		return text, err
	}
	names, err := of.template.robot.model.Names()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text, "\n# Names for the expressions of [task]:\n# %s\n", strings.Join(names, ", ")), nil
}
