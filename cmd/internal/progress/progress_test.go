package progress

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// terminal is a bar on a buffer, with a clock that only the test moves.
func terminal(columns int, total, iteration, envSteps int64) (*Bar, *bytes.Buffer, func(time.Duration)) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	b := newBar(&out, func() int { return columns }, func() time.Time { return now }, total)
	b.Begin(iteration, envSteps)
	return b, &out, func(d time.Duration) { now = now.Add(d) }
}

func TestLine(t *testing.T) {
	b, out, wait := terminal(100, 500, 0, 0)
	wait(time.Second)
	b.Update(10, 1_234_567, math.NaN())
	wait(time.Millisecond)
	b.Update(11, 2_000_000, 5) // too soon after the last
	wait(time.Second)
	b.Update(20, 2_469_134, 432.06)
	b.Update(500, 2_469_134, 500) // the last one is always shown
	b.End()
	b.End()
	b.Update(501, 0, 0)
	want := clearLine + " 10/500 ╸" + strings.Repeat("─", 39) + "  1.23M env steps/s  ETA 49s" +
		clearLine + " 20/500 ━╸" + strings.Repeat("─", 38) + "  1.23M env steps/s  return 432.1  ETA 48s" +
		clearLine + "500/500 " + strings.Repeat("━", 40) + "  1.23M env steps/s  return 500.0" + "\n"
	if out.String() != want {
		t.Errorf("wrote\n%q\nwant\n%q", out, want)
	}
}

// The rates of a resumed run are of this session, and of its recent past.
func TestRates(t *testing.T) {
	b, out, wait := terminal(100, 1000, 400, 1e9)
	for i := range int64(60) {
		wait(time.Second)
		out.Reset()
		steps := 1e9 + (i+1)*1000
		if i > 40 {
			steps += (i - 40) * 9000
		}
		b.Update(401+i, steps, math.NaN())
	}
	if !strings.Contains(out.String(), "  10.0k env steps/s  ETA 9m00s") {
		t.Errorf("wrote %q", out)
	}
}

func TestNarrow(t *testing.T) {
	for columns := 1; columns < 120; columns++ {
		b, out, wait := terminal(columns, 500, 0, 0)
		wait(time.Second)
		b.Update(123, 1000, 3)
		line := strings.TrimPrefix(out.String(), clearLine)
		if n := utf8.RuneCountInString(line); n >= columns && columns > 1 || !strings.HasPrefix("123/500 ", line[:min(8, len(line))]) {
			t.Errorf("%d columns: %q", columns, line)
		}
	}
}

// What else is written stands above the line.
func TestWrite(t *testing.T) {
	b, out, wait := terminal(20, 10, 0, 0)
	fmt.Fprintln(b, "before")
	wait(time.Second)
	b.Update(5, 0, math.NaN())
	line := " 5/10 ━━╸──  ETA 1s"
	fmt.Fprintln(b, "during")
	b.End()
	fmt.Fprintln(b, "after")
	want := "before\n" + clearLine + line + clearLine + "during\n" + line + "\nafter\n"
	if out.String() != want {
		t.Errorf("wrote\n%q\nwant\n%q", out, want)
	}
}

func TestQuietWithoutTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := New(f, 10)
	b.Update(10, 100, 1)
	fmt.Fprintln(b, "a log line")
	b.End()
	if text, err := os.ReadFile(f.Name()); err != nil || string(text) != "a log line\n" {
		t.Errorf("wrote %q, %v", text, err)
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 7.4: "7", 999.4: "999", 1000: "1.00k", 12_345: "12.3k", 999_600: "1.00M", 150e6: "150M", 2.5004e12: "2500G"} {
		if got := short(x); got != want {
			t.Errorf("%v is %s; want %s", x, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 59600 * time.Millisecond: "1m00s", 65 * time.Second: "1m05s", 7380 * time.Second: "2h03m"} {
		if got := clock(d); got != want {
			t.Errorf("%v is %s; want %s", d, got, want)
		}
	}
}

// Before the first iteration the line says what is being waited for, and keeps it clear of what else is written.
func TestAwait(t *testing.T) {
	b, out, wait := terminal(60, 8, 2, 100)
	b.Await("compiling kernels")
	if _, err := b.Write([]byte("a warning\n")); err != nil {
		t.Fatal(err)
	}
	wait(time.Hour)
	b.Update(3, 200, math.NaN())
	if got := out.String(); !strings.HasSuffix(got, "─") {
		t.Errorf("after the iteration that was awaited the line is\n%q; want nothing that its time tells", got)
	}
	wait(time.Second)
	b.Update(4, 300, math.NaN())
	if got := out.String(); !strings.HasSuffix(got, "  100 env steps/s  ETA 4s") {
		t.Errorf("wrote\n%q", got)
	}
	b.End()
	b.Await("nothing")
	if got := out.String(); !strings.HasPrefix(got, clearLine+"2/8 ") || strings.Count(got, "compiling kernels") != 2 || strings.Contains(got, "nothing") ||
		!strings.Contains(got, "compiling kernels"+clearLine+"a warning\n2/8 ") {
		t.Errorf("wrote\n%q", got)
	}
}
