// Package rundir lays out the folder of a run:
//
//	RUN_DIR/
//	  config.toml      the resolved configuration, defaults included
//	  provenance.json  what computed it: program, device, driver, seed, sessions
//	  metrics.jsonl    see [metrics.Record]
//	  lineage.jsonl    of PBT: for every exchange a record of each member, see hybrid.PBT.Lineage
//	  tensorboard/     event files of the same numbers, for TensorBoard
//	  checkpoints/     see package checkpoint
//	  best/            the checkpoint of the best evaluation
//	  .lock            held by the process that runs
//
// config.toml is written last of what a run starts with: a folder that has it can be resumed, from its first iteration when there is
// no checkpoint yet.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evorl/evorl/engine/internal/durable"
)

// Names of what a run directory holds.
const (
	ConfigFile     = "config.toml"
	ProvenanceFile = "provenance.json"
	MetricsFile    = "metrics.jsonl"
	LineageFile    = "lineage.jsonl"
	EventsDir      = "tensorboard"
	CheckpointsDir = "checkpoints"
	BestDir        = "best"

	lockFile = ".lock"
)

var (
	// ErrNotEmpty says that a new run's folder holds something already.
	ErrNotEmpty = errors.New("the folder is not empty")
	// ErrNoRun says that a folder holds no run: there is nothing to resume, to evaluate or to show.
	ErrNoRun = errors.New("no run")
	// ErrInUse says that another process is running in the folder.
	ErrInUse = errors.New("the run directory is in use")
	// ErrGone says that the folder was removed, or another was put in its place, while a run was at work in it.
	ErrGone = errors.New("the run directory was removed or replaced while the run was at work in it")
)

// Dir is a run directory. One from [Create] or [Resume] is locked until Close.
type Dir struct {
	path string
	lock *lock
}

// Create makes the folder of a new run and locks it. A folder that exists must be empty: otherwise the error is [ErrNotEmpty].
func Create(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	for _, e := range entries {
		// A lock and a configuration half written may be what remains of a run that ended before it began.
		if e.Name() != lockFile && !durable.IsTemporary(e.Name(), ConfigFile) {
			d.Close()
			return nil, fmt.Errorf("run directory %s: %w: resume the run that is there, or choose another folder", path, ErrNotEmpty)
		}
	}
	return d, nil
}

// Resume opens and locks the folder of a run that began before. The error is [ErrNoRun] when there is none.
func Resume(path string) (*Dir, error) {
	if err := hasRun(path); err != nil {
		return nil, err
	}
	return open(path)
}

// Open opens the folder of a run to read from, also while it runs.
func Open(path string) (*Dir, error) {
	if err := hasRun(path); err != nil {
		return nil, err
	}
	return &Dir{path: path}, nil
}

func open(path string) (*Dir, error) {
	l, err := acquire(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	return &Dir{path, l}, nil
}

func hasRun(path string) error {
	_, err := os.Stat(filepath.Join(path, ConfigFile))
	if err != nil {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w in %s: there is no such folder", ErrNoRun, path)
		case err == nil && !info.IsDir():
			return fmt.Errorf("%w in %s: it is a file, want the folder of a run", ErrNoRun, path)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w in %s: it has no %s", ErrNoRun, path, ConfigFile)
	}
	if err != nil {
		return fmt.Errorf("run directory %s: %w", path, err)
	}
	return nil
}

// Check makes sure that the folder of a run at work is still where it was. The error is [ErrGone] when it is not.
func (d *Dir) Check() error {
	if d.lock == nil {
		return nil
	}
	now, err := os.Lstat(filepath.Join(d.path, lockFile))
	if err == nil {
		var held fs.FileInfo
		if held, err = d.lock.f.Stat(); err == nil && os.SameFile(now, held) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrGone, d.path)
}

// Path is the folder as it was named.
func (d *Dir) Path() string { return d.path }

// Config is the path of the resolved configuration.
func (d *Dir) Config() string { return filepath.Join(d.path, ConfigFile) }

// Metrics is the path of the records.
func (d *Dir) Metrics() string { return filepath.Join(d.path, MetricsFile) }

// Lineage is the path of the records of PBT's exchanges.
func (d *Dir) Lineage() string { return filepath.Join(d.path, LineageFile) }

// Events is the folder of the TensorBoard events.
func (d *Dir) Events() string { return filepath.Join(d.path, EventsDir) }

// Checkpoints is the folder of the checkpoints.
func (d *Dir) Checkpoints() string { return filepath.Join(d.path, CheckpointsDir) }

// Best is the folder of the checkpoint of the best evaluation.
func (d *Dir) Best() string { return filepath.Join(d.path, BestDir) }

// WriteConfig replaces the resolved configuration. A run writes it once everything else that must be right is right, since from
// then on the folder is a run.
func (d *Dir) WriteConfig(text []byte) error {
	return durable.WriteFile(d.Config(), text, 0o644)
}

// Close unlocks the folder; a second Close does nothing.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	l := d.lock
	d.lock = nil
	return l.release()
}
