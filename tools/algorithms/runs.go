package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// resultsFile holds the results of the pages' runs.
const resultsFile = folder + "/runs.json"

// result is the result of a page's run.
type result struct {
	Command    string   `json:"command"`
	Env        string   `json:"env"`
	Device     string   `json:"device"` // driver
	Iterations int      `json:"iterations"`
	EnvSteps   int64    `json:"env_steps"`   // of all members; 0 for problems
	Evaluated  int64    `json:"evaluations"` // candidates of searches, of all members
	Measure    string   `json:"measure"`
	Members    int      `json:"members"`
	Best       float64  `json:"best"` // of the members in the last evaluation
	Mean       float64  `json:"mean"`
	Episodes   int      `json:"episodes"` // of a member's evaluation
	Metrics    []string `json:"metrics"`
	Kernels    []string `json:"kernels"`
}

// String describes the run in a sentence.
func (r result) String() string {
	var of []string
	of = append(of, plural(int64(r.Members), "member"), plural(int64(r.Iterations), "iteration"))
	if r.EnvSteps > 0 {
		of = append(of, plural(r.EnvSteps, "environment step")+" of all")
	}
	if r.Evaluated > 0 {
		of = append(of, plural(r.Evaluated, "candidate")+" of all")
	}
	text := strings.Join(of, ", ") + ", on " + r.Device + ". At the end, the " + r.Measure + " "
	if r.EnvSteps > 0 {
		text += "in " + plural(int64(r.Episodes), "evaluation episode") + " "
	}
	if r.Members == 1 {
		return text + "is " + number(r.Best) + "."
	}
	return text + "of the best member is " + number(r.Best) + ", the mean of all " + number(r.Mean) + "."
}

// plural formats a count with separators: 1 member, 1,966,080 candidates.
func plural(n int64, thing string) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		thing += "s"
	}
	return digits + " " + thing
}

// number formats a score.
func number(x float64) string {
	if -1 < x && x < 1 {
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func readRuns(root string) (map[string]result, error) {
	runs := map[string]result{}
	text, err := os.ReadFile(filepath.Join(root, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return runs, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &runs); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return runs, nil
}

// runAgain makes the runs of the named pages, draws their figures and keeps their results.
func runAgain(root, names string) error {
	of, err := chosen(names)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "evorl-algorithms")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	program := filepath.Join(work, "evorl")
	if _, err := output(root, "go", "build", "-o", program, "./cmd/evorl"); err != nil {
		return err
	}
	for _, p := range of {
		fmt.Fprintln(os.Stderr, p.name)
		r, err := p.make(root, program, filepath.Join(work, p.name))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		runs, err := readRuns(root)
		if err != nil {
			return err
		}
		runs[p.name] = r
		text, err := json.MarshalIndent(runs, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, resultsFile), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// make makes a page's run in a folder and draws its figure.
func (p page) make(root, program, path string) (result, error) {
	run, plot := p.commands()
	text, err := output(root, program, slices.Concat(run, []string{"--quiet", "--json", "--out", path})...)
	if err != nil {
		return result{}, err
	}
	plot[len(plot)-1] = path
	if _, err := output(root, program, slices.Concat(plot, []string{"--out", filepath.Join(folder, p.picture())})...); err != nil {
		return result{}, err
	}
	return p.result(path, text)
}

// result reads the result of a run directory; text is what evorl run --json wrote.
func (p page) result(path string, text []byte) (result, error) {
	var of evorl.Result
	if err := json.Unmarshal(text, &of); err != nil {
		return result{}, err
	}
	run, _ := p.commands()
	r := result{
		Command: "evorl " + strings.Join(run, " "), Env: of.Env, Iterations: of.Iterations, EnvSteps: of.EnvSteps, Evaluated: of.Evaluated,
		Measure: of.Measure, Best: float64(of.BestReturn), Mean: float64(of.MeanReturn),
	}
	if of.Best != nil {
		r.Episodes = of.Best.Episodes
	}
	cfg, err := evorl.Stored(path)
	if err != nil {
		return r, err
	}
	r.Members = cfg.Members()
	var provenance struct {
		Sessions []struct {
			Driver  string
			Kernels map[string]any
		}
	}
	data, err := os.ReadFile(filepath.Join(path, "provenance.json"))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &provenance); err != nil {
		return r, err
	}
	for _, s := range provenance.Sessions {
		r.Device = s.Driver
		for name := range s.Kernels {
			if !slices.Contains(r.Kernels, name) {
				r.Kernels = append(r.Kernels, name)
			}
		}
	}
	slices.Sort(r.Kernels)
	r.Metrics, err = metricNames(filepath.Join(path, "metrics.jsonl"))
	return r, err
}

// metricNames returns the names in any line of a file of metrics.
func metricNames(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for lines := bufio.NewReader(bytes.NewReader(text)); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return withoutSpread(names), nil // the end of the text
		}
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for name := range record {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
}

// output runs a program in a folder and returns what it writes.
func output(in, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Stderr = in, os.Stderr
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(name), args[0], err)
	}
	return text, nil
}
