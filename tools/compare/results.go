package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// record is a line of results.jsonl. One of its last fields is set.
type record struct {
	Part    string          `json:"part,omitempty"`
	Machine *machine        `json:"machine,omitempty"` // a run of this program begins
	Line    json.RawMessage `json:"line,omitempty"`    // a figure, as written by the program
	Test    *testResult     `json:"test,omitempty"`
	Outcome *outcome        `json:"outcome,omitempty"` // the part ends
}

// testResult is the result of a Go test.
type testResult struct {
	Name   string `json:"name"`
	Result string `json:"result"` // PASS, FAIL, SKIP, STOPPED, NOT REACHED
}

// outcome describes how a part ended.
type outcome struct {
	Finished bool    `json:"finished"`
	Said     string  `json:"said"` // "finished", or the reason why not
	Seconds  float64 `json:"seconds"`
	Left     bool    `json:"left,omitempty"` // it was left out, since no time was left
}

// results are the records of a folder. Each is written immediately, so that a later failure loses nothing.
type results struct {
	records []record
	file    *os.File
	log     *os.File
}

func openResults(folder string) (*results, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(folder, "results.jsonl")
	r := &results{}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// A machine may be taken away in the middle of a line.
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		text = text[:whole]
		if err := os.Truncate(name, int64(whole)); err != nil {
			return nil, err
		}
	}
	for line := range bytes.Lines(text) {
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(r.records)+1, err)
		}
		r.records = append(r.records, one)
	}
	if r.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if r.log, err = os.OpenFile(filepath.Join(folder, "log.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	return r, nil
}

func (r *results) add(one record) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	r.records = append(r.records, one)
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// byDevice groups records by the device and driver of the last machine before them, in the order of their first records.
func byDevice(records []record) (groups [][]record) {
	type key struct{ name, driver string }
	var now key
	at := map[key]int{}
	for _, r := range records {
		if r.Machine != nil {
			now = key{r.Machine.Device.Name, r.Machine.Device.Driver}
		}
		i, ok := at[now]
		if !ok {
			i = len(groups)
			at[now], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

func (r *results) close() {
	_ = r.file.Close() // every line has been written
	_ = r.log.Close()
}
