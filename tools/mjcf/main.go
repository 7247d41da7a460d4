// Command mjcf generates the dynamics of environments from MuJoCo models: GLSL that is straight-line code with the
// model's constants, and the geometry for viewers as Go.
//
//	go run github.com/evorl/evorl/tools/mjcf robot.xml
//
// writes robot.glsl and robot_gen.go into the working folder, in a user's module. It needs Python with MuJoCo (pip
// install mujoco==3.12.0) for MuJoCo's MJCF compiler. docs/physics.md describes the supported models and how to make
// an environment of the output.
//
//	-python PROGRAM   Python with MuJoCo (default $MUJOCO_PYTHON, or python3)
//	-out DIR          folder of the GLSL (default .)
//	-go DIR           folder of the Go (default: the GLSL's)
//	-package NAME     package of the Go (default the name of its folder)
//	-contacts WHICH   all (default), or ground: only of planes with shapes other than meshes
//	-sense TEXT       output of a forward pass besides accelerations, such as "site tip xz"; may be repeated
//
// In this repository,
//
//	go run ./tools/mjcf           write what is missing or stale below shaders/envs/models and in envs
//	go run ./tools/mjcf -check    write nothing; exit 1 naming what is missing or stale
//
// processes the models that an environment includes. It reads them as written by dump.py (envs/mjcf/models), so it
// needs neither Python nor MuJoCo.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/evorl/evorl/envs/mjcf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// target is the destination of a model's outputs.
type target struct {
	glsl, goFiles, pkg string
	check              bool // compare without writing
}

// run is main with its exit status: 0 done or up to date, 1 errors or differences, 2 usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mjcf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var to target
	var senses []string
	contacts := flags.String("contacts", "all", "all, or ground: only of planes with shapes other than meshes")
	flags.BoolVar(&to.check, "check", false, "write nothing; exit 1 when an output is missing or stale")
	python := flags.String("python", mjcf.Python(), "Python with MuJoCo, for MJCF files")
	flags.StringVar(&to.glsl, "out", "", "folder of the GLSL (default: the working folder; without MJCF files shaders/envs/models)")
	flags.StringVar(&to.goFiles, "go", "", "folder of the Go (default: that of -out; without MJCF files envs)")
	flags.StringVar(&to.pkg, "package", "", "package of the Go (default: the name of its folder)")
	flags.Func("sense", "what a forward pass gives beside accelerations, such as \"site tip xz\"; may be repeated", func(text string) error {
		senses = append(senses, text)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var models []*mjcf.Model
	var err error
	if files := flags.Args(); len(files) > 0 {
		if models, err = compile(ctx, *python, files, stderr); err == nil {
			err = to.own()
		}
		for _, m := range models {
			err = errors.Join(err, m.Restrict(*contacts))
			m.Senses, m.SensedAtReset = senses, len(senses) > 0
		}
	} else {
		models, err = to.builtIn()
	}
	stale := 0
	for _, m := range models {
		if err != nil {
			break
		}
		var differs []string
		differs, err = to.generate(m)
		stale += len(differs)
		for _, d := range differs {
			fmt.Fprintln(stdout, d)
		}
	}
	switch {
	case err != nil:
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(stderr, "mjcf:", line)
		}
		return 1
	case to.check && stale > 0:
		fmt.Fprintln(stderr, "mjcf: run go run ./tools/mjcf")
		return 1
	}
	return 0
}

// compile compiles MJCF files, whose outputs must differ in name.
func compile(ctx context.Context, python string, files []string, stderr io.Writer) ([]*mjcf.Model, error) {
	var names []string
	for _, file := range files {
		name, err := mjcf.Name(file)
		if err != nil {
			return nil, err
		}
		if i := slices.Index(names, name); i >= 0 {
			return nil, fmt.Errorf("%s: its outputs would be named %q, as those of %s; want another file name", file, name, files[i])
		}
		names = append(names, name)
	}
	var models []*mjcf.Model
	for _, file := range files {
		m, warnings, err := mjcf.Compile(ctx, python, file)
		if err != nil {
			return nil, err
		}
		for _, line := range warnings {
			fmt.Fprintln(stderr, "mjcf: warning:", line)
		}
		models = append(models, m)
	}
	return models, nil
}

// own sets the defaults for users' models.
func (to *target) own() error {
	if to.glsl == "" {
		to.glsl = "."
	}
	if to.goFiles == "" {
		to.goFiles = to.glsl
	}
	if to.pkg == "" {
		folder, err := filepath.Abs(to.goFiles)
		if err != nil {
			return err
		}
		to.pkg = strings.ToLower(mjcf.Identifier(filepath.Base(folder)))
	}
	if !token.IsIdentifier(to.pkg) {
		return fmt.Errorf("-package %s: no name of a package; want letters, digits and _", to.pkg)
	}
	return nil
}

// builtIn sets the defaults for this repository and reads the models that its environments include.
func (to *target) builtIn() ([]*mjcf.Model, error) {
	if to.glsl != "" || to.goFiles != "" || to.pkg != "" {
		return nil, errors.New("-out, -go and -package are for models of one's own; want MJCF files after them")
	}
	to.glsl, to.goFiles, to.pkg = "shaders/envs/models", "envs", "envs"
	const folder = "envs/mjcf/models"
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no models; run in the root of evorl's repository, or name MJCF files", folder)
	}
	var models []*mjcf.Model
	for _, path := range paths {
		m, err := mjcf.ReadModel(path)
		if err != nil {
			return nil, err
		}
		m.Senses, m.SensedAtReset = mjcf.BuiltInSenses(m.Name)
		if included(to.glsl, m.Name) {
			models = append(models, m)
		}
	}
	return models, nil
}

// included reports whether an environment next to the folder of models includes a model.
func included(to, name string) bool {
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(to), "*.glsl"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(`"envs/models/`+name+`.glsl"`)) {
			return true
		}
	}
	return false
}

// generate writes or compares the GLSL and the Go of one model, and reports what it did or found.
func (to *target) generate(model *mjcf.Model) (differs []string, err error) {
	program, err := mjcf.Program(model)
	if err != nil {
		return nil, err
	}
	geometry, err := mjcf.Geometry(model, to.pkg)
	if err != nil {
		return nil, err
	}
	type output struct {
		file string
		text []byte
	}
	outputs := []output{
		{filepath.Join(to.glsl, model.Name+".glsl"), []byte(program)},
		{filepath.Join(to.goFiles, model.Name+"_gen.go"), geometry},
	}
	if model.NV >= mjcf.CooperativeDOFs && to.pkg == "envs" { // tables are not available to users' environments
		tables, source, err := mjcf.Tables(model, to.pkg)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs,
			output{filepath.Join(to.glsl, model.Name+"_cooperative.glsl"), []byte(tables)},
			output{filepath.Join(to.goFiles, model.Name+"_cooperative_gen.go"), source})
	}
	for _, output := range outputs {
		old, err := os.ReadFile(output.file)
		if err == nil && bytes.Equal(old, output.text) {
			continue
		}
		if to.check {
			differs = append(differs, output.file+": stale")
			continue
		}
		if err := os.MkdirAll(filepath.Dir(output.file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(output.file, output.text, 0o644); err != nil {
			return nil, err
		}
		differs = append(differs, "wrote "+output.file)
	}
	return differs, nil
}
