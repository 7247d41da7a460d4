package metrics

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
)

// WriteCSV writes records as a table with one line of names: the three counters, then all metrics that any record has, sorted by name. A value that a record
// does not have is empty; those that are not finite are NaN, +Inf and -Inf, which pandas, R and DuckDB read.
func WriteCSV(w io.Writer, records []Record) error {
	names := columnNames(records)
	out := csv.NewWriter(w)
	if err := out.Write(append([]string{iterationKey, envStepsKey, secondsKey}, names...)); err != nil {
		return err
	}
	for _, r := range records {
		line := []string{strconv.FormatInt(r.Iteration, 10), strconv.FormatInt(r.EnvSteps, 10), number(r.Seconds)}
		for _, name := range names {
			text := ""
			if x, ok := r.Values[name]; ok {
				text = number(x)
			}
			line = append(line, text)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// columnNames lists the metrics that any record has.
func columnNames(records []Record) []string {
	all := map[string]bool{}
	for _, r := range records {
		for name := range r.Values {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
