package evorl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// episodeMetrics are the metrics of finished episodes, which a run does not have before the first one has ended. members.jsonl has them of
// each member.
var episodeMetrics = []string{"return", "evaluation"}

// errNoScore: a run has no finite value of a metric.
var errNoScore = errors.New("no finite value yet")

// checkMetric checks that runs of the base configuration have the metric that ranks the trials.
func (s *Sweep) checkMetric(ctx context.Context, dev *vk.Device) error {
	if slices.Contains(episodeMetrics, s.Config.Metric) {
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
	counted, front := evaluations(w, 1) > 0, s.Base.Front(frontPoints) != nil
	if err := w.Close(); err != nil {
		return err
	}
	values, err := valuesOf(report)
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

// Repetitions returns the records of a metric for each repetition of a run's experiment. If members are independent
// and members.jsonl has the metric of each, these are the members' records, under the metric's own name; otherwise
// the run's. cfg is the run's configuration; nil: unknown. damage describes damaged lines, which are skipped.
func Repetitions(cfg *Config, path, metric string) (of [][]metrics.Record, damage *metrics.LineError, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if cfg != nil && cfg.Independent() && cfg.Members() > 1 && slices.Contains(episodeMetrics, metric) {
		records, damage, err := metrics.ReadFile(dir.Members())
		if err == nil {
			return ofMembers(records, metric, cfg.Members()), damage, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	records, damage, err := metrics.ReadFile(dir.Metrics())
	return [][]metrics.Record{records}, damage, err
}

// memberScores returns the last finite value of a metric up to an iteration, by member; members without one are left out. A run of one member has it in
// metrics.jsonl.
func memberScores(iteration int64, cfg *Config, path, metric string) (map[int]float64, error) {
	members := cfg.Members()
	if members == 1 {
		of, _, err := scoresUntil(iteration, cfg, path, metric, 1)
		if errors.Is(err, errNoScore) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return map[int]float64{0: of[0]}, nil
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	records, _, err := metrics.ReadFile(dir.Members())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	of := map[int]float64{}
	for _, r := range records {
		for member := range members {
			x, ok := r.Values[MemberMetric(metric, member)]
			if ok && r.Iteration <= iteration && !math.IsNaN(x) && !math.IsInf(x, 0) {
				of[member] = x
			}
		}
	}
	return of, nil
}

// ofMembers returns the records of each member that has any.
func ofMembers(records []metrics.Record, metric string, members int) (of [][]metrics.Record) {
	for member := range members {
		name := MemberMetric(metric, member)
		var own []metrics.Record
		for _, r := range records {
			if x, ok := r.Values[name]; ok {
				r.Values = map[string]float64{metric: x}
				own = append(own, r)
			}
		}
		if own != nil {
			of = append(of, own)
		}
	}
	return of
}

// Scores returns the final values of a metric for each repetition of a run, see Repetitions: the mean of the last
// over values. For a metric that metrics.jsonl stores as statistics it is the mean over the members, for a population
// under selection the best member's. Repetitions without a finite value are omitted; it is an error if none is left.
func Scores(cfg *Config, path, metric string, over int) (of []float64, damage *metrics.LineError, err error) {
	return scoresUntil(math.MaxInt64, cfg, path, metric, over)
}

// scoresUntil is Scores over the iterations up to the given one.
func scoresUntil(iteration int64, cfg *Config, path, metric string, over int) (of []float64, damage *metrics.LineError, err error) {
	repetitions, damage, err := Repetitions(cfg, path, metric)
	if err != nil {
		return nil, nil, err
	}
	statistic := metrics.MeanSuffix
	if cfg != nil && cfg.Selects() {
		statistic = metrics.MaxSuffix
	}
	known := slices.Contains(episodeMetrics, metric)
	for _, records := range repetitions {
		var last []float64
		for _, r := range slices.Backward(records) {
			if r.Iteration > iteration {
				continue
			}
			x, ok := r.Values[metric]
			if !ok {
				x, ok = r.Values[metric+statistic]
			}
			known = known || ok
			if ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
				last = append(last, x)
			}
			if len(last) == over {
				break
			}
		}
		if len(last) > 0 {
			of = append(of, metrics.Mean(last))
		}
	}
	switch {
	case !known:
		return nil, damage, fmt.Errorf("%s: no metric %q: it has %s", path, metric, strings.Join(metrics.Names(slices.Concat(repetitions...)), ", "))
	case of == nil:
		return nil, damage, fmt.Errorf("%s: %s: %w", path, metric, errNoScore)
	}
	return of, damage, nil
}
