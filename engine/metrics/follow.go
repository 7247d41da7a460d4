package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/evorl/evorl/internal/regular"
)

// Follower reads the lines that are appended to a metrics.jsonl, each of them once. It holds no file open between readings, and keeps
// of the file no more than MaxLine bytes.
type Follower struct {
	Path    string
	MaxLine int   // bytes of the longest line that is visited; longer ones are passed over
	Tail    int64 // of what has not been read, only the last Tail bytes are; 0: all

	at   int64  // offset behind the last line that was read
	mark []byte // the end of that line; other bytes there mean another file
}

const (
	followChunk = 256 << 10
	markBytes   = 256
)

// Next visits the lines that are new, without their newlines. line is valid until visit returns. restart is called before the first
// line of a file that was truncated or replaced, which is read from its beginning; resuming a run does that. An incomplete last line
// is left for later, and a missing file has no lines.
func (f *Follower) Next(restart func(), visit func(line []byte)) error {
	file, err := regular.Open(f.Path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if !f.continues(file, info.Size()) {
		f.at, f.mark = 0, nil
		restart()
	}
	from, skip := f.at, false
	if f.Tail > 0 && info.Size()-from > f.Tail {
		from, skip = info.Size()-f.Tail, true // most likely within a line
	}
	if err := f.read(io.NewSectionReader(file, from, info.Size()-from), from, skip, visit); err != nil {
		return fmt.Errorf("metrics: %s: %w", f.Path, err)
	}
	return nil
}

// continues reports whether the file has what was read of it.
func (f *Follower) continues(file io.ReaderAt, size int64) bool {
	if size < f.at {
		return false
	}
	now := make([]byte, len(f.mark))
	_, err := file.ReadAt(now, f.at-int64(len(now)))
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(now, f.mark)
}

// read visits the lines of in, which begins at an offset of the file; with skip the first is passed over.
func (f *Follower) read(in io.Reader, offset int64, skip bool, visit func(line []byte)) error {
	chunks := bufio.NewReaderSize(in, followChunk)
	var long []byte // the beginning of a line that is longer than a chunk
	for {
		part, err := chunks.ReadSlice('\n')
		offset += int64(len(part))
		if skip = skip || len(long)+len(part) > f.MaxLine+1; skip {
			long = nil
		} else if err == bufio.ErrBufferFull || len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		f.at, f.mark = offset, append(f.mark[:0], part[max(0, len(part)-markBytes):]...)
		if !skip {
			visit(part[:len(part)-1])
		}
		long, skip = nil, false
	}
}
