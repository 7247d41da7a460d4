package cmd

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBenchOut: results are written, and compared with one another.
func TestBenchOut(t *testing.T) {
	b := newBox(t)
	b.must("bench", "--only", "submit_latency,gemm/p64", "--seconds", "0.01", "--repetitions", "2", "--out", "a.json")
	b.must("bench", "--only", "submit_latency", "--seconds", "0.01", "--out", "b.json", "--json", "--device", "all")
	var file struct {
		Schema  string
		Results []map[string]any
	}
	if err := json.Unmarshal(b.read("a.json"), &file); err != nil || file.Schema != "evorl bench 1" || len(file.Results) != 1 {
		t.Fatalf("%v: %+v", err, file)
	}
	for _, key := range []string{"version", "date", "device", "host", "suite", "seconds", "repetitions", "others", "busy", "warnings", "cases"} {
		if _, ok := file.Results[0][key]; !ok {
			t.Errorf("no %q in %v", key, file.Results[0])
		}
	}
	text := b.must("bench", "compare", "a.json", "b.json")
	for _, want := range []string{"A  ", "B  ", "B/A", "  submit_latency  µs", "  gemm/p64", "geometric mean"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	b.must("bench", "compare", "--svg", "c.svg", "--baseline", "2", "a.json", "b.json")
	if svg := string(b.read("c.svg")); !strings.HasPrefix(svg, "<svg ") || !strings.Contains(svg, "Times as fast as B") {
		t.Errorf("%.300s", svg)
	}
	if page := b.must("bench", "compare", "--markdown", "a.json"); !strings.Contains(page, "### core") {
		t.Errorf("%s", page)
	}
	b.write("bad.json", "{}")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--out", "none/a.json"}, 2, "--out none/a.json: want a file in a folder that exists"},
		{[]string{"--out", "."}, 2, "want a file in a folder that exists"},
		{[]string{"--repetitions", "0"}, 2, "--repetitions 0: want 1 to 1000"},
		{[]string{"--repetitions", "3", "--budget", "1s"}, 2, "want one repetition, or no budget"},
		{[]string{"compare"}, 2, "want files that evorl bench --out wrote"},
		{[]string{"compare", "none.json"}, 1, "none.json"},
		{[]string{"compare", "."}, 2, ".: it is a folder; want a file of evorl bench --out"},
		{[]string{"compare", "bad.json"}, 2, `bad.json: its schema is ""; want "evorl bench 1"`},
		{[]string{"compare", "--baseline", "2", "a.json"}, 2, "--baseline 2: want 1 to 1"},
	} {
		_, stderr, status := b.run(append([]string{"bench"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("bench %v: status %d, %s; want %d, %q", c.args, status, stderr, c.status, c.want)
		}
	}
}
