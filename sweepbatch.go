package evorl

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/catalog"
	"github.com/evorl/evorl/vk"
)

// Trials that differ only in hyperparameters of members are members of one run, which costs far less than one run
// each: trial after trial, with the repetitions of each together. In the next rung of successive halving, the members of
// trials that continue are those of a smaller run, which begins with their state.

// batch is such a run.
type batch struct {
	folder string
	trials []Trial
	names  map[string]string // hyperparameters of members that are tried, by their keys
	cfg    *Config
	from   *batch // the run of the rung before, if it had more trials
	begun  int    // iterations of that run
}

// batches returns the runs of a sweep whose trials share runs; nil if they do not: members that are no repetitions or do not learn by themselves, a
// metric that members do not have, no key of members, or their number as a key. Those of halving must also be able to
// continue in runs with fewer members.
func (s *Sweep) batches(ctx context.Context, dev *vk.Device, folder string) ([]*batch, error) {
	if !s.Batched() || s.Config.Batch < 2 || !slices.Contains(episodeMetrics, s.Config.Metric) {
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
	at := map[string]int{} // the batch to which the next trial with the same other settings belongs
	most := max(1, s.Config.Batch/s.Config.Seeds)
	for _, t := range s.Trials {
		other := fmt.Sprint(others(t, names))
		i, ok := at[other]
		if !ok || len(all[i].trials) == most {
			i = len(all)
			all, at[other] = append(all, &batch{}), i
		}
		all[i].trials = append(all[i].trials, t)
	}
	for i, b := range all {
		b.names, b.folder = names, filepath.Join(folder, fmt.Sprintf("batch-%0*d", len(fmt.Sprint(len(all)-1)), i))
		if b.cfg, err = s.shared(b.trials, names); err != nil {
			return nil, err
		}
	}
	if s.Config.Method == Halving {
		if ok, err := s.narrows(ctx, dev, all, names); err != nil || !ok {
			return nil, err
		}
	}
	return all, nil
}

// narrows reports whether the state of each batch is, but for the number of members, that of a run of one of its trials.
// Large replays, for example, are divided into as many tensors as the number of members needs.
func (s *Sweep) narrows(ctx context.Context, dev *vk.Device, all []*batch, names map[string]string) (bool, error) {
	for _, b := range all {
		single, err := s.shared(b.trials[:1], names)
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

// narrow returns the runs of a rung, counted from 0, of those trials that are alive.
func (s *Sweep) narrow(all []*batch, alive []Trial, rung int) (next []*batch, err error) {
	for _, b := range all {
		var trials []Trial
		for _, t := range b.trials {
			if slices.ContainsFunc(alive, func(a Trial) bool { return a.Number == t.Number }) {
				trials = append(trials, t)
			}
		}
		switch len(trials) {
		case 0:
			continue
		case len(b.trials):
			next = append(next, b)
			continue
		}
		root, _, _ := strings.Cut(filepath.Base(b.folder), rungMark)
		folder := filepath.Join(filepath.Dir(b.folder), fmt.Sprint(root, rungMark, rung))
		of := &batch{folder: folder, trials: trials, names: b.names, from: b, begun: s.rungs()[rung-1]}
		if of.cfg, err = s.shared(trials, b.names); err != nil {
			return nil, err
		}
		next = append(next, of)
	}
	return next, nil
}

// rungMark is what the number of a rung follows in the name of a run's folder.
const rungMark = "-rung-"

// varied returns the keys of the sweep that are hyperparameters of members in this environment, with their names.
func (s *Sweep) varied(ctx context.Context, dev *vk.Device) (map[string]string, error) {
	all, err := s.Base.memberKeys()
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

// others returns the settings of a trial that are not those of members.
func others(t Trial, names map[string]string) (out []Setting) {
	for _, set := range t.Settings {
		if names[set.Key] == "" {
			out = append(out, set)
		}
	}
	return out
}

// shared returns the configuration of a run with all repetitions of trials as members.
func (s *Sweep) shared(trials []Trial, names map[string]string) (*Config, error) {
	const flag = "trials of " + SweepFile
	options := []Option{s.Base.sameSource()}
	for _, set := range others(trials[0], names) {
		options = append(options, Flag(flag, set.Key+"="+set.Value))
	}
	options = append(options, Flag(flag, fmt.Sprintf("%s=%d", s.Base.MembersKey(), len(trials)*s.Config.Seeds)))
	for i, set := range trials[0].Settings {
		if names[set.Key] == "" {
			continue
		}
		var values []string
		for _, t := range trials {
			for range s.Config.Seeds {
				values = append(values, t.Settings[i].Value)
			}
		}
		options = append(options, Flag(flag, fmt.Sprintf("%s.values.%s=[%s]", catalog.VarySection, names[set.Key], strings.Join(values, ", "))))
	}
	return Parse(baseFile, s.base, options...)
}

// runBatch continues a batch to the given number of iterations and returns the results of its trials.
func (s *Sweep) runBatch(ctx context.Context, dev *vk.Device, b *batch, iterations int, learn LearnFunc) ([]TrialResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.cfg.Run.Iterations = iterations
	if err := s.sweepRun(b).run(ctx, dev, func(ctx context.Context, r *Run) error { return learn(ctx, b.cfg, r, b.trials) }); err != nil {
		return nil, err
	}
	of, err := s.scores(b, iterations)
	if err != nil {
		return nil, err
	}
	var out []TrialResult
	for i, t := range b.trials {
		r := TrialResult{Trial: t, Folders: []string{b.folder}, Iterations: iterations}
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
	return out, nil
}

// scores returns the newest score of each member of a batch up to an iteration: from the run of the rung before, if no episode has ended
// since.
func (s *Sweep) scores(b *batch, iteration int) (map[int]float64, error) {
	of, err := memberScores(int64(iteration), b.cfg, b.folder, s.Config.Metric)
	if err != nil || b.from == nil {
		return of, err
	}
	if of == nil {
		of = map[int]float64{}
	}
	before, err := s.scores(b.from, iteration)
	for member, from := range s.continued(b) {
		x, had := before[from]
		if _, has := of[member]; had && !has {
			of[member] = x
		}
	}
	return of, err
}

// continued returns which member of the rung before each member of a batch continues.
func (s *Sweep) continued(b *batch) (members []int) {
	for i, t := range b.from.trials {
		if slices.ContainsFunc(b.trials, func(of Trial) bool { return of.Number == t.Number }) {
			for k := range s.Config.Seeds {
				members = append(members, i*s.Config.Seeds+k)
			}
		}
	}
	return members
}

// sweepRun returns the run of a batch, which begins with the members of its trials in the run of the rung before.
func (s *Sweep) sweepRun(b *batch) *sweepRun {
	if b.from == nil {
		return &sweepRun{folder: b.folder, cfg: b.cfg, begin: Start}
	}
	of := &rundir.Continued{Run: filepath.Base(b.from.folder), Members: s.continued(b)}
	begin := func(ctx context.Context, eng *engine.Engine, cfg *Config, path string) (*Run, error) {
		dir, err := rundir.Open(b.from.folder)
		if err != nil {
			return nil, err
		}
		return startFrom(ctx, eng, cfg, path, dir, b.from.cfg.Members(), of)
	}
	return &sweepRun{folder: b.folder, cfg: b.cfg, begin: begin, from: b.begun, origin: of}
}
