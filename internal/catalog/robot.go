package catalog

import (
	"encoding/json"
	"errors"
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
	name     string // of the file, without folders and suffix
	text     []byte // the model as JSON
	model    *mjcf.Model
	task     *mjcf.Task
	warnings []string // of the compiler, if the MJCF file was read
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
func (s *Setup) placeRobot(name string, d *config.Document, r *Reader) error {
	task := mjcf.DefaultTask()
	s.robot = &task
	if err := d.Only(TaskSection, s.robot); err != nil {
		return err
	}
	of, err := r.loadRobot(name, d)
	if err != nil {
		return err
	}
	s.Warnings = of.warnings
	text, err := task.Environment(of.model)
	if located := d.Locate(err); located != nil {
		var wrong *config.Error
		if errors.As(located, &wrong) {
			return located
		}
		return d.Errorf("env", "%v", located)
	}
	of.task, s.template.robot = s.robot, of
	s.Place = of.name + SourceSuffix
	s.Source = &Source{Name: s.Place, Text: []byte(text)}
	return s.useSource(name, d)
}

// loadRobot returns the model of a file that env names.
func (r *Reader) loadRobot(name string, d *config.Document) (*robot, error) {
	of := &robot{name: stem(name)}
	if same := r.robot; same != nil && (name == same.name+modelSuffix || name == r.given) {
		of.text, of.model = same.text, same.model
		return of, nil
	}
	path := r.locate(name)
	if strings.HasSuffix(name, modelSuffix) {
		return of, of.read(path, d)
	}
	var err error
	if of.model, of.warnings, err = mjcf.Load(r.Context, path); err == nil {
		of.text, err = json.Marshal(of.model)
	}
	if err != nil {
		return nil, r.unread(err, d)
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

// Original returns the setup with a file of an environment as it was given, without the digest of the environment's present contents, and with
// the task of a robot.
func (s *Setup) Original() *Setup {
	of := *s
	of.registered = nil
	if of.Source != nil {
		of.Place, of.Source = s.template.env, nil
	}
	if of.outside != nil {
		of.outside = of.outside.original()
	}
	if of.remote != nil {
		of.remote = of.remote.original()
	}
	if of.template.robot != nil {
		of.robot = of.template.robot.task
	}
	return &of
}

// Portable is Original for another folder, in which the file of the result's source is: the model.
func (s *Setup) Portable() *Setup {
	of := s.Original()
	of.Place = of.template.robot.name + modelSuffix
	of.Source = &Source{Name: of.Place, Text: of.template.robot.text, settings: SourceConfig{digestOf(of.template.robot.text)}}
	return of
}

// IsRobot reports whether the environment is a robot with a task.
func (s *Setup) IsRobot() bool { return s.template.robot != nil }

// RobotNames lists the names that expressions of a robot's task can have; nil: it is none.
func (s *Setup) RobotNames() ([]string, error) {
	if !s.IsRobot() {
		return nil, nil
	}
	return s.template.robot.model.Names()
}
