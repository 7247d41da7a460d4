// Package scratch makes folders for temporary files of a process, which later ones remove if it was killed.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/evorl/evorl/engine/rundir"
)

// young is the age up to which a folder without a lock may be one that is being made.
const young = time.Minute

// Folder is a folder in the system's folder for temporary files. It is locked while its process lives: the system releases the lock at its end of any kind.
type Folder struct {
	path string
	lock *rundir.Lock
}

// New makes a folder whose name begins with a prefix, and removes those of processes that have ended.
func New(prefix string) (*Folder, error) {
	sweep(os.TempDir(), prefix)
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		lock, err := rundir.NewLock(path)
		if err == nil {
			return &Folder{path, lock}, nil
		}
		err = errors.Join(err, os.RemoveAll(path))
		if !errors.Is(err, rundir.ErrInUse) && !errors.Is(err, rundir.ErrGone) { // else another process took it for one that was left
			return nil, err
		}
	}
}

// Path returns the folder's path.
func (f *Folder) Path() string { return f.path }

// Close removes the folder.
func (f *Folder) Close() error { return errors.Join(f.lock.Close(), os.RemoveAll(f.path)) }

// sweep removes the folders of a prefix that processes of this user have left. What cannot be removed stays.
func sweep(in, prefix string) {
	entries, err := os.ReadDir(in)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(in, name)
		if len(name) <= len(prefix) || name[:len(prefix)] != prefix || !left(path) {
			continue
		}
		lock, err := rundir.NewLock(path)
		if err != nil {
			continue // its process lives
		}
		_ = lock.Close() // before its file is removed, which Windows needs
		_ = os.RemoveAll(path)
	}
}

// left reports whether a path is a folder that New has made for this user and that has a lock, or had the time to get one. Others may write to the folder that
// it is in.
func left(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !isOwn(info) {
		return false
	}
	_, err = os.Lstat(filepath.Join(path, rundir.LockFile))
	return err == nil || errors.Is(err, fs.ErrNotExist) && time.Since(info.ModTime()) > young
}
