package evorl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/mjcf"
	"github.com/evorl/evorl/internal/regular"
	"github.com/evorl/evorl/shaders"
)

// SourceSuffix is the suffix of files that env may name: user-defined environments or problems in GLSL.
const SourceSuffix = ".glsl"

// Names of the sections of a configuration whose env is a file.
const (
	sourceSection   = "source"
	functionSection = "function"
)

// SourceConfig is [source], the section of a configuration whose env is a file or a program's own environment.
type SourceConfig struct {
	Digest string `doc:"SHA-256 of the GLSL of env, a file or a program's own, so that a run resumes with the same GLSL; empty: any."`
}

// source is the file of an environment or problem. A run stores a copy in its directory.
type source struct {
	name     string // without folders
	text     []byte
	digest   string
	settings SourceConfig
}

// sameSource makes another configuration have this one's catalog, and take the file or the model that env names from this one, if it is the same, and
// not read it.
func (c *Config) sameSource() Option {
	return func(o *options) {
		o.given, o.catalog = c.template.env, c.catalog
		if c.source != nil {
			o.source = &source{name: c.source.name, text: c.source.text}
		}
		o.robot = c.template.robot
	}
}

// maxSource is larger than any robot's dynamics, in bytes.
const maxSource = 16 << 20

// placeSource makes the environment or problem of the file that env names; its path is relative to the
// configuration's folder.
func (c *Config) placeSource(name string, d *config.Document, o options) error {
	c.Run.Env = filepath.Base(name)
	path := c.Run.Env
	if c.source = o.source; c.source == nil || name != c.source.name && name != o.given {
		path = o.locate(name)
		text, err := includeSources(o.ctx, path)
		if err != nil {
			return o.unread(err, d)
		}
		c.source = &source{name: c.Run.Env, text: text}
	}
	if err := checkDigest(path, digestOf(c.source.text), d); err != nil {
		return err
	}
	return c.useSource(path, d)
}

// register keeps the digest of a program's own environment. A run in one with another GLSL is not this program's.
func (c *Config) register(d *config.Document) error {
	digest, want := digestOf([]byte(c.env.GLSL())), SourceConfig{}
	if err := d.Peek(sourceSection, &want); err != nil {
		return err
	}
	if want.Digest != "" && want.Digest != digest {
		return d.Errorf(sourceSection+".digest", "this program's environment %q has GLSL with the digest %s, and not the run's: "+
			"want the program that began it, or one with the same GLSL", c.env.Name, digest)
	}
	c.registered = &SourceConfig{digest}
	return nil
}

// digestOf returns the SHA-256 of a file's text.
func digestOf(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// checkDigest compares the digest of the file that env names with [source] digest.
func checkDigest(path, digest string, d *config.Document) error {
	want := SourceConfig{}
	if err := d.Peek(sourceSection, &want); err != nil {
		return err
	}
	if want.Digest != "" && want.Digest != digest {
		return d.Errorf(sourceSection+".digest", "%s has the digest %s, and is another file than the run's: want the file that it began with", path, digest)
	}
	return nil
}

// unread returns the error of a file that env names and that cannot be read.
func (o *options) unread(err error, d *config.Document) error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return d.Errorf("env", "%v", err)
}

// locate returns the path of a file that a configuration names.
func (o *options) locate(name string) string {
	path := filepath.FromSlash(name)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.folder, path)
}

// useSource makes the environment or problem of c.source, which path names in errors.
func (c *Config) useSource(path string, d *config.Document) error {
	c.source.digest = digestOf(c.source.text)
	first, _, _ := strings.Cut(string(c.source.text), "\n")
	if strings.HasPrefix(first, "// problem: ") {
		return c.placeFunction(path, d)
	}
	var err error
	c.env, err = envs.FromGLSL(path, c.source.text)
	var wrong *config.Error
	if err != nil && !errors.As(err, &wrong) {
		return d.Errorf("env", "%v", err)
	}
	return err
}

// placeFunction makes the problem of a file.
func (c *Config) placeFunction(path string, d *config.Document) error {
	search, ok := c.searcher()
	learner, key, _ := c.learner()
	if !ok {
		return d.Errorf("env", "%s is a problem, and %s learns in environments: want an environment, or a search such as %s = \"snes\"", path, learner, key)
	}
	of, err := problem.FromGLSL(path, c.source.text)
	var wrong *config.Error
	if err != nil && !errors.As(err, &wrong) {
		return d.Errorf("env", "%v", err)
	}
	if err != nil {
		return err
	}
	search.on(Problem{Name: functionSection, settings: func() ProblemSettings { return &function{Dimension: of.Dimension(), source: of} }})
	return nil
}

// function is [function], the settings of a user-defined problem.
type function struct {
	Dimension int `min:"1" max:"1000" doc:"Dimensions of a candidate."`
	source    *problem.Source
}

func (f *function) Problem() (ec.Problem, error) {
	made, err := f.source.Function(f.Dimension)
	if err != nil {
		return nil, err // without a nil pointer in the interface
	}
	return made, nil
}

var includeLine = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]+"([^"]+)"`)

// includeSources reads a file and puts the files beside it that it includes, such as a robot's dynamics, in the places of their #include: a run keeps
// one text. Other includes are those of the embedded shaders. #line keeps the places of errors, by names without the folder, so that the text is the
// same from wherever it is read.
func includeSources(ctx context.Context, path string) ([]byte, error) {
	text, err := readSource(path)
	if err != nil {
		return nil, err
	}
	if at := shaders.ContinuedInclude(string(text)); at > 0 {
		return nil, fmt.Errorf("%s:%d: an #include that continues on the next line: want it in one line", path, at)
	}
	var b strings.Builder
	for i, line := range strings.SplitAfter(string(text), "\n") {
		if found := includeLine.FindStringSubmatch(line); found != nil && filepath.IsLocal(found[1]) {
			file := filepath.Join(filepath.Dir(path), filepath.FromSlash(found[1]))
			if _, err := os.Stat(file); err == nil || strings.HasSuffix(file, RobotSuffix) {
				included, err := includeSource(ctx, file, text)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&b, "#line 1 %q\n%s\n#line %d %q\n", found[1], strings.TrimRight(string(included), "\n"), i+2, filepath.Base(path))
				continue
			}
		}
		b.WriteString(line)
	}
	return []byte(b.String()), nil
}

// includeSource returns the GLSL of a file that a text includes: for an MJCF file its dynamics, with the senses of the text's header.
func includeSource(ctx context.Context, file string, text []byte) ([]byte, error) {
	if !strings.HasSuffix(file, RobotSuffix) {
		return readSource(file)
	}
	senses, contacts, err := envs.Senses(file, text)
	if err != nil {
		return nil, err
	}
	model, _, err := mjcf.Load(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := model.Restrict(contacts); err != nil {
		return nil, err
	}
	model.Senses, model.SensedAtReset = senses, len(senses) > 0
	dynamics, err := mjcf.Embedded(model)
	return []byte(dynamics), err
}

// readSource reads a file named by the user.
func readSource(path string) ([]byte, error) {
	text, err := regular.ReadLinked(path, maxSource)
	var of *fs.PathError
	if errors.As(err, &of) {
		return nil, fmt.Errorf("%s: %w", path, of.Err)
	}
	return text, err
}
