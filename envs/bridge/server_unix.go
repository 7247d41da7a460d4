//go:build unix

package bridge

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// open makes the socket and the shared file, and returns the process's ends. Neither has a name, so nobody else can open them, and nothing stays behind.
func (s *server) open() (theirs inherited, err error) {
	defer func() {
		if err != nil {
			for _, f := range theirs.files() {
				err = errors.Join(err, f.Close())
			}
			err = errors.Join(err, s.free())
		}
	}()
	syscall.ForkLock.RLock() // no other process inherits them
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return theirs, os.NewSyscallError("socketpair", err)
	}
	theirs.socket = os.NewFile(uintptr(ends[1]), "bridge")
	ours := os.NewFile(uintptr(ends[0]), "bridge")
	s.socket, err = net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		return theirs, err
	}
	if s.file, err = unnamed(true); err != nil {
		return theirs, err
	}
	if theirs.memory, err = again(s.file); err != nil {
		return theirs, err
	}
	theirs.program, err = unnamed(false)
	return theirs, err
}

// again returns another descriptor of a file.
func again(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// share sets the size of the shared file and maps it.
func (s *server) share(size int) ([]byte, error) {
	if err := s.file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	if err := seal(s.file); err != nil {
		return nil, err
	}
	return unix.Mmap(int(s.file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// free closes socket and memory.
func (s *server) free() error {
	var errs []error
	if s.memory != nil {
		errs = append(errs, unix.Munmap(s.memory))
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	if s.socket != nil {
		errs = append(errs, s.socket.Close())
	}
	s.memory, s.halves, s.file, s.socket = nil, nil, nil, nil
	return errors.Join(errs...)
}

// killGroup ends a process and those that it began.
func killGroup(command *exec.Cmd) { _ = unix.Kill(-command.Process.Pid, unix.SIGKILL) }
