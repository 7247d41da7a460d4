package plot

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cloud is points that belong together, such as the solutions that a search has found.
type Cloud struct {
	Label string
	X, Y  []float64
	Small bool // small dots, for what others are compared with
}

// Scatter makes the figure of clouds; the axes are labelled x and the options' YLabel. Points that are not finite are left out.
func Scatter(clouds []Cloud, x string, o Options) (*Figure, error) {
	o.Width, o.Height = cmp.Or(o.Width, 6), cmp.Or(o.Height, 5)
	f := &Figure{options: o, scale: axisScale{x, 1}}
	points := 0
	for i, c := range clouds {
		if len(c.X) != len(c.Y) {
			return nil, fmt.Errorf("plot: %s: %d numbers along the bottom and %d upwards; want as many", c.Label, len(c.X), len(c.Y))
		}
		drawn := Cloud{Label: c.Label, Small: c.Small}
		for j := range c.X {
			if v := c.X[j] + c.Y[j]; !math.IsNaN(v) && !math.IsInf(v, 0) {
				drawn.X, drawn.Y = append(drawn.X, c.X[j]), append(drawn.Y, c.Y[j])
			}
		}
		points += len(drawn.X)
		f.labels, f.styles, f.clouds = append(f.labels, c.Label), append(f.styles, i), append(f.clouds, drawn)
	}
	if points == 0 {
		return nil, fmt.Errorf("plot: no finite points")
	}
	return f, nil
}

// drawClouds adds their dots to the axes.
func (f *Figure) drawClouds(p *plot.Plot) error {
	for i, c := range f.clouds {
		points := make(plotter.XYs, len(c.X))
		for j := range c.X {
			points[j] = plotter.XY{X: c.X[j], Y: c.Y[j]}
		}
		if len(points) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		style := draw.GlyphStyle{Color: palette[i%len(palette)], Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
		if c.Small {
			style.Radius = vg.Points(0.9)
		}
		dots.GlyphStyle = style
		p.Add(dots)
	}
	return nil
}
