package evorl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/vk"
)

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

// Run runs the rest of a sweep on a device, in the folder made by CreateSweep, and ranks the trials by
// mean score, those without a score last; with halving, by the rung that they reached first. Completed runs are
// skipped, and an interrupted one is resumed. report is called for each trial that reaches the end of a rung.
// The folder is locked until Run returns; one that another process uses gives rundir.ErrInUse.
//
// With Beside several devices run side by side, each one run at a time, to the same bits: learn is called by several goroutines then, report by one at a
// time. Devices must be equal, unless Loose. If one is lost (DeviceLost), another one goes on with its run.
//
// With Clustered workers elsewhere (Work) take part until the sweep ends. Where runs have slices (Config.ShareKey), they are one after the other, each
// shared by all devices and workers. Otherwise each worker does a whole run at a time, as each device here, and this folder follows its folder; learn is
// not called for it, and what happens elsewhere is told (Told). If a worker leaves, its run goes on from the last checkpoint that came of it.
//
// A completed run is taken if it has the configuration of its trials and all records; otherwise nothing is changed, and the error is
// a *ForeignRunError.
func (s *Sweep) Run(ctx context.Context, dev *vk.Device, folder string, learn LearnFunc, report func(TrialResult), options ...RunOption) (
	_ []TrialResult, err error,
) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := engine.Require(map[string]any{"device": dev, "learn function": learn, "report function": report}); err != nil {
		return nil, fmt.Errorf("evorl: sweep: %w", err)
	}
	devices, err := newSweepDevices(dev, s.Divided(), options)
	if err != nil {
		return nil, fmt.Errorf("evorl: sweep: %w", err)
	}
	if devices.cluster != nil {
		if err := s.CheckClustered(*devices.cluster); err != nil {
			return nil, err
		}
	}
	lock, err := rundir.NewLock(folder)
	if err != nil {
		return nil, fmt.Errorf("sweep folder %s: %w", folder, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	if has, err := files.In(folder); !has || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("%w in %s", ErrNoSweep, folder))
	}
	if err := s.checkMetric(ctx, dev); err != nil {
		return nil, err
	}
	batches, err := s.batches(ctx, dev, folder)
	if err != nil {
		return nil, err
	}
	if devices.whole && len(batches) == 1 {
		return nil, fmt.Errorf("evorl: %w", s.oneRun())
	}
	end, err := devices.meet(s.Base)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(err == nil)) }()
	results := make([]TrialResult, len(s.Trials))
	mean := func(t Trial) float64 { return float64(results[t.Number].Mean) }
	alive, rungs := slices.Clone(s.Trials), s.Config.Rungs(s.Base.Run.Iterations)
	for rung, iterations := range rungs {
		if rung > 0 {
			alive = s.Config.Promote(alive, mean)
			if batches, err = s.narrow(batches, alive, rung, rungs[rung-1]); err != nil {
				return nil, err
			}
		}
		reached := func(of ...TrialResult) {
			for _, r := range of {
				results[r.Number] = r
				report(r)
			}
		}
		var jobs []sweepJob
		for _, b := range batches {
			jobs = append(jobs, s.batchJob(b, iterations, devices.shared, learn, reached))
		}
		if batches == nil {
			for _, t := range alive {
				jobs = append(jobs, s.trialJobs(folder, t, iterations, devices.shared, learn, reached)...)
			}
		}
		if err := devices.run(ctx, jobs); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(results, func(a, b TrialResult) int {
		if s.Config.Method == Halving && a.Iterations != b.Iterations {
			return cmp.Compare(b.Iterations, a.Iterations)
		}
		return cmp.Compare(b.Mean, a.Mean) // NaN last
	})
	return results, nil
}

// checkMetric checks that runs of the base configuration have the metric that ranks the trials.
func (s *Sweep) checkMetric(ctx context.Context, dev *vk.Device) error {
	if slices.Contains(records.EpisodeMetrics, s.Config.Metric) {
		return nil
	}
	w, err := s.Base.Build(ctx, engine.New(dev, engine.Seed(s.Base.Run.Seed)))
	if err != nil {
		return err
	}
	report := engine.Report{Metrics: map[string][]float32{}, Evaluation: &engine.Evaluation{Returns: [][]float32{{0}}}}
	for _, name := range w.Metrics().Names() {
		report.Metrics[name] = []float32{0}
	}
	counted, front := records.Evaluations(w, 1) > 0, s.Base.Front(records.FrontPoints) != nil
	if err := w.Close(); err != nil {
		return err
	}
	values, err := records.ValuesOf(report)
	if err != nil {
		return err
	}
	values[StepsPerSecond] = 0
	if counted {
		values["evaluations"] = 0
	}
	if front {
		metrics.AddStatistics(values, "hypervolume", []float64{0})
	}
	for _, name := range []string{s.Config.Metric, s.Config.Metric + metrics.MeanSuffix} {
		if _, ok := values[name]; ok {
			return nil
		}
	}
	return fmt.Errorf("no metric %q: %s on %s has %s", s.Config.Metric, s.Base.Run.Workflow, s.Base.Run.Env,
		strings.Join(metrics.Names([]metrics.Record{{Values: values}}), ", "))
}

// trialJobs continue all runs of a trial to the given number of iterations.
func (s *Sweep) trialJobs(
	folder string, t Trial, iterations int, options []RunOption, learn LearnFunc, reached func(...TrialResult),
) []sweepJob {
	runs := s.runs()
	out := TrialResult{Trial: t, Iterations: iterations, Folders: s.Config.Folders(folder, t, len(s.Trials), runs, s.Base.Run.Seed)}
	jobs, scores, left := make([]sweepJob, runs), make([][]float64, runs), runs
	for i := range jobs {
		most := iterations
		jobs[i].name, jobs[i].moves = fmt.Sprintf("trial %d", t.Number), true
		jobs[i].run = func(ctx context.Context, on sweepPlace) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			cfg, err := s.config(t, SweepFile, i)
			if err != nil {
				return err
			}
			if s.Config.Method != Halving { // else a key may be iterations
				most = cfg.Run.Iterations
			}
			cfg.Run.Iterations = most
			of := &sweepRun{folder: out.Folders[i], cfg: cfg, begin: Start, options: options}
			if err := on.run(ctx, of, func(ctx context.Context, r *Run) error { return learn(ctx, cfg, r, []Trial{t}) }); err != nil {
				return err
			}
			scores[i], _, err = recordsOf(cfg, out.Folders[i]).ScoresUntil(int64(most), s.Config.Metric, 1)
			if errors.Is(err, records.ErrNoScore) {
				return nil
			}
			return err
		}
		jobs[i].done = func() {
			if left--; left == 0 {
				out.Iterations, out.Scores = most, slices.Concat(scores...)
				out.Mean = Number(metrics.Mean(out.Scores))
				reached(out)
			}
		}
	}
	return jobs
}
