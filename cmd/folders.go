package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/rundir"
)

// errNoMetrics is the error of a run that has done no iteration.
var errNoMetrics = errors.New("no metrics yet")

// runsOf returns the run directories that a path stands for: itself or, of the repetitions of run --seeds and of a sweep, the runs in it.
func runsOf(path string) (runs []string, sweep bool, err error) {
	if _, err := os.Stat(filepath.Join(path, evorl.SweepFile)); err != nil {
		return []string{path}, false, nil
	}
	found, err := filepath.Glob(filepath.Join(quoted(path), "*", rundir.ConfigFile))
	for _, file := range found {
		runs = append(runs, filepath.Dir(file))
	}
	if len(runs) == 0 && err == nil {
		err = fmt.Errorf("%s is a sweep without runs yet", path)
	}
	return runs, true, err
}

// quoted quotes the characters of a path that mean something to filepath.Glob.
func quoted(path string) string {
	var b []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' && os.PathSeparator != '\\' {
			b = append(b, '\\')
		}
		b = append(b, r)
	}
	return string(b)
}

// chooseRuns returns the run directories among the paths of a command that compares runs, such as runs/*. Repetitions are runs; the trials of
// a sweep are methods of their own, and are left out, with a warning, where anything else is named. Other folders and files are left out too.
func chooseRuns(known *evorl.Catalog, paths []string, warn func(string, ...any)) (runs []string, err error) {
	var first error
	skip := func(err error) {
		if first == nil {
			first = err
		}
		warn("%v: left out", err)
	}
	for _, path := range paths {
		of, sweep, err := runsOf(path)
		if err != nil {
			skip(err)
			continue
		}
		if !sweep {
			if _, err := rundir.Open(path); err != nil {
				if _, gone := os.Stat(path); gone != nil {
					return nil, err
				}
				skip(err)
				continue
			}
		} else if stored, err := evorl.StoredSweep(path, evorl.Use(known)); err != nil {
			skip(err)
			continue
		} else if len(stored.Config.Keys) > 0 && len(paths) > 1 {
			skip(fmt.Errorf("%s is a sweep, whose table is in %s; its runs are in %s", path, resultsFile, filepath.Join(path, "*")))
			continue
		}
		runs = append(runs, of...)
	}
	if len(runs) == 0 {
		return nil, first
	}
	return runs, nil
}
