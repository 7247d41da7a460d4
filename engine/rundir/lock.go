package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/evorl/evorl/internal/regular"
)

// Lock is the lock of a folder, which the system releases when the process ends in any way.
type Lock struct {
	folder string
	f      *os.File
}

// NewLock locks a folder, which must exist. If another process holds its lock, the error is [ErrInUse].
func NewLock(folder string) (*Lock, error) {
	path := filepath.Join(folder, LockFile)
	f, err := regular.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &Lock{folder, f}
	if err := tryLock(f); err != nil {
		holder, _ := regular.ReadFile(path, 1<<10) // used only in the message
		f.Close()
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if text := strings.TrimSpace(string(holder)); text != "" {
			return nil, fmt.Errorf("%w by %s", ErrInUse, text)
		}
		return nil, ErrInUse
	}
	text := "process " + strconv.Itoa(os.Getpid()) + " since " + time.Now().Format(time.RFC3339) + "\n"
	err = l.Check() // the folder may have been replaced between opening and locking
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// Check checks that the locked folder is still in place. Otherwise the error is [ErrGone].
func (l *Lock) Check() error {
	now, err := os.Lstat(filepath.Join(l.folder, LockFile))
	if err == nil {
		var held os.FileInfo
		if held, err = l.f.Stat(); err == nil && os.SameFile(now, held) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrGone, l.folder)
}

// Close unlocks the folder. It keeps the file, since removing it would let two processes lock different files of the same name.
func (l *Lock) Close() error {
	err := l.f.Truncate(0)
	return errors.Join(err, l.f.Close())
}

// errLocked: another process holds the lock.
var errLocked = errors.New("locked")
