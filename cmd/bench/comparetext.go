package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns the comparison as a table for a terminal.
func (c *Comparison) Text() string {
	var b strings.Builder
	for i, r := range c.Results {
		fmt.Fprintf(&b, "%s  %s\n", Letter(i), r.Title())
		for _, w := range r.Warnings {
			fmt.Fprintf(&b, "   %s\n", w)
		}
	}
	if c.repeated() {
		b.WriteString(spreadNote + "\n")
	}
	rows := [][]string{c.header("")}
	for _, s := range c.Suites {
		rows = append(rows, []string{s.Name})
		for _, k := range s.Cases {
			rows = append(rows, c.row(k, "  "+k.Case))
		}
		rows = append(rows, c.means(s, "  geometric mean"))
	}
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	b.WriteByte('\n')
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < 2 {
				line.WriteString(cell + pad + "  ")
			} else {
				line.WriteString(pad + cell + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// Markdown returns the comparison as tables: the results with their warnings, and one per suite.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	b.WriteString("| | device | driver | Vulkan | host | evorl | measured |\n|---|---|---|---|---|---|---|\n")
	for i, r := range c.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s, %d processors | %s | %s, %d × %g s a case |\n", Letter(i), cell(r.Device.Name), cell(r.Device.Driver),
			r.Device.API, cell(r.Host.Processor), r.Host.Processors, short(r.Version), r.Date.Format("2006-01-02"), r.Repetitions, r.Seconds)
	}
	b.WriteByte('\n')
	for i, r := range c.Results {
		if len(r.Warnings) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", Letter(i), cell(strings.Join(r.Warnings, "; ")))
		}
	}
	if c.repeated() {
		b.WriteString("\n" + spreadNote + "\n")
	}
	for _, s := range c.Suites {
		fmt.Fprintf(&b, "\n### %s\n\n| %s |\n|---|---%s|\n", s.Name, strings.Join(c.header("case"), " | "), strings.Repeat("|--:", len(c.header(""))-2))
		for _, k := range s.Cases {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(c.row(k, "`"+k.Case+"`"), " | "))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(c.means(s, "geometric mean"), " | "))
	}
	return b.String()
}

// spreadNote explains the tables' ±.
const spreadNote = "Figures are medians of the repetitions, ± half of their range."

// repeated reports whether a case was measured more than once.
func (c *Comparison) repeated() bool {
	return slices.ContainsFunc(c.Suites, func(s ComparedSuite) bool {
		return slices.ContainsFunc(s.Cases, func(k ComparedCase) bool {
			return slices.ContainsFunc(k.Spreads, func(x float64) bool { return !math.IsNaN(x) })
		})
	})
}

func cell(text string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text) }

// header returns the first row: case, unit, the values of all results, and the ratios of all except the baseline.
func (c *Comparison) header(first string) []string {
	row := []string{first, "unit"}
	for i := range c.Results {
		row = append(row, Letter(i))
	}
	for i := range c.Results {
		if i != c.Baseline {
			row = append(row, Letter(i)+"/"+Letter(c.Baseline))
		}
	}
	return row
}

func (c *Comparison) row(k ComparedCase, name string) []string {
	row := []string{name, k.Unit}
	for i, v := range k.Values {
		text := figureText(v)
		if s := k.Spreads[i]; !math.IsNaN(s) {
			text += fmt.Sprintf(" ±%.1f%%", 100*s)
		}
		row = append(row, text)
	}
	for i, r := range k.Ratios {
		if i != c.Baseline {
			row = append(row, ratioText(r))
		}
	}
	return row
}

func (c *Comparison) means(s ComparedSuite, name string) []string {
	row := append([]string{name, ""}, make([]string, len(c.Results))...)
	for i, m := range s.Means {
		if i != c.Baseline {
			row = append(row, ratioText(m))
		}
	}
	return row
}

// figureText formats a figure; a missing one is a dash.
func figureText(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return Figure(x)
}

func ratioText(x float64) string {
	if !(x > 0) {
		return "–"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// Figure formats a figure with three or four digits, and large ones in thousands, millions and so on.
func Figure(x float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if x >= u.size {
			unit := u.size
			if u.name == "k" {
				unit = 1e3
			}
			return strconv.FormatFloat(x/unit, 'f', 2, 64) + u.name
		}
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
