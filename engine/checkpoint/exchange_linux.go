package checkpoint

import "golang.org/x/sys/unix"

// exchange swaps two folders atomically. It returns an error on filesystems that cannot.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
