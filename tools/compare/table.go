package main

import (
	"fmt"
	"strconv"
	"strings"
)

// table is a Markdown table.
type table struct{ rows []string }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.rows = append(t.rows, strings.Repeat("|---", len(columns))+"|")
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("|", "\\|", "\n", " ").Replace(c)
	}
	t.rows = append(t.rows, "| "+strings.Join(cells, " | ")+" |")
}

// write writes the table under a title, unless it is empty.
func (t *table) write(b *strings.Builder, title string) {
	if len(t.rows) > 2 {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", title, strings.Join(t.rows, "\n"))
	}
}

// quantity formats a figure with three digits, large ones in thousands, millions or billions.
func quantity(x float64, unit string) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if x >= u.size {
			if u.name == "k" {
				u.size = 1e3
			}
			return strconv.FormatFloat(x/u.size, 'g', 3, 64) + u.name + " " + unit
		}
	}
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64) + " " + unit
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + " " + unit
}
