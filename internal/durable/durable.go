// Package durable writes files so that a crash at any moment leaves either the old or the new content, never a mixture.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// WriteFile replaces path by data: it writes a temporary file in the same folder, syncs it, renames it over path, and syncs
// the folder. A failure leaves the old content and no temporary file.
func WriteFile(path string, data []byte, perm fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, temporary(filepath.Base(path))+"*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close() // a second Close only returns an error
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Chmod(perm); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// ReplaceFile makes data the content of a file that a user names, with mode 0644 before the umask if it is new. An existing file keeps its permissions, and
// its old content until all of the new one is on disk; links are followed. What is no regular file, such as /dev/stdout, and a file in a folder that permits
// no new ones are written in place.
func ReplaceFile(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err = WriteFile(target, data, info.Mode().Perm()); errors.Is(err, fs.ErrPermission) {
		return os.WriteFile(target, data, 0o644)
	}
	return err
}

func temporary(name string) string { return "." + name + ".tmp-" }

// IsTemporary reports whether file is a temporary file left by an interrupted WriteFile of name in the same folder.
func IsTemporary(file, name string) bool { return strings.HasPrefix(file, temporary(name)) }

// SyncDir makes the names in a folder durable: only then is a rename sure to survive a power cut. Filesystems that
// cannot sync a folder (some network and user-space ones return EINVAL or ENOTSUP) are not an error, nor is Windows, where no program can.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
