// Command mjcf writes the GLSL of environments' dynamics from models of MuJoCo: straight-line programs with the models' constants in them.
//
//	go run ./tools/mjcf           write what is missing or stale below shaders/envs/models
//	go run ./tools/mjcf -check    write nothing; exit 1 naming what is missing or stale
//
// It reads what MuJoCo's own compiler makes of an MJCF file (tools/mjcf/models, written by dump.py), so that it needs neither Python nor MuJoCo.
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
	if err := flags.Parse(args); err != nil {
		return 2
	}
	paths, err := filepath.Glob(filepath.Join(*from, "*.json"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s holds no models; run in the repository's root or give -models", *from)
	}
	stale := 0
	for _, path := range paths {
		name, names := strings.TrimSuffix(filepath.Base(path), ".json"), flags.Args()
		if len(names) > 0 && !slices.Contains(names, name) || len(names) == 0 && !included(*to, name) {
			continue
		}
		differs, failed := generate(path, *to, *check)
		if failed != nil {
			err = failed
			break
		}
		if differs != "" {
			stale++
			fmt.Fprintln(stdout, differs)
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

// generate writes the GLSL of one model, or compares it, and says what it did or found.
func generate(path, to string, check bool) (string, error) {
	model, err := ReadModel(path)
	if err != nil {
		return "", err
	}
	text, err := Program(model)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	file := filepath.Join(to, model.Name+".glsl")
	old, err := os.ReadFile(file)
	if err == nil && bytes.Equal(old, []byte(text)) {
		return "", nil
	}
	if check {
		return file + ": stale", nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	return "wrote " + file, os.WriteFile(file, []byte(text), 0o644)
}
