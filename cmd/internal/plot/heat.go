package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	gonum "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cell is a polygon or a rectangle of a heat map, or a point where its width is 0.
type Cell struct {
	X, Y          float64 // its middle
	Width, Height float64
	Value         float64
	Corners       [][2]float64 // of a polygon, in order around it; nil: a rectangle or a point
}

// heat is what a heat map shows.
type heat struct {
	cells        []Cell
	colours      gonum.ColorMap
	area         [4]float64 // left, right, low, high; NaN: as the cells need it
	low, high    float64    // of the values
	xLabel, name string     // of the axis and of the values
}

// whitest is the share of the colours beyond the highest value, which cannot be told from the paper.
const whitest = 0.25

// Heat makes the figure of cells coloured by their values, which name names. area is left, right, low and high of the axes; nil: as the cells need it.
func Heat(cells []Cell, area *[4]float64, name string, o Options) (*Figure, error) {
	o.Width, o.Height = cmp.Or(o.Width, 7), cmp.Or(o.Height, 5.5)
	h := &heat{cells: cells, colours: moreland.Kindlmann(), name: name, xLabel: cmp.Or(o.XLabel, "Descriptor 1")}
	o.YLabel = cmp.Or(o.YLabel, "Descriptor 2")
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range cells {
		low, high = min(low, c.Value), max(high, c.Value)
	}
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return nil, fmt.Errorf("plot: %d cells from %v to %v: want some, with finite values", len(cells), low, high)
	}
	if low == high {
		low, high = low-0.5, high+0.5
	}
	h.low, h.high = low, high
	h.colours.SetMin(low)
	h.colours.SetMax(high + whitest*(high-low))
	if area != nil {
		h.area = *area
	} else {
		h.area[0] = math.NaN()
	}
	return &Figure{options: o, heat: h}, nil
}

// drawHeat draws the map and, to its right, the scale of the colours.
func (f *Figure) drawHeat(c draw.Canvas) error {
	h := f.heat
	p := f.axes(h.xLabel, f.options.YLabel)
	p.Add(h)
	if !math.IsNaN(h.area[0]) {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = h.area[0], h.area[1], h.area[2], h.area[3]
	} else {
		widen(&p.X, false)
		widen(&p.Y, false)
	}
	const bar = 60 // points
	of := f.axes("", h.name)
	of.HideX()
	of.Add(&heat{cells: h.scale(), colours: h.colours})
	of.X.Min, of.X.Max, of.Y.Min, of.Y.Max = 0, 1, h.low, h.high
	left, right := c, c
	right.Min.X = c.Max.X - vg.Points(bar)
	left.Max.X = right.Min.X - vg.Points(18)
	p.Draw(left)
	of.Draw(right)
	return nil
}

// scale is a column of the colours, from the lowest value up.
func (h *heat) scale() (cells []Cell) {
	const steps = 100
	height := (h.high - h.low) / steps
	for i := range steps {
		value := h.low + (float64(i)+0.5)*height
		cells = append(cells, Cell{X: 0.5, Y: value, Width: 1, Height: height, Value: value})
	}
	return cells
}

// Plot implements [plot.Plotter].
func (h *heat) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, of := range h.cells {
		var colour color.Color = faint
		if at, err := h.colours.At(of.Value); err == nil {
			colour = at
		}
		if of.Corners != nil {
			corners := make([]vg.Point, len(of.Corners))
			for i, at := range of.Corners {
				corners[i] = vg.Point{X: x(at[0]), Y: y(at[1])}
			}
			c.FillPolygon(colour, corners)
			continue
		}
		if of.Width == 0 {
			c.DrawGlyph(draw.GlyphStyle{Color: colour, Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}, vg.Point{X: x(of.X), Y: y(of.Y)})
			continue
		}
		left, right, low, high := x(of.X-of.Width/2), x(of.X+of.Width/2), y(of.Y-of.Height/2), y(of.Y+of.Height/2)
		c.FillPolygon(colour, []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}})
	}
}

// DataRange implements [plot.DataRanger].
func (h *heat) DataRange() (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, c := range h.cells {
		left, right, low, high = min(left, c.X-c.Width/2), max(right, c.X+c.Width/2), min(low, c.Y-c.Height/2), max(high, c.Y+c.Height/2)
	}
	return left, right, low, high
}
