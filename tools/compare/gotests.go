package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Results of tests besides those of Go.
const (
	stoppedTest = "STOPPED"     // it ran when its program ended: it took too long, or crashed
	unreached   = "NOT REACHED" // no time was left for it
)

// testLog is what a Go program of tests has told of its tests, those of the top level.
type testLog struct {
	running []string
	ended   []string
}

var (
	begun = regexp.MustCompile(`^=== (RUN|PAUSE|CONT) +([^\s/]+)$`)
	ended = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+)`)
)

// line takes a line of go test -v, and returns the result that it tells.
func (t *testLog) line(text string) (testResult, bool) {
	drop := func(name string) { t.running = slices.DeleteFunc(t.running, func(n string) bool { return n == name }) }
	if m := begun.FindStringSubmatch(strings.TrimRight(text, "\r\n")); m != nil {
		drop(m[2])
		if m[1] != "PAUSE" {
			t.running = append(t.running, m[2])
		}
	}
	m := ended.FindStringSubmatch(text)
	if m == nil {
		return testResult{}, false
	}
	drop(m[2])
	t.ended = append(t.ended, m[2])
	return testResult{Name: m[2], Result: m[1]}, true
}

// runTests runs a program of tests. Where it ends before all tests have ended, because one took too long or crashed, it runs again without
// that one and those that have ended. Each time it may take two thirds of what is left, so that there is time for the others.
func (p part) runTests(ctx context.Context, limit time.Duration, r *results) outcome {
	begin := time.Now()
	all := p.list(ctx, limit)
	lines := &output{part: p.name, to: r}
	var first outcome
	for n := 0; ; n++ {
		left := limit - time.Since(begin)
		if n > 0 && left < least {
			break
		}
		again := p
		again.argv = append(slices.Clip(p.argv), "-test.timeout", max(left*2/3, time.Second).String())
		if len(lines.tests.ended) > 0 {
			again.argv = append(again.argv, "-test.skip", "^("+strings.Join(lines.tests.ended, "|")+")$")
		}
		out := again.start(ctx, left, lines)
		if n == 0 || first.Finished {
			first = out
		}
		if out.Finished || len(lines.tests.running) == 0 || ctx.Err() != nil {
			break
		}
		for _, name := range lines.tests.running {
			if err := r.add(record{Part: p.name, Test: &testResult{Name: name, Result: stoppedTest}}); err != nil {
				return outcome{Said: err.Error()}
			}
		}
		lines.tests.ended, lines.tests.running = append(lines.tests.ended, lines.tests.running...), nil
	}
	for _, name := range all {
		if !slices.Contains(lines.tests.ended, name) {
			if err := r.add(record{Part: p.name, Test: &testResult{Name: name, Result: unreached}}); err != nil {
				return outcome{Said: err.Error()}
			}
		}
	}
	first.Seconds = time.Since(begin).Seconds()
	return first
}

// list returns the names of the tests that the program will run; none if it does not tell.
func (p part) list(ctx context.Context, limit time.Duration) (names []string) {
	at := slices.Index(p.argv, "-test.run")
	if at < 0 {
		return nil
	}
	timed, cancel := context.WithTimeout(ctx, limit/4)
	defer cancel()
	cmd := exec.CommandContext(timed, p.argv[0], "-test.list", p.argv[at+1])
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, append(os.Environ(), p.env...), time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Test") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names
}
