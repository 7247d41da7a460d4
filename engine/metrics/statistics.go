package metrics

import "slices"

// Names, behind that of a metric, of its statistics over the members of a population: return/median, return/q25 and so on.
const (
	MeanSuffix          = "/mean"
	MedianSuffix        = "/median"
	MinSuffix           = "/min"
	MaxSuffix           = "/max"
	LowerQuartileSuffix = "/q25"
	UpperQuartileSuffix = "/q75"
)

// AddStatistics adds the statistics of a metric's values, one a member, under its name; none where there is no value. NaN is not one:
// leave it out.
func AddStatistics(to map[string]float64, name string, values []float64) {
	if len(values) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(values))
	to[name+MeanSuffix], to[name+MedianSuffix] = Mean(sorted), Quantile(sorted, 0.5)
	to[name+MinSuffix], to[name+MaxSuffix] = sorted[0], sorted[len(sorted)-1]
	to[name+LowerQuartileSuffix], to[name+UpperQuartileSuffix] = Quantile(sorted, 0.25), Quantile(sorted, 0.75)
}

// Mean is NaN of nothing.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Quantile interpolates linearly between the two nearest of the sorted values, of which there is at least one (type 7 of Hyndman and Fan,
// 1996, as NumPy's default).
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
