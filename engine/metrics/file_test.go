package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func record(iteration int64) Record {
	return Record{iteration, iteration * 2048, float64(iteration) / 3, map[string]float64{"return/mean": float64(iteration) * 1.1, "loss/actor": -0.5}}
}

func TestRecordLine(t *testing.T) {
	r := Record{3, 6144, 0.25, map[string]float64{
		"b": math.NaN(), "a": 1e-300, "c": math.Inf(1), "d": math.Inf(-1), "e": math.MaxFloat64, `q"é<`: -0.1, "f": 1e21,
	}}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"iteration":3,"env_steps":6144,"seconds":0.25,"a":1e-300,"b":"NaN","c":"Infinity",` +
		`"d":"-Infinity","e":1.7976931348623157e+308,"f":1e+21,"q\"é\u003c":-0.1}`
	if string(line) != want {
		t.Errorf("line %s\nwant %s", line, want)
	}
	var back Record
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(back.Values["b"]) {
		t.Error("NaN was lost")
	}
	delete(r.Values, "b")
	delete(back.Values, "b")
	if !reflect.DeepEqual(r, back) {
		t.Errorf("read %v; want %v", back, r)
	}
	for _, bad := range []string{"iteration", "seconds", "", "\xff"} {
		if _, err := (Record{Values: map[string]float64{bad: 1}}).MarshalJSON(); err == nil {
			t.Errorf("no error for a metric named %q", bad)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"iteration":1,"env_steps":2}`, `{"iteration":1.5,"env_steps":2,"seconds":1}`,
		`{"iteration":1,"env_steps":2,"seconds":1,"a":"x"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}

func write(t *testing.T, f *File, iterations ...int64) {
	t.Helper()
	for _, i := range iterations {
		if err := f.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A run that dies and resumes leaves the same lines as one that did not.
func TestResumeFile(t *testing.T) {
	for name, tail := range map[string]string{
		"clean":              "",
		"torn":               `{"iteration":7,"env_st`,
		"torn, unwritten":    "\x00\x00\x00\x00\n",
		"whole, no newline":  `{"iteration":7,"env_steps":1,"seconds":2}`,
		"torn inside string": `{"iteration":7,"loss`,
	} {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		f, _, _, err := ResumeFile(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		write(t, f, 1, 2, 3, 4, 5, 5, 6)
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(want, tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		if records, _, err := ReadFile(path); err != nil || len(records) != 7 {
			t.Fatalf("%s: %d records, %v", name, len(records), err)
		}
		f, _, _, err = ResumeFile(path, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(record(3)); err == nil {
			t.Errorf("%s: no error for iteration 3 after 4", name)
		}
		write(t, f, 5, 5, 6)
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Fatalf("%s: file is\n%s\nwant\n%s%v", name, got, want, err)
		}
		// All of it kept, and only the torn line cut.
		if err := os.WriteFile(path, append(want, tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		f, _, _, err = ResumeFile(path, 100)
		if err != nil {
			t.Fatal(err)
		}
		write(t, f, 101)
		if records, _, err := ReadFile(path); err != nil || len(records) != 8 || records[7].Iteration != 101 {
			t.Fatalf("%s: records %v, %v", name, records, err)
		}
	}
}

func TestResumeFileWithoutOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	f, _, _, err := ResumeFile(path, 9)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, 10)
	if records, _, err := ReadFile(path); err != nil || len(records) != 1 {
		t.Fatalf("records %v, %v", records, err)
	}
}

// Lines that are no records are counted and left out, and cut off where they stand behind the iteration that a run resumes at.
func TestBadLines(t *testing.T) {
	line := func(iteration int64) string {
		text, err := record(iteration).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	for _, c := range []struct {
		name, content  string
		iteration      int64
		kept           string
		read, bad, cut int // records, bad lines in all, and behind what is kept
	}{
		{"in the middle", line(1) + "nonsense\n" + line(2), 5, line(1) + "nonsense\n" + line(2), 2, 1, 0},
		{"at the end", line(1) + line(2) + "nonsense\n{}\n" + "{", 5, line(1) + line(2), 2, 1, 2},
		{"of later iterations", line(1) + "nonsense\n" + line(2) + "\x00\x00\n" + line(3), 1, line(1), 3, 2, 2},
		{"all", "nonsense\nnonsense\n", 1, "", 0, 1, 1},
		{"none", "", 1, "", 0, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		records, bad, err := ReadFile(path)
		if err != nil || len(records) != c.read || lines(bad) != c.bad {
			t.Errorf("%s: read %d records and %d bad lines, %v; want %d and %d", c.name, len(records), lines(bad), err, c.read, c.bad)
		}
		f, last, bad, err := ResumeFile(path, c.iteration)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != c.kept || lines(bad) != c.cut {
			t.Errorf("%s: kept %d bytes, %v, cut %d bad lines; want %d bytes and %d", c.name, len(got), err, lines(bad), len(c.kept), c.cut)
		}
		if want := strings.Count(c.kept, "iteration"); (last == nil) != (want == 0) || last != nil && last.Iteration != int64(want) {
			t.Errorf("%s: the last record is %v; want iteration %d", c.name, last, want)
		}
	}
}

// The line of a large population is kept by a run that resumes; one that no run writes, here a hole in the file, is cut off.
func TestLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "members.jsonl")
	f, _, _, err := ResumeFile(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	const members = 300000
	large := record(1)
	for m := range members {
		large.Values[fmt.Sprintf("evaluation/%d", m)] = -float64(m) / 3
	}
	if err := f.Append(large); err != nil {
		t.Fatal(err)
	}
	write(t, f, 2)
	before, err := os.Stat(path)
	if err != nil || before.Size() < 9<<20 {
		t.Fatalf("%d bytes, %v; want a line above 9 MiB", before.Size(), err)
	}
	for name, c := range map[string]struct {
		after string // the hole
		cut   int
	}{"torn": {"", 0}, "whole": {"\n{\n", 1}} {
		if err := os.Truncate(path, before.Size()+maxLine+1); err != nil {
			t.Fatal(err)
		}
		end, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := end.WriteString(c.after); err != nil {
			t.Fatal(err)
		}
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
		f, last, bad, err := ResumeFile(path, 5)
		if err != nil || last == nil || last.Iteration != 2 || lines(bad) != c.cut {
			t.Fatalf("%s: last record %v, %d bad lines, %v; want iteration 2 and %d", name, last, lines(bad), err, c.cut)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(path); err != nil || after.Size() != before.Size() {
			t.Errorf("%s: %d bytes, %v; want %d", name, after.Size(), err, before.Size())
		}
	}
	f, last, bad, err := ResumeFile(path, 1)
	if err != nil || last == nil || len(last.Values) != members+2 || bad != nil {
		t.Fatalf("the large record is lost: %v, %v", err, bad)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if records, bad, err := ReadFile(path); err != nil || bad != nil || len(records) != 1 || len(records[0].Values) != members+2 {
		t.Errorf("%d records, %v, %v; want the large one", len(records), bad, err)
	}
}

func lines(e *LineError) int {
	if e == nil {
		return 0
	}
	return e.Lines
}

// Lines are found from the end as from the beginning, whatever their lengths.
func TestBackwards(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := make([]byte, r.IntN(4*tailChunk))
		for i := range text {
			if text[i] = 'x'; r.IntN(1+r.IntN(tailChunk)) == 0 {
				text[i] = '\n'
			}
		}
		want := bytes.SplitAfter(text, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		at := len(text)
		err := backwards(bytes.NewReader(text), int64(len(text)), func(line []byte, end int64) bool {
			last := want[len(want)-1]
			if !bytes.Equal(line, last) || end != int64(at) {
				t.Fatalf("seed %d: a line of %d bytes that ends at %d; want %d and %d", seed, len(line), end, len(last), at)
			}
			want, at = want[:len(want)-1], at-len(last)
			return true
		})
		if err != nil || len(want) > 0 {
			t.Fatalf("seed %d: %d lines left, %v", seed, len(want), err)
		}
	}
}

// Resuming reads the end of a large file, not all of it.
func TestResumeReadsTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil { // a hole of a tebibyte, which takes far more than a minute to read
		t.Skip("this filesystem has no sparse files: ", err)
	}
	text, err := record(7).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\n"+string(text)+"\n"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if last, err := Last(path); err != nil || last == nil || last.Iteration != 7 {
		t.Errorf("last %v, %v; want iteration 7", last, err)
	}
	m, last, _, err := ResumeFile(path, 9)
	if err != nil || last == nil || last.Iteration != 7 {
		t.Fatalf("last %v, %v; want iteration 7", last, err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
