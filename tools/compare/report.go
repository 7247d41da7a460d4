package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// figure is a line of output of evorl bench.
type figure struct {
	Suite    string   `json:"suite"`
	Case     string   `json:"case"`
	Value    float64  `json:"value"`
	Min      float64  `json:"min"` // of the tenths of its time
	Max      float64  `json:"max"`
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
				m.Date.Format("2 January 2006 15:04 MST"), m.Device.API, m.Device.Evorl, m.System, m.Cores, m.Processor, m.Load)
		}
		s.writeMost(&b)
		s.writeFigures(&b)
	}
	return b.String()
}

// brief returns what matters most, of the device that was measured last: for readers who see only the end of a long output.
func brief(records []record) string {
	var last *machine
	for _, r := range records {
		last = cmp.Or(r.Machine, last)
	}
	var b strings.Builder
	for _, of := range byDevice(records) {
		if s := summarize(of); s.machine == last {
			b.WriteString("\n# In short\n")
			s.writeMost(&b)
		}
	}
	return b.String()
}

// writeMost writes everything but the figures of evorl alone.
func (s summary) writeMost(b *strings.Builder) {
	s.writeAbout(b)
	s.writeFailures(b)
	s.writeTests(b)
	s.writePeers(b)
}

// writeAbout writes which of the peers' packages there are.
func (s summary) writeAbout(b *strings.Builder) {
	line := s.peers[importPart]
	var words []string
	for _, name := range slices.Sorted(maps.Keys(line)) {
		if text, ok := line[name].(string); ok {
			words = append(words, name+" "+text)
		}
	}
	if len(words) > 0 {
		fmt.Fprintf(b, "\nPeers: %s.\n", strings.Join(words, ", "))
	}
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
				ours = spread(quantity(f.Value, f.Unit), f.Min, f.Max)
				ratio = s.ratio(of, line, f.Value, theirs)
			}
			peers := quantity(theirs, unit)
			if slices.Equal(of.fields, p.beside[0].fields) {
				peers = spread(peers, samples(line)...)
			}
			table.row(of.what, ours, peers, ratio, version(line), ranOn(line, p.script))
		}
	}
	table.write(b, "Beside peers")
}

// samples returns what a peer measured each time, in the unit of its main figure, of which its figure is the median.
func samples(line map[string]any) (all []float64) {
	list, _ := line["samples"].([]any)
	for _, x := range list {
		if x, ok := x.(float64); ok {
			all = append(all, x)
		}
	}
	return all
}

// spread adds the least and the largest of several measurements to a figure.
func spread(figure string, of ...float64) string {
	if len(of) < 2 || slices.Min(of) == slices.Max(of) {
		return figure
	}
	low, _, _ := strings.Cut(quantity(slices.Min(of), ""), " ")
	high, _, _ := strings.Cut(quantity(slices.Max(of), ""), " ")
	return fmt.Sprintf("%s (%s to %s)", figure, low, high)
}

// ratio returns how much faster evorl is, or why the figures cannot be compared.
func (s summary) ratio(of beside, line map[string]any, ours, theirs float64) string {
	finite, told := line["finite"].(bool)
	switch {
	case told && !finite:
		return "none: the peer's results are not finite"
	case line["platform"] == "cpu" && s.machine != nil && s.machine.Device.gpu():
		return "none: the peer ran on the processor"
	case !(theirs > 0) || !(ours > 0):
		return "none: no figure"
	case of.time != "":
		ours, theirs = theirs, ours
	}
	return strconv.FormatFloat(ours/theirs, 'g', 3, 64) + " ×"
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
	if v, ok := line["precision"].(string); ok {
		words = append(words, "precision "+v)
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
		table.row(f.Suite, f.Case, spread(quantity(f.Value, f.Unit), f.Min, f.Max), limit, strings.Join(most, ", "))
	}
	table.write(b, "Measured")
}

// writeTests writes the test results.
func (s summary) writeTests(b *strings.Builder) {
	table := newTable("tests of", "passed", "failed", "skipped", "stopped", "not reached", "which did neither pass nor were skipped")
	for _, part := range s.order {
		results, ok := s.tests[part]
		if !ok {
			continue
		}
		names := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(results)) {
			names[results[name]] = append(names[results[name]], name)
		}
		var which []string
		for _, of := range []struct{ result, word string }{{"FAIL", ""}, {stoppedTest, "stopped: "}, {unreached, "not reached: "}} {
			if len(names[of.result]) > 0 {
				which = append(which, of.word+strings.Join(names[of.result], ", "))
			}
		}
		cells := []string{strings.TrimPrefix(part, "test ")}
		for _, result := range []string{"PASS", "FAIL", "SKIP", stoppedTest, unreached} {
			cells = append(cells, strconv.Itoa(len(names[result])))
		}
		table.row(append(cells, strings.Join(which, "; "))...)
	}
	table.write(b, "Tests on the device")
}

// writeFailures writes the parts that did not finish, and in one line those that found no time.
func (s summary) writeFailures(b *strings.Builder) {
	table := newTable("part", "seconds", "failure")
	var left []string
	for _, part := range s.order {
		switch o := s.outcomes[part]; {
		case o.Left:
			left = append(left, part)
		case !o.Finished:
			table.row(part, fmt.Sprintf("%.0f", o.Seconds), o.Said)
		}
	}
	table.write(b, "Not finished")
	if len(left) > 0 {
		fmt.Fprintf(b, "\nLeft out, since no time was left: %s.\n", strings.Join(left, ", "))
	}
}
