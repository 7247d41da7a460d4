package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// The safetensors layout (https://huggingface.co/docs/safetensors, "Format"): the size of the header as little-endian u64; the
// header as JSON {name: {dtype, shape, data_offsets}} with string-only __metadata__, padded with spaces; the data, without gaps.
const (
	metadataKey     = "__metadata__"
	headerAlignment = 8
	maxHeaderBytes  = 16 << 20 // the reference reader accepts 100 MB
	maxTensors      = 1 << 16
	copyBytes       = 1 << 20 // large reads suit a Data that reads from a device
)

type headerEntry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // from the end of the header
}

// WriteSafetensors writes tensors to w in the given order, with optional metadata. Each tensor's Data is streamed.
//
// Errors: Data with a length that does not match the shape, and two tensors with one name.
func WriteSafetensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if len(tensors) > maxTensors {
		return fmt.Errorf("safetensors: %d tensors: want at most %d", len(tensors), maxTensors)
	}
	header := make(map[string]any, len(tensors)+1)
	if len(metadata) > 0 {
		header[metadataKey] = metadata
	}
	var offset int64
	for _, t := range tensors {
		n, err := t.Bytes()
		if err != nil {
			return err
		}
		if _, twice := header[t.Name]; twice {
			return fmt.Errorf("tensor %q is given twice", t.Name)
		}
		if offset > math.MaxInt64-n {
			return fmt.Errorf("tensor %q: the file would exceed %d bytes", t.Name, int64(math.MaxInt64))
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{} // a scalar is [], not null
		}
		header[t.Name] = headerEntry{t.DType, shape, [2]int64{offset, offset + n}}
		offset += n
	}
	text, err := json.Marshal(header) // sorts the keys, so that the bytes depend only on the tensors
	if err != nil {
		return fmt.Errorf("safetensors header: %w", err)
	}
	for len(text)%headerAlignment != 0 {
		text = append(text, ' ')
	}
	if len(text) > maxHeaderBytes {
		return fmt.Errorf("safetensors header of %d bytes: readers accept at most %d", len(text), maxHeaderBytes)
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := copyExactly(w, t); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

func copyExactly(w io.Writer, t Tensor) error {
	want, err := t.Bytes()
	if err != nil {
		return err
	}
	if t.Data == nil {
		return fmt.Errorf("no data")
	}
	got, err := io.CopyBuffer(w, io.LimitReader(t.Data, want), make([]byte, min(want+1, copyBytes)))
	if err != nil {
		return err
	}
	if got < want {
		return fmt.Errorf("data ends after %d bytes; %s of shape %v needs %d", got, t.DType, t.Shape, want)
	}
	// A verifying reader reports its error at the end, so the end must be reached.
	switch n, err := io.ReadFull(t.Data, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("data goes on after the %d bytes that %s of shape %v needs", want, t.DType, t.Shape)
	case err != io.EOF:
		return err
	}
	return nil
}

// ReadSafetensors reads the header of a safetensors file of the given size. It returns the metadata and the tensors in file order;
// their Data read from r on use. The header must describe the whole file: offsets that overlap, leave a gap, pass the end or
// contradict a shape are errors.
func ReadSafetensors(r io.ReaderAt, size int64) ([]Tensor, map[string]string, error) {
	var prefix [8]byte
	if size < int64(len(prefix)) {
		return nil, nil, fmt.Errorf("safetensors: %d bytes is too short for a header", size)
	}
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeaderBytes || int64(length) > size-int64(len(prefix)) {
		return nil, nil, fmt.Errorf("safetensors: a header of %d bytes does not fit a file of %d, or has more than %d", length, size, maxHeaderBytes)
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, int64(len(prefix))); err != nil {
		return nil, nil, fmt.Errorf("safetensors header: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, nil, fmt.Errorf("safetensors header: %w", err)
	}
	var metadata map[string]string
	count := len(raw)
	if _, ok := raw[metadataKey]; ok {
		count--
	}
	if count > maxTensors {
		return nil, nil, fmt.Errorf("safetensors header: %d tensors: want at most %d", count, maxTensors)
	}
	base := int64(len(prefix)) + int64(length)
	tensors := make([]Tensor, 0, len(raw))
	spans := make(map[string][2]int64, len(raw))
	for name, value := range raw {
		if name == metadataKey {
			if err := json.Unmarshal(value, &metadata); err != nil {
				return nil, nil, fmt.Errorf("safetensors metadata: %w", err)
			}
			continue
		}
		var e headerEntry
		d := json.NewDecoder(bytes.NewReader(value))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, nil, fmt.Errorf("safetensors header of tensor %q: %w", name, err)
		}
		n, err := byteCount(name, e.DType, e.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("safetensors: %w", err)
		}
		if e.Offsets[0] < 0 || e.Offsets[1] > size-base || e.Offsets[1]-e.Offsets[0] != n {
			return nil, nil, fmt.Errorf("safetensors: tensor %q of %d bytes cannot lie at %v of %d data bytes", name, n, e.Offsets, size-base)
		}
		spans[name] = e.Offsets
		tensors = append(tensors, Tensor{name, e.DType, e.Shape, io.NewSectionReader(r, base+e.Offsets[0], n)})
	}
	slices.SortFunc(tensors, func(a, b Tensor) int {
		// An empty tensor has the same offset as its neighbour, so sort by end, then by name.
		x, y := spans[a.Name], spans[b.Name]
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a.Name, b.Name))
	})
	var end int64
	for _, t := range tensors {
		if spans[t.Name][0] != end {
			return nil, nil, fmt.Errorf("safetensors: tensor %q begins at %d where %d is next", t.Name, spans[t.Name][0], end)
		}
		end = spans[t.Name][1]
	}
	if end != size-base {
		return nil, nil, fmt.Errorf("safetensors: the tensors end at %d of %d data bytes", end, size-base)
	}
	return tensors, metadata, nil
}
