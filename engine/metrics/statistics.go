package metrics

import (
	"maps"
	"slices"
	"strings"
)

// Suffixes of a metric's name for its statistics over the members of a population: return/median, return/q25 and so on.
const (
	MeanSuffix          = "/mean"
	MedianSuffix        = "/median"
	MinSuffix           = "/min"
	MaxSuffix           = "/max"
	LowerQuartileSuffix = "/q25"
	UpperQuartileSuffix = "/q75"
)

// AddStatistics adds the statistics of a metric's values, one per member, under its name. It adds nothing if values is empty. The
// caller must leave out NaN.
func AddStatistics(to map[string]float64, name string, values []float64) {
	if len(values) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(values))
	to[name+MeanSuffix], to[name+MedianSuffix] = Mean(sorted), Quantile(sorted, 0.5)
	to[name+MinSuffix], to[name+MaxSuffix] = sorted[0], sorted[len(sorted)-1]
	to[name+LowerQuartileSuffix], to[name+UpperQuartileSuffix] = Quantile(sorted, 0.25), Quantile(sorted, 0.75)
}

// Names returns the sorted names of the metrics of records, without the suffixes of statistics.
func Names(records []Record) []string {
	found := map[string]bool{}
	for _, r := range records {
		for name := range r.Values {
			found[withoutStatistic(name)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// withoutStatistic returns the name of the metric that a value is a statistic of.
func withoutStatistic(name string) string {
	for _, suffix := range []string{MeanSuffix, MedianSuffix, MinSuffix, MaxSuffix, LowerQuartileSuffix, UpperQuartileSuffix} {
		if base, ok := strings.CutSuffix(name, suffix); ok && base != "" {
			return base
		}
	}
	return name
}

// Mean returns the mean, or NaN if values is empty.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Quantile interpolates linearly between the two nearest of the sorted values, which must not be empty (type 7 of Hyndman and Fan,
// 1996, NumPy's default).
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
