package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	f := Follower{Path: path, MaxLine: 3 * followChunk}
	restarts := 0
	next := func(want ...string) {
		t.Helper()
		var got []string
		if err := f.Next(func() { restarts++ }, func(line []byte) { got = append(got, string(line)) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.200q; want %.200q", got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	next() // no file
	long, tooLong := strings.Repeat("x", 3*followChunk), strings.Repeat("y", 3*followChunk+1)
	write("a\nb\nc")
	next("a", "b")
	write("c\n\n" + long + "\n" + tooLong + "\n" + tooLong)
	next("cc", "", long)
	next()
	write("\ne\n")
	next("e")
	if restarts != 0 {
		t.Errorf("%d restarts of a file that only grew", restarts)
	}
	for i, text := range []string{"f\n", "g\nh\ni\n", "g\nh\nj\nk\n"} { // shorter, longer, and as long with another end
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		next(strings.Fields(text)...)
		if restarts != i+1 {
			t.Errorf("%q: %d restarts; want %d", text, restarts, i+1)
		}
	}
	f.Tail = 30
	for i := range 1000 {
		write(fmt.Sprintf("%8d\n", i))
	}
	next("     997", "     998", "     999") // without the part of a line before
	write("l\n")
	next("l")
	if restarts != 3 {
		t.Errorf("%d restarts; want 3", restarts)
	}
}
