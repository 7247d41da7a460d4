package plot

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/evorl/evorl/engine/metrics"
)

// The line of the fittest, lines that are alive and lines that ended are told apart back to the first generation.
func TestLineage(t *testing.T) {
	nan := math.NaN()
	rates := map[string][]float64{"rate": {1e-4, 2e-4, 1e-3, 0.5}, "flat": {1, 2, 0, 1}, "discount": {0.9, 0.99, 0.5, 0.999}}
	generations := []Generation{
		{At: 1, Parent: []int{0, 1, 2, 3}, Fitness: []float64{nan, nan, nan, nan}, Hyper: rates},
		{At: 6, Parent: []int{0, 0, 2, 2}, Fitness: []float64{5, 1, 4, nan}, Hyper: rates},
		{At: 11, Parent: []int{3, 1, 2, 3}, Fitness: []float64{nan, 2, 3, 9}, Hyper: rates},
	}
	f, err := Lineage(generations, 15, []Panel{{"rate", Log}, {"flat", Log}, {"discount", Horizon}}, Options{Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]class{{survives, ended, leads, ended}, {ended, survives, survives, leads}, {survives, survives, survives, leads}}
	if f.lineage.best != 3 || !reflect.DeepEqual(f.lineage.class, want) {
		t.Errorf("the best is %d and the classes %v; want 3 and %v", f.lineage.best, f.lineage.class, want)
	}
	if scales := []Scale{f.lineage.panels[0].Scale, f.lineage.panels[1].Scale, f.lineage.panels[2].Scale}; !reflect.DeepEqual(scales,
		[]Scale{Log, Linear, Horizon}) {
		t.Errorf("scales %v; want that with a 0 linear", scales)
	}
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Member", "Rate", "Discount, as the horizon 1 / (1 − x)", "Iterations", "member 3, the fittest"} {
		if !strings.Contains(svg.String(), text) {
			t.Errorf("the figure has no text %q", text)
		}
	}
	for what, bad := range map[string][]Generation{
		"no generations": nil,
		"a parent":       {{Parent: []int{0, 2}, Fitness: []float64{1, 2}, Hyper: map[string][]float64{"rate": {1, 2}}}},
		"a value":        {{Parent: []int{0, 1}, Fitness: []float64{1, 2}, Hyper: map[string][]float64{"rate": {1}}}},
		"a fitness":      {{Parent: []int{0, 1}, Fitness: []float64{1}, Hyper: map[string][]float64{"rate": {1, 2}}}},
	} {
		if _, err := Lineage(bad, 3, []Panel{{"rate", Log}}, Options{}); err == nil {
			t.Errorf("%s missing or wrong: no error", what)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0.03, 0.6, "0.05 0.1 0.2 0.5"}, {1e-5, 1, "1e-05 0.0001 0.001 0.01 0.1 1"}, {15, 1100, "20 50 100 200 500 1000"}, {0, 1, ""}, {1, math.Inf(1), ""},
	} {
		var got []string
		for _, tick := range (logTicks{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%g to %g: %v; want %s", c.low, c.high, got, c.want)
		}
	}
	var _ plot.Ticker = logTicks{}
}

// Steps and evaluations are of one member unless all members' are asked for; a counter that is not finite is named.
func TestPerMember(t *testing.T) {
	run := records("return", 1, 2, 3)
	for i := range run {
		run[i].Values[EvaluationsKey] = float64(40 * (i + 1))
	}
	s := Series{Label: "a", Runs: [][]metrics.Record{run}, Members: 4}
	for _, c := range []struct {
		o     Options
		last  float64
		label string
	}{
		{Options{}, float64(run[2].EnvSteps) / 4, "Environment steps per member"},
		{Options{Total: true}, float64(run[2].EnvSteps), "Environment steps"},
		{Options{X: Evaluations}, 30, "Evaluations per member"},
		{Options{X: Iterations}, float64(run[2].Iteration), "Iterations"},
	} {
		f, err := Draw([]Series{s}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if x := f.curves[0].X; x[len(x)-1] != c.last || f.scale.label != c.label {
			t.Errorf("%+v: it ends at %g %s; want %g %s", c.o, x[len(x)-1], f.scale.label, c.last, c.label)
		}
	}
	run[1].Seconds = math.NaN()
	if _, err := Draw([]Series{s}, Options{X: Seconds}); err == nil || !strings.Contains(err.Error(), `"seconds" is NaN at iteration`) {
		t.Errorf("error %v; want one that names the key", err)
	}
	delete(run[2].Values, EvaluationsKey)
	if _, err := Draw([]Series{s}, Options{X: Evaluations}); err == nil || !strings.Contains(err.Error(), `"evaluations" is NaN at iteration`) {
		t.Errorf("error %v; want one that names the key", err)
	}
}

// A hyperparameter that is alone in its row has all of it.
func TestLineageUsesItsWidth(t *testing.T) {
	for panels, want := range map[int][3]int{1: {1, 0, 1}, 2: {1, 1, 2}, 3: {2, 0, 1}} {
		l := &lineage{panels: make([]Panel, panels)}
		if row, column, columns := l.hyperCell(panels - 1); [3]int{row, column, columns} != want {
			t.Errorf("the last of %d hyperparameters is at row %d, column %d of %d; want %v", panels, row, column, columns, want)
		}
	}
}
