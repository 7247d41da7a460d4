package main

import (
	"testing"
	"time"
)

// Virtual workers end with the coordinator's results over links that delay, although one of them dies.
func TestVirtual(t *testing.T) {
	s := study{Workers: 6, Each: 3, Slice: 10 * time.Millisecond, Bytes: 96, State: 1000, Latency: time.Millisecond,
		Rate: 1e7, Generations: 4, Dies: 1, Lost: 3 * time.Second,
		Dilation: 1}
	type answer struct {
		of  group
		err error
	}
	all := make(chan answer, 1)
	c, err := coordinate(t.Context(), s, func(url string) {
		go func() {
			of, err := takeAll(t.Context(), s, url, 1, s.Workers-1)
			all <- answer{of, err}
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	workers := <-all
	if workers.err != nil {
		t.Fatal(workers.err)
	}
	o, err := summarize(s, *c, []group{workers.of})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(o)
	if least := time.Duration(s.Each) * s.Slice; o.Generation < least || o.Efficiency <= 0 || o.Efficiency > 1 {
		t.Errorf("a generation took %v, efficiency %v; want at least %v", o.Generation, o.Efficiency, least)
	}
	if o.Down < float64(s.Bytes*s.slices()) {
		t.Errorf("%v bytes came to a worker in a generation; want at least the results, %d", o.Down, s.Bytes*s.slices())
	}
}

// A link delays what passes by its latency and its rate.
func TestLane(t *testing.T) {
	l := lane{dialer: &dialer{latency: 20 * time.Millisecond, rate: 8e6}}
	begin := time.Now()
	l.due(1000) // 1 ms
	if got := l.due(3000).Sub(begin); got < 24*time.Millisecond || got > 30*time.Millisecond {
		t.Errorf("4,000 bytes at 1 MB/s arrive after %v; want 24 ms", got)
	}
}
