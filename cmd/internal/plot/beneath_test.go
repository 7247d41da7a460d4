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

// Panels under a curve stand where the iterations are along its axis, whatever that is; many iterations share a bar.
func TestBeneath(t *testing.T) {
	run := records("return", 1, 2, 3, 4, 5, 6)
	for i, learned := range []float64{math.NaN(), 0.25, 1, 0, 0.5} {
		run[i].Values["learned"] = learned // the last record has none
	}
	of := Series{Label: "a", Runs: [][]metrics.Record{run}, Members: 2}
	nan := math.NaN()
	generations := []Generation{
		{At: 1, Parent: []int{0, 1}, Fitness: []float64{nan, nan}},
		{At: 4, Parent: []int{1, 1}, Fitness: []float64{1, 2}},
	}
	end := func(x func(metrics.Record) float64, i int) float64 {
		if i < 0 {
			return 0
		}
		return x(run[i])
	}
	for _, c := range []struct {
		o Options
		x func(metrics.Record) float64
	}{
		{Options{}, func(r metrics.Record) float64 { return float64(r.EnvSteps) / 2 }},
		{Options{X: Iterations}, func(r metrics.Record) float64 { return float64(r.Iteration) }},
		{Options{X: Seconds}, func(r metrics.Record) float64 { return r.Seconds }},
		{Options{LogX: true}, func(r metrics.Record) float64 { return float64(r.EnvSteps) / 2 }},
	} {
		f, err := Draw([]Series{of}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		height := f.options.Height
		f.AddShare("learned", "Sides", "Share", of)
		left := 0.0
		if c.o.LogX {
			left = c.x(run[0]) / 2
		}
		f.beneath.addTo(plot.New(), left)
		var want []share
		for i, of := range []float64{0, 0.25, 1, 0, 0.5, 0} {
			want = append(want, share{max(left, end(c.x, i-1)), end(c.x, i), of})
		}
		if got := f.beneath.shares; !reflect.DeepEqual(got, want) || f.options.Height <= height {
			t.Errorf("%+v: bars %v; want %v", c.o, got, want)
		}
		if err := f.AddLineage(generations, of); err != nil {
			t.Fatal(err)
		}
		var svg bytes.Buffer
		if err := f.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "that of member 1, the fittest") || strings.Contains(svg.String(), "NaN") {
			t.Errorf("%+v: %d bytes, %v", c.o, svg.Len(), err)
		}
		if got, want := f.beneath.descent.generations[1].At, c.x(run[2]); got != want {
			t.Errorf("%+v: an exchange before iteration 4 is at %g; want %g", c.o, got, want)
		}
	}
	long := records("return", make([]float64, 1001)...)
	for i := range long {
		long[i].Values["learned"] = float64(i % 2)
	}
	of.Runs = [][]metrics.Record{long}
	f, err := Draw([]Series{of}, Options{X: Iterations})
	if err != nil {
		t.Fatal(err)
	}
	f.AddShare("learned", "", "", of)
	if bars := f.beneath.shares; len(bars) != 201 || math.Abs(bars[0].of-0.4) > 1e-12 || bars[0].to != 5 || bars[200] != (share{1000, 1001, 0}) {
		t.Errorf("%d bars, from %v to %v; want 201 of five iterations, the last of one", len(bars), bars[0], bars[200])
	}
}
