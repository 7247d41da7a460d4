//go:build unix

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a folder is this user's, and nobody else's to write to.
func isOwn(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(of.Uid) == os.Getuid() && info.Mode().Perm() == 0o700
}
