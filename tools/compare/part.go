package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// part is a program that runs for a limited time.
type part struct {
	name  string
	limit time.Duration // of ten minutes; not of tests, see times
	tests bool          // of a package
	argv  []string
	dir   string
	env   []string
}

// patience is how much earlier than its part a test ends that takes too long, so that the log names it.
func patience(limit time.Duration) time.Duration { return min(5*time.Second, limit/4) }

// run runs the program within the limit and stores its output.
func (p part) run(ctx context.Context, limit time.Duration, r *results) outcome {
	if limit < 3*time.Second {
		return outcome{Said: "left out: no time was left"}
	}
	if p.tests {
		p.argv = append(slices.Clip(p.argv), "-test.timeout", (limit - patience(limit)).String())
	}
	begin := time.Now()
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Fprintf(r.log, "\n== %s: %s\n", p.name, strings.Join(p.argv, " "))
	cmd := exec.CommandContext(timed, p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, append(os.Environ(), p.env...), 2*time.Second
	complaint := &lastLine{}
	cmd.Stderr = io.MultiWriter(r.log, complaint)
	stdout, write := io.Pipe()
	cmd.Stdout = write
	read := make(chan error, 1)
	go func() { read <- p.read(stdout, r) }()
	err := cmd.Run()
	_ = write.Close() // a pipe's Close has no error
	if e := <-read; err == nil {
		err = e
	}
	out := outcome{Finished: err == nil, Said: "finished", Seconds: time.Since(begin).Seconds()}
	switch {
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		out.Finished, out.Said = false, fmt.Sprintf("stopped after %.0f s", limit.Seconds())
	case err != nil && complaint.text != "":
		out.Said = fmt.Sprintf("%v: %s", err, complaint.text)
	case err != nil:
		out.Said = err.Error()
	}
	return out
}

// ended matches the result line of a top-level test in the output of go test -v.
var ended = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+)`)

// read stores JSON lines and test results, and writes the rest to the log.
func (p part) read(from io.Reader, r *results) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			if err := r.add(record{Part: p.name, Line: json.RawMessage(text)}); err != nil {
				return err
			}
		} else if _, err := io.WriteString(r.log, line); err != nil {
			return err
		}
		if m := ended.FindStringSubmatch(line); m != nil {
			if err := r.add(record{Part: p.name, Test: &testResult{Name: m[2], Result: m[1]}}); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// lastLine keeps what a program said at its end: the last non-empty line written to it, or the panic of a Go program, without the stacks that
// follow it, but with the test that it was in.
type lastLine struct {
	text, rest string
	panicked   bool
	running    bool // the next line names the test
}

func (l *lastLine) Write(b []byte) (int, error) {
	l.rest += string(b)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		l.line(strings.TrimSpace(line))
	}
}

func (l *lastLine) line(text string) {
	switch {
	case text == "":
	case l.running:
		l.text, l.running = fmt.Sprintf("%s in %s", l.text, text), false
	case l.panicked:
		l.running = text == "running tests:"
	default:
		l.text, l.panicked = text, strings.HasPrefix(text, "panic: ")
	}
}
