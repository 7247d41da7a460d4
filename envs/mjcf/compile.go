package mjcf

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed dump.py fields.py places.py
var scripts embed.FS

// Python returns the Python that compiles MJCF files: $MUJOCO_PYTHON, or python3.
func Python() string {
	if program := os.Getenv("MUJOCO_PYTHON"); program != "" {
		return program
	}
	return "python3"
}

// Install says how to get what Compile needs.
const Install = "python3 -m venv mujoco && mujoco/bin/pip install mujoco==3.12.0, and MUJOCO_PYTHON=mujoco/bin/python in the environment"

// Compile runs MuJoCo's compiler on an MJCF file, by dump.py, in a Python with MuJoCo, and returns its warnings, each with file, line and element. The
// model is named by the file. An error has one line for every unsupported element, by file and line. The context ends Python; the
// error is its cause then.
func Compile(ctx context.Context, python, file string) (m *Model, warnings []string, err error) {
	folder, err := os.MkdirTemp("", "mjcf")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.CopyFS(folder, scripts); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(folder, stem(file)+".json")
	if warnings, err = dump(ctx, python, folder, file); err != nil {
		return nil, nil, few(errors.Join(err, rest(path)))
	}
	if m, err = ReadModel(path); err != nil {
		return nil, nil, err
	}
	if m.Name, err = Name(file); err != nil {
		return nil, nil, err
	}
	return m, warnings, nil
}

// rest returns what else is refused of a model beside the parts that dump.py has refused; nil if it wrote none.
func rest(path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	m, err := ReadModel(path)
	if err != nil {
		return err
	}
	_, err = newSolver(NewSystem(m), fewPairs)
	return err
}

// mostRefusals is the most lines of an error of a model.
const mostRefusals = 40

// few returns an error without repeated lines, and only the first of many; the last tells how many more there are.
func few(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if n := len(lines) - mostRefusals; n > 0 {
		lines = append(lines[:mostRefusals], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(lines, "\n"))
}

func stem(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// Name returns the name of a file's model: its name without suffix, with _ for what is neither letter nor digit.
func Name(file string) (string, error) {
	name := Identifier(stem(file))
	if strings.Trim(name, "_") == "" {
		return "", fmt.Errorf("%s: its outputs would be named %q; want a file name with letters or digits", file, name)
	}
	return name, nil
}

// errNoMuJoCo is the error of a Python without MuJoCo.
var errNoMuJoCo = errors.New("want a Python with MuJoCo")

// noMuJoCo is the exit status of dump.py without its modules.
const noMuJoCo = 3

// killDelay bounds the wait for a Python that was killed.
const killDelay = 500 * time.Millisecond

// dump runs dump.py on a file and returns its warnings.
func dump(ctx context.Context, python, folder, file string) (warnings []string, err error) {
	var text strings.Builder
	command := exec.CommandContext(ctx, python, filepath.Join(folder, "dump.py"), "--out", folder, file, "--dofs", strconv.Itoa(mostDOFs))
	command.Stderr = &text
	command.WaitDelay = killDelay
	asGroup(command)
	err = command.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var lines []string // only lines of dump.py, not other output of MuJoCo
	for line := range strings.SplitSeq(text.String(), "\n") {
		if line, ok := strings.CutPrefix(line, "dump.py: "); ok {
			lines = append(lines, line)
		}
	}
	var status *exec.ExitError
	switch {
	case err == nil:
		for _, line := range lines {
			warnings = append(warnings, strings.TrimPrefix(line, "warning: "))
		}
		return warnings, nil
	case errors.As(err, &status) && status.ExitCode() == noMuJoCo:
		return nil, fmt.Errorf("%s: %w: %s", python, errNoMuJoCo, Install)
	case errors.As(err, &status) && len(lines) > 0:
		return nil, errors.New(strings.Join(lines, "\n"))
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such program; %w: %s", python, errNoMuJoCo, Install)
	}
	return nil, fmt.Errorf("%s: %s: %w\n%s", file, python, err, strings.TrimSpace(text.String()))
}
