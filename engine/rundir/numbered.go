package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NewNumbered makes a folder in another one: PREFIX-N, with N above all existing ones. It is safe for concurrent processes.
func NewNumbered(below, prefix string) (string, error) {
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", err
	}
	for {
		n, err := newest(below, prefix)
		if err != nil {
			return "", err
		}
		path := numbered(below, prefix, n+1)
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// NewestNumbered returns the folder with the largest number of those that NewNumbered made; "" if there is none.
func NewestNumbered(below, prefix string) (string, error) {
	n, err := newest(below, prefix)
	if n == 0 || err != nil {
		return "", err
	}
	return numbered(below, prefix, n), nil
}

func numbered(below, prefix string, n int) string {
	return filepath.Join(below, fmt.Sprintf("%s-%d", prefix, n))
}

// newest returns the largest number in a folder; 0: none.
func newest(below, prefix string) (int, error) {
	entries, err := os.ReadDir(below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	most := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), prefix+"-%d", &n); err == nil && e.Name() == fmt.Sprint(prefix, "-", n) {
			most = max(most, n)
		}
	}
	return most, nil
}
