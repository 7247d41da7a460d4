package plot

import (
	"cmp"
	"fmt"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Group is a panel of learning curves, such as one environment's.
type Group struct {
	Title  string
	Series []Series // a label has the same style in all panels
}

// DrawPanels makes the figure of several groups, each with axes of its own, under one legend.
func DrawPanels(groups []Group, o Options) (*Figure, error) {
	columns, rows := grid(len(groups))
	o.Width, o.Height = cmp.Or(o.Width, min(12, 4.2*float64(columns))), cmp.Or(o.Height, 0.9+3*float64(rows))
	f := &Figure{options: o}
	for _, g := range groups {
		var styles []int
		for _, s := range g.Series {
			at := slices.Index(f.labels, s.Label)
			if at < 0 {
				at = len(f.labels)
				f.labels, f.styles = append(f.labels, s.Label), append(f.styles, at)
			}
			styles = append(styles, at)
		}
		one := o
		one.Title = g.Title
		panel, err := drawStyled(g.Series, styles, one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Title, err)
		}
		f.note = cmp.Or(f.note, panel.note)
		panel.labels, panel.note = nil, ""
		f.panels = append(f.panels, panel)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("plot: no panels")
	}
	return f, nil
}

// grid is the columns and rows of a number of panels.
func grid(panels int) (columns, rows int) {
	columns = min(panels, 3)
	if panels == 4 {
		columns = 2
	}
	return columns, (panels + columns - 1) / max(columns, 1)
}

// drawPanels draws the panels from the left to the right and from the top down.
func (f *Figure) drawPanels(c draw.Canvas) error {
	columns, rows := grid(len(f.panels))
	width, height := (c.Max.X-c.Min.X)/vg.Length(columns), (c.Max.Y-c.Min.Y)/vg.Length(rows)
	for i, panel := range f.panels {
		const gap = 10
		at := c
		at.Min.X = c.Min.X + width*vg.Length(i%columns)
		at.Max.X = at.Min.X + width - vg.Points(gap)
		at.Max.Y = c.Max.Y - height*vg.Length(i/columns)
		at.Min.Y = at.Max.Y - height + vg.Points(gap)
		at.Max.Y -= vg.Points(11)
		at.FillText(textStyle(11.5, ink, xfont.WeightBold), vg.Point{X: at.Min.X, Y: at.Max.Y}, panel.options.Title)
		at.Max.Y -= vg.Points(8)
		p, err := panel.plot()
		if err != nil {
			return err
		}
		p.Draw(at)
	}
	return nil
}
