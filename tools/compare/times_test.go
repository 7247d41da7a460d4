package main

import (
	"testing"
	"time"
)

// Tests have 30% of the time beside other parts; each package has its share of it and more; what one does not need is left to the others.
func TestTimes(t *testing.T) {
	now := time.Now()
	test := part{kind: testKind}
	all := []part{test, test, test, {limit: 30 * time.Second, first: true}, {limit: 90 * time.Second, first: true}, {limit: time.Minute}, {limit: time.Hour}}
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
		{"the first of three packages in ten minutes", 10, all, 0, 90 * time.Second},
		{"the same in an hour", 60, all, 0, 9 * time.Minute},
		{"the second after little time", 10, all[1:], 0, 135 * time.Second},
		{"the last has what is left for tests", 10, all[2:], 2, time.Minute},
		{"a first part with much time has twice its limit", 10, all[3:], 4, time.Minute},
		{"a first part with little has its share", 10, all[3:], 8, 30 * time.Second},
		{"the last first part has what is left", 10, all[4:], 8, 2 * time.Minute},
		{"another part in ten minutes", 10, all[5:], 4, 2 * time.Minute},
		{"the same in an hour", 60, all[5:], 4, 12 * time.Minute},
		{"the same in two minutes", 2, all[5:], 0, 2 * time.Minute},
		{"no more than is left", 10, all[6:], 7, 3 * time.Minute},
		{"nothing is left", 10, all[6:], 11, -time.Minute},
	} {
		near(c.what, newTimes(all, deadline(c.minutes)).limit(c.left, deadline(c.after)), c.want)
	}
	near("tests alone", newTimes(all[:2], deadline(10)).limit(all[1:2], now), 10*time.Minute)
}

// If every part takes all of its time, a peer of each script still starts, with the bench that it is compared with before it.
func TestEveryScriptStarts(t *testing.T) {
	for _, quick := range []bool{false, true} {
		now := time.Now()
		all := parts(options{tests: true, quick: quick}, "", device{Type: "discrete", Vendor: "NVIDIA"})
		within := newTimes(all, now.Add(usual))
		started := map[string]time.Duration{}
		for i, p := range all {
			limit := within.limit(all[i:], now)
			if limit < least {
				continue
			}
			now, started[p.name] = now.Add(limit), limit
			for _, of := range peers {
				if of.name != p.name || of.quick != quick {
					continue
				}
				for _, b := range of.beside {
					if bench, _ := benchOf(b.bench, quick); started["bench "+bench.name] == 0 {
						t.Errorf("%s began before the bench %s", p.name, bench.name)
					}
				}
			}
		}
		scripts := map[string]bool{}
		for _, p := range peers {
			if p.quick == quick {
				scripts[p.script] = scripts[p.script] || started[p.name] > 15*time.Second
			}
		}
		for script, ok := range scripts {
			if !ok {
				t.Errorf("quick %v: no peer of %s has 15 s in %v", quick, script, started)
			}
		}
	}
}
