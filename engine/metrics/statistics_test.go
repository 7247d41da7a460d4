package metrics

import (
	"maps"
	"testing"
)

func TestQuantile(t *testing.T) {
	v := []float64{1, 2, 4, 8}
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 0.75: 5, 1: 8} {
		if got := Quantile(v, q); got != want {
			t.Errorf("quantile %v is %v; want %v", q, got, want)
		}
	}
	if got := Quantile([]float64{3}, 0.25); got != 3 {
		t.Errorf("quantile of one is %v", got)
	}
}

func TestAddStatistics(t *testing.T) {
	got := map[string]float64{"loss": 1}
	AddStatistics(got, "return", []float64{8, 1, 4, 2})
	AddStatistics(got, "nothing", nil)
	want := map[string]float64{
		"loss": 1, "return/mean": 3.75, "return/median": 3, "return/min": 1, "return/max": 8, "return/q25": 1.75, "return/q75": 5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}
