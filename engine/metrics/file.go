package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/evorl/evorl/engine/internal/regular"
)

// File appends records to a metrics.jsonl. Each record is handed to the system whole, so that it survives the death of the
// process; Sync makes it survive that of the machine.
type File struct {
	f    *os.File
	last int64 // iteration of the last record
}

// LineError says that lines of a metrics.jsonl are no records.
type LineError struct {
	Path  string
	Lines int   // how many
	Err   error // why the first of them is not, or the last where the file is read from its end
}

func (e *LineError) Error() string {
	if e.Lines == 1 {
		return fmt.Sprintf("metrics: %s: a line is not a record: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("metrics: %s: %d lines are not records, one of them: %v", e.Path, e.Lines, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// ResumeFile opens a file to go on after the given iteration, and returns the last record that stays; nil: none. Everything behind it
// is cut off: records of later iterations, which the resumed run will write again, a torn last line, and lines that are no
// records, which bad counts where there are any. Only the end of the file is read. A file that does not exist is made.
func ResumeFile(path string, iteration int64) (m *File, last *Record, bad *LineError, err error) {
	f, err := regular.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("metrics: %w", err)
	}
	last, keep, bad, err := lastRecord(f, path, iteration)
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

// Last is the last record of a metrics.jsonl, nil where it has none; only the end of the file is read.
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

// Append writes one record. Its iteration must not be below that of the record before it.
func (m *File) Append(r Record) error {
	if r.Iteration < m.last {
		return fmt.Errorf("metrics: iteration %d after %d", r.Iteration, m.last)
	}
	line, err := r.MarshalJSON()
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if _, err := m.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	m.last = r.Iteration
	return nil
}

// Sync waits until all records are on the disk.
func (m *File) Sync() error {
	if err := m.f.Sync(); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Close closes the file; a second Close does nothing.
func (m *File) Close() error {
	if err := m.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// ReadFile reads all records of a metrics.jsonl. Lines that are no records are left out; bad counts them where there are any,
// a last line that is still being written or was torn aside.
func ReadFile(path string) (records []Record, bad *LineError, err error) {
	f, err := regular.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	in.Split(wholeLines)
	var torn error // of the newest line, which is torn if it is the last
	for in.Scan() {
		if torn != nil {
			bad = bad.add(path, torn)
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

// wholeLines splits at newlines and leaves out what follows the last one.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// add counts a line; e is nil before the first.
func (e *LineError) add(path string, err error) *LineError {
	if e == nil {
		return &LineError{path, 1, err}
	}
	e.Lines++
	return e
}
