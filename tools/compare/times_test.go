package main

import (
	"testing"
	"time"
)

// Tests have half of the time beside other parts; each package has its share of it and more; what one does not need is left to the others.
func TestTimes(t *testing.T) {
	now := time.Now()
	all := []part{{tests: true}, {tests: true}, {tests: true}, {limit: time.Minute}, {limit: time.Hour}}
	deadline := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if d := (got - want).Abs(); d > 3*time.Second {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	for _, c := range []struct {
		what    string
		minutes int
		left    []part
		after   int
		want    time.Duration
	}{
		{"the first of three packages in ten minutes", 10, all, 0, 150 * time.Second},
		{"the same in an hour", 60, all, 0, 15 * time.Minute},
		{"the second after little time", 10, all[1:], 0, 225 * time.Second},
		{"the last has what is left for tests", 10, all[2:], 2, 3 * time.Minute},
		{"another part in ten minutes", 10, all[3:], 4, time.Minute},
		{"the same in an hour", 60, all[3:], 4, 6 * time.Minute},
		{"the same in two minutes", 2, all[3:], 0, time.Minute},
		{"no more than is left", 10, all[4:], 7, 3 * time.Minute},
		{"nothing is left", 10, all[4:], 11, -time.Minute},
	} {
		near(c.what, newTimes(all, deadline(c.minutes)).limit(c.left, deadline(c.after)), c.want)
	}
	near("tests alone", newTimes(all[:2], deadline(10)).limit(all[1:2], now), 10*time.Minute)
}
