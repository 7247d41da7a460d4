package records

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"strings"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// Complete checks that the run's files have the records of all iterations after from, up to to, and that the scores of members are the ones of which
// metrics.jsonl has the statistics.
func (r Run) Complete(from, to int) error {
	dir, err := rundir.Open(r.Path)
	if err != nil {
		return err
	}
	records, err := readRecords(dir.Metrics())
	if err == nil {
		err = checkIterations(dir.Metrics(), records, from, to)
	}
	if err == nil && r.Members > 1 {
		err = checkMembers(dir.Members(), records)
	}
	return err
}

// readRecords reads a file of records without damaged lines.
func readRecords(path string) ([]metrics.Record, error) {
	records, bad, err := metrics.ReadFile(path)
	if err == nil && bad != nil {
		err = bad
	}
	return records, err
}

// checkIterations checks that there is a record of every iteration after from, up to to.
func checkIterations(path string, records []metrics.Record, from, to int) error {
	for at := from + 1; at <= to; at++ {
		line := at - from
		if line > len(records) || records[line-1].Iteration != int64(at) {
			return fmt.Errorf("%s:%d: the record of iteration %d is lost", path, line, at)
		}
	}
	return nil
}

// checkMembers checks that the values of members in a file have the statistics that the run's records have.
func checkMembers(path string, records []metrics.Record) error {
	members, err := readRecords(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is lost", path)
	}
	if err != nil {
		return err
	}
	line := 0
	for _, r := range records {
		for line < len(members) && members[line].Iteration < r.Iteration {
			line++
		}
		var of metrics.Record
		if line < len(members) && members[line].Iteration == r.Iteration {
			of = members[line]
		}
		for _, metric := range EpisodeMetrics {
			want, got := map[string]float64{}, map[string]float64{}
			var values []float64
			for name, x := range of.Values {
				if strings.HasPrefix(name, metric+"/") {
					values = append(values, x)
				}
			}
			metrics.AddStatistics(got, metric, values)
			for name, x := range r.Values {
				if strings.HasPrefix(name, metric+"/") {
					want[name] = x
				}
			}
			same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
			if !maps.EqualFunc(got, want, same) {
				what := "is lost"
				if len(got) > 0 {
					what = "is not that of " + rundir.MetricsFile
				}
				return fmt.Errorf("%s:%d: the %s of members in iteration %d %s", path, line+1, metric, r.Iteration, what)
			}
		}
	}
	return nil
}
