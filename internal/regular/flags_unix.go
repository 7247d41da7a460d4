//go:build unix

package regular

import "golang.org/x/sys/unix"

// Opening a pipe does not wait for its other end.
const (
	noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK
	nonBlock = unix.O_NONBLOCK
)
