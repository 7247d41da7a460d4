package main

import (
	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/metrics"
)

// repetitions returns the records of each repetition of a group's experiment, see evorl.Repetitions.
func (g *group) repetitions(metric string, warn func(string, ...any)) (out [][]metrics.Record, err error) {
	for _, path := range g.paths {
		of, damage, err := evorl.Repetitions(g.cfg, path, metric)
		if err != nil {
			return nil, err
		}
		if damage != nil {
			warn("%v: left out", damage)
		}
		out = append(out, of...)
	}
	return out, nil
}

// scores returns the scores of each repetition, see evorl.Scores.
func (g *group) scores(metric string, over int, warn func(string, ...any)) (out []float64, err error) {
	for _, path := range g.paths {
		of, damage, err := evorl.Scores(g.cfg, path, metric, over)
		if err != nil {
			return nil, err
		}
		if damage != nil {
			warn("%v: left out", damage)
		}
		out = append(out, of...)
	}
	return out, nil
}
