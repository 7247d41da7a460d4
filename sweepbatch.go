package evorl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/internal/sweep"
	"github.com/evorl/evorl/vk"
)

// batch is a run of trials with its configuration.
type batch struct {
	*sweep.Batch
	cfg *Config
}

// batches returns the runs of a sweep whose trials share runs; nil if they do not: members that are no repetitions or do not learn by themselves, a
// metric that members do not have, no key of members, or their number as a key. Those of halving must also be able to
// continue in runs with fewer members.
func (s *Sweep) batches(ctx context.Context, dev *vk.Device, folder string) ([]*batch, error) {
	if !s.Batched() || s.Config.Batch < 2 || !slices.Contains(records.EpisodeMetrics, s.Config.Metric) {
		return nil, nil
	}
	if _, tried := s.Config.Keys[s.Base.MembersKey()]; tried {
		return nil, nil
	}
	if s.Base.setup.Settings.Composed() { // see checkVary
		return nil, nil
	}
	names, err := s.varied(ctx, dev)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var all []*batch
	for _, of := range s.Config.Batches(s.Trials, names, folder) {
		cfg, err := s.shared(of)
		if err != nil {
			return nil, err
		}
		all = append(all, &batch{of, cfg})
	}
	if s.Config.Method == Halving {
		if ok, err := s.narrows(ctx, dev, all); err != nil || !ok {
			return nil, err
		}
	}
	return all, nil
}

// narrows reports whether the state of each batch differs from a run of one of its trials in the number of members only.
// Large replays, for example, are divided into as many tensors as the number of members needs.
func (s *Sweep) narrows(ctx context.Context, dev *vk.Device, all []*batch) (bool, error) {
	for _, b := range all {
		single, err := s.shared(&sweep.Batch{Trials: b.Trials[:1], Names: b.Names, Seeds: b.Seeds})
		if err != nil {
			return false, err
		}
		var states []*engine.State
		for _, cfg := range []*Config{b.cfg, single} {
			w, err := cfg.Build(ctx, engine.New(dev, engine.Seed(cfg.Run.Seed)))
			if err != nil {
				return false, err
			}
			defer w.Close()
			states = append(states, w.State())
		}
		if !states[1].FitsMembers(states[0], single.Members(), b.cfg.Members()) {
			return false, nil
		}
	}
	return true, nil
}

// narrow returns the runs of a rung of those trials that are alive; see sweep.Batch.Narrow.
func (s *Sweep) narrow(all []*batch, alive []Trial, rung, begun int) (next []*batch, err error) {
	for _, b := range all {
		of := b.Narrow(alive, rung, begun)
		if of == nil {
			continue
		}
		if of != b.Batch {
			b = &batch{Batch: of}
			if b.cfg, err = s.shared(of); err != nil {
				return nil, err
			}
		}
		next = append(next, b)
	}
	return next, nil
}

// varied returns the keys of the sweep that are hyperparameters of members in this environment, with their names.
func (s *Sweep) varied(ctx context.Context, dev *vk.Device) (map[string]string, error) {
	all, err := s.Base.setup.MemberKeys()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for key := range s.Config.Keys {
		if name, ok := all[key]; ok {
			names[key] = name
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	w, err := s.Base.Build(ctx, engine.New(dev, engine.Seed(s.Base.Run.Seed)))
	if err != nil {
		return nil, err
	}
	of, ok := w.(engine.Trainable)
	for key, name := range names {
		if !ok || of.Hyper().Lookup(name) == nil {
			delete(names, key)
		}
	}
	return names, w.Close()
}

// shared returns the configuration of the run of a batch.
func (s *Sweep) shared(b *sweep.Batch) (*Config, error) {
	options := []Option{s.Base.sameSource()}
	for _, text := range b.Settings(s.Base.MembersKey()) {
		options = append(options, Flag("trials of "+SweepFile, text))
	}
	return Parse(baseFile, s.base, options...)
}

// batchJob continues a batch to the given number of iterations.
func (s *Sweep) batchJob(b *batch, iterations int, options []RunOption, learn LearnFunc, reached func(...TrialResult)) sweepJob {
	var of map[int]float64 // scores by members
	to := iterations
	return sweepJob{
		name: filepath.Base(b.Folder), moves: b.From == nil,
		run: func(ctx context.Context, on sweepPlace) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if s.Config.Method == Halving { // else a key may be iterations
				b.cfg.Run.Iterations = iterations
			}
			to = b.cfg.Run.Iterations
			if err := on.run(ctx, s.sweepRun(b, options), func(ctx context.Context, r *Run) error { return learn(ctx, b.cfg, r, b.Trials) }); err != nil {
				return err
			}
			var err error
			of, err = b.Scores(int64(to), s.Config.Metric)
			return err
		},
		done: func() { reached(s.batchResults(b, to, of)...) },
	}
}

// batchResults returns the results of a batch's trials after an iteration, from the scores of its members.
func (s *Sweep) batchResults(b *batch, iterations int, of map[int]float64) (out []TrialResult) {
	for i, t := range b.Trials {
		r := TrialResult{Trial: t, Folders: []string{b.Folder}, Iterations: iterations}
		for k := range s.Config.Seeds {
			member := i*s.Config.Seeds + k
			r.Members = append(r.Members, member)
			if x, ok := of[member]; ok { // else no episode has ended, or the member diverged
				r.Scores = append(r.Scores, x)
			}
		}
		r.Mean = Number(metrics.Mean(r.Scores))
		out = append(out, r)
	}
	return out
}

// sweepRun returns the run of a batch, which begins with the members of its trials in the run of the rung before.
func (s *Sweep) sweepRun(b *batch, options []RunOption) *sweepRun {
	if b.From == nil {
		return &sweepRun{folder: b.Folder, cfg: b.cfg, begin: Start, options: options}
	}
	of := &rundir.Continued{Run: filepath.Base(b.From.Folder), Members: b.Continued()}
	begin := func(ctx context.Context, dev *vk.Device, cfg *Config, path string, opts ...RunOption) (*Run, error) {
		dir, err := rundir.Open(b.From.Folder)
		if err != nil {
			return nil, err
		}
		load := func(w engine.Workflow, c *checkpoint.Checkpoint) error {
			return w.State().LoadMembers(ctx, c, b.From.Members(), of.Members)
		}
		return startFrom(ctx, dev, cfg, path, rundir.Renew, dir, of, load, opts...) // what a killed process left there, without a run, is removed
	}
	return &sweepRun{folder: b.Folder, cfg: b.cfg, begin: begin, options: options, from: b.Begun, origin: of}
}

// startFunc is Start, or another way to begin a run.
type startFunc func(ctx context.Context, dev *vk.Device, cfg *Config, path string, opts ...RunOption) (*Run, error)

// sweepRun is a run of a sweep, from the beginning or, in halving, from an iteration of the run of the rung before.
type sweepRun struct {
	folder  string
	cfg     *Config
	begin   startFunc
	options []RunOption
	from    int               // iterations of the run of the rung before
	origin  *rundir.Continued // members that it continues; nil: it begins anew
}

// ForeignRunError: a folder in a sweep has a completed run that belongs to other trials or is damaged. Nothing is changed.
type ForeignRunError struct {
	Folder string
	Err    error
}

func (e *ForeignRunError) Error() string {
	return fmt.Sprintf("%v\nwant the files as the sweep's run wrote them; or move the folder %s away, and the sweep runs it again", e.Err, e.Folder)
}

func (e *ForeignRunError) Unwrap() error { return e.Err }

// run begins or resumes the run to the iterations of its configuration, unless it has reached them. It leaves the folder with a run of the
// configuration and has all its records.
func (r *sweepRun) run(ctx context.Context, dev *vk.Device, learn func(context.Context, *Run) error) error {
	begin := r.begin
	done, begun, err := r.stands()
	if err != nil || done {
		return err
	}
	if begun {
		begin = Resume
	}
	run, err := begin(ctx, dev, r.cfg, r.folder, r.options...)
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

// stands reports whether the run is done, to the iterations of its configuration, and whether it has begun.
func (r *sweepRun) stands() (done, begun bool, err error) {
	stored, err := Stored(r.folder, Use(r.cfg.setup.Catalog()))
	switch {
	case errors.Is(err, rundir.ErrNoRun):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	last, err := r.completed(stored)
	if err != nil || last >= r.cfg.Run.Iterations {
		return err == nil, true, err
	}
	r.cfg.Run.Iterations = max(r.cfg.Run.Iterations, stored.Run.Iterations)
	return false, true, nil
}

// completed returns the last iteration that the run's newest session completed and saved; 0: none. The run must have the configuration.
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

// check checks that the run's files have the records of all its iterations up to the given one.
func (r *sweepRun) check(to int) error {
	if err := recordsOf(r.cfg, r.folder).Complete(r.from, to); err != nil {
		return &ForeignRunError{r.folder, err}
	}
	return nil
}
