package bridge

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// asGroup puts a process into a group of its own, which a signal of the terminal does not reach, and ends it with this one.
func asGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// unnamed makes a file in memory that has no name; that of a shared one can be sealed.
func unnamed(sealed bool) (*os.File, error) {
	flags := unix.MFD_CLOEXEC
	if sealed {
		flags |= unix.MFD_ALLOW_SEALING
	}
	fd, err := unix.MemfdCreate("evorl-bridge", flags)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "evorl-bridge"), nil
}

// seal keeps a server from making the memory smaller than what is mapped here.
func seal(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return os.NewSyscallError("fcntl", err)
}
