// Package rundir lays out the folder of a run:
//
//	RUN_DIR/
//	  config.toml      the resolved configuration, defaults included
//	  provenance.json  what computed the run: program, device, driver, seed, sessions
//	  metrics.jsonl    see [metrics.Record]
//	  members.jsonl    for several members: the same with each member's own values, such as return/0 and return/1
//	  lineage.jsonl    for PBT: one record per member and exchange, see hybrid.PBT.Lineage and evorl.Lineage
//	  tensorboard/     event files of the same numbers, for TensorBoard
//	  checkpoints/     see package checkpoint
//	  best/            the checkpoint of the best evaluation
//	  .lock            held by the process that runs
//
// A new run writes config.toml last. A folder that contains it can be resumed, from the first iteration if there is no checkpoint
// yet.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evorl/evorl/internal/durable"
)

// Names of the entries of a run directory.
const (
	ConfigFile     = "config.toml"
	ProvenanceFile = "provenance.json"
	MetricsFile    = "metrics.jsonl"
	MembersFile    = "members.jsonl"
	LineageFile    = "lineage.jsonl"
	EventsDir      = "tensorboard"
	CheckpointsDir = "checkpoints"
	BestDir        = "best"
	LockFile       = ".lock"
)

var (
	// ErrNotEmpty: the folder of a new run is not empty.
	ErrNotEmpty = errors.New("the folder is not empty")
	// ErrNoRun: the folder contains no run to resume, evaluate or show.
	ErrNoRun = errors.New("no run")
	// ErrInUse: another process runs in the folder.
	ErrInUse = errors.New("the folder is in use")
	// ErrGone: the folder was removed or replaced during a run.
	ErrGone = errors.New("the folder was removed or replaced during the run")
)

// Dir is a run directory. [Create], [Renew] and [Resume] lock it until Close.
type Dir struct {
	path string
	lock *Lock // nil: opened for reading
}

// Create creates and locks the folder of a new run. An existing folder must be empty; otherwise the error is [ErrNotEmpty].
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
		// A run that ended before it began may leave a lock and a temporary configuration file.
		if e.Name() != LockFile && !durable.IsTemporary(e.Name(), ConfigFile) {
			d.Close()
			return nil, fmt.Errorf("run directory %s: %w: resume the run that is there, or choose another folder", path, ErrNotEmpty)
		}
	}
	return d, nil
}

// Renew is Create for a folder in which a run may have ended before it began: what that run left there is removed. A folder with a run gives [ErrNotEmpty].
func Renew(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := hasRun(path); !errors.Is(err, ErrNoRun) {
		if err == nil {
			err = fmt.Errorf("run directory %s: %w", path, ErrNotEmpty)
		}
		return nil, errors.Join(err, d.Close())
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != LockFile && err == nil {
			err = os.RemoveAll(filepath.Join(path, e.Name()))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run directory %s: %w", path, err), d.Close())
	}
	return d, nil
}

// Remove removes the folder of a run that failed before it began, before Close. A folder that took its place stays.
func (d *Dir) Remove() error {
	if d.lock == nil || d.lock.Check() != nil {
		return nil
	}
	return os.RemoveAll(d.path)
}

// Resume opens and locks the folder of an earlier run. If there is none, the error is [ErrNoRun].
func Resume(path string) (*Dir, error) {
	if err := hasRun(path); err != nil {
		return nil, err
	}
	return open(path)
}

// Open opens the folder of a run for reading. The run may be in progress.
func Open(path string) (*Dir, error) {
	if err := hasRun(path); err != nil {
		return nil, err
	}
	return &Dir{path: path}, nil
}

func open(path string) (*Dir, error) {
	l, err := NewLock(path)
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

// Check checks that the folder of the current run is still in place. Otherwise the error is [ErrGone].
func (d *Dir) Check() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Check()
}

// Path returns the folder as given by the caller.
func (d *Dir) Path() string { return d.path }

// Config returns the path of the resolved configuration.
func (d *Dir) Config() string { return filepath.Join(d.path, ConfigFile) }

// Metrics returns the path of the metrics.
func (d *Dir) Metrics() string { return filepath.Join(d.path, MetricsFile) }

// Members returns the path of the metrics of each member.
func (d *Dir) Members() string { return filepath.Join(d.path, MembersFile) }

// Lineage returns the path of the records of PBT's exchanges.
func (d *Dir) Lineage() string { return filepath.Join(d.path, LineageFile) }

// Events returns the folder of the TensorBoard events.
func (d *Dir) Events() string { return filepath.Join(d.path, EventsDir) }

// Checkpoints returns the folder of the checkpoints.
func (d *Dir) Checkpoints() string { return filepath.Join(d.path, CheckpointsDir) }

// Best returns the folder of the checkpoint of the best evaluation.
func (d *Dir) Best() string { return filepath.Join(d.path, BestDir) }

// WriteConfig replaces the resolved configuration. A new run writes it after all its checks, since the folder then counts as
// a run.
func (d *Dir) WriteConfig(text []byte) error { return d.write(ConfigFile, text) }

// write replaces a file of the folder, if that is still in place.
func (d *Dir) write(name string, text []byte) error {
	if err := d.Check(); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(d.path, name), text, 0o644)
}

// WriteSource stores a file that the configuration names, under the file's own name.
func (d *Dir) WriteSource(name string, text []byte) error {
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return fmt.Errorf("run directory: a source %q; want the name of a file", name)
	}
	return d.write(name, text)
}

// Close unlocks the folder. A second Close does nothing.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	l := d.lock
	d.lock = nil
	return l.Close()
}
