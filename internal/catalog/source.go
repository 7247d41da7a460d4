package catalog

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

// Source is the file of an environment or problem. A run stores a copy in its directory.
type Source struct {
	Name     string // without folders
	Text     []byte
	digest   string
	settings SourceConfig
}

// MaxSource is larger than any robot's dynamics, in bytes.
const MaxSource = 16 << 20

// placeSource makes the environment or problem of the file that env names; its path is relative to the
// configuration's folder.
func (s *Setup) placeSource(name string, d *config.Document, r *Reader) error {
	s.Place = filepath.Base(name)
	path := s.Place
	if s.Source = r.source; len(r.Text) > 0 {
		s.Source = &Source{Name: s.Place, Text: r.Text}
	} else if s.Source == nil || name != s.Source.Name && name != r.given {
		path = r.locate(name)
		text, warnings, err := r.readSources(path)
		if err != nil {
			return r.unread(err, d)
		}
		s.Source, s.Warnings = &Source{Name: s.Place, Text: text}, warnings
	}
	if err := checkDigest(path, digestOf(s.Source.Text), d); err != nil {
		return err
	}
	return s.useSource(path, d)
}

// register keeps the digest of a program's own environment. A run in one with another GLSL is not this program's.
func (s *Setup) register(d *config.Document) error {
	digest, want := digestOf([]byte(s.Env.GLSL())), SourceConfig{}
	if err := d.Peek(sourceSection, &want); err != nil {
		return err
	}
	if want.Digest != "" && want.Digest != digest {
		return d.Errorf(sourceSection+".digest", "this program's environment %q has GLSL with the digest %s, and not the run's: "+
			"want the program that began it, or one with the same GLSL", s.Env.Name, digest)
	}
	s.registered = &SourceConfig{digest}
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
func (r *Reader) unread(err error, d *config.Document) error {
	if r.Context.Err() != nil {
		return context.Cause(r.Context)
	}
	return d.Errorf("env", "%v", err)
}

// locate returns the path of a file that a configuration names.
func (r *Reader) locate(name string) string {
	path := filepath.FromSlash(name)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.Folder, path)
}

// absolute is locate for paths that a run keeps: they do not depend on where it is resumed.
func (r *Reader) absolute(name string) string {
	path := r.locate(name)
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// useSource makes the environment or problem of the source, which path names in errors.
func (s *Setup) useSource(path string, d *config.Document) error {
	s.Source.digest = digestOf(s.Source.Text)
	first, _, _ := strings.Cut(string(s.Source.Text), "\n")
	if strings.HasPrefix(first, "// problem: ") {
		return s.placeFunction(path, d)
	}
	var err error
	s.Env, err = envs.FromGLSL(path, s.Source.Text)
	var wrong *config.Error
	if err != nil && !errors.As(err, &wrong) {
		return d.Errorf("env", "%v", err)
	}
	return err
}

// placeFunction makes the problem of a file.
func (s *Setup) placeFunction(path string, d *config.Document) error {
	search, ok := s.search()
	learner, key, _ := s.learner()
	if !ok {
		return d.Errorf("env", "%s is a problem, and %s learns in environments: want an environment, or a search such as %s = \"snes\"", path, learner, key)
	}
	of, err := problem.FromGLSL(path, s.Source.Text)
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
	of, err := f.source.Function(f.Dimension)
	if err != nil {
		return nil, err // without a nil pointer in the interface
	}
	return of, nil
}

var includeLine = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]+"([^"]+)"`)

// readSources reads the file that env names. What a run keeps has no files beside it to include.
func (r *Reader) readSources(path string) (text []byte, warnings []string, err error) {
	if r.Kept {
		text, err = readSource(path)
		return text, nil, err
	}
	return includeSources(r.Context, path)
}

// includeSources reads a file and puts the files beside it that it includes, such as a robot's dynamics, in the places of their #include: a run keeps
// one text. Other includes are embedded shaders. #line keeps the places of errors, by names without the folder, so that the text is the
// same from wherever it is read. Robots may have warnings.
func includeSources(ctx context.Context, path string) (_ []byte, warnings []string, err error) {
	text, err := readSource(path)
	if err != nil {
		return nil, nil, err
	}
	if at := shaders.ContinuedInclude(string(text)); at > 0 {
		return nil, nil, fmt.Errorf("%s:%d: an #include that continues on the next line: want it in one line", path, at)
	}
	var b strings.Builder
	for i, line := range strings.SplitAfter(string(text), "\n") {
		if found := includeLine.FindStringSubmatch(line); found != nil && filepath.IsLocal(found[1]) {
			file := filepath.Join(filepath.Dir(path), filepath.FromSlash(found[1]))
			if _, err := os.Stat(file); err == nil || strings.HasSuffix(file, RobotSuffix) {
				included, of, err := includeSource(ctx, file, text)
				if err != nil {
					return nil, nil, err
				}
				warnings = append(warnings, of...)
				fmt.Fprintf(&b, "#line 1 %q\n%s\n#line %d %q\n", found[1], strings.TrimRight(string(included), "\n"), i+2, filepath.Base(path))
				continue
			}
		}
		b.WriteString(line)
	}
	return []byte(b.String()), warnings, nil
}

// includeSource returns the GLSL of a file that a text includes: for an MJCF file its dynamics, with the senses of the text's header, and its warnings.
func includeSource(ctx context.Context, file string, text []byte) (glsl []byte, warnings []string, err error) {
	if !strings.HasSuffix(file, RobotSuffix) {
		glsl, err = readSource(file)
		return glsl, nil, err
	}
	senses, contacts, err := envs.Senses(file, text)
	if err != nil {
		return nil, nil, err
	}
	model, warnings, err := mjcf.Load(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	if err := model.Restrict(contacts); err != nil {
		return nil, nil, err
	}
	model.Senses, model.SensedAtReset = senses, len(senses) > 0
	dynamics, err := mjcf.Embedded(model)
	return []byte(dynamics), warnings, err
}

// readSource reads a file named by the user.
func readSource(path string) ([]byte, error) {
	text, err := regular.ReadLinked(path, MaxSource)
	var of *fs.PathError
	if errors.As(err, &of) {
		return nil, fmt.Errorf("%s: %w", path, of.Err)
	}
	return text, err
}
