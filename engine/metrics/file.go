package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// File appends records to a metrics.jsonl. Each record is handed to the system whole, so that it survives the death of the
// process; Sync makes it survive that of the machine.
type File struct {
	f    *os.File
	last int64 // iteration of the last record
}

// ResumeFile opens a file to go on after the given iteration: records of later ones, which the resumed run will write again, and a
// last line that was torn are cut off. A file that does not exist is made. A line in the middle that is no record is an error.
func ResumeFile(path string, iteration int64) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m := &File{f: f, last: math.MinInt64}
	if err := m.cutAfter(iteration); err != nil {
		f.Close()
		return nil, fmt.Errorf("metrics: %s: %w", path, err)
	}
	return m, nil
}

func (m *File) cutAfter(iteration int64) error {
	var keep int64
	err := eachLine(m.f, func(r Record, end int64) bool {
		if r.Iteration > iteration {
			return false // iterations never fall, so all that follow are later too
		}
		m.last, keep = r.Iteration, end
		return true
	})
	if err != nil {
		return err
	}
	if err := m.f.Truncate(keep); err != nil {
		return err
	}
	_, err = m.f.Seek(keep, io.SeekStart)
	return err
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

// ReadFile reads all records of a metrics.jsonl, leaving out a last line that is still being written or was torn.
func ReadFile(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer f.Close()
	var records []Record
	err = eachLine(f, func(r Record, _ int64) bool {
		records = append(records, r)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("metrics: %s: %w", path, err)
	}
	return records, nil
}

// eachLine visits the records of r, each with the offset of the end of its line, until visit returns false. A last line without
// newline is torn and left out; so is a last line that is no record, which is what a machine that lost power may leave.
func eachLine(r io.Reader, visit func(r Record, end int64) bool) error {
	in := bufio.NewReader(r)
	var end int64
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		end += int64(len(line))
		var record Record
		if err := record.UnmarshalJSON(bytes.TrimSpace(line)); err != nil {
			if _, more := in.Peek(1); more == io.EOF {
				return nil
			}
			return fmt.Errorf("line %d: %w", number, err)
		}
		if !visit(record, end) {
			return nil
		}
	}
}
