package rundir

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/evorl/evorl/engine/internal/regular"
)

// lock is a file that the system unlocks when the process ends in any way.
type lock struct{ f *os.File }

func acquire(path string) (*lock, error) {
	f, err := regular.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
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
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		f.Close()
		return nil, err
	}
	return &lock{f}, nil
}

// release keeps the file, since removing it would let two processes lock different files of the same name.
func (l *lock) release() error {
	err := l.f.Truncate(0)
	return errors.Join(err, l.f.Close())
}

// errLocked: another process holds the lock.
var errLocked = errors.New("locked")
