package scores

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// reference is a case of testdata/rliable.json, written by tools/reference/scores.py.
type reference struct {
	X, Y                Scores
	Taus                []float64
	Aggregates          []float64
	Intervals           [][2]float64
	Improvement         float64
	ImprovementInterval [2]float64 `json:"improvement_interval"`
	Profile             []float64
	ProfileInterval     [][2]float64 `json:"profile_interval"`
}

// Statistics agree with rliable to rounding, and intervals within the error of both bootstraps.
func TestRliable(t *testing.T) {
	text, err := os.ReadFile("testdata/rliable.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []reference
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	b := Bootstrap{Draws: 3000, Seed: 1}
	for i, c := range cases {
		check := func(name string, got Interval, err error, value float64, interval [2]float64) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Value-value) > 1e-12 {
				t.Errorf("case %d: %s is %v; want %v", i, name, got.Value, value)
			}
			// A 2.5% percentile of 3000 normal draws has a standard error of about 0.013 times the interval's width;
			// discrete draws may fall on the next value, at most 1/(2·runs) of a probability away.
			within := 0.07 * (interval[1] - interval[0])
			if name == "profile" {
				within = max(within, 1/float64(len(c.X[0])*len(c.X)))
			}
			within += 1e-9 // rounding
			if math.Abs(got.Low-interval[0]) > within || math.Abs(got.High-interval[1]) > within {
				t.Errorf("case %d: %s lies in [%v, %v]; want %v, each end within %v", i, name, got.Low, got.High, interval, within)
			}
		}
		for k, s := range []Statistic{Mean, Median, IQM, OptimalityGap(1)} {
			got, err := b.Of(c.X, s)
			check([]string{"mean", "median", "IQM", "optimality gap"}[k], got, err, c.Aggregates[k], c.Intervals[k])
		}
		got, err := b.Improvement(c.X, c.Y)
		check("improvement", got, err, c.Improvement, c.ImprovementInterval)
		for k, tau := range c.Taus {
			got, err := b.Of(c.X, Profile(tau))
			check("profile", got, err, c.Profile[k], c.ProfileInterval[k])
		}
	}
	if len(cases) < 4 {
		t.Errorf("%d cases; want 4", len(cases))
	}
}

func TestIntervalOfOneRunAndOfNone(t *testing.T) {
	got, err := Bootstrap{}.Of(Scores{{3}, {5}}, Mean)
	if err != nil || got.Value != 4 || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("%v, %v; want 4 without an interval", got, err)
	}
	for _, s := range []Statistic{Mean, Median, IQM, OptimalityGap(1), Profile(0)} {
		if got, err := (Bootstrap{}).Of(Scores{{}, nil}, s); err != nil || !math.IsNaN(got.Value) {
			t.Errorf("%v, %v of no runs; want NaN", got, err)
		}
	}
	if got := Improvement(Scores{{1, 2}, {5}}, Scores{{1}, {}}); got != 0.75 {
		t.Errorf("improvement %v; want 0.75 of the only task that both have", got)
	}
	if _, err := (Bootstrap{Confidence: 1}).Of(Scores{{1, 2}}, Mean); err == nil {
		t.Error("an interval of confidence 1; want an error")
	}
}

func TestIntervalIsTheSameAgain(t *testing.T) {
	s := Scores{{1, 4, 2, 8}, {3, 3, 9}}
	a, _ := Bootstrap{Seed: 3}.Of(s, IQM)
	b, _ := Bootstrap{Seed: 3}.Of(s, IQM)
	if a != b || !(a.Low < a.Value && a.Value < a.High) {
		t.Errorf("%v and %v; want the same, with the value inside", a, b)
	}
}

func TestNormalize(t *testing.T) {
	got := Normalize(Scores{{10, 30}, {7}}, []float64{10, 7}, []float64{20, 7})
	if got[0][0] != 0 || got[0][1] != 2 || got[1][0] != 0.5 {
		t.Errorf("%v; want 0 and 2, and 0.5", got)
	}
}
