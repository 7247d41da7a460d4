package evorl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NextPath names the folder of a new run below a folder: workflow-env-n with the next free n.
func NextPath(below string, cfg *Config) (string, error) {
	n, err := newest(below, cfg)
	return numbered(below, cfg, n+1), err
}

// NewestPath is the folder of the newest run that NextPath named; "" when there is none.
func NewestPath(below string, cfg *Config) (string, error) {
	n, err := newest(below, cfg)
	if n == 0 || err != nil {
		return "", err
	}
	return numbered(below, cfg, n), nil
}

func numbered(below string, cfg *Config, n int) string {
	return filepath.Join(below, fmt.Sprintf("%s-%s-%d", cfg.Run.Workflow, cfg.Run.Env, n))
}

func newest(below string, cfg *Config) (int, error) {
	entries, err := os.ReadDir(below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	best := 0
	for _, e := range entries {
		var n int
		prefix := cfg.Run.Workflow + "-" + cfg.Run.Env + "-"
		if _, err := fmt.Sscanf(e.Name(), prefix+"%d", &n); err == nil && e.Name() == fmt.Sprint(prefix, n) {
			best = max(best, n)
		}
	}
	return best, nil
}
