package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/evorl/evorl/internal/durable"
)

// Options choose what a figure shows. The zero value draws the median return against environment steps.
type Options struct {
	Metric string // "return" when empty; its median or mean is found by itself
	X      Axis
	Total  bool // environment steps and evaluations of all members together, not of one
	Center Center
	Band   Band
	Title  string
	XLabel string // the axis's name when empty
	YLabel string // the metric's name when empty
	Smooth int    // values that a running mean is over; below 2: none
	Dots   bool   // at the values of a line
	LogX   bool   // logarithmic axis along the bottom
	LogY   bool
	Width  float64 // inches; 8 when 0
	Height float64 // inches; 4.5 when 0
}

// Figure is a drawing of learning curves, or of clouds of points, to be saved in any format.
type Figure struct {
	options Options
	labels  []string
	styles  []int // of the labels
	curves  []Curve
	panels  []*Figure  // side by side under one head, instead of curves
	rows    *intervals // of methods, instead of curves
	heat    *heat      // instead of curves
	clouds  []Cloud    // of a scatter, which has no curves
	lineage *lineage   // of a descent, which has neither
	beneath *beneath   // panel under curves; nil: none
	note    string
	scale   axisScale
}

// Draw makes the figure of one or more series.
func Draw(series []Series, o Options) (*Figure, error) {
	styles := make([]int, len(series))
	for i := range styles {
		styles[i] = i
	}
	return drawStyled(series, styles, o)
}

// drawStyled is Draw with the styles of the lines.
func drawStyled(series []Series, styles []int, o Options) (*Figure, error) {
	o.Metric = cmp.Or(o.Metric, "return")
	o.YLabel = cmp.Or(o.YLabel, prettyName(o.Metric))
	o.Width, o.Height = cmp.Or(o.Width, 8), cmp.Or(o.Height, 4.5)
	if len(series) == 0 {
		return nil, fmt.Errorf("plot: no series")
	}
	f := &Figure{options: o}
	largest := 0.0
	for i, s := range series {
		c, err := Summarize(s, o)
		if err != nil {
			return nil, err
		}
		f.labels, f.styles, f.curves = append(f.labels, s.Label), append(f.styles, styles[i]), append(f.curves, c)
		largest = max(largest, c.X[len(c.X)-1])
	}
	f.note = note(f.curves, series, o)
	f.scale = scaleFor(o.X, largest)
	if o.XLabel != "" {
		f.scale.label = o.XLabel
	}
	several := func(s Series) bool { return s.Members > 1 }
	if o.XLabel == "" && !o.Total && (o.X == EnvSteps || o.X == Evaluations) && slices.ContainsFunc(series, several) {
		f.scale.label += " per member"
	}
	return f, f.checkLogarithms()
}

// note says what line and band are.
func note(curves []Curve, series []Series, o Options) string {
	center := map[Center]string{Median: "median", Mean: "mean", IQM: "inter-quartile mean"}[o.Center]
	band := map[Band]string{Quartiles: "inter-quartile range", Range: "min–max", Bootstrap: "95% bootstrap interval"}[o.Band]
	over := ""
	for i, c := range curves {
		switch {
		case c.Over == "runs":
			runs := fmt.Sprintf("%d runs", len(series[i].Runs))
			if over != "" && over != runs {
				runs = "runs"
			}
			over = runs
		case c.Over == "members" && over == "":
			over = "the members"
		}
	}
	switch {
	case over == "":
		return ""
	case o.Band == NoBand:
		return center + " of " + over
	}
	text := fmt.Sprintf("line: %s, band: %s of %s", center, band, over)
	if o.Smooth > 1 {
		text += fmt.Sprintf(", smoothed over %d values", o.Smooth)
	}
	return text
}

// Save writes the figure as SVG or PNG, by the extension of the path.
func (f *Figure) Save(path string) error {
	var b bytes.Buffer
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		err = f.WriteSVG(&b)
	case ".png":
		err = f.WritePNG(&b)
	default:
		return fmt.Errorf("plot: %s: want a name that ends in .svg or .png", path)
	}
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	if err := durable.ReplaceFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// dotsPerInch of a PNG: sharp on dense screens and in print.
const dotsPerInch = 192

// WritePNG writes the figure as PNG.
func (f *Figure) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dotsPerInch))
	if err := f.draw(draw.New(c)); err != nil {
		return err
	}
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// WriteSVG writes the figure as SVG.
func (f *Figure) WriteSVG(w io.Writer) error {
	c := vgsvg.New(f.size())
	if err := f.draw(draw.New(c)); err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Where the font is missing, one of the same metrics stands in.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

func (f *Figure) size() (w, h vg.Length) {
	return vg.Length(f.options.Width) * vg.Inch, vg.Length(f.options.Height) * vg.Inch
}

// Colours of everything but the curves.
var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint = color.NRGBA{0x6b, 0x6b, 0x6b, 0xff}
	rule  = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff}
	axis  = color.NRGBA{0x9a, 0x9a, 0x9a, 0xff}
)

// palette is Okabe and Ito's (2008), which stays distinct to the colour-blind, without its yellow, too pale on white.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x00, 0x00, 0x00, 0xff},
}

// dashes tell apart the series that share a colour.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}

func lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.8), Dashes: dashes[i/len(palette)%len(dashes)]}
}

func textStyle(size float64, c color.Color, weight xfont.Weight) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Points(size)},
		Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, vg.Points(14), -vg.Points(18), vg.Points(12), -vg.Points(14))
	c = f.drawHead(c)
	switch {
	case f.lineage != nil:
		return f.drawLineage(c)
	case f.panels != nil:
		return f.drawPanels(c)
	case f.heat != nil:
		return f.drawHeat(c)
	case f.rows != nil:
		return f.drawIntervals(c)
	}
	p, err := f.plot()
	if err != nil {
		return err
	}
	if f.beneath != nil {
		f.drawBeneath(c, p)
	} else {
		p.Draw(c)
	}
	return nil
}

// axes are empty axes with the labels given.
func (f *Figure) axes(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		x, y := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = textStyle(10, faint, xfont.WeightNormal)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
		x, y = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		a.Label.TextStyle = textStyle(11, ink, xfont.WeightNormal)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = x, y
		a.Label.Padding = vg.Points(5)
		a.Tick.Marker = niceTicks{}
		a.LineStyle = draw.LineStyle{Color: axis, Width: vg.Points(0.8)}
		a.Tick.LineStyle = draw.LineStyle{Color: axis, Width: vg.Points(0.8)}
		a.Tick.Length = vg.Points(4)
		a.Padding = 0
	}
	// The horizontal rules do the work of a vertical axis line.
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: rule, Width: vg.Points(0.8)}
	grid.Vertical = draw.LineStyle{Color: rule, Width: vg.Points(0.4)}
	p.Add(grid)
	return p
}

// plot is the axes and curves.
func (f *Figure) plot() (*plot.Plot, error) {
	p := f.axes(f.scale.label, f.options.YLabel)
	for i, c := range f.curves { // all bands below all lines
		if c.Low != nil {
			band, err := plotter.NewPolygon(outline(c, f.scale.unit))
			if err != nil {
				return nil, err
			}
			fill := palette[f.styles[i]%len(palette)]
			fill.A = 0x30
			band.Color, band.LineStyle.Width = fill, 0
			p.Add(band)
		}
	}
	for i, c := range f.curves {
		points := make(plotter.XYs, len(c.X))
		for j := range c.X {
			points[j] = plotter.XY{X: c.X[j] / f.scale.unit, Y: c.Center[j]}
		}
		l, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		l.LineStyle = lineStyle(f.styles[i])
		p.Add(l)
		if f.options.Dots || len(points) == 1 { // no line to see yet
			dot, err := plotter.NewScatter(points)
			if err != nil {
				return nil, err
			}
			dot.GlyphStyle = draw.GlyphStyle{Color: l.Color, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
			if len(points) > 1 {
				dot.GlyphStyle.Radius = vg.Points(2.2)
			}
			p.Add(dot)
		}
	}
	if err := f.drawClouds(p); err != nil {
		return nil, err
	}
	f.finish(&p.X, f.options.LogX, f.clouds == nil)
	f.finish(&p.Y, f.options.LogY, false)
	return p, nil
}

// finish sets the range of an axis.
func (f *Figure) finish(a *plot.Axis, logarithmic, alongBottom bool) {
	if !logarithmic {
		widen(a, alongBottom)
		return
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, logTicks{}
	if !alongBottom || a.Min == a.Max {
		a.Min, a.Max = a.Min/1.1, a.Max*1.1
	}
}

// checkLogarithms leaves out what lies at or below 0 of a logarithmic axis along the bottom, as the beginning of a run does, and refuses curves
// that are not above 0 of one upwards.
func (f *Figure) checkLogarithms() error {
	for i := range f.curves {
		c := &f.curves[i]
		if f.options.LogX {
			first := 0
			for first < len(c.X) && c.X[first] <= 0 {
				first++
			}
			if first == len(c.X) {
				return fmt.Errorf("plot: %s: nothing above 0 on a logarithmic axis", f.labels[i])
			}
			c.X, c.Center = c.X[first:], c.Center[first:]
			if c.Low != nil {
				c.Low, c.High = c.Low[first:], c.High[first:]
			}
		}
		if !f.options.LogY {
			continue
		}
		for _, values := range [][]float64{c.Center, c.Low} {
			if len(values) > 0 && slices.Min(values) <= 0 {
				return fmt.Errorf("plot: %s: %v is not above 0, as a logarithmic axis needs it; want another --log or --band", f.labels[i], slices.Min(values))
			}
		}
	}
	return nil
}

// outline runs along the top of a band and back along its bottom.
func outline(c Curve, unit float64) plotter.XYs {
	n := len(c.X)
	points := make(plotter.XYs, 2*n)
	for i := range n {
		points[i] = plotter.XY{X: c.X[i] / unit, Y: c.High[i]}
		points[2*n-1-i] = plotter.XY{X: c.X[i] / unit, Y: c.Low[i]}
	}
	return points
}
