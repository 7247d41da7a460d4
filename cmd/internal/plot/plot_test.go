package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/scores"
)

// records reports values of one metric at multiples of 100 environment steps.
func records(name string, values ...float64) []metrics.Record {
	var out []metrics.Record
	for i, v := range values {
		out = append(out, metrics.Record{Iteration: int64(i + 1), EnvSteps: int64(i+1) * 100, Seconds: float64(i) / 2, Values: map[string]float64{name: v}})
	}
	return out
}

func TestSummarizeMembers(t *testing.T) {
	run := records("return/median", 1, 2, math.NaN(), 4)
	for i := range run {
		run[i].Values["return/mean"] = 9
		run[i].Values["return/q25"], run[i].Values["return/q75"] = float64(i), float64(i)+3
		run[i].Values["return/min"], run[i].Values["return/max"] = -1, 10
	}
	run[2].Values["return/q25"] = math.Inf(-1)
	for _, c := range []struct {
		o                    Options
		x, center, low, high []float64
	}{
		{Options{Metric: "return"}, []float64{100, 200, 400}, []float64{1, 2, 4}, []float64{0, 1, 3}, []float64{3, 4, 6}},
		{Options{Metric: "return", Band: Range, X: Seconds}, []float64{0, 0.5, 1.5}, []float64{1, 2, 4}, []float64{-1, -1, -1}, []float64{10, 10, 10}},
		{Options{Metric: "return", Center: Mean, X: Iterations, Band: NoBand}, []float64{1, 2, 3, 4}, []float64{9, 9, 9, 9}, nil, nil},
		{Options{Metric: "return/q25"}, []float64{100, 200, 400}, []float64{0, 1, 3}, nil, nil},
		{Options{Metric: "return/mean", Band: Range}, []float64{100, 200, 300, 400}, []float64{9, 9, 9, 9}, []float64{-1, -1, -1, -1}, []float64{10, 10, 10, 10}},
	} {
		got, err := Summarize(Series{Label: "a", Runs: [][]metrics.Record{run}}, c.o)
		if err != nil || !slices.Equal(got.X, c.x) || !slices.Equal(got.Center, c.center) || !slices.Equal(got.Low, c.low) || !slices.Equal(got.High, c.high) {
			t.Errorf("%+v: %+v, %v", c.o, got, err)
		}
	}
}

func TestSummarizeRuns(t *testing.T) {
	other := records("return", 10, 30, 50)
	for i := range other {
		other[i].EnvSteps += 50
	}
	runs := [][]metrics.Record{records("return", 0, 10, 20, 30), other, records("return", 5, 5, 5)}
	got, err := Summarize(Series{Label: "a", Runs: runs}, Options{Metric: "return", Band: Range})
	// All three reach from 150 to 300. The second is shifted by 50 steps.
	if err != nil || got.Over != "runs" || !slices.Equal(got.X, []float64{150, 200, 250, 300}) || !slices.Equal(got.Center, []float64{5, 10, 15, 20}) ||
		!slices.Equal(got.Low, []float64{5, 5, 5, 5}) || !slices.Equal(got.High, []float64{10, 20, 30, 40}) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Summarize(Series{Label: "a", Runs: runs}, Options{Metric: "return", Center: Mean})
	if err != nil || got.Center[1] != 35.0/3 || got.Low[1] != 7.5 || got.High[1] != 15 {
		t.Errorf("%+v, %v", got, err)
	}
	long := make([]float64, 5000)
	got, err = Summarize(Series{Label: "a", Runs: [][]metrics.Record{records("return", long...), records("return", long...)}}, Options{Metric: "return"})
	if err != nil || len(got.X) != gridPoints || got.X[0] != 100 || got.X[gridPoints-1] != 500_000 {
		t.Errorf("%d points, %v", len(got.X), err)
	}
}

func TestSummarizeErrors(t *testing.T) {
	late := records("return", 1, 2)
	for i := range late {
		late[i].EnvSteps += 1_000_000
	}
	for want, runs := range map[string][][]metrics.Record{
		"no runs":             nil,
		"no metrics yet":      {nil},
		`there are: a, b`:     {append(records("b", 1), records("a", 1)...)},
		"never finite":        {records("return", math.NaN(), math.Inf(1))},
		"share no stretch":    {records("return", 1, 2), late},
		`seed 3: no metric "`: {records("loss", 1)},
	} {
		if _, err := Summarize(Series{Label: "seed 3", Runs: runs}, Options{Metric: "return"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	if _, err := Draw(nil, Options{}); err == nil {
		t.Error("no error without series")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 500, "0 100 200 300 400 500"},
		{-210, 12, "−200 −150 −100 −50 0"},
		{0, 4_000_000, "0 500k 1M 1.5M 2M 2.5M 3M 3.5M 4M"},
		{0, 9000, "0 2000 4000 6000 8000"},
		{0, 60_000, "0 10k 20k 30k 40k 50k 60k"},
		{0, 2e9, "0 500M 1G 1.5G 2G"},
		{0.001, 0.0042, "0.001 0.0015 0.002 0.0025 0.003 0.0035 0.004"},
		{-math.MaxFloat64, math.MaxFloat64, ""},
		{-0.1, 0.1, "−0.1 −0.05 0 0.05 0.1"},
	} {
		var got []string
		for _, tick := range (niceTicks{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %s; want %s", c.low, c.high, strings.Join(got, " "), c.want)
		}
	}
}

// Few ticks are multiples of one round step, and the axis of probabilities has both ends and one half.
func TestFewTicks(t *testing.T) {
	labels := func(of []plot.Tick) string {
		var all []string
		for _, tick := range of {
			all = append(all, tick.Label)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 500, "0 200 400"},
		{-760, -100, "−600 −400 −200"},
		{0.001, 0.0042, "0.001 0.002 0.003 0.004"},
		{0, 4_000_000, "0 1M 2M 3M 4M"},
	} {
		if got := labels(fewTicks{}.Ticks(c.low, c.high)); got != c.want {
			t.Errorf("%v to %v: %s; want %s", c.low, c.high, got, c.want)
		}
	}
	f, err := Probabilities([]string{"A over B"}, IntervalPanel{Title: "P", Values: []scores.Interval{{Value: 0.6, Low: 0.3, High: 1}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := labels(f.rows.ticks.Ticks(0, 1)); got != "0 0.25 0.5 0.75 1" {
		t.Errorf("probabilities have ticks at %s", got)
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	f, err := Draw([]Series{
		{Label: "A <1> & é", Runs: [][]metrics.Record{records("return", 1, 5, 2), records("return", 2, 3, 4)}},
		{Label: "B", Runs: [][]metrics.Record{records("return", 7)}},
	}, Options{Title: "Two", Width: 4, Height: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.png", "a.SVG"} {
		if err := f.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Save(filepath.Join(dir, "a.pdf")); err == nil || !strings.Contains(err.Error(), ".svg or .png") {
		t.Errorf("error %v", err)
	}
	if err := f.Save(filepath.Join(dir, "absent", "a.png")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(content))
	if err != nil || img.Bounds().Dx() != 4*dotsPerInch || img.Bounds().Dy() != 3*dotsPerInch {
		t.Fatalf("image %v, %v", img.Bounds(), err)
	}
	seen := map[[3]uint32]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for _, c := range palette[:2] {
		if !seen[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}] {
			t.Errorf("no pixel has the colour %v", c)
		}
	}
	content, err = os.ReadFile(filepath.Join(dir, "a.SVG"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(content))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.TrimSpace(string(charData(token))); s != "" {
			texts = append(texts, s)
		}
	}
	for _, want := range []string{"Two", "A <1> & é", "B", "Environment steps", "Return", "line: median, band: inter-quartile range of 2 runs"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q among %q", want, texts)
		}
	}
	if !bytes.Contains(content, []byte("Liberation Sans,Arial,Helvetica,sans-serif;")) {
		t.Error("no font to fall back on")
	}
}

func charData(t xml.Token) []byte {
	c, _ := t.(xml.CharData)
	return c
}

// Values that leave an axis no sensible range are drawn without a panic.
func TestStrangeRanges(t *testing.T) {
	for _, values := range [][]float64{{3, 3, 3}, {0}, {-math.MaxFloat64, math.MaxFloat64}, {1e-300, 2e-300}, {1e15, 1e15 + 1}} {
		f, err := Draw([]Series{{Label: "a", Runs: [][]metrics.Record{records("return", values...)}}}, Options{Width: 2, Height: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteSVG(io.Discard); err != nil {
			t.Errorf("%v: %v", values, err)
		}
	}
}

func TestPrettyName(t *testing.T) {
	for in, want := range map[string]string{"return": "Return", "return/mean": "Return", "loss/actor": "Loss (actor)", "clip_fraction": "Clip fraction",
		"return/q25": "Return (q25)"} {
		if got := prettyName(in); got != want {
			t.Errorf("%q is %q; want %q", in, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	for largest, want := range map[float64]string{100: "Wall time (s)", 200: "Wall time (min)", 20_000: "Wall time (h)"} {
		if got := scaleFor(Seconds, largest).label; got != want {
			t.Errorf("%v s: %q; want %q", largest, got, want)
		}
	}
}

// TestScatter: every cloud has dots in its colour; what is not finite is left out, and nothing at all is an error.
func TestScatter(t *testing.T) {
	nan := math.NaN()
	f, err := Scatter([]Cloud{{"A", []float64{1, 2, nan}, []float64{3, 4, 5}, true}, {"B", []float64{1.5}, []float64{-1}, false},
		{"C", nil, nil, false}}, "across", Options{YLabel: "up"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for text, want := range map[string]int{">across<": 1, ">up<": 1, ">B<": 1, "NaN": 0} {
		if got := strings.Count(svg, text); got != want {
			t.Errorf("%q stands %d times in\n%s\nwant %d", text, got, svg, want)
		}
	}
	for i, want := range []int{2, 1, 0} { // and the sample of the legend
		c := palette[i]
		if got := strings.Count(strings.ToUpper(svg), fmt.Sprintf("FILL:#%02X%02X%02X", c.R, c.G, c.B)); got != want {
			t.Errorf("cloud %d has %d dots; want %d", i, got, want)
		}
	}
	for _, clouds := range [][]Cloud{nil, {{"A", []float64{nan}, []float64{1}, false}}, {{"A", []float64{1, 2}, []float64{1}, false}}} {
		if _, err := Scatter(clouds, "x", Options{}); err == nil {
			t.Errorf("%v is drawn", clouds)
		}
	}
}
