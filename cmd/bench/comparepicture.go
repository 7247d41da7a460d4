package bench

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	pictureNames  = 240 // width left of the bars
	pictureBars   = 520
	pictureRight  = 70 // width right of the bars, for the number of the longest one
	pictureBar    = 9
	pictureGap    = 7
	pictureTitles = 18 // height of a line of text
)

// pictureColors is the palette of E. Okabe and K. Ito, "Color Universal Design", 2008.
var pictureColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// WriteSVG draws the comparison: one bar per case and result except the baseline, of length log(speed / the baseline's
// speed).
func (c *Comparison) WriteSVG(w io.Writer) error {
	p := &picture{most: 1}
	for _, s := range c.Suites {
		for _, k := range s.Cases {
			for _, r := range k.Ratios {
				if r > 0 {
					p.most = max(p.most, r, 1/r)
				}
			}
		}
	}
	step, steps := pictureSteps(p.most)
	p.most = math.Pow(step, float64(steps))
	p.y = pictureTitles
	p.text(8, "Times as fast as "+Letter(c.Baseline), "bold")
	for i, r := range c.Results {
		p.y += pictureTitles
		if i != c.Baseline {
			p.bar(8, 12, i)
		}
		p.text(26, Letter(i)+": "+legend(r), "normal")
	}
	p.y += pictureGap
	top := p.y
	for _, s := range c.Suites {
		p.y += pictureTitles
		p.text(8, s.Name, "bold")
		for _, k := range s.Cases {
			p.group(c, k.Case, k.Ratios)
		}
		p.group(c, "geometric mean", s.Means)
	}
	middle := pictureNames + pictureBars/2
	for k := -steps; k <= steps; k++ {
		ratio := math.Pow(step, float64(k))
		x := float64(middle) + p.length(ratio)
		width := 0.4
		if k == 0 {
			width = 1
		}
		fmt.Fprintf(&p.b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#999" stroke-width="%g"/>`+"\n", x, top, x, p.y+4, width)
		fmt.Fprintf(&p.b, `<text x="%.1f" y="%d" text-anchor="middle">%.6g</text>`+"\n", x, p.y+pictureTitles, ratio)
	}
	p.y += pictureTitles + 8
	width := pictureNames + pictureBars + pictureRight
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, p.y, width, p.y, p.b.String())
	return err
}

// pictureSteps returns the axis of ratios up to most and down to its inverse: the ratio of adjacent ticks, and their number on each side of 1.
func pictureSteps(most float64) (step float64, steps int) {
	for _, step = range []float64{2, 10, 100, 1e4, 1e8} {
		if steps = max(1, int(math.Ceil(math.Log(most)/math.Log(step)-1e-9))); steps <= 4 {
			break
		}
	}
	return step, steps
}

// legendWidth is the number of characters that fit into the picture.
const legendWidth = 110

// legend returns device, driver and host of a result, and whether that was busy. The table has the rest.
func legend(r *Result) string {
	busy := ""
	if r.Busy {
		busy = "; " + busyMachine
	}
	text, width := []rune(fmt.Sprintf("%s; %s; %s, %d processors", r.Device.Name, r.Device.Driver, r.Host.Processor, r.Host.Processors)), legendWidth-len(busy)
	if len(text) > width {
		text = append(text[:width-1], '…')
	}
	return string(text) + busy
}

// picture is a drawing from top to bottom.
type picture struct {
	b    strings.Builder
	y    int
	most float64 // the largest ratio
}

// length returns the length of a ratio's bar, in pixels.
func (p *picture) length(ratio float64) float64 {
	return math.Log(ratio) / math.Log(p.most) * pictureBars / 2
}

func (p *picture) text(x int, text, weight string) {
	fmt.Fprintf(&p.b, `<text x="%d" y="%d" font-weight="%s">`, x, p.y, weight)
	_ = xml.EscapeText(&p.b, []byte(text)) // a builder never fails
	p.b.WriteString("</text>\n")
}

// bar draws the square of a result in the legend.
func (p *picture) bar(x, size, result int) {
	fmt.Fprintf(&p.b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x, p.y-size+2, size, size, pictureColors[result%len(pictureColors)])
}

// group draws the bars of a case.
func (p *picture) group(c *Comparison, name string, ratios []float64) {
	p.y += pictureGap + pictureBar
	p.text(20, name, "normal")
	first := true
	for i, r := range ratios {
		if i == c.Baseline || !(r > 0) {
			continue
		}
		if !first {
			p.y += pictureBar + 1
		}
		first = false
		middle, length := float64(pictureNames+pictureBars/2), p.length(r)
		fmt.Fprintf(&p.b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", middle+min(length, 0), p.y-pictureBar+1,
			math.Abs(length), pictureBar, pictureColors[i%len(pictureColors)])
		fmt.Fprintf(&p.b, `<text x="%.1f" y="%d" font-size="9">%s</text>`+"\n", middle+max(length, 0)+4, p.y, ratioText(r))
	}
}
