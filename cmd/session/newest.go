package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/evorl/evorl/engine/checkpoint"
)

// Newest hands the newest good checkpoint of a folder to use. A run may be at work there, and remove the checkpoint while use reads
// it: then use is called again with a newer one. refused are the checkpoints that were passed over; when all are, or there are none, the
// error is checkpoint.ErrNone.
func Newest(dir string, use func(*checkpoint.Checkpoint) error) (refused []*checkpoint.CorruptError, err error) {
	for {
		c, refused, err := checkpoint.Latest(dir)
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
