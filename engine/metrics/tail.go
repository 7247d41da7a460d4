package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

const (
	tailChunk = 64 << 10
	// maxLine is the maximum number of bytes of a record's line. The longest lines are in members.jsonl, with four values of up to 46 bytes for
	// each of at most 1,048,576 members.
	maxLine = 256 << 20
)

// lastRecord finds the last record up to the given iteration, or nil, and the offset of its end. bad counts the later
// lines that are not records, except an incomplete one at the very end.
func lastRecord(f *os.File, path string, iteration int64) (last *Record, end int64, bad *LineError, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, nil, err
	}
	err = backwards(f, info.Size(), func(line []byte, at int64) bool {
		var r Record
		err := errTooLong
		if line != nil {
			err = r.UnmarshalJSON(line)
		}
		switch {
		case err != nil && at < info.Size():
			bad = bad.add(path, 0, err)
		case err == nil && bytes.HasSuffix(line, []byte("\n")) && r.Iteration <= iteration:
			last, end = &r, at
			return false
		}
		return true
	})
	return last, end, bad, err
}

var errTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// backwards visits the lines of a file from its end until visit returns false. It passes each line with its newline, and the offset of
// its end. line is nil if it is longer than maxLine.
func backwards(f io.ReaderAt, size int64, visit func(line []byte, end int64) bool) error {
	line := tail{end: size}
	for from := size; from > 0; {
		chunk := make([]byte, min(tailChunk, from))
		from -= int64(len(chunk))
		if _, err := f.ReadAt(chunk, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for {
			within := chunk
			if from+int64(len(chunk)) == line.end && len(chunk) > 0 {
				within = chunk[:len(chunk)-1] // its last byte may be the newline of the line itself
			}
			i := bytes.LastIndexByte(within, '\n')
			if i < 0 {
				break
			}
			line.prepend(chunk[i+1:])
			if !visit(line.text(), line.end) {
				return nil
			}
			line, chunk = tail{end: from + int64(i) + 1}, chunk[:i+1]
		}
		line.prepend(chunk)
	}
	if line.end > 0 {
		visit(line.text(), line.end)
	}
	return nil
}

// tail is what is known of a line that is read from its end.
type tail struct {
	end   int64    // offset behind the line
	size  int      // bytes known
	parts [][]byte // the last one first; nil: the line is too long
}

func (t *tail) prepend(part []byte) {
	if t.size += len(part); t.size > maxLine {
		t.parts = nil
	} else {
		t.parts = append(t.parts, part)
	}
}

// text returns the line; nil if it is too long.
func (t *tail) text() []byte {
	if t.size > maxLine {
		return nil
	}
	slices.Reverse(t.parts)
	return bytes.Join(t.parts, nil)
}
