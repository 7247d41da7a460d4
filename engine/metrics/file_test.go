package metrics

import (
	"encoding/json"
	"math"
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
	want := `{"iteration":3,"env_steps":6144,"seconds":0.25,"a":1e-300,"b":"NaN","c":"Infinity","d":"-Infinity","e":1.7976931348623157e+308,"f":1e+21,"q\"é\u003c":-0.1}`
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
	for _, bad := range []string{`{}`, `[]`, `{"iteration":1,"env_steps":2}`, `{"iteration":1.5,"env_steps":2,"seconds":1}`, `{"iteration":1,"env_steps":2,"seconds":1,"a":"x"}`} {
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
		f, err := ResumeFile(path, 0)
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
		if records, err := ReadFile(path); err != nil || len(records) != 7 {
			t.Fatalf("%s: %d records, %v", name, len(records), err)
		}
		f, err = ResumeFile(path, 4)
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
		f, err = ResumeFile(path, 100)
		if err != nil {
			t.Fatal(err)
		}
		write(t, f, 101)
		if records, err := ReadFile(path); err != nil || len(records) != 8 || records[7].Iteration != 101 {
			t.Fatalf("%s: records %v, %v", name, records, err)
		}
	}
}

func TestResumeFileWithoutOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	f, err := ResumeFile(path, 9)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, 10)
	if records, err := ReadFile(path); err != nil || len(records) != 1 {
		t.Fatalf("records %v, %v", records, err)
	}
}

func TestBadLineInTheMiddle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	line, err := record(1).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	content := string(line) + "\nnonsense\n" + string(line) + "\n"
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+": line 2") {
		t.Errorf("error %v; want line 2", err)
	}
	if _, err := ResumeFile(path, 5); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v; want line 2", err)
	}
	if got, _ := os.ReadFile(path); string(got) != content {
		t.Error("the file was changed")
	}
}
