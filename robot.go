package evorl

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/mjcf"
)

// RobotSuffix is the suffix of MJCF files that env may name: robots with a task in section [task].
const RobotSuffix = ".xml"

// placeRobot makes the environment of an MJCF file and [task]. A run keeps it as GLSL, which contains both, so it continues without the file and
// without MuJoCo.
func (c *Config) placeRobot(name string, d *config.Document, o options) error {
	task := mjcf.DefaultTask()
	c.robot = &task
	if err := d.Only(TaskSection, c.robot); err != nil {
		return err
	}
	model, _, err := mjcf.Load(o.locate(name))
	if err != nil {
		return d.Errorf("env", "%v", err)
	}
	text, err := task.Environment(model)
	if located := d.Locate(err); located != nil {
		var wrong *config.Error
		if errors.As(located, &wrong) {
			return located
		}
		return d.Errorf("env", "%v", located)
	}
	if c.template.names, err = model.Names(); err != nil {
		return err
	}
	base := filepath.Base(name)
	c.Run.Env = strings.TrimSuffix(base, RobotSuffix) + SourceSuffix
	c.source = &source{name: c.Run.Env, text: []byte(text)}
	return c.useSource(name, d)
}
