//go:build unix

package mjcf

import (
	"os/exec"
	"syscall"
)

// asGroup makes a command's children end with it, since $MUJOCO_PYTHON may be a script that starts Python.
func asGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
