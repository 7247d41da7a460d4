package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Generation is a population between two exchanges of population based training.
type Generation struct {
	At      float64              // where it begins along the bottom: an iteration
	Parent  []int                // of each member: its number in the generation before
	Fitness []float64            // of each member, by which the exchange went; NaN where there was none
	Hyper   map[string][]float64 // of each member
}

// Scale is the axis of a hyperparameter.
type Scale int

// The scales. The first is the default.
const (
	Linear  Scale = iota
	Log           // the logarithm of the value
	Horizon       // the logarithm of 1 / (1 - value), the steps that a discount looks ahead
)

// Panel is a hyperparameter to be drawn.
type Panel struct {
	Name  string
	Scale Scale
}

// lineage is what a figure of a descent shows.
type lineage struct {
	generations []Generation
	end         float64 // the last iteration
	panels      []Panel
	class       [][]class // of each member in each generation
	best        int       // of the last generation
}

// class says what became of a member of a generation.
type class int

const (
	ended    class = iota // no member of the last generation descends from it
	survives              // some do
	leads                 // the best one does
	classes
)

// classStyles are the lines of the classes.
var classStyles = [classes]draw.LineStyle{
	ended:    {Color: color.NRGBA{0xd9, 0xd9, 0xd9, 0xff}, Width: vg.Points(0.7)},
	survives: {Color: color.NRGBA{0x56, 0xb4, 0xe9, 0xff}, Width: vg.Points(1)},
	leads:    {Color: palette[1], Width: vg.Points(2)},
}

// Lineage makes the figure of the members' descent and of hyperparameters over the iterations, up to the last iteration end. Colours tell the
// line of the fittest member of the last exchange, the lines of other members that are alive, and lines that ended.
func Lineage(generations []Generation, end float64, panels []Panel, o Options) (*Figure, error) {
	if n := len(generations); n > 0 {
		end = max(end, generations[n-1].At+1)
	}
	l, err := newLineage(generations, end, panels)
	if err != nil {
		return nil, err
	}
	rows := 1 + (len(panels)+1)/2
	o.Width, o.Height = cmp.Or(o.Width, 10), cmp.Or(o.Height, 1.2+2.1*float64(rows))
	f := &Figure{options: o, lineage: l, scale: scaleFor(Iterations, l.end)}
	f.note = fmt.Sprintf("thick: the line of member %d, the fittest at the last exchange; blue: lines of the other members; grey: lines that ended", l.best)
	return f, nil
}

// newLineage classifies the members of generations with the hyperparameters of the panels.
func newLineage(generations []Generation, end float64, panels []Panel) (*lineage, error) {
	if len(generations) == 0 {
		return nil, fmt.Errorf("plot: no generations")
	}
	members := len(generations[0].Parent)
	for i, g := range generations {
		if len(g.Parent) != members || len(g.Fitness) != members || slices.ContainsFunc(g.Parent, func(p int) bool { return p < 0 || p >= members }) {
			return nil, fmt.Errorf("plot: generation %d has parents %v and %d fitnesses: want those of %d members", i, g.Parent, len(g.Fitness), members)
		}
		for _, p := range panels {
			if len(g.Hyper[p.Name]) != members {
				return nil, fmt.Errorf("plot: generation %d has %s of %d members: want %d", i, p.Name, len(g.Hyper[p.Name]), members)
			}
		}
	}
	l := &lineage{generations: generations, end: end, panels: slices.Clone(panels)}
	l.classify()
	for i := range l.panels {
		l.checkScale(&l.panels[i])
	}
	return l, nil
}

// classify follows the descent from the last generation back.
func (l *lineage) classify() {
	n := len(l.generations)
	last := l.generations[n-1]
	for m, f := range last.Fitness {
		if f > last.Fitness[l.best] || math.IsNaN(last.Fitness[l.best]) {
			l.best = m
		}
	}
	l.class = make([][]class, n)
	for g := n - 1; g >= 0; g-- {
		l.class[g] = make([]class, len(last.Parent))
		if g == n-1 {
			for m := range l.class[g] {
				l.class[g][m] = survives
			}
			l.class[g][l.best] = leads
			continue
		}
		for m, parent := range l.generations[g+1].Parent {
			l.class[g][parent] = max(l.class[g][parent], l.class[g+1][m])
		}
	}
}

// checkScale makes an axis linear that has values which a logarithm does not have.
func (l *lineage) checkScale(p *Panel) {
	for _, g := range l.generations {
		for _, v := range g.Hyper[p.Name] {
			if x := p.Scale.of(v); p.Scale != Linear && !(x > 0 && !math.IsInf(x, 0)) {
				p.Scale = Linear
			}
		}
	}
}

// of is what is drawn of a value.
func (s Scale) of(value float64) float64 {
	if s == Horizon {
		return 1 / (1 - value)
	}
	return value
}

// title names a panel.
func (p Panel) title() string {
	if p.Scale == Horizon {
		return prettyName(p.Name) + ", as the horizon 1 / (1 − x)"
	}
	return prettyName(p.Name)
}

// hyperCell is the row and the column of a hyperparameter, of how many columns: below the descent, in two columns that the last one shares
// if it is alone in its row.
func (l *lineage) hyperCell(i int) (row, column, columns int) {
	if i == len(l.panels)-1 && i%2 == 0 {
		return 1 + i/2, 0, 1
	}
	return 1 + i/2, i % 2, 2
}

// drawLineage draws the panels: the descent across the top, and the hyperparameters below it.
func (f *Figure) drawLineage(c draw.Canvas) error {
	l := f.lineage
	rows := 1 + (len(l.panels)+1)/2
	height := (c.Max.Y - c.Min.Y) / vg.Length(rows)
	cell := func(row, column, columns int) draw.Canvas {
		width := (c.Max.X - c.Min.X) / vg.Length(columns)
		const gap = 8
		out := c
		out.Max.Y = c.Max.Y - height*vg.Length(row)
		out.Min.Y = out.Max.Y - height + vg.Points(gap)
		out.Min.X = c.Min.X + width*vg.Length(column)
		out.Max.X = out.Min.X + width - vg.Points(gap)
		return out
	}
	show := func(p *plot.Plot, title string, c draw.Canvas) {
		c.Max.Y -= vg.Points(11)
		c.FillText(textStyle(11, ink, xfont.WeightNormal), vg.Point{X: c.Min.X, Y: c.Max.Y}, title)
		c.Max.Y -= vg.Points(8)
		p.Draw(c)
	}
	descent := f.axes("", "")
	l.addDescent(descent)
	show(descent, "Member", cell(0, 0, 1))
	for i, panel := range l.panels {
		p := f.axes("", "")
		if row, _, _ := l.hyperCell(i); row == rows-1 {
			p.X.Label.Text = f.scale.label
		}
		l.addHyper(p, panel)
		show(p, panel.title(), cell(l.hyperCell(i)))
	}
	return nil
}

// addDescent draws a lane for each member, and lines from the lanes of parents to their copies'.
func (l *lineage) addDescent(p *plot.Plot) {
	l.addLines(p, func(_, m int) float64 { return float64(m) })
	p.Y.Min, p.Y.Max = -0.7, float64(len(l.generations[0].Parent))-0.3
}

// addHyper draws a hyperparameter of every member.
func (l *lineage) addHyper(p *plot.Plot, panel Panel) {
	l.addLines(p, func(g, m int) float64 { return panel.Scale.of(l.generations[g].Hyper[panel.Name][m]) })
	if panel.Scale != Linear {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Min, p.Y.Max = p.Y.Min/1.1, p.Y.Max*1.1
		return
	}
	widen(&p.Y, false)
}

// addLines draws a member's y over its generation, and a line to it from its parent's y in the generation before. Classes that matter more lie above.
func (l *lineage) addLines(p *plot.Plot, y func(generation, member int) float64) {
	for of := ended; of < classes; of++ {
		lines := &segments{style: classStyles[of]}
		for g, generation := range l.generations {
			until := l.end
			if g+1 < len(l.generations) {
				until = l.generations[g+1].At
			}
			for m, parent := range generation.Parent {
				if l.class[g][m] != of {
					continue
				}
				at := plotter.XY{X: generation.At, Y: y(g, m)}
				lines.all = append(lines.all, [2]plotter.XY{at, {X: until, Y: at.Y}})
				if g > 0 {
					lines.all = append(lines.all, [2]plotter.XY{{X: at.X, Y: y(g-1, parent)}, at})
				}
			}
		}
		p.Add(lines)
	}
	p.X.Min, p.X.Max = min(0, l.generations[0].At), l.end
}

// segments are straight lines of one style.
type segments struct {
	all   [][2]plotter.XY
	style draw.LineStyle
}

// Plot implements [plot.Plotter].
func (s *segments) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, line := range s.all {
		c.StrokeLine2(s.style, x(line[0].X), y(line[0].Y), x(line[1].X), y(line[1].Y))
	}
}

// DataRange implements [plot.DataRanger].
func (s *segments) DataRange() (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, line := range s.all {
		for _, at := range line {
			left, right, low, high = min(left, at.X), max(right, at.X), min(low, at.Y), max(high, at.Y)
		}
	}
	return left, right, low, high
}
