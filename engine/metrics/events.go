package metrics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Events writes scalars to a TensorBoard event file. The step is the number of environment steps or, of workflows without an environment, of iterations.
//
// The file is a sequence of records, each u64 length, u32 masked CRC-32C of the length, the data, u32 masked CRC-32C of
// the data, little-endian; the data is a protocol-buffer message Event (tensorflow/core/util/event.proto).
type Events struct {
	f *os.File
}

// NewEvents creates an event file in dir, which it creates if missing. step is where the run continues, 0 for a new run. TensorBoard then hides later steps of
// an earlier session.
func NewEvents(dir string, step int64) (*Events, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // only used in the file name
	}
	var f *os.File
	now := time.Now()
	for n := 0; ; n++ {
		name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", now.Unix(), host, os.Getpid(), n)
		f, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	e := &Events{f}
	first := event(now, 0, appendBytes(nil, fieldFileVersion, []byte("brain.Event:2")))
	start := event(now, step+1, appendBytes(nil, fieldSessionLog, appendVarint(nil, fieldStatus, statusStart)))
	if step == 0 {
		start = nil
	}
	if err := e.write(first, start); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// EventStep returns the step of the events of a record.
func EventStep(iteration, envSteps int64) int64 {
	if envSteps > 0 {
		return envSteps
	}
	return iteration
}

// Write writes all values of a record under their names.
func (e *Events) Write(r Record) error { return e.writeAt(time.Now(), r) }

func (e *Events) writeAt(t time.Time, r Record) error {
	var summary []byte
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		value := appendBytes(nil, fieldTag, []byte(name))
		value = appendFloat(value, fieldSimpleValue, float32(r.Values[name]))
		summary = appendBytes(summary, fieldValue, value)
	}
	return e.write(event(t, EventStep(r.Iteration, r.EnvSteps), appendBytes(nil, fieldSummary, summary)))
}

// Sync waits until all events are on disk.
func (e *Events) Sync() error {
	if err := e.f.Sync(); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// Close closes the file. A second Close does nothing.
func (e *Events) Close() error {
	if err := e.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// write frames the events and writes all of them with one system call.
func (e *Events) write(events ...[]byte) error {
	var b []byte
	for _, data := range events {
		if len(data) == 0 {
			continue
		}
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
		b = append(b, length...)
		b = binary.LittleEndian.AppendUint32(b, maskedCRC(length))
		b = append(b, data...)
		b = binary.LittleEndian.AppendUint32(b, maskedCRC(data))
	}
	if _, err := e.f.Write(b); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// maskedCRC is a rotated and offset CRC-32C, so that the CRC of data that contain CRCs is still useful.
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xA282EAD8
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Field numbers and values of the messages.
const (
	fieldWallTime    = 1 // Event: double, seconds since 1970
	fieldStep        = 2 // Event: int64
	fieldFileVersion = 3 // Event: string
	fieldSummary     = 5 // Event: Summary
	fieldSessionLog  = 7 // Event: SessionLog

	fieldValue       = 1 // Summary: repeated Value
	fieldTag         = 1 // Summary.Value: string
	fieldSimpleValue = 2 // Summary.Value: float

	fieldStatus = 1 // SessionLog: enum
	statusStart = 1

	wireVarint = 0
	wireFixed8 = 1 // eight bytes
	wireBytes  = 2
	wireFixed4 = 5 // four bytes
)

func event(t time.Time, step int64, payload []byte) []byte {
	b := appendDouble(nil, fieldWallTime, seconds(t))
	b = appendVarint(b, fieldStep, step)
	return append(b, payload...)
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func appendVarint(b []byte, field int, v int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field<<3|wireVarint)), uint64(v))
}

func appendDouble(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(field<<3|wireFixed8)), math.Float64bits(v))
}

func appendFloat(b []byte, field int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, uint64(field<<3|wireFixed4)), math.Float32bits(v))
}

func appendBytes(b []byte, field int, v []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field<<3|wireBytes))
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}
