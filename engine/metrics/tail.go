package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	tailChunk = 64 << 10
	maxLine   = 8 << 20 // maximum bytes of a record's line, which may have a few values of each of 65536 members
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
			bad = bad.add(path, err)
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
	var rest []byte // the part already read of the line that ends at end; nil if the line is too long
	end, long := size, false
	give := func(line []byte) bool {
		if long || len(line) > maxLine {
			line = nil
		}
		return visit(line, end)
	}
	for from := size; from > 0; {
		chunk := make([]byte, min(tailChunk, from))
		from -= int64(len(chunk))
		if _, err := f.ReadAt(chunk, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for {
			within := chunk
			if from+int64(len(chunk)) == end && len(chunk) > 0 {
				within = chunk[:len(chunk)-1] // its last byte may be the newline of the line itself
			}
			i := bytes.LastIndexByte(within, '\n')
			if i < 0 {
				break
			}
			if !give(append(bytes.Clone(chunk[i+1:]), rest...)) {
				return nil
			}
			end, chunk, rest, long = from+int64(i)+1, chunk[:i+1], nil, false
		}
		if long = long || len(chunk)+len(rest) > maxLine; long {
			rest = nil
		} else {
			rest = append(chunk, rest...)
		}
	}
	if end > 0 {
		give(rest)
	}
	return nil
}
