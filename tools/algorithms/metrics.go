package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// described is a row of docs/metrics.md.
type described struct{ name, text string } // a name that ends with "/…" names a group

var (
	metricRow  = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+?) +\\|")
	metricName = regexp.MustCompile("`([^`]+)`")
)

// readMetrics reads the table of docs/metrics.md.
func readMetrics(path string) ([]described, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []described
	for _, row := range metricRow.FindAllStringSubmatch(string(text), -1) {
		for _, name := range metricName.FindAllStringSubmatch(row[1], -1) {
			all = append(all, described{name[1], row[2]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no table of metrics", path)
	}
	return all, nil
}

// describe returns the meaning of a metric.
func describe(all []described, name string) (string, error) {
	for _, m := range all {
		if group, ok := strings.CutSuffix(m.name, "…"); m.name == name || ok && strings.HasPrefix(name, group) {
			return m.text, nil
		}
	}
	return "", fmt.Errorf("docs/metrics.md does not describe the metric %s", name)
}

// rows describes metrics, adjacent ones of the same meaning together.
func (d *document) rows(names []string) (rows []described, err error) {
	for _, name := range names {
		text, err := describe(d.metrics, name)
		if err != nil {
			return nil, err
		}
		if last := len(rows) - 1; last >= 0 && rows[last].text == text {
			rows[last].name += ", `" + name + "`"
		} else {
			rows = append(rows, described{"`" + name + "`", text})
		}
	}
	return rows, nil
}

// spread are the suffixes of statistics over the members.
var spread = []string{"/mean", "/median", "/min", "/max", "/q25", "/q75"}

// withoutSpread returns the names of metrics, sorted; statistics of the same values are one name that ends with "/…".
func withoutSpread(names []string) []string {
	var out []string
	for _, name := range names {
		for _, suffix := range spread {
			if of, ok := strings.CutSuffix(name, suffix); ok && slices.Contains(names, of+"/median") {
				name = of + "/…"
				break
			}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
