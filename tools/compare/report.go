package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// figure is a line of output of evorl bench.
type figure struct {
	Suite    string   `json:"suite"`
	Case     string   `json:"case"`
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"`
	Fraction *float64 `json:"fraction_of_limit"`
	Kernels  []struct {
		Label   string  `json:"label"`
		Seconds float64 `json:"seconds"`
	} `json:"kernels"`
}

// summary holds the newest record of each kind, of one device and driver.
type summary struct {
	machine  *machine
	figures  []figure                  // in the order of their first measurement
	peers    map[string]map[string]any // by part
	tests    map[string]map[string]string
	outcomes map[string]outcome
	order    []string // parts, in the order in which they first ended
}

func summarize(records []record) summary {
	s := summary{peers: map[string]map[string]any{}, tests: map[string]map[string]string{}, outcomes: map[string]outcome{}}
	for _, r := range records {
		switch {
		case r.Machine != nil:
			s.machine = r.Machine
		case r.Test != nil:
			if s.tests[r.Part] == nil {
				s.tests[r.Part] = map[string]string{}
			}
			s.tests[r.Part][r.Test.Name] = r.Test.Result
		case r.Outcome != nil:
			if _, again := s.outcomes[r.Part]; !again {
				s.order = append(s.order, r.Part)
			}
			s.outcomes[r.Part] = *r.Outcome
		case strings.HasPrefix(r.Part, "bench "):
			var f figure
			if json.Unmarshal(r.Line, &f) == nil && f.Case != "" {
				if at := slices.IndexFunc(s.figures, func(g figure) bool { return g.Case == f.Case }); at >= 0 {
					s.figures[at] = f
				} else {
					s.figures = append(s.figures, f)
				}
			}
		default:
			var line map[string]any
			if json.Unmarshal(r.Line, &line) == nil {
				s.peers[r.Part] = line
			}
		}
	}
	return s
}

// report returns the Markdown page, a section for each device and driver, with failures first.
func report(records []record) string {
	var b strings.Builder
	b.WriteString("# evorl beside its peers\n")
	for _, of := range byDevice(records) {
		s := summarize(of)
		if m := s.machine; m != nil {
			fmt.Fprintf(&b, "\n## %s, driver %s\n\n%s; Vulkan %s; evorl %s; %s, %d cores of %s, load averages %s at the beginning.\n", m.Device.Name, m.Device.Driver,
				m.Date.Format("2 January 2006 15:04 MST"), m.Device.API, m.Evorl, m.System, m.Cores, m.Processor, m.Load)
		}
		s.writeFailures(&b)
		s.writeTests(&b)
		s.writePeers(&b)
		s.writeFigures(&b)
	}
	return b.String()
}

// writePeers writes the figures that both have. A ratio above 1 means that evorl is faster.
func (s summary) writePeers(b *strings.Builder) {
	table := newTable("", "evorl", "peer", "evorl is faster by", "the peer", "ran on")
	for _, p := range peers {
		line := s.peers[p.name]
		if line == nil {
			continue
		}
		for _, of := range p.beside {
			theirs := 0.0
			for _, field := range of.fields {
				x, _ := line[field].(float64)
				theirs += x
			}
			at := slices.IndexFunc(s.figures, func(f figure) bool { return f.Case == of.bench })
			unit, ours, ratio := cmp.Or(of.time, "env steps/s"), "", ""
			if at >= 0 {
				f := s.figures[at]
				ours = quantity(f.Value, f.Unit)
				if of.time != "" {
					ratio = strconv.FormatFloat(theirs/f.Value, 'g', 3, 64) + " ×"
				} else {
					ratio = strconv.FormatFloat(f.Value/theirs, 'g', 3, 64) + " ×"
				}
			}
			table.row(of.what, ours, quantity(theirs, unit), ratio, version(line), ranOn(line, p.script))
		}
	}
	table.write(b, "Beside peers")
}

// version describes the version of a peer.
func version(line map[string]any) string {
	var words []string
	if name, ok := line["peer"].(string); ok {
		words = append(words, name)
	}
	if v, ok := line["jax"].(string); ok {
		words = append(words, "JAX "+v)
	}
	return strings.Join(words, ", ")
}

func ranOn(line map[string]any, script string) string {
	if name, ok := line["device"].(string); ok {
		return name
	}
	if name, ok := line["platform"].(string); ok {
		return name
	}
	if n, ok := line["threads"].(float64); ok {
		return fmt.Sprintf("processor, %s", plural(int(n), "thread"))
	}
	return script
}

// writeFigures writes the measurements of evorl bench, and the kernels that take most of the time.
func (s summary) writeFigures(b *strings.Builder) {
	table := newTable("suite", "case", "measured", "of the device's limit", "kernels that take most of the device's time")
	for _, f := range s.figures {
		limit := ""
		if f.Fraction != nil {
			limit = fmt.Sprintf("%.1f%%", 100**f.Fraction)
		}
		all := 0.0
		for _, k := range f.Kernels {
			all += k.Seconds
		}
		var most []string
		for _, k := range f.Kernels[:min(3, len(f.Kernels))] {
			most = append(most, fmt.Sprintf("%s %.0f%%", k.Label, 100*k.Seconds/all))
		}
		table.row(f.Suite, f.Case, quantity(f.Value, f.Unit), limit, strings.Join(most, ", "))
	}
	table.write(b, "Measured")
}

// writeTests writes the test results.
func (s summary) writeTests(b *strings.Builder) {
	table := newTable("tests of", "passed", "failed", "skipped", "which failed")
	for _, part := range s.order {
		results, ok := s.tests[part]
		if !ok {
			continue
		}
		names := map[string][]string{}
		for name, result := range results {
			names[result] = append(names[result], name)
		}
		slices.SortFunc(names["FAIL"], cmp.Compare)
		table.row(strings.TrimPrefix(part, "test "),
			strconv.Itoa(len(names["PASS"])), strconv.Itoa(len(names["FAIL"])), strconv.Itoa(len(names["SKIP"])),
			strings.Join(names["FAIL"], ", "))
	}
	table.write(b, "Tests on the device")
}

// writeFailures writes the parts that did not finish.
func (s summary) writeFailures(b *strings.Builder) {
	table := newTable("part", "seconds", "failure")
	for _, part := range s.order {
		if o := s.outcomes[part]; !o.Finished {
			table.row(part, fmt.Sprintf("%.0f", o.Seconds), o.Said)
		}
	}
	table.write(b, "Not finished")
}

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
