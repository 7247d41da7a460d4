package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func resultOf(name string, busy bool, cases ...Measurement) *Result {
	r := &Result{Version: "v1.2.3", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Suite: "core", Seconds: 2, Repetitions: 5, Busy: busy,
		Warnings: []string{}, Cases: cases, Host: Host{Processor: "Z80", Processors: 4}}
	r.Device.Name, r.Device.Driver, r.Device.API = name, "D|1", "1.3.0"
	return r
}

func figureOf(suite, name, unit string, value float64) Measurement {
	return Measurement{Suite: suite, Case: name, Unit: unit, Value: value, Min: value, Max: value}
}

func TestCompare(t *testing.T) {
	a := resultOf("one", false, figureOf("core", "rate", "env steps/s", 1e6), figureOf("core", "time", "ms", 8), figureOf("core", "only a", "ms", 1),
		figureOf("rl", "x", "ms", 2))
	b := resultOf("two", true, figureOf("core", "rate", "env steps/s", 2e6), figureOf("core", "time", "ms", 1), figureOf("core", "only b", "s", 1))
	c, err := Compare([]*Result{a, b}, 0)
	if err != nil {
		t.Fatal(err)
	}
	core := c.Suites[0]
	if got := []float64{core.Cases[0].Ratios[1], core.Cases[1].Ratios[1], core.Means[1], core.Means[0]}; !near(got, []float64{2, 8, 4, 1}) {
		t.Errorf("ratios and means %v; want 2 and 8, whose geometric mean is 4", got)
	}
	for _, k := range core.Cases[2:] {
		if !math.IsNaN(k.Ratios[1]) {
			t.Errorf("%s, which only one has, has the ratio %g", k.Case, k.Ratios[1])
		}
	}
	if c.Suites[1].Means[1] != 0 {
		t.Errorf("a mean of no cases: %v", c.Suites[1].Means)
	}
	back, err := Compare([]*Result{a, b}, 1)
	if err != nil || !near([]float64{back.Suites[0].Means[0]}, []float64{0.25}) {
		t.Errorf("relative to the second: %v, %v", back, err)
	}
	text := c.Text()
	for _, want := range []string{
		"A  one; D|1; Vulkan 1.3.0; Z80, 4 processors; evorl v1.2.3; 2026-01-02\n", "; busy machine\n", "B/A", "1.00M", "geometric mean", "–",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if page := c.Markdown(); !strings.Contains(page, "| `time` | ms | 8 | 1 | 8 |\n") || !strings.Contains(page, `D\|1`) {
		t.Errorf("%s", page)
	}
	var svg strings.Builder
	if err := c.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	bars := 0
	for in := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 1+1+3 { // the background, the legend, two cases and a mean
		t.Errorf("%d rectangles in\n%s", bars, svg.String())
	}
	if text := legend(a); text != "one; D|1; Z80, 4 processors" {
		t.Error(text)
	}
	busy := *a
	if busy.Busy = true; legend(&busy) != "one; D|1; Z80, 4 processors; busy machine" {
		t.Error(legend(&busy))
	}
	if text := legend(resultOf(strings.Repeat("µ", 200), false)); utf8.RuneCountInString(text) != legendWidth || !strings.HasSuffix(text, "…") {
		t.Errorf("%s; want what fits into the picture", text)
	}
}

// The axis of a picture has few ticks at powers of a round number, up to the largest ratio.
func TestPictureSteps(t *testing.T) {
	for _, c := range []struct {
		most, step float64
		steps      int
	}{{1, 2, 1}, {2, 2, 1}, {2.1, 2, 2}, {16, 2, 4}, {17, 10, 2}, {1000, 10, 3}, {1e7, 100, 4}, {1e9, 1e4, 3}} {
		if step, steps := pictureSteps(c.most); step != c.step || steps != c.steps {
			t.Errorf("up to %g: %d ticks by %g; want %d by %g", c.most, steps, step, c.steps, c.step)
		}
	}
}

func near(got, want []float64) bool {
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-12*want[i]) {
			return false
		}
	}
	return len(got) == len(want)
}

func TestCompareErrors(t *testing.T) {
	a, b := resultOf("one", false, figureOf("core", "x", "ms", 1)), resultOf("two", false, figureOf("core", "x", "s", 1))
	for _, c := range []struct {
		results  []*Result
		baseline int
		want     string
	}{
		{nil, 0, "no results"}, {[]*Result{a}, 1, "baseline 1 of 1"}, {[]*Result{a}, -1, "baseline -1"}, {[]*Result{a, b}, 0, "in s, and in ms elsewhere"},
	} {
		if _, err := Compare(c.results, c.baseline); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

func TestLetters(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA"} {
		if got := Letter(i); got != want {
			t.Errorf("%d is %s; want %s", i, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	want := []*Result{resultOf("one", true, figureOf("core", "x", "ms", 1))}
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v; want %+v", err, got[0], want[0])
	}
	for text, want := range map[string]string{
		"{": "not JSON", "{}": `schema is ""`, `{"schema":"evorl bench 1"}`: "no results", `{"schema":"evorl bench 1","results":[null]}`: "result 0 has no device",
		`{"schema":"evorl bench 1","results":[{"device":{"name":"x"},"cases":[{"suite":"s","case":"c","value":-1}]}]}`: "value -1",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		var of *FileError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "r.json") {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// Repetitions are summed up by the median of them, with its limit.
func TestMedian(t *testing.T) {
	figures := []figure{{value: 5, limit: 10}, {value: 1, limit: 4}, {value: 3, limit: 12}, {value: 4, limit: 8}}
	m := Suite{Name: "s"}.measurement("device", Case{Name: "c", Unit: "GFLOP/s"}, figures)
	if m.Value != 3 || *m.Limit != 12 || *m.Fraction != 0.25 || m.Min != 1 || m.Max != 5 || m.Spread != 4./3 ||
		!reflect.DeepEqual(m.Samples, []float64{5, 1, 3, 4}) {
		t.Errorf("%+v, limit %v, fraction %v", m, *m.Limit, *m.Fraction)
	}
	if one := (Suite{}).measurement("device", Case{Unit: "s"}, figures[:1]); one.Samples != nil || one.Spread != 0 || *one.Fraction != 2 {
		t.Errorf("%+v", one)
	}
}

// A result tells what makes it unreliable.
func TestJudge(t *testing.T) {
	share := 0.31
	r := resultOf("one", false, Measurement{Case: "x", Spread: 0.5}, Measurement{Case: "y", Spread: 0.1})
	r.Others = &share
	r.setWarnings()
	if !r.Busy || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "took 31% of the processors") || !strings.Contains(r.Warnings[1], "x varied by 50%") {
		t.Errorf("%v, %q", r.Busy, r.Warnings)
	}
	quiet := resultOf("one", false)
	share, quiet.Others = 0.01, &share
	if quiet.setWarnings(); quiet.Busy || len(quiet.Warnings) > 0 {
		t.Errorf("%v, %q", quiet.Busy, quiet.Warnings)
	}
}

// What another process computes counts as others', what this one does does not.
func TestOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		if othersSince(readLoad(), 1) != nil {
			t.Error("the load is known here")
		}
		return
	}
	busy := func(during time.Duration, with *exec.Cmd) (own, others float64) {
		then := readLoad()
		if with != nil {
			if err := with.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = with.Wait() }()
			defer func() { _ = with.Process.Kill() }()
		}
		for begin := time.Now(); time.Since(begin) < during; {
			if with != nil {
				time.Sleep(time.Millisecond)
			}
		}
		now := readLoad()
		share := othersSince(then, 1)
		if share == nil || !now.known {
			t.Fatal("unknown on Linux")
		}
		return (now.own - then.own) / ticksPerSecond, *share
	}
	if own, _ := busy(300*time.Millisecond, nil); own < 0.02 {
		t.Errorf("this process computed for 300 ms and is counted for %g s", own)
	}
	if own, others := busy(500*time.Millisecond, exec.Command("sh", "-c", "while :; do :; done")); others < 0.05 || own > 0.3 {
		t.Errorf("another process computed for 500 ms: others took %g of a processor, this one %g s", others, own)
	}
}

// Tables to paste have the spread of repetitions and the revision.
func TestSpreadAndRevision(t *testing.T) {
	m := figureOf("core", "rate", "env steps/s", 100)
	m.Samples, m.Spread = []float64{98, 100, 102}, 0.04
	a, b := resultOf("one", false, m), resultOf("two", false, figureOf("core", "rate", "env steps/s", 100))
	a.Version = "v0.0.0-20261123130851-b29661b23c94+dirty"
	b.Version = "b29661b23c94b29661b23c94b29661b23c94abcd+changes"
	c, err := Compare([]*Result{a, b}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for text, wants := range map[string][]string{
		c.Markdown(): {"| `rate` | env steps/s | 100 ±2.0% | 100 | 1 |", "| b29661b23c94+dirty |", "| b29661b23c94+changes |", spreadNote},
		c.Text():     {"100 ±2.0%", "evorl b29661b23c94+dirty;", spreadNote},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}
