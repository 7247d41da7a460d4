package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// repetitions are the records of each repetition of a group's experiment for a metric: of a run, or of each of its members where they are independent
// and members.jsonl has the metric of each.
func (g *group) repetitions(metric string, warn func(string, ...any)) ([][]metrics.Record, error) {
	var out [][]metrics.Record
	for i, path := range g.paths {
		if g.cfg == nil || !g.cfg.Independent() || g.cfg.Members() == 1 || !slices.Contains([]string{"return", "evaluation"}, metric) {
			out = append(out, g.runs[i])
			continue
		}
		of, err := readMembers(path, g.cfg.Members(), metric, warn)
		if err != nil {
			return nil, err
		}
		if of == nil {
			warn("%s has no %s: its members count as one run", path, rundir.MembersFile)
			of = g.runs[i : i+1]
		}
		out = append(out, of...)
	}
	return out, nil
}

// readMembers reads a metric of each member, under the metric's own name; nil: the run has no such file.
func readMembers(path string, members int, metric string, warn func(string, ...any)) ([][]metrics.Record, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	records, bad, err := metrics.ReadFile(dir.Members())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case bad != nil:
		warn("%v: left out", bad)
	}
	out := make([][]metrics.Record, members)
	for member := range out {
		name := evorl.MemberMetric(metric, member)
		for _, r := range records {
			if x, ok := r.Values[name]; ok {
				r.Values = map[string]float64{metric: x}
				out[member] = append(out[member], r)
			}
		}
	}
	return slices.DeleteFunc(out, func(of []metrics.Record) bool { return of == nil }), nil
}

// finalScore is the mean of the last finite values of a metric, of which there are to be over.
func finalScore(records []metrics.Record, metric string, over int) (float64, bool) {
	var last []float64
	for _, r := range slices.Backward(records) {
		if x, ok := r.Values[metric]; ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
			if last = append(last, x); len(last) == over {
				break
			}
		}
	}
	return metrics.Mean(last), len(last) > 0
}

// scoreMetric is the name under which repetitions of a group report a metric: of a population under selection its best member's.
func (g *group) scoreMetric(metric string, repetitions [][]metrics.Record) (string, error) {
	suffixes := []string{"", metrics.MeanSuffix}
	if g.cfg != nil && g.cfg.Selects() {
		suffixes = []string{"", metrics.MaxSuffix}
	}
	for _, suffix := range suffixes {
		for _, records := range repetitions {
			if slices.ContainsFunc(records, func(r metrics.Record) bool { _, ok := r.Values[metric+suffix]; return ok }) {
				return metric + suffix, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no metric %q yet; see evorl plot --metric", strings.Join(g.paths, ", "), metric)
}

// scores are the scores of each repetition; warn is told of those that have none.
func (g *group) scores(metric string, over int, warn func(string, ...any)) ([]float64, error) {
	repetitions, err := g.repetitions(metric, warn)
	if err != nil {
		return nil, err
	}
	name, err := g.scoreMetric(metric, repetitions)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, records := range repetitions {
		if x, ok := finalScore(records, name, over); ok {
			out = append(out, x)
		} else {
			warn("a run of %s has no finite %s and is left out", strings.Join(g.paths, ", "), name)
		}
	}
	return out, nil
}
