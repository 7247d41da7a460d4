package evorl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// NewPath makes the folder of a new run in a folder: WORKFLOW-ENV-N, with N above all existing ones. It is safe for
// concurrent processes.
func NewPath(below string, cfg *Config) (string, error) {
	if err := cfg.made(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", err
	}
	for {
		n, err := newest(below, cfg)
		if err != nil {
			return "", err
		}
		path := numbered(below, cfg, n+1)
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// NewestPath returns the folder of the newest run made by NewPath; "" if there is none.
func NewestPath(below string, cfg *Config) (string, error) {
	if err := cfg.made(); err != nil {
		return "", err
	}
	n, err := newest(below, cfg)
	if n == 0 || err != nil {
		return "", err
	}
	return numbered(below, cfg, n), nil
}

func numbered(below string, cfg *Config, n int) string {
	return filepath.Join(below, fmt.Sprintf("%s%d", prefixOf(cfg), n))
}

// newest returns the largest number of a run in a folder; 0: none.
func newest(below string, cfg *Config) (int, error) {
	entries, err := os.ReadDir(below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	most := 0
	for _, e := range entries {
		var n int
		prefix := prefixOf(cfg)
		if _, err := fmt.Sscanf(e.Name(), prefix+"%d", &n); err == nil && e.Name() == fmt.Sprint(prefix, n) {
			most = max(most, n)
		}
	}
	return most, nil
}

// prefixOf returns the prefix of the folder names of a configuration's runs.
func prefixOf(cfg *Config) string {
	return cfg.Run.Workflow + "-" + strings.TrimSuffix(cfg.Run.Env, SourceSuffix) + "-"
}
