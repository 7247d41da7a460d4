package rundir

import (
	"os"

	"golang.org/x/sys/windows"
)

func tryLock(f *os.File) error {
	// One byte far beyond the text, since others cannot read a locked range.
	at := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if err == windows.ERROR_LOCK_VIOLATION {
		return errLocked
	}
	return err
}
