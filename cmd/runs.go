package cmd

import (
	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/metrics"
)

// repetitions returns the records of each repetition of a group's experiment, see evorl.Repetitions.
func (g *group) repetitions(metric string, warn func(string, ...any)) ([][]metrics.Record, error) {
	return ofRuns(g, warn, func(path string) ([][]metrics.Record, *metrics.LineError, error) {
		return evorl.Repetitions(g.cfg, path, metric)
	})
}

// scores returns the scores of each repetition, see evorl.Scores.
func (g *group) scores(metric string, over int, warn func(string, ...any)) ([]float64, error) {
	return ofRuns(g, warn, func(path string) ([]float64, *metrics.LineError, error) {
		return evorl.Scores(g.cfg, path, metric, over)
	})
}

// ofRuns concatenates what read returns of each run of a group, and warns of damaged lines.
func ofRuns[T any](g *group, warn func(string, ...any), read func(path string) ([]T, *metrics.LineError, error)) (out []T, err error) {
	for _, path := range g.paths {
		of, damage, err := read(path)
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
