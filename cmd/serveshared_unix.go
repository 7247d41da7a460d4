//go:build unix

package cmd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// share makes the file, in memory where the system has a folder for that, and maps it until the program ends.
func (s *sharedPolicy) share() error {
	dir := "/dev/shm"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = os.TempDir()
	}
	file, err := os.CreateTemp(dir, "evorl-")
	if err != nil {
		return err
	}
	s.spec.File = file.Name()
	if err = file.Truncate(int64(s.spec.Size)); err == nil {
		s.bytes, err = unix.Mmap(int(file.Fd()), 0, s.spec.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(s.spec.File))
	}
	return nil
}
