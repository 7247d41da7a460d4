package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// printTable writes a line for the heaviest pipeline of every kernel, or for all pipelines.
func printTable(w io.Writer, results []result, all bool) {
	rows := slices.Clone(results)
	slices.SortStableFunc(rows, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Shader.Name, b.Shader.Name), cmp.Compare(a.target.String(), b.target.String()),
			-cmp.Compare(a.Stats.Spills, b.Stats.Spills), -cmp.Compare(a.Stats.Registers, b.Stats.Registers))
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "registers\tspills\tscalar spills\tscratch B\tshared B\tcode B\ttarget\t  pipeline")
	last := ""
	for _, r := range rows {
		key := r.Shader.Name + " " + r.target.String()
		if key == last && !all && r.Error == "" {
			continue
		}
		last = key
		name := r.pipeline.String()
		if r.hot {
			name += " (hot)"
		}
		if r.Error != "" {
			fmt.Fprintf(table, "-\t-\t-\t-\t-\t-\t%v\t  %s: DOES NOT COMPILE\n", r.target, name)
			continue
		}
		if r.Lacks != "" {
			fmt.Fprintf(table, "-\t-\t-\t-\t-\t-\t%v\t  %s: not compiled, the device has %s\n", r.target, name, r.Lacks)
			continue
		}
		s := r.Stats
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%.0f\t%v\t  %s\n",
			s.Registers, s.Spills, s.ScalarSpills, s.ScratchBytes, max(s.SharedBytes, 0), r.statistic("code size"), r.target, name)
	}
	table.Flush()
	spilling := 0
	for _, r := range results {
		if r.Stats.Spills > 0 {
			spilling++
		}
	}
	fmt.Fprintf(w, "%d pipelines, %d of them spill\n", len(results), spilling)
}

// statistic returns a value by the driver's name for it, or 0 if the driver does not report it.
func (r result) statistic(name string) float64 {
	for _, s := range r.Stats.Statistics {
		if strings.EqualFold(s.Name, name) {
			return s.Value
		}
	}
	return 0
}
