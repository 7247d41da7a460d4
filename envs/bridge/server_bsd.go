//go:build unix && !linux

package bridge

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// asGroup puts a process into a group of its own, which a signal of the terminal does not reach.
func asGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// unnamed makes a file whose name is removed at once.
func unnamed(bool) (*os.File, error) {
	f, err := os.CreateTemp("", "evorl-bridge-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func seal(*os.File) error { return nil }
