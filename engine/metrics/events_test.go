package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// describe is a reader of event files that shares nothing with the writer but the format's constants from the TensorFlow sources.
func describe(t *testing.T, file []byte) (events []string) {
	t.Helper()
	for len(file) > 0 {
		n := binary.LittleEndian.Uint64(file)
		checkCRC(t, file[:8], binary.LittleEndian.Uint32(file[8:]))
		data := file[12 : 12+n]
		checkCRC(t, data, binary.LittleEndian.Uint32(file[12+n:]))
		file = file[16+n:]
		events = append(events, fields(t, data, map[int]string{5: "summary", 7: "session"}))
	}
	return events
}

// inner names the fields of each message that are messages themselves, by number.
var inner = map[string]map[int]string{
	"summary": {1: "value"},
}

// fields lists a message; those named in messages are messages themselves.
func fields(t *testing.T, b []byte, messages map[int]string) string {
	var out []string
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		field := int(key >> 3)
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			b = b[n:]
			out = append(out, fmt.Sprintf("%d=%d", field, v))
		case 1:
			out = append(out, fmt.Sprintf("%d=%.2f", field, math.Float64frombits(binary.LittleEndian.Uint64(b))))
			b = b[8:]
		case 5:
			out = append(out, fmt.Sprintf("%d=%v", field, math.Float32frombits(binary.LittleEndian.Uint32(b))))
			b = b[4:]
		case 2:
			v, n := binary.Uvarint(b)
			content := b[n : n+int(v)]
			b = b[n+int(v):]
			if name := messages[field]; name != "" {
				out = append(out, name+"{"+fields(t, content, inner[name])+"}")
			} else {
				out = append(out, fmt.Sprintf("%d=%q", field, content))
			}
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
	return strings.Join(out, " ")
}

// checkCRC computes CRC-32C bit by bit.
func checkCRC(t *testing.T, data []byte, masked uint32) {
	t.Helper()
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0x82F63B78*(crc&1)
		}
	}
	crc = ^crc
	rotated := masked - 0xA282EAD8
	if unmasked := rotated>>17 | rotated<<15; unmasked != crc {
		t.Fatalf("checksum %#x; want %#x", unmasked, crc)
	}
}

func TestEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tensorboard")
	at := time.UnixMilli(1_700_000_000_250)
	for session := range int64(2) {
		e, err := NewEvents(dir, session*4096)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.writeAt(at, Record{1, session*4096 + 2048, 0, map[string]float64{"return/mean": 21.5, "loss": math.Inf(1)}}); err != nil {
			t.Fatal(err)
		}
		if err := e.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	slices.Sort(files)
	for session, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := describe(t, content)
		want := []string{`2=0 3="brain.Event:2"`}
		if session > 0 {
			want = append(want, "2=4097 session{1=1}")
		}
		want = append(want, fmt.Sprintf(`1=1700000000.25 2=%d summary{value{1="loss" 2=+Inf} value{1="return/mean" 2=21.5}}`, session*4096+2048))
		if len(got) != len(want) {
			t.Fatalf("events %q; want %q", got, want)
		}
		for i := range want {
			if !strings.HasSuffix(got[i], want[i]) || !strings.HasPrefix(got[i], "1=") {
				t.Errorf("event %q; want %q", got[i], want[i])
			}
		}
	}
}

// Without environment steps, events have the iterations as steps.
func TestEventStep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tensorboard")
	e, err := NewEvents(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for iteration := range int64(2) {
		if err := e.Write(Record{Iteration: iteration + 7, Values: map[string]float64{"fitness/mean": 1}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	got := describe(t, content)
	for i, want := range []string{" 2=7 ", " 2=8 "} {
		if len(got) != 3 || !strings.Contains(got[i+1], want) {
			t.Errorf("events %q; want%sin event %d", got, want, i+1)
		}
	}
}

func TestEventsUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEvents(filepath.Join(file, "tensorboard"), 0); err == nil {
		t.Error("no error for a folder below a file")
	}
}
