package plot

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/scores"
)

func TestInterQuartileMeanWithBootstrap(t *testing.T) {
	var runs [][]metrics.Record
	for _, y := range []float64{100, 1, 2, 3, -50} { // the fourth part at each end is one run
		runs = append(runs, records("return", y, 2*y))
	}
	c, err := Summarize(Series{Label: "a", Runs: runs}, Options{Metric: "return", Center: IQM, Band: Bootstrap})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := scores.Bootstrap{Draws: bootstrapDraws}.Of(scores.Scores{{-50, 1, 2, 3, 100}}, scores.IQM)
	if !slices.Equal(c.Center, []float64{2, 4}) || c.Low[0] != want.Low || c.High[0] != want.High || c.Over != "runs" {
		t.Errorf("%v; want 2 and 4, the first in [%v, %v]", c, want.Low, want.High)
	}
	if c, err = Summarize(Series{Runs: runs[:1]}, Options{Metric: "return", Band: Bootstrap}); err != nil || c.Low != nil {
		t.Errorf("%v, %v; want no band of one run", c, err)
	}
}

func TestSmooth(t *testing.T) {
	l := line{[]float64{1, 2, 3, 4}, []float64{2, 4, 6, 14}}
	if got := l.smooth(3).y; !slices.Equal(got, []float64{2, 3, 4, 8}) {
		t.Errorf("%v; want 2 3 4 8", got)
	}
	if got := l.smooth(1).y; !slices.Equal(got, l.y) {
		t.Errorf("%v; want the line", got)
	}
}

func TestLogarithmicAxes(t *testing.T) {
	of := Curve{X: []float64{0, 1, 2}, Center: []float64{1, 2, 3}, Low: []float64{1, 1, 1}, High: []float64{4, 4, 4}}
	f := &Figure{labels: []string{"a"}, curves: []Curve{of}, options: Options{LogX: true, LogY: true}}
	if err := f.checkLogarithms(); err != nil || len(f.curves[0].X) != 2 || f.curves[0].Center[0] != 2 || len(f.curves[0].Low) != 2 {
		t.Errorf("%v, %v; want what is above 0 along the bottom", f.curves, err)
	}
	f.curves[0].Low = []float64{1, -1}
	if err := f.checkLogarithms(); err == nil || !strings.Contains(err.Error(), "-1 is not above 0") {
		t.Errorf("error %v", err)
	}
}

// A label has one style in all panels, and a panel that lacks it leaves the style out.
func TestPanels(t *testing.T) {
	of := func(labels ...string) (series []Series) {
		for _, label := range labels {
			series = append(series, Series{Label: label, Runs: [][]metrics.Record{records("return", 1, 2)}})
		}
		return series
	}
	f, err := DrawPanels([]Group{{"one", of("a", "b")}, {"two", of("b", "c")}, {"three", of("a")}, {"four", of("c")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.labels, []string{"a", "b", "c"}) || !slices.Equal(f.panels[1].styles, []int{1, 2}) {
		t.Errorf("labels %v, styles %v", f.labels, f.panels[1].styles)
	}
	var svg strings.Builder
	if err := f.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"one", "two", "three", "four", "a", "b", "c"} {
		if n := strings.Count(svg.String(), ">"+title+"<"); n != 1 {
			t.Errorf("%q stands %d times; want once", title, n)
		}
	}
}

func TestIntervals(t *testing.T) {
	nan := math.NaN()
	panel := IntervalPanel{"P", []scores.Interval{{Value: 0.7, Low: 0.4, High: 0.9}, {Value: 1, Low: nan, High: nan}, {Value: nan, Low: nan, High: nan}}}
	f, err := Probabilities([]string{"x", "y", "z"}, panel, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var svg strings.Builder
	if err := f.WriteSVG(&svg); err != nil || strings.Contains(svg.String(), "NaN") || !strings.Contains(svg.String(), ">z<") ||
		!strings.Contains(svg.String(), "no bar: one run, of which there is no interval") {
		t.Errorf("%v in\n%s", err, svg.String())
	}
	// Long names leave the panels their width.
	one := IntervalPanel{"P", panel.Values[:1]}
	for _, names := range []int{1, 60} {
		f, err := Intervals([]string{strings.Repeat("x", names)}, []IntervalPanel{one, one}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := f.size(); (w-nameWidth(f.rows.labels))/vg.Inch < 5.2 {
			t.Errorf("%d letters leave %.1f inches for two panels; want 5.2", names, (w-nameWidth(f.rows.labels))/vg.Inch)
		}
	}
	if _, err := Intervals([]string{"x"}, []IntervalPanel{panel}, Options{}); err == nil {
		t.Error("three intervals for one row; want an error")
	}
	if _, err := Profiles(nil, nil, nil, "", Options{}); err == nil {
		t.Error("no profiles; want an error")
	}
}

// A heat map has a cell of the colour of its value for each, and the scale; no cells and no finite value are errors.
func TestHeat(t *testing.T) {
	cells := []Cell{
		{X: 0.25, Y: 0.25, Width: 0.5, Height: 0.5, Value: -3}, {X: 0.75, Y: 0.75, Width: 0.5, Height: 0.5, Value: 7}, {X: 0.1, Y: 0.9, Value: 2},
	}
	for _, area := range []*[4]float64{nil, {0, 1, 0, 1}} {
		f, err := Heat(cells, area, "Fitness", Options{Title: "elites"})
		if err != nil {
			t.Fatal(err)
		}
		var svg strings.Builder
		if err := f.WriteSVG(&svg); err != nil {
			t.Fatal(err)
		}
		high, _ := f.heat.colours.At(7)
		r, g, b, _ := high.RGBA()
		near := func(fill string) bool { // but for rounding
			var of [3]int
			_, err := fmt.Sscanf(fill, "fill:#%02X%02X%02X", &of[0], &of[1], &of[2])
			return err == nil && max(math.Abs(float64(of[0]-int(r>>8))), math.Abs(float64(of[1]-int(g>>8))), math.Abs(float64(of[2]-int(b>>8)))) <= 2
		}
		if fills := regexp.MustCompile("fill:#[0-9A-F]{6}").FindAllString(svg.String(), -1); !slices.ContainsFunc(fills, near) {
			t.Errorf("none of %v is the colour of the highest value, %02X%02X%02X", fills, r>>8, g>>8, b>>8)
		}
		if text := svg.String(); !strings.Contains(text, ">Fitness<") || !strings.Contains(text, ">Descriptor 1<") || strings.Contains(text, "NaN") {
			t.Errorf("%s", text)
		}
	}
	if _, err := Heat([]Cell{{Value: 4}}, nil, "", Options{}); err != nil {
		t.Errorf("one cell: %v", err)
	}
	for _, none := range [][]Cell{nil, {{Value: math.Inf(1)}}} {
		if _, err := Heat(none, nil, "", Options{}); err == nil {
			t.Errorf("%v is drawn", none)
		}
	}
}
