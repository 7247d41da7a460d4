package plot

import (
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/evorl/evorl/engine/metrics"
)

// drawHead draws the title, the note and the legend along the top, where they cannot cover a curve, and returns what remains.
func (f *Figure) drawHead(c draw.Canvas) draw.Canvas {
	y := c.Max.Y
	row := func(height float64) { y -= vg.Points(height) }
	if f.options.Title != "" {
		row(14)
		c.FillText(textStyle(14, ink, xfont.WeightBold), vg.Point{X: c.Min.X, Y: y}, f.options.Title)
		row(4)
	}
	if f.note != "" {
		row(11)
		c.FillText(textStyle(10, faint, xfont.WeightNormal), vg.Point{X: c.Min.X, Y: y}, f.note)
		row(4)
	}
	if len(f.labels) > 1 {
		y = f.drawLegend(c, y)
	}
	c.Max.Y = y - vg.Points(12)
	return c
}

// drawLegend draws the entries side by side, in as many rows as they need, and returns the bottom.
func (f *Figure) drawLegend(c draw.Canvas, y vg.Length) vg.Length {
	const sample, gap, between, height = 22, 6, 18, 16
	style := textStyle(10.5, ink, xfont.WeightNormal)
	x := c.Min.X
	y -= vg.Points(height)
	for i, label := range f.labels {
		width := vg.Points(sample+gap) + style.Width(label)
		if x > c.Min.X && x+width > c.Max.X {
			x = c.Min.X
			y -= vg.Points(height)
		}
		// The sample stands at the middle of the letters.
		middle := y + vg.Points(3.6)
		c.StrokeLine2(lineStyle(f.styles[i]), x, middle, x+vg.Points(sample), middle)
		c.FillText(style, vg.Point{X: x + vg.Points(sample+gap), Y: y}, label)
		x += width + vg.Points(between)
	}
	return y
}

// prettyName turns a metric's name into a label: return/mean is Return, loss/actor is Loss (actor).
func prettyName(metric string) string {
	base, rest, _ := strings.Cut(metric, "/")
	base = strings.ReplaceAll(base, "_", " ")
	if base != "" {
		base = strings.ToUpper(base[:1]) + base[1:]
	}
	switch "/" + rest {
	case "/", metrics.MeanSuffix, metrics.MedianSuffix:
		return base
	}
	return base + " (" + strings.ReplaceAll(rest, "_", " ") + ")"
}
