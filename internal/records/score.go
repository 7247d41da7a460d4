package records

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// Run is a run directory whose records are read, with what its configuration says of the members.
type Run struct {
	Path        string
	Members     int  // 0: unknown
	Independent bool // members are repetitions of one experiment
	Selects     bool // members are a population under selection, represented by its best one
}

// EpisodeMetrics are the metrics of finished episodes, which a run does not have before the first one has ended. members.jsonl has them of
// each member.
var EpisodeMetrics = []string{"return", "evaluation"}

// ErrNoScore: a run has no finite value of a metric.
var ErrNoScore = errors.New("no finite value yet")

// Repetitions returns the records of a metric for each repetition of a run's experiment. If members are independent
// and members.jsonl has the metric of each, these are the members' records, under the metric's own name; otherwise
// the run's. damage describes damaged lines, which are skipped.
func (r Run) Repetitions(metric string) (of [][]metrics.Record, damage *metrics.LineError, err error) {
	dir, err := rundir.Open(r.Path)
	if err != nil {
		return nil, nil, err
	}
	if r.Independent && r.Members > 1 && slices.Contains(EpisodeMetrics, metric) {
		records, damage, err := metrics.ReadFile(dir.Members())
		if err == nil {
			return ofMembers(records, metric, r.Members), damage, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	records, damage, err := metrics.ReadFile(dir.Metrics())
	return [][]metrics.Record{records}, damage, err
}

// MemberScores returns the last finite value of a metric up to an iteration, by member; members without one are left out. A run of one member has it in
// metrics.jsonl.
func (r Run) MemberScores(iteration int64, metric string) (map[int]float64, error) {
	if r.Members == 1 {
		of, _, err := r.ScoresUntil(iteration, metric, 1)
		if errors.Is(err, ErrNoScore) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return map[int]float64{0: of[0]}, nil
	}
	dir, err := rundir.Open(r.Path)
	if err != nil {
		return nil, err
	}
	records, _, err := metrics.ReadFile(dir.Members())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	of := map[int]float64{}
	for _, record := range records {
		for member := range r.Members {
			x, ok := record.Values[MemberMetric(metric, member)]
			if ok && record.Iteration <= iteration && !math.IsNaN(x) && !math.IsInf(x, 0) {
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
func (r Run) Scores(metric string, over int) (of []float64, damage *metrics.LineError, err error) {
	return r.ScoresUntil(math.MaxInt64, metric, over)
}

// ScoresUntil is Scores over the iterations up to the given one.
func (r Run) ScoresUntil(iteration int64, metric string, over int) (of []float64, damage *metrics.LineError, err error) {
	repetitions, damage, err := r.Repetitions(metric)
	if err != nil {
		return nil, nil, err
	}
	statistic := metrics.MeanSuffix
	if r.Selects {
		statistic = metrics.MaxSuffix
	}
	known := slices.Contains(EpisodeMetrics, metric)
	for _, records := range repetitions {
		var last []float64
		for _, record := range slices.Backward(records) {
			if record.Iteration > iteration {
				continue
			}
			x, ok := record.Values[metric]
			if !ok {
				x, ok = record.Values[metric+statistic]
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
		return nil, damage, fmt.Errorf("%s: no metric %q: it has %s", r.Path, metric, strings.Join(metrics.Names(slices.Concat(repetitions...)), ", "))
	case of == nil:
		return nil, damage, fmt.Errorf("%s: %s: %w", r.Path, metric, ErrNoScore)
	}
	return of, damage, nil
}
