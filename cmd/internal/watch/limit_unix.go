//go:build unix

package watch

import (
	"math"

	"golang.org/x/sys/unix"
)

// descriptorLimit returns how many descriptors the process may have.
func descriptorLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
