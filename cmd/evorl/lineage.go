package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/evorl/internal/plot"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
)

// hyperPrefix is the prefix of hyperparameters in lineage.jsonl.
const hyperPrefix = "hyper/"

// drawLineage draws the lineage of the members of a PBT run.
func drawLineage(path string, o plot.Options, warn func(string, ...any)) (*plot.Figure, error) {
	cfg, err := evorl.Stored(path)
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	records, bad, err := metrics.ReadFile(dir.Lineage())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(records) == 0 {
		return nil, fmt.Errorf("%s: no lineage: want a run of pbt or pbt-cso, not of %s, after its first iteration", path, cfg.Run.Workflow)
	}
	if err != nil {
		return nil, err
	}
	if bad != nil {
		warn("%v: left out", bad)
	}
	last, err := metrics.Last(dir.Metrics())
	if err != nil {
		return nil, err
	}
	end := float64(records[len(records)-1].Iteration)
	if last != nil {
		end = max(end, float64(last.Iteration))
	}
	generations, err := generationsOf(records)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir.Lineage(), err)
	}
	if o.Title == "" {
		o.Title = cfg.Run.Workflow + " on " + cfg.Run.Env
	}
	return plot.Lineage(generations, end, panelsOf(cfg, records[0]), o)
}

// generationsOf groups the records by iteration; each has one record per member, in order.
func generationsOf(records []metrics.Record) ([]plot.Generation, error) {
	var out []plot.Generation
	for _, r := range records {
		iteration := float64(r.Iteration)
		if len(out) == 0 || out[len(out)-1].Iteration != iteration {
			out = append(out, plot.Generation{Iteration: iteration, Hyper: map[string][]float64{}})
		}
		g := &out[len(out)-1]
		if member := r.Values["member"]; member != float64(len(g.Parent)) {
			return nil, fmt.Errorf("iteration %d has a record of member %g: want member %d next", r.Iteration, member, len(g.Parent))
		}
		g.Parent, g.Fitness = append(g.Parent, int(r.Values["parent"])), append(g.Fitness, r.Values["fitness"])
		for name, value := range r.Values {
			if name, ok := strings.CutPrefix(name, hyperPrefix); ok {
				g.Hyper[name] = append(g.Hyper[name], value)
			}
		}
	}
	return out, nil
}

// panelsOf returns the hyperparameters of a record with the scales of their priors.
func panelsOf(cfg *evorl.Config, of metrics.Record) []plot.Panel {
	var priors map[string]hybrid.Prior
	for _, s := range cfg.Sections() {
		if pbt, ok := s.Value.(*evorl.PBTConfig); ok {
			priors = pbt.Search
		}
	}
	var panels []plot.Panel
	for _, name := range slices.Sorted(maps.Keys(of.Values)) {
		name, ok := strings.CutPrefix(name, hyperPrefix)
		if !ok {
			continue
		}
		panel := plot.Panel{Name: name}
		switch p, ok := priors[name]; {
		case ok && p.Prior == hybrid.LogUniform:
			panel.Scale = plot.Log
		case ok && p.Prior == hybrid.Horizon:
			panel.Scale = plot.Horizon
		}
		panels = append(panels, panel)
	}
	return panels
}
