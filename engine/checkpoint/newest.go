package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Newest calls use with the newest valid checkpoint in dir, as found by Latest. If a run that writes to dir removes that checkpoint
// while use reads it, use is called again with a newer one. Refused checkpoints are returned newest first. If no checkpoint can be
// used, the error is [ErrNone].
func Newest(dir string, use func(*Checkpoint) error) (refused []*CorruptError, err error) {
	for {
		c, refused, err := Latest(dir)
		switch {
		case err != nil && len(refused) > 0:
			return refused, fmt.Errorf("%w; the newest: %w", err, refused[0])
		case err != nil:
			return nil, err
		}
		err = use(c)
		if _, gone := os.Stat(c.Path); err != nil && errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		return refused, err
	}
}
