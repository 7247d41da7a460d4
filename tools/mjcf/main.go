// Command mjcf writes the GLSL of environments' dynamics from models of MuJoCo: straight-line programs with the models' constants in them, and the
// Go of what viewers draw of them.
//
//	go run ./tools/mjcf           write what is missing or stale below shaders/envs/models and in envs
//	go run ./tools/mjcf -check    write nothing; exit 1 naming what is missing or stale
//	go run ./tools/mjcf -models DIR -out DIR -go DIR -package NAME MODEL...
//	                              write models of one's own, which dump.py has put into DIR
//
// Without names of models it writes those that an environment beside the folder of the GLSL includes. It reads what MuJoCo's own compiler makes of an MJCF file (tools/mjcf/models, written by dump.py), so that it needs neither Python nor MuJoCo.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its exit status: 0 done or up to date, 1 errors or differences, 2 usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mjcf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("check", false, "write nothing; exit 1 when an output is missing or stale")
	from := flags.String("models", "tools/mjcf/models", "folder of the models that dump.py wrote")
	to := flags.String("out", "shaders/envs/models", "folder of the GLSL")
	goTo := flags.String("go", "envs", "folder of the Go")
	pkg := flags.String("package", "envs", "package of the Go")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	paths, err := filepath.Glob(filepath.Join(*from, "*.json"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s holds no models; run in the repository's root or give -models", *from)
	}
	for _, name := range flags.Args() {
		if err == nil && !slices.Contains(paths, filepath.Join(*from, name+".json")) {
			err = fmt.Errorf("%s holds no model %q: want the name of a file there, without .json", *from, name)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "mjcf:", err)
		return 1
	}
	stale := 0
	for _, path := range paths {
		name, names := strings.TrimSuffix(filepath.Base(path), ".json"), flags.Args()
		if len(names) > 0 && !slices.Contains(names, name) || len(names) == 0 && !included(*to, name) {
			continue
		}
		differs, failed := generate(path, *to, *goTo, *pkg, *check)
		if failed != nil {
			err = failed
			break
		}
		stale += len(differs)
		for _, d := range differs {
			fmt.Fprintln(stdout, d)
		}
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "mjcf:", err)
		return 1
	case *check && stale > 0:
		fmt.Fprintln(stderr, "mjcf: run go run ./tools/mjcf")
		return 1
	}
	return 0
}

// included says whether an environment beside the folder of models includes a model.
func included(to, name string) bool {
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(to), "*.glsl"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(`"envs/models/`+name+`.glsl"`)) {
			return true
		}
	}
	return false
}

// generate writes the GLSL and the Go of one model, or compares them, and says what it did or found.
func generate(path, to, goTo, pkg string, check bool) (differs []string, err error) {
	model, err := ReadModel(path)
	if err != nil {
		return nil, err
	}
	program, err := Program(model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	geometry, err := Geometry(model, pkg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	type output struct {
		file string
		text []byte
	}
	outputs := []output{{filepath.Join(to, model.Name+".glsl"), []byte(program)}, {filepath.Join(goTo, model.Name+"_gen.go"), geometry}}
	if model.NV >= teamDOFs && pkg == "envs" { // models of users' own have no way to hand tables to the engine
		tables, source, err := Tables(model, pkg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		outputs = append(outputs, output{filepath.Join(to, model.Name+"_team.glsl"), []byte(tables)}, output{filepath.Join(goTo, model.Name+"_team_gen.go"), source})
	}
	for _, output := range outputs {
		old, err := os.ReadFile(output.file)
		if err == nil && bytes.Equal(old, output.text) {
			continue
		}
		if check {
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
