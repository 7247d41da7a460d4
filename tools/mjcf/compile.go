package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed dump.py fields.py places.py
var scripts embed.FS

// compile runs MuJoCo's compiler on MJCF files, by dump.py. Its warnings go to stderr; an error has one line for
// every unsupported element.
func compile(python string, files []string, stderr io.Writer) ([]*Model, error) {
	folder, err := os.MkdirTemp("", "mjcf")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.CopyFS(folder, scripts); err != nil {
		return nil, err
	}
	var models []*Model
	names := map[string]string{}
	for _, file := range files {
		stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		name := identifier(stem)
		if other, ok := names[name]; ok || strings.Trim(name, "_") == "" {
			return nil, fmt.Errorf("%s: its outputs would be named %q%s; want a file name with letters or digits, unlike the others'",
				file, name, other)
		}
		names[name] = ", as those of " + file
		warnings, err := dump(python, folder, file)
		if err != nil {
			return nil, err
		}
		for _, line := range warnings {
			fmt.Fprintln(stderr, "mjcf:", line)
		}
		m, err := ReadModel(filepath.Join(folder, stem+".json"))
		if err != nil {
			return nil, err
		}
		m.Name = name
		models = append(models, m)
	}
	return models, nil
}

// dump runs dump.py on a file and returns its warnings.
func dump(python, folder, file string) (warnings []string, err error) {
	var text strings.Builder
	command := exec.Command(python, filepath.Join(folder, "dump.py"), "--out", folder, file)
	command.Stderr = &text
	err = command.Run()
	var lines []string // only lines of dump.py, not other output of MuJoCo
	for line := range strings.SplitSeq(text.String(), "\n") {
		if line, ok := strings.CutPrefix(line, "dump.py: "); ok {
			lines = append(lines, line)
		}
	}
	var status *exec.ExitError
	switch {
	case err == nil:
		return lines, nil
	case errors.As(err, &status) && len(lines) > 0:
		return nil, errors.New(strings.Join(lines, "\n"))
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such program; want Python with MuJoCo (pip install mujoco==3.12.0), named by -python",
			python)
	}
	return nil, fmt.Errorf("%s: %s: %w\n%s", file, python, err, strings.TrimSpace(text.String()))
}
