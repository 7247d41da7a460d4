package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Virtual members are trained once each in all iterations, although they become copies of others on other workers, by links that delay.
func TestDivided(t *testing.T) {
	s := study{Workers: 3, Each: 2, Slice: 10 * time.Millisecond, State: 4096, Members: 2, Interval: 2, Latency: time.Millisecond, Rate: 1e8, Generations: 8,
		Dilation: 1}
	ended := make(chan error, 1)
	var helped group
	of, err := divide(t.Context(), s, func(url string) {
		go func() {
			var err error
			helped, err = helpAll(t.Context(), s, url, 1, s.Workers-1)
			ended <- err
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	o := summarizeDivided(s, *of, []group{helped})
	t.Log(o)
	if least := time.Duration(s.Each) * s.Slice; o.Mean < least || slices.Max(o.Times[:]) < least || o.Efficiency <= 0 || o.Efficiency > 1 {
		t.Errorf("an iteration took %v, efficiency %v; want at least %v", o.Mean, o.Efficiency, least)
	}
	if up, states := o.Bytes[plainLap][0], float64(s.State*s.Members*s.Each); up > states || o.Number[plainLap] > 0 && up <= 0 {
		t.Errorf("%v bytes of messages from a worker in a plain iteration; want less than its states, %v", up, states)
	}
	if n := o.Number; n[exchangeLap]+n[bothLap] != s.Generations/2 || n[plainLap]+n[homedLap] != s.Generations/2 {
		t.Errorf("iterations by kind %v; want an exchange before every other one", n)
	}
	moved := int64(0)
	for _, l := range of.Laps[warm:] {
		if l.Exchanged {
			moved = max(moved, l.In, l.Out)
		}
	}
	if moved < int64(s.State) {
		t.Errorf("at most %d bytes moved in an exchange; want a member's state at least, %d", moved, s.State)
	}
}

// Slices take as long as they took in a real run, of a search and of members.
func TestRecord(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		slices int
	}{
		"a search": {"workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 3\n[openes]\npopulation = 8\n[search]\nslice = 4\n[evaluation]\nepisodes = 1\n", 2},
		"members": {"workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 3\n[network]\nhidden = [4]\n[ppo]\nmembers = 3\nenvironments = 2\n" +
			"rollout_length = 8\nepochs = 1\nminibatches = 1\n[members]\nslice = 1\n[evaluation]\nepisodes = 1\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			config, path := filepath.Join(t.TempDir(), "c.toml"), filepath.Join(t.TempDir(), "times.csv")
			if err := os.WriteFile(config, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := record(t.Context(), path, config, "iterations=5"); err != nil {
				t.Fatal(err)
			}
			s := study{Workers: 2, Each: c.slices, Times: path}
			if err := s.replay(); err != nil {
				t.Fatal(err)
			}
			if len(s.times) != 4 || slices.ContainsFunc(s.times, func(of []time.Duration) bool { return len(of) != c.slices }) {
				t.Fatalf("times %v; want those of %d slices in iterations 2 to 5", s.times, c.slices)
			}
			if got, want := s.time(5, c.slices+1), s.times[1][1]; got != want || got <= 0 || got > time.Minute {
				t.Errorf("a slice takes %v; want %v", got, want)
			}
			var sum time.Duration
			for _, x := range s.times[3] {
				sum += x
			}
			if got := s.ideal(7); got != sum { // each slice of the recording twice, on two workers
				t.Errorf("an iteration takes at least %v; want %v", got, sum)
			}
		})
	}
	wrong := filepath.Join(t.TempDir(), "wrong.csv")
	if err := os.WriteFile(wrong, []byte("iteration,slice,ms\n1,0,-3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&study{Times: wrong}).replay(); err == nil {
		t.Error("a slice that takes -3 ms is accepted")
	}
}
