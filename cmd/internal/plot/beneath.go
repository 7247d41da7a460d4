package plot

import (
	"fmt"
	"image/color"
	"math"
	"sort"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// beneath is a panel under a learning curve, along the same axis: a descent, or shares.
type beneath struct {
	title, axis string
	descent     *lineage
	shares      []share
}

// beneathHeight is the height of the panel in inches; beneathTitle its title's in points.
const (
	beneathHeight = 2.1
	beneathTitle  = 24
)

// put adds the panel to the figure, which becomes higher.
func (f *Figure) put(b *beneath) {
	f.options.Height += beneathHeight
	f.beneath = b
}

// AddLineage adds a panel under the curve of a run: who descends from whom in generations that begin at iterations.
func (f *Figure) AddLineage(generations []Generation, of Series) error {
	at := f.places(of)
	placed := make([]Generation, len(generations))
	for i, g := range generations {
		placed[i] = g
		placed[i].At = at(int64(g.At) - 1)
	}
	records := of.Runs[0]
	l, err := newLineage(placed, at(records[len(records)-1].Iteration), nil)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Lineage: thick, that of member %d, the fittest at the last exchange; blue, of the other members; grey, ended", l.best)
	f.put(&beneath{title: title, axis: "Member", descent: l})
	return nil
}

// AddShare adds a panel under the curve of a run: a metric between 0 and 1 in every iteration. Iterations without a value have 0.
func (f *Figure) AddShare(metric, title, axis string, of Series) {
	const most = 250 // bars: more cannot be told apart
	at, records := f.places(of), of.Runs[0]
	step := (len(records) + most - 1) / most
	var all []share
	for i := 0; i < len(records); i += step {
		together := records[i:min(i+step, len(records))]
		one := share{from: at(together[0].Iteration - 1), to: at(together[len(together)-1].Iteration)}
		for _, r := range together {
			if x := r.Values[metric]; x > 0 { // not NaN
				one.of += min(x, 1) / float64(len(together))
			}
		}
		all = append(all, one)
	}
	f.put(&beneath{title: title, axis: axis, shares: all})
}

// places returns where iterations of a run end along the axis: 0 before the first.
func (f *Figure) places(of Series) func(iteration int64) float64 {
	x := f.options.axis(of)
	var ends []int64
	var at []float64
	for _, r := range of.Runs[0] {
		if _, end := x(r); !math.IsNaN(end) && !math.IsInf(end, 0) {
			ends, at = append(ends, r.Iteration), append(at, end/f.scale.unit)
		}
	}
	return func(iteration int64) float64 {
		if i := sort.Search(len(ends), func(i int) bool { return ends[i] > iteration }); i > 0 {
			return at[i-1]
		}
		return 0
	}
}

// drawBeneath draws the curves with the panel under them.
func (f *Figure) drawBeneath(c draw.Canvas, curves *plot.Plot) {
	p := f.axes(f.scale.label, f.beneath.axis)
	f.beneath.addTo(p, curves.X.Min)
	p.X.Min, p.X.Max, p.X.Scale, p.X.Tick.Marker = curves.X.Min, curves.X.Max, curves.X.Scale, curves.X.Tick.Marker
	curves.X.Label.Text = ""
	at := plot.Align([][]*plot.Plot{{curves}, {p}}, draw.Tiles{Rows: 2, Cols: 1}, c) // for the left and right ends
	upper, lower := at[0][0], at[1][0]
	middle := c.Min.Y + vg.Length(beneathHeight)*vg.Inch
	upper.Max.Y, upper.Min.Y, lower.Max.Y, lower.Min.Y = c.Max.Y, middle, middle-vg.Points(beneathTitle), c.Min.Y
	curves.Draw(upper)
	c.FillText(textStyle(10, faint, xfont.WeightNormal), vg.Point{X: c.Min.X, Y: middle - vg.Points(beneathTitle-8)}, f.beneath.title)
	p.Draw(lower)
}

// addTo adds what the panel shows, none of it to the left of an axis, which may be logarithmic.
func (b *beneath) addTo(p *plot.Plot, left float64) {
	if b.descent != nil {
		for i := range b.descent.generations {
			b.descent.generations[i].At = max(b.descent.generations[i].At, left)
		}
		b.descent.addDescent(p)
		return
	}
	for i, one := range b.shares {
		b.shares[i].from, b.shares[i].to = max(one.from, left), max(one.to, left)
	}
	p.Add(shares(b.shares))
	p.Y.Min, p.Y.Max = 0, 1
}

// shares are bars from 0 up to a share, and others from there up to 1.
type shares []share

type share struct{ from, to, of float64 }

// shareColours are the colours of the bars up to the share, and of the rest.
var shareColours = [2]color.NRGBA{{0xe0, 0x86, 0x45, 0xff}, {0xcf, 0xe7, 0xf7, 0xff}}

// Plot implements [plot.Plotter].
func (s shares) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, one := range s {
		for i, side := range [2][2]float64{{0, one.of}, {one.of, 1}} {
			left, right, low, high := x(one.from), x(one.to), y(side[0]), y(side[1])
			c.FillPolygon(shareColours[i], []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}})
		}
	}
}
