package cmd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
)

// drawLineage draws the lineage of the members of a PBT run.
func drawLineage(cfg *evorl.Config, path string, o plot.Options, warn func(string, ...any)) (*plot.Figure, error) {
	generations, err := readLineage(path, warn)
	if err != nil {
		return nil, err
	}
	if len(generations) == 0 {
		return nil, fmt.Errorf("%s: no lineage: want a run of pbt or pbt-cso, not of %s, after its first iteration", path, cfg.Run.Workflow)
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	last, err := metrics.Last(dir.Metrics())
	if err != nil {
		return nil, err
	}
	end := generations[len(generations)-1].At
	if last != nil {
		end = max(end, float64(last.Iteration))
	}
	if o.Title == "" {
		o.Title = cfg.Run.Workflow + " on " + cfg.Run.Env
	}
	return plot.Lineage(generations, end, panelsOf(cfg, generations[0]), o)
}

// readLineage reads the generations of a PBT run, and warns of damaged lines.
func readLineage(path string, warn func(string, ...any)) (out []plot.Generation, err error) {
	generations, bad, err := evorl.Lineage(path)
	if err != nil {
		return nil, err
	}
	if bad != nil {
		warn("%v: left out", bad)
	}
	for _, g := range generations {
		out = append(out, plot.Generation{At: float64(g.Iteration), Parent: g.Parent, Fitness: g.Fitness, Hyper: g.Hyper})
	}
	return out, nil
}

// panelsOf returns the hyperparameters of a generation with the scales of their priors.
func panelsOf(cfg *evorl.Config, of plot.Generation) []plot.Panel {
	var priors map[string]hybrid.Prior
	for _, s := range cfg.Sections() {
		if pbt, ok := s.Value.(*hybrid.PBTConfig); ok {
			priors = pbt.Search
		}
	}
	var panels []plot.Panel
	for _, name := range slices.Sorted(maps.Keys(of.Hyper)) {
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
