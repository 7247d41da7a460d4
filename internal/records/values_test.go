package records

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

func TestValues(t *testing.T) {
	nan := float32(math.NaN())
	got, err := ValuesOf(engine.Report{
		Metrics: map[string][]float32{
			engine.ReturnMetric: {4, nan, 1, 2, 3}, "episode/length": {nan, nan}, "loss/actor": {1, nan, 3}, "pbt/fitness": {2, nan}, "pbt/parent": {0, 3},
			"fitness/mean": {7}, "hyper/discount": {0.5},
		},
		Evaluation: &engine.Evaluation{Returns: [][]float32{{1, 3}, {nan, 1}, {10, 10}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"pbt/fitness/mean": 2, "pbt/fitness/median": 2, "pbt/fitness/min": 2, "pbt/fitness/max": 2, "pbt/fitness/q25": 2, "pbt/fitness/q75": 2, "fitness/mean": 7,
		"return/mean": 2.5, "return/median": 2.5, "return/min": 1, "return/max": 4, "return/q25": 1.75, "return/q75": 3.25,
		"loss/actor":          2,
		"hyper/discount/mean": 0.5, "hyper/discount/median": 0.5, "hyper/discount/min": 0.5, "hyper/discount/max": 0.5,
		"hyper/discount/q25": 0.5, "hyper/discount/q75": 0.5,
		// A member with a non-finite episode has no return.
		"evaluation/mean": 6, "evaluation/median": 6, "evaluation/min": 2, "evaluation/max": 10, "evaluation/q25": 4, "evaluation/q75": 8,
	}
	for name, x := range want {
		if got[name] != x {
			t.Errorf("%s is %v; want %v", name, got[name], x)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is %v; want none", name, got[name])
		}
	}
}

// Two metrics of one name are refused.
func TestValuesOfOneName(t *testing.T) {
	_, err := ValuesOf(engine.Report{Iteration: 2, Metrics: map[string][]float32{engine.ReturnMetric: {1}, "return/mean": {2}, "loss/actor": {3}}})
	if err == nil || !strings.Contains(err.Error(), "metrics of iteration 2: 1 values have the names of others") {
		t.Errorf("error %v; want one of two metrics of one name", err)
	}
}

// A member without a return is never the best and does not hide the best.
func TestLargest(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		of   []float64
		want int
	}{{[]float64{nan, 3, nan, 5, nan, 4}, 3}, {[]float64{5, nan, 3, 5}, 0}, {[]float64{nan, math.Inf(-1)}, 1}, {[]float64{nan, nan}, 0}} {
		if got := Largest(c.of); got != c.want {
			t.Errorf("the largest of %v is number %d; want %d", c.of, got, c.want)
		}
	}
}

func TestMemberValues(t *testing.T) {
	nan := float32(math.NaN())
	got := MemberValues(engine.Report{
		Metrics:    map[string][]float32{engine.ReturnMetric: {4, nan, 1}, "loss/actor": {1, 2, 3}},
		Evaluation: &engine.Evaluation{Returns: [][]float32{{1, 3}, {2, 2}, {nan}}},
	})
	want := map[string]float64{"return/0": 4, "return/2": 1, "evaluation/0": 2, "evaluation/1": 2}
	if !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestPace(t *testing.T) {
	var p Pace
	at := time.Unix(100, 0)
	if _, ok := p.Rate(at, 50); ok {
		t.Error("a speed of the first iteration")
	}
	if rate, ok := p.Rate(at.Add(2*time.Second), 250); !ok || rate != 100 {
		t.Errorf("%v, %v; want 100 steps a second", rate, ok)
	}
	later := Pace{began: at}
	if _, ok := later.Rate(at.Add(time.Second), 0); ok {
		t.Error("a speed without steps")
	}
}
