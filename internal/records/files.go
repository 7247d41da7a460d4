package records

import (
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// Files are the files to which a run appends what it stores of its iterations. They are for a single goroutine.
type Files struct {
	all     []*metrics.File // the fields' files
	metrics *metrics.File
	members *metrics.File // nil: one member
	lineage *metrics.File // nil: the workflow has none
	descent descent
	events  *metrics.Events
}

// descent is a workflow whose members descend from each other.
type descent interface {
	Lineage(engine.Report) []metrics.Record
}

// OpenFiles opens the files of a run of a workflow, to continue after the given number of iterations and of environment steps; later records are cut off.
// last is the last record that stays, nil if there is none. cut lists damaged lines, which are cut off with all that follows. The folder must still be
// the run's.
func OpenFiles(dir *rundir.Dir, w engine.Workflow, done int, steps int64) (_ *Files, last *metrics.Record, cut []*metrics.LineError, err error) {
	f := &Files{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	open := func(path string) (*metrics.File, *metrics.Record, error) {
		file, last, bad, err := metrics.ResumeFile(path, int64(done), dir.Check)
		if bad != nil {
			cut = append(cut, bad)
		}
		if err == nil {
			f.all = append(f.all, file)
		}
		return file, last, err
	}
	if f.metrics, last, err = open(dir.Metrics()); err != nil {
		return nil, nil, cut, err
	}
	if w.Describe().Members > 1 {
		if f.members, _, err = open(dir.Members()); err != nil {
			return nil, nil, cut, err
		}
	}
	if of, ok := w.(descent); ok {
		f.descent = of
		if f.lineage, _, err = open(dir.Lineage()); err != nil {
			return nil, nil, cut, err
		}
	}
	if err = dir.Check(); err != nil {
		return nil, nil, cut, err
	}
	if f.events, err = metrics.NewEvents(dir.Events(), metrics.EventStep(int64(done), steps)); err != nil {
		return nil, nil, cut, err
	}
	return f, last, cut, nil
}

// Append writes the record of a report, the values of each member, and an exchange of PBT.
func (f *Files) Append(record metrics.Record, report engine.Report) error {
	errs := []error{f.metrics.Append(record), f.events.Write(record)}
	if f.members != nil {
		of := record
		if of.Values = MemberValues(report); len(of.Values) > 0 {
			errs = append(errs, f.members.Append(of))
		}
	}
	if f.lineage != nil {
		for _, of := range f.descent.Lineage(report) {
			of.Seconds = record.Seconds
			errs = append(errs, f.lineage.Append(of))
		}
	}
	return errors.Join(errs...)
}

// Sync waits until all records are on disk.
func (f *Files) Sync() error {
	var errs []error
	for _, file := range f.all {
		errs = append(errs, file.Sync())
	}
	return errors.Join(errs...)
}

// SyncEvents waits until the TensorBoard events are on disk.
func (f *Files) SyncEvents() error { return f.events.Sync() }

// Close closes the files.
func (f *Files) Close() error {
	var errs []error
	for _, file := range f.all {
		errs = append(errs, file.Close())
	}
	if f.events != nil {
		errs = append(errs, f.events.Close())
	}
	return errors.Join(errs...)
}
