package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/evorl/evorl/internal/regular"
)

// File appends records to a metrics.jsonl. Each record is written with one system call, so it survives a crash of the
// process. After Sync it also survives a crash of the machine.
type File struct {
	f    *os.File
	last int64 // iteration of the last record
	err  error // of a write, which may have left a part of a record
}

// LineError is the error of a metrics.jsonl with lines that are not records.
type LineError struct {
	Path  string
	Line  int   // number of the first bad line, from 1; 0: the file is read from its end
	Lines int   // number of bad lines
	Err   error // error of the first bad line, or of the last if the file is read from its end
}

func (e *LineError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	if e.Lines == 1 {
		return fmt.Sprintf("metrics: %s: a line is not a record: %v", at, e.Err)
	}
	return fmt.Sprintf("metrics: %s: %d lines are not records, one of them: %v", at, e.Lines, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// ResumeFile opens a file to continue after the given iteration, and returns the last record that stays, or nil. It truncates
// everything after that record: records of later iterations, which the resumed run will write again, an incomplete last line, and bad
// lines, which bad counts if there are any. Only the end of the file is read. A missing file is created. Checks are made after the file is
// opened and before it is truncated; the first error ends ResumeFile.
func ResumeFile(path string, iteration int64, checks ...func() error) (m *File, last *Record, bad *LineError, err error) {
	f, err := regular.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("metrics: %w", err)
	}
	last, keep, bad, err := lastRecord(f, path, iteration)
	for _, check := range checks {
		if err == nil {
			err = check()
		}
	}
	if err == nil {
		err = f.Truncate(keep)
	}
	if err == nil {
		_, err = f.Seek(keep, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, nil, nil, fmt.Errorf("metrics: %s: %w", path, err)
	}
	m = &File{f: f, last: math.MinInt64}
	if last != nil {
		m.last = last.Iteration
	}
	return m, last, bad, nil
}

// Last returns the last record of a metrics.jsonl, or nil if it has none. Only the end of the file is read.
func Last(path string) (*Record, error) {
	f, err := regular.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer f.Close()
	last, _, _, err := lastRecord(f, path, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("metrics: %s: %w", path, err)
	}
	return last, nil
}

// Append writes one record. Its iteration must not be below the previous record's. After an error of the file, Append and Sync return it, and write nothing.
func (m *File) Append(r Record) error {
	if m.err != nil {
		return m.err
	}
	if r.Iteration < m.last {
		return fmt.Errorf("metrics: iteration %d after %d", r.Iteration, m.last)
	}
	line, err := r.MarshalJSON()
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if _, err := m.f.Write(append(line, '\n')); err != nil {
		m.err = fmt.Errorf("metrics: %w", err)
		return m.err
	}
	m.last = r.Iteration
	return nil
}

// Sync waits until all records are on disk.
func (m *File) Sync() error {
	if m.err != nil {
		return m.err
	}
	if err := m.f.Sync(); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Close closes the file. A second Close does nothing.
func (m *File) Close() error {
	if err := m.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// ReadFile reads all records of a metrics.jsonl. It skips lines that are not records; bad counts them if there are any,
// except an incomplete last line.
func ReadFile(path string) (records []Record, bad *LineError, err error) {
	f, err := regular.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	in.Split(wholeLines)
	var torn error // of the newest line; an incomplete line if it is the last
	for number := 0; in.Scan(); number++ {
		if torn != nil {
			bad = bad.add(path, number, torn)
		}
		var r Record
		if torn = r.UnmarshalJSON(in.Bytes()); torn == nil {
			records = append(records, r)
		}
	}
	if err := in.Err(); err != nil {
		return nil, nil, fmt.Errorf("metrics: %s: %w", path, err)
	}
	return records, bad, nil
}

// wholeLines splits at newlines and drops what follows the last one.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// add counts a bad line by its number, 0 if unknown. e is nil before the first.
func (e *LineError) add(path string, number int, err error) *LineError {
	if e == nil {
		return &LineError{path, number, 1, err}
	}
	e.Lines++
	return e
}
