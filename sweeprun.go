package evorl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/catalog"
	"github.com/evorl/evorl/internal/durable"
	"github.com/evorl/evorl/internal/regular"
	"github.com/evorl/evorl/vk"
)

// Names of the files in the folder of a sweep. Runs are in folders beside them.
const (
	SweepFile = "sweep.toml"
	baseFile  = "base.toml"
)

// ErrNoSweep: the folder contains no sweep to resume.
var ErrNoSweep = errors.New("no sweep")

// TrialResult is the result of a trial.
type TrialResult struct {
	Trial
	Folders    []string  `json:"run_dirs"`
	Members    []int     `json:"members,omitempty"` // of the trial, if it shares its run; otherwise all of its runs
	Iterations int       `json:"iterations"`        // per run
	Scores     []float64 `json:"scores"`            // of each repetition; see Scores
	Mean       Number    `json:"mean"`              // of the scores
}

// LearnFunc runs one run of a sweep, from Start or Resume, to its end by Run.Learn. of are its trials: one, or those that
// share it.
type LearnFunc func(ctx context.Context, cfg *Config, run *Run, of []Trial) error

// CreateSweep makes the folder of a sweep. If the folder exists, it checks that it has the same sweep, which Run then
// continues. A folder that another process uses gives rundir.ErrInUse.
func (s *Sweep) CreateSweep(folder string) error {
	if err := s.made(); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	lock, err := rundir.NewLock(folder)
	if err != nil {
		return fmt.Errorf("sweep folder %s: %w", folder, err)
	}
	return errors.Join(s.write(folder), lock.Close())
}

// write writes the files of a new sweep, sweep.toml last: a folder without it has no sweep yet, and what a killed process left there is completed.
func (s *Sweep) write(folder string) error {
	if has, err := s.isIn(folder); has || err != nil {
		return err
	}
	text, err := s.TOML()
	if err != nil {
		return err
	}
	files := []catalog.Source{{Name: baseFile, Text: s.base}, {Name: SweepFile, Text: text}}
	if of := s.form.setup.Source; of != nil { // base.toml names it
		files = slices.Insert(files, 0, *of)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !leftover(folder, e.Name(), files) {
			return fmt.Errorf("sweep folder %s: %w: %s is not of this sweep", folder, rundir.ErrNotEmpty, e.Name())
		}
	}
	for _, f := range files {
		if err := durable.WriteFile(filepath.Join(folder, f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// leftover reports whether a file in the folder of a sweep is its lock or of a killed process that wrote these files.
func leftover(folder, name string, files []catalog.Source) bool {
	for _, f := range files {
		if durable.IsTemporary(name, f.Name) {
			return true
		}
		if text, err := regular.ReadFile(filepath.Join(folder, name), catalog.MaxSource); name == f.Name && err == nil && bytes.Equal(text, f.Text) {
			return true
		}
	}
	return name == rundir.LockFile
}

// isIn reports whether a folder has a sweep, which must be this one.
func (s *Sweep) isIn(folder string) (bool, error) {
	text, err := s.TOML()
	if err != nil {
		return false, err
	}
	stored, err := regular.ReadLinked(filepath.Join(folder, SweepFile), catalog.MaxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	base, err := regular.ReadLinked(filepath.Join(folder, baseFile), catalog.MaxSource)
	if err == nil && (!bytes.Equal(stored, text) || !bytes.Equal(base, s.base)) {
		err = fmt.Errorf("%s has another sweep: want the same settings, or another folder", folder)
	}
	return true, err
}

// StoredSweep reads the sweep in a folder. The options are those of its configuration.
func StoredSweep(folder string, opts ...Option) (*Sweep, error) {
	path := filepath.Join(folder, SweepFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: it has no %s", ErrNoSweep, folder, SweepFile)
	}
	return ReadSweep(path, opts...)
}

// folders returns the folders of a trial's runs.
func (s *Sweep) folders(folder string, t Trial, runs int) (out []string) {
	name := fmt.Sprintf("trial-%0*d", len(fmt.Sprint(len(s.Trials)-1)), t.Number)
	for i := range runs {
		switch {
		case len(s.Config.Keys) == 0:
			name = fmt.Sprintf("seed-%d", s.Base.Run.Seed+uint32(i))
		case runs > 1:
			name = fmt.Sprintf("trial-%0*d-seed-%d", len(fmt.Sprint(len(s.Trials)-1)), t.Number, s.Base.Run.Seed+uint32(i))
		}
		out = append(out, filepath.Join(folder, name))
	}
	return out
}

// rungs returns the iterations at which rungs end: one number, except for halving.
func (s *Sweep) rungs() (out []int) {
	last := s.Base.Run.Iterations
	if s.Config.Method == Halving {
		for n := s.Config.Halving.Iterations; n < last; n *= s.Config.Halving.Eta {
			out = append(out, n)
		}
	}
	return append(out, last)
}

// Run runs the rest of a sweep on a device, in the folder made by CreateSweep, and ranks the trials by
// mean score, those without a score last; with halving, by the rung that they reached first. Completed runs are
// skipped, and an interrupted one is resumed. report is called for each trial that reaches the end of a rung.
// The folder is locked until Run returns; one that another process uses gives rundir.ErrInUse.
//
// A completed run is taken if its configuration is that of its trials and it has all records; otherwise nothing is changed, and the error is
// a *ForeignRunError.
func (s *Sweep) Run(ctx context.Context, dev *vk.Device, folder string, learn LearnFunc, report func(TrialResult)) (_ []TrialResult, err error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	if err := engine.Require(map[string]any{"device": dev, "learn function": learn, "report function": report}); err != nil {
		return nil, fmt.Errorf("evorl: sweep: %w", err)
	}
	lock, err := rundir.NewLock(folder)
	if err != nil {
		return nil, fmt.Errorf("sweep folder %s: %w", folder, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if has, err := s.isIn(folder); !has || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("%w in %s", ErrNoSweep, folder))
	}
	results := make([]TrialResult, len(s.Trials))
	rank := func() []TrialResult {
		slices.SortStableFunc(results, func(a, b TrialResult) int {
			if s.Config.Method == Halving && a.Iterations != b.Iterations {
				return cmp.Compare(b.Iterations, a.Iterations)
			}
			return cmp.Compare(b.Mean, a.Mean) // NaN last
		})
		return results
	}
	if err := s.checkMetric(ctx, dev); err != nil {
		return nil, err
	}
	batches, err := s.batches(ctx, dev, folder)
	if err != nil {
		return nil, err
	}
	alive := slices.Clone(s.Trials)
	for rung, iterations := range s.rungs() {
		if rung > 0 {
			alive = s.promote(results, alive)
			if batches, err = s.narrow(batches, alive, rung); err != nil {
				return nil, err
			}
		}
		for _, b := range batches {
			if s.Config.Method != Halving {
				iterations = b.cfg.Run.Iterations // a key may be iterations
			}
			of, err := s.runBatch(ctx, dev, b, iterations, learn)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(b.folder), err)
			}
			for _, r := range of {
				results[r.Number] = r
				report(r)
			}
		}
		if batches != nil {
			continue
		}
		for _, t := range alive {
			r, err := s.runTrial(ctx, dev, folder, t, iterations, learn)
			if err != nil {
				return nil, fmt.Errorf("trial %d: %w", t.Number, err)
			}
			results[t.Number] = r
			report(r)
		}
	}
	return rank(), nil
}

// promote returns the trials that continue to the next rung.
func (s *Sweep) promote(results []TrialResult, alive []Trial) []Trial {
	ranked := slices.Clone(alive)
	slices.SortStableFunc(ranked, func(a, b Trial) int { return cmp.Compare(results[b.Number].Mean, results[a.Number].Mean) })
	keep := max(1, len(alive)/s.Config.Halving.Eta)
	ranked = ranked[:keep]
	slices.SortFunc(ranked, func(a, b Trial) int { return cmp.Compare(a.Number, b.Number) })
	return ranked
}

// runTrial continues all runs of a trial to the given number of iterations.
func (s *Sweep) runTrial(ctx context.Context, dev *vk.Device, folder string, t Trial, iterations int, learn LearnFunc) (TrialResult, error) {
	configs, err := s.configs(t, SweepFile)
	if err != nil {
		return TrialResult{}, err
	}
	out := TrialResult{Trial: t, Iterations: iterations, Folders: s.folders(folder, t, len(configs))}
	for i, cfg := range configs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		most := cfg.Run.Iterations // a key may be iterations
		if s.Config.Method == Halving {
			most = iterations
		}
		out.Iterations, cfg.Run.Iterations = most, most
		of := &sweepRun{folder: out.Folders[i], cfg: cfg, begin: Start}
		if err := of.run(ctx, dev, func(ctx context.Context, r *Run) error { return learn(ctx, cfg, r, []Trial{t}) }); err != nil {
			return out, err
		}
		scores, _, err := scoresUntil(int64(most), cfg, out.Folders[i], s.Config.Metric, 1)
		if err != nil && !errors.Is(err, errNoScore) {
			return out, err
		}
		out.Scores = append(out.Scores, scores...)
	}
	out.Mean = Number(metrics.Mean(out.Scores))
	return out, nil
}
