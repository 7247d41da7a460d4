package progress

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// A line comes when it is time and at the end; speed and remaining time leave the first iteration out.
func TestLog(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		at := time.Unix(1000, 0)
		l := NewLog(&out, 100, 5*time.Second, asJSON)
		l.now = func() time.Time { return at }
		l.Event("run", "in runs/a", Fact{"run_dir", "runs/a"})
		l.Begin(0, 0)
		at = at.Add(4 * time.Second)
		l.Update(1, 1000, math.NaN())
		at = at.Add(2 * time.Second)
		l.Update(11, 11000, 7.25)
		at = at.Add(time.Second)
		l.Update(16, 16000, 8)
		l.Workers, l.Divides = 3, "members"
		at = at.Add(time.Second)
		l.Update(100, 100000, 9)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("%q; want three lines", lines)
		}
		if !asJSON {
			want := []string{"in runs/a",
				"iteration 11/100  steps 11.0k  return 7.2  5.00k steps/s  18s left",
				"iteration 100/100  steps 100k  return 9.0  24.8k steps/s  3 workers for the members"}
			for i := range want {
				if lines[i] != want[i] {
					t.Errorf("%q; want %q", lines[i], want[i])
				}
			}
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(lines[1]), &v); err != nil || v["event"] != "progress" || v["iteration"] != 11.0 || v["steps_per_second"] != 5000.0 ||
			v["seconds_left"] != 18.0 || v["return"] != 7.25 || v["time"] != "1970-01-01T00:16:46Z" {
			t.Errorf("%v, %v", v, err)
		}
		if err := json.Unmarshal([]byte(lines[0]), &v); err != nil || v["run_dir"] != "runs/a" {
			t.Errorf("%v, %v", v, err)
		}
	}
}

func TestLogOfANumberThatIsNone(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out, 1, 0, true)
	l.Begin(0, 0)
	l.Update(1, 0, math.NaN())
	if !strings.Contains(out.String(), `"return":null`) || strings.Contains(out.String(), "steps_per_second") {
		t.Errorf("%s; want no return and no speed", out.String())
	}
}
