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
	"slices"
	"strings"
	"time"
)

// kind is what a part does.
type kind string

const (
	testKind  kind = "tests"
	benchKind kind = "benches"
	peerKind  kind = "peers"
)

// part is a program that runs for a limited time.
type part struct {
	name  string
	kind  kind
	limit time.Duration // of ten minutes; 0: of tests that share their time, see times
	first bool          // it must start, see times
	argv  []string
	dir   string
	env   []string
}

// least is the time in which no part does anything of use.
const least = 3 * time.Second

// patience is how much earlier than its part a test or a bench ends that takes too long, so that the log names it.
func patience(limit time.Duration) time.Duration { return min(5*time.Second, limit/4) }

// run runs the program within the limit and stores its output.
func (p part) run(ctx context.Context, limit time.Duration, r *results) outcome {
	if limit < least {
		return outcome{Said: "no time was left", Left: true}
	}
	if p.kind == testKind {
		return p.runTests(ctx, limit, r)
	}
	if p.kind == benchKind {
		p.argv = append(slices.Clip(p.argv), "-budget", (limit - patience(limit)).String())
	}
	lines := &output{part: p.name, to: r}
	out := p.start(ctx, limit, lines)
	if out.Finished && lines.figures == 0 {
		out.Finished, out.Said = false, "no figure"
	}
	return out
}

// start runs the program within the limit.
func (p part) start(ctx context.Context, limit time.Duration, lines *output) outcome {
	begin := time.Now()
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Fprintf(lines.to.log, "\n== %s: %s\n", p.name, strings.Join(p.argv, " "))
	cmd := exec.CommandContext(timed, p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, append(os.Environ(), p.env...), 2*time.Second
	complaint := &lastLine{}
	cmd.Stderr = io.MultiWriter(lines.to.log, complaint)
	stdout, write := io.Pipe()
	cmd.Stdout = write
	read := make(chan error, 1)
	go func() { read <- lines.read(stdout) }()
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

// output stores what a part writes.
type output struct {
	part    string
	to      *results
	figures int     // lines of JSON
	tests   testLog // of a Go program of tests
}

// read stores JSON lines and test results, and writes the rest to the log.
func (o *output) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			o.figures++
			if err := o.to.add(record{Part: o.part, Line: json.RawMessage(text)}); err != nil {
				return err
			}
		} else if _, err := io.WriteString(o.to.log, line); err != nil {
			return err
		}
		if result, ok := o.tests.line(line); ok {
			if err := o.to.add(record{Part: o.part, Test: &result}); err != nil {
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
