//go:build !unix

package bridge

import (
	"errors"
	"os/exec"
)

var errPlatform = errors.New("environments outside of evorl need sockets and memory that a process inherits, which are not implemented " +
	"on this platform; want Linux or macOS, or on Windows the subsystem for Linux (WSL 2)")

func (s *server) open() (inherited, error) { return inherited{}, errPlatform }

func (s *server) share(int) ([]byte, error) { return nil, errPlatform }

func (s *server) free() error { return nil }

func asGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
