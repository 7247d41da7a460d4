package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/evorl/evorl/engine/scores"
)

// IntervalPanel is a statistic of several methods.
type IntervalPanel struct {
	Title  string
	Values []scores.Interval // of each row
}

// intervals are rows of a figure, each with an interval in every panel.
type intervals struct {
	labels []string
	panels []IntervalPanel
	low    float64 // of all axes; NaN: as the values need it
	high   float64
	mark   float64 // a line across all rows; NaN: none
	ticks  plot.Ticker
}

// Intervals makes the figure of statistics with their intervals: a row for each label, a panel for each statistic.
func Intervals(labels []string, panels []IntervalPanel, o Options) (*Figure, error) {
	o.Width = cmp.Or(o.Width, min(14, max(2.2, 0.8+float64(nameWidth(labels)/vg.Inch))+2.6*float64(len(panels))))
	o.Height = cmp.Or(o.Height, 1.4+0.3*float64(len(labels)))
	f := &Figure{options: o, note: "mark: estimate, bar: 95% bootstrap interval",
		rows: &intervals{labels: labels, panels: panels, low: math.NaN(), high: math.NaN(), mark: math.NaN(), ticks: fewTicks{}}}
	for _, p := range panels {
		if len(p.Values) != len(labels) {
			return nil, fmt.Errorf("plot: %s has %d intervals for %d rows", p.Title, len(p.Values), len(labels))
		}
	}
	if len(labels) == 0 || len(panels) == 0 {
		return nil, fmt.Errorf("plot: no intervals")
	}
	single := func(v scores.Interval) bool { return !math.IsNaN(v.Value) && math.IsNaN(v.Low) }
	if slices.ContainsFunc(panels, func(p IntervalPanel) bool { return slices.ContainsFunc(p.Values, single) }) {
		f.note += "; no bar: one run, of which there is no interval"
	}
	return f, nil
}

// Probabilities makes the figure of intervals of one probability, with a line at one half.
func Probabilities(labels []string, panel IntervalPanel, o Options) (*Figure, error) {
	o.Width = cmp.Or(o.Width, min(14, 4+float64(nameWidth(labels)/vg.Inch)))
	f, err := Intervals(labels, []IntervalPanel{panel}, o)
	if err == nil {
		f.rows.low, f.rows.high, f.rows.mark, f.rows.ticks = 0, 1, 0.5, quarters
	}
	return f, err
}

func nameStyle() text.Style { return textStyle(10.5, ink, xfont.WeightNormal) }

// nameWidth is the width that the labels of rows take, left of the panels.
func nameWidth(labels []string) vg.Length {
	width, style := vg.Length(0), nameStyle()
	for _, label := range labels {
		width = max(width, style.Width(label))
	}
	return width + vg.Points(8)
}

// drawIntervals draws the labels and the panels beside them.
func (f *Figure) drawIntervals(c draw.Canvas) error {
	of, style := f.rows, nameStyle()
	names := nameWidth(of.labels)
	width := (c.Max.X - c.Min.X - names) / vg.Length(len(of.panels))
	for i, panel := range of.panels {
		p := f.axes("", "")
		p.Y.Tick.Marker, p.Y.Tick.Label = plot.ConstantTicks(nil), textStyle(1, faint, xfont.WeightNormal)
		bars := &bars{panel.Values}
		p.Add(bars)
		if math.IsNaN(of.low) {
			room := 0.08 * (p.X.Max - p.X.Min)
			p.X.Min, p.X.Max = p.X.Min-room, p.X.Max+room
			if room == 0 {
				p.X.Min, p.X.Max = p.X.Min-0.5, p.X.Max+0.5
			}
		} else {
			p.X.Min, p.X.Max = of.low, of.high
		}
		p.X.Tick.Marker = of.ticks
		p.Y.Min, p.Y.Max = -float64(len(of.labels))+0.4, 0.6
		if !math.IsNaN(of.mark) {
			p.Add(&segments{[][2]plotter.XY{{{X: of.mark, Y: p.Y.Min}, {X: of.mark, Y: p.Y.Max}}}, draw.LineStyle{Color: faint, Width: vg.Points(1)}})
		}
		at := c
		at.Min.X = c.Min.X + names + width*vg.Length(i)
		at.Max.X = at.Min.X + width - vg.Points(14)
		at.Max.Y -= vg.Points(11)
		at.FillText(textStyle(11, ink, xfont.WeightNormal), vg.Point{X: at.Min.X, Y: at.Max.Y}, panel.Title)
		at.Max.Y -= vg.Points(6)
		p.Draw(at)
		if i == 0 {
			_, y := p.Transforms(ptr(p.DataCanvas(at)))
			for row, label := range of.labels {
				c.FillText(style, vg.Point{X: c.Min.X, Y: y(-float64(row)) - vg.Points(3.6)}, label)
			}
		}
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// fewTicks is niceTicks for a narrow axis: at most five ticks.
type fewTicks struct{}

// Ticks implements [plot.Ticker].
func (fewTicks) Ticks(low, high float64) []plot.Tick {
	const most = 5
	all := niceTicks{}.Ticks(low, high)
	for span := 2 * (high - low); len(all) > most; span *= 2 {
		all = ticksBy(niceStep(span), low, high)
	}
	return all
}

// quarters are the ticks of a probability.
var quarters = plot.ConstantTicks{
	{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"}, {Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1"},
}

// bars draws an interval in each row, from the top down at 0, -1 and so on.
type bars struct{ of []scores.Interval }

// Plot implements [plot.Plotter].
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const half = 7 // points
	for row, v := range b.of {
		if math.IsNaN(v.Value) {
			continue
		}
		at, fill := y(-float64(row)), palette[row%len(palette)]
		if !math.IsNaN(v.Low) {
			fill.A = 0x70
			c.FillPolygon(fill, []vg.Point{{X: x(v.Low), Y: at - vg.Points(half)}, {X: x(v.High), Y: at - vg.Points(half)},
				{X: x(v.High), Y: at + vg.Points(half)}, {X: x(v.Low), Y: at + vg.Points(half)}})
		}
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(1.8)}, x(v.Value), at-vg.Points(half), x(v.Value), at+vg.Points(half))
	}
}

// DataRange implements [plot.DataRanger].
func (b *bars) DataRange() (left, right, low, high float64) {
	left, right = math.Inf(1), math.Inf(-1)
	for _, v := range b.of {
		for _, x := range []float64{v.Low, v.Value, v.High} {
			if !math.IsNaN(x) {
				left, right = min(left, x), max(right, x)
			}
		}
	}
	return left, right, -float64(len(b.of)), 1
}

// Profiles makes the figure of performance profiles: the share of runs whose score is above each tau, of each label.
func Profiles(labels []string, taus []float64, shares [][]scores.Interval, xLabel string, o Options) (*Figure, error) {
	o.Width, o.Height, o.YLabel = cmp.Or(o.Width, 8), cmp.Or(o.Height, 4.5), cmp.Or(o.YLabel, "Share of runs above")
	f := &Figure{options: o, labels: labels, scale: axisScale{cmp.Or(o.XLabel, xLabel), 1}, note: "band: 95% bootstrap interval"}
	for i, of := range shares {
		c := Curve{X: taus}
		for _, v := range of {
			c.Center = append(c.Center, v.Value)
			if !math.IsNaN(v.Low) {
				c.Low, c.High = append(c.Low, v.Low), append(c.High, v.High)
			}
		}
		f.styles, f.curves = append(f.styles, i), append(f.curves, c)
	}
	if len(labels) == 0 || len(labels) != len(shares) {
		return nil, fmt.Errorf("plot: %d labels for %d profiles", len(labels), len(shares))
	}
	return f, f.checkLogarithms()
}
