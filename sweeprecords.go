package evorl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// startFunc is Start, or another way to begin a run.
type startFunc func(ctx context.Context, eng *engine.Engine, cfg *Config, path string) (*Run, error)

// sweepRun is a run of a sweep, from the beginning or, in halving, from an iteration of the run of the rung before.
type sweepRun struct {
	folder string
	cfg    *Config
	begin  startFunc
	from   int               // iterations of the run of the rung before
	origin *rundir.Continued // members that it continues; nil: it begins anew
}

// ForeignRunError: a folder in a sweep has a completed run that is not that of its trials, or that is damaged. Nothing is changed.
type ForeignRunError struct {
	Folder string
	Err    error
}

func (e *ForeignRunError) Error() string {
	return fmt.Sprintf("%v\nwant the files as the sweep's run wrote them; or move the folder %s away, and the sweep runs it again", e.Err, e.Folder)
}

func (e *ForeignRunError) Unwrap() error { return e.Err }

// run begins or resumes the run to the iterations of its configuration, unless it has reached them. It leaves the folder with a run that is that of the
// configuration and has all its records.
func (r *sweepRun) run(ctx context.Context, dev *vk.Device, learn func(context.Context, *Run) error) error {
	begin := r.begin
	stored, err := Stored(r.folder, Use(r.cfg.setup.Catalog()))
	switch {
	case err == nil:
		last, err := r.completed(stored)
		if err != nil || last >= r.cfg.Run.Iterations {
			return err
		}
		r.cfg.Run.Iterations = max(r.cfg.Run.Iterations, stored.Run.Iterations)
		begin = Resume
	case !errors.Is(err, rundir.ErrNoRun):
		return err
	}
	run, err := begin(ctx, engine.New(dev, engine.Seed(r.cfg.Run.Seed)), r.cfg, r.folder)
	if err != nil {
		return err
	}
	err = learn(ctx, run)
	if errors.Is(err, ErrNoFitness) {
		err = nil // the trial has no score
	}
	if err := errors.Join(err, run.Close()); err != nil {
		return err
	}
	return r.check(run.done)
}

// completed returns the last iteration that the run's newest session completed and saved; 0: none. The run must be that of the configuration.
func (r *sweepRun) completed(stored *Config) (int, error) {
	if d := r.cfg.Differences(stored); len(d) > 0 {
		return 0, &ForeignRunError{r.folder, &DifferenceError{Path: r.folder, Differences: d}}
	}
	dir, err := rundir.Open(r.folder)
	if err != nil {
		return 0, err
	}
	p, err := dir.ReadProvenance()
	if err != nil || len(p.Sessions) == 0 {
		return 0, nil // killed before it began, or damaged: resuming finds what exists
	}
	if p.Continues != nil && !p.Continues.Equal(r.origin) {
		return 0, &ForeignRunError{r.folder, fmt.Errorf("%s: the run continues %v: want one that continues %v",
			filepath.Join(r.folder, rundir.ProvenanceFile), p.Continues, r.origin)}
	}
	last := p.Sessions[len(p.Sessions)-1]
	if last.Outcome != finished {
		return 0, nil
	}
	to := int(min(last.To, math.MaxInt))
	return to, r.check(to)
}

// check checks that the run's files have the records of all its iterations up to the given one, and that the scores of members are those of which
// metrics.jsonl has the statistics.
func (r *sweepRun) check(to int) error {
	dir, err := rundir.Open(r.folder)
	if err != nil {
		return err
	}
	records, err := readRecords(dir.Metrics())
	if err == nil {
		err = checkIterations(dir.Metrics(), records, r.from, to)
	}
	if err == nil && r.cfg.Members() > 1 {
		err = checkMembers(dir.Members(), records)
	}
	if err != nil {
		return &ForeignRunError{r.folder, err}
	}
	return nil
}

// readRecords reads a file of records of which no line is damaged.
func readRecords(path string) ([]metrics.Record, error) {
	records, bad, err := metrics.ReadFile(path)
	if err == nil && bad != nil {
		err = bad
	}
	return records, err
}

// checkIterations checks that there is a record of every iteration after from, up to to.
func checkIterations(path string, records []metrics.Record, from, to int) error {
	for at := from + 1; at <= to; at++ {
		line := at - from
		if line > len(records) || records[line-1].Iteration != int64(at) {
			return fmt.Errorf("%s:%d: the record of iteration %d is lost", path, line, at)
		}
	}
	return nil
}

// checkMembers checks that the values of members in a file have the statistics that the run's records have.
func checkMembers(path string, records []metrics.Record) error {
	members, err := readRecords(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is lost", path)
	}
	if err != nil {
		return err
	}
	line := 0
	for _, r := range records {
		for line < len(members) && members[line].Iteration < r.Iteration {
			line++
		}
		var of metrics.Record
		if line < len(members) && members[line].Iteration == r.Iteration {
			of = members[line]
		}
		for _, metric := range episodeMetrics {
			want, got := map[string]float64{}, map[string]float64{}
			var values []float64
			for name, x := range of.Values {
				if strings.HasPrefix(name, metric+"/") {
					values = append(values, x)
				}
			}
			metrics.AddStatistics(got, metric, values)
			for name, x := range r.Values {
				if strings.HasPrefix(name, metric+"/") {
					want[name] = x
				}
			}
			same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
			if !maps.EqualFunc(got, want, same) {
				what := "is lost"
				if len(got) > 0 {
					what = "is not that of " + rundir.MetricsFile
				}
				return fmt.Errorf("%s:%d: the %s of members in iteration %d %s", path, line+1, metric, r.Iteration, what)
			}
		}
	}
	return nil
}
