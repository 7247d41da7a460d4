package catalog

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc"
)

// Trust is what a configuration from elsewhere may name besides what a program contains.
type Trust struct {
	Signer  string   // the public key that has signed it; "": none, or not yet
	Signed  bool     // by a key that is trusted: it may name the GLSL that comes with it, and worlds that are in Outside
	Outside []string // names of worlds outside of evorl
}

// unsigned is what to do if a configuration is not signed, or by a key that is not trusted; more are flags of the worker.
func (t Trust) unsigned(more string) string {
	if t.Signer == "" {
		return "want --sign FILE with the run's key, which is made if it does not exist, and evorl worker " + more + "--trust with the public key that the run shows"
	}
	return "want evorl worker " + more + "--trust " + t.Signer + ", if that is the key that the run shows"
}

// isSource reports whether env names a file of GLSL.
func isSource(env string) bool { return strings.HasSuffix(env, SourceSuffix) }

// isOutside reports whether env names a world that other processes step.
func isOutside(env string) bool { return bridge.IsName(env) || dmenvrpc.IsName(env) }

// CheckWithin returns an error if the setup has parts that other machines do not have and are not sent, such as a problem's data, or that they execute only
// with more trust.
func (s *Setup) CheckWithin(trust Trust) error {
	switch {
	case (isSource(s.named) || isRobot(s.named)) && !trust.Signed:
		return config.Invalid("env", "%q is a file, code that workers on other machines execute only if it is signed by a key that they trust: %s", s.named,
			trust.unsigned(""))
	case isOutside(s.named) && !trust.Signed:
		return config.Invalid("env", "%q is stepped by other processes, which workers on other machines start only for a run that is signed by a key that they "+
			"trust: %s", s.named, trust.unsigned("--outside "+s.named+" "))
	case isOutside(s.named) && !slices.Contains(trust.Outside, s.named):
		return config.Invalid("env", "%q is stepped by other processes, which a worker starts only if its command line names it: want evorl worker --outside %s",
			s.named, s.named)
	}
	search, ok := s.search()
	if !ok {
		return nil
	}
	file := ""
	if of, ok := search.settings.(located); ok {
		of.locate(func(name string) string {
			file = name
			return name
		})
	}
	if file != "" {
		return config.Invalid(TaskSection, "%s of %q is read from a file: want data that evorl contains, for workers on other machines, or a run without --cluster",
			filepath.Base(file), s.Place)
	}
	return nil
}

// checkTold returns an error if a configuration that a run keeps lacks what its environment told when the run began: whoever wrote the file does not make
// this program start or ask anything.
func (r *Reader) checkTold(section, spec string, d *config.Document) error {
	if r.Kept && spec == "" {
		return d.Errorf(section+".spec", "the configuration of a run lacks what its environment told when the run began: want the file as the run wrote it")
	}
	return nil
}

// checkKept returns an error if env is not the name of GLSL beside the configuration that a run keeps. The reader would start MuJoCo for a model.
func (r *Reader) checkKept(env string, d *config.Document) error {
	if r.Kept && (isRobot(env) || env != filepath.Base(env)) {
		return d.Errorf("env", "%q in the configuration of a run, which keeps GLSL by its name in its own folder: want the file as the run wrote it", env)
	}
	return nil
}

// checkSent returns an error if env names a file that has not come with a configuration from elsewhere: nothing is read in its place.
func (r *Reader) checkSent(env string) error {
	if isRobot(env) || isSource(env) && len(r.Text) == 0 {
		return config.Invalid("env", "%q is a file, and its GLSL has not come with the configuration: want a coordinator of the same version of evorl", env)
	}
	return nil
}
