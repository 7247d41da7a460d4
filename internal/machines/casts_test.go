package machines

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go"
)

// What was sent to all in one session is not taken for that of another one, whose steps have the same numbers.
func TestCastsOfAnotherSession(t *testing.T) {
	s := newSite(t, false)
	l, _ := s.link("w", identity)
	key, data := castKey{castResults, 5}, []byte("results")
	hear := func(epoch string) {
		l.hear(&nats.Msg{Data: encode(castHead{castKey: key, Epoch: epoch, Size: len(data)}, data)})
	}
	l.epoch = "another session"
	hear(l.epoch)
	if _, err := l.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	hear("another session")
	if got, ok := l.had.take(t.Context(), key); ok {
		t.Errorf("the results of another session are taken: %q", got)
	}
	hear(l.epoch)
	if got, ok := l.had.take(t.Context(), key); !ok || !bytes.Equal(got, data) {
		t.Errorf("the results of this session: %q, %t; want %q", got, ok, data)
	}
}

// The memory that a worker takes for what is sent to all is bounded, also if no more than first parts come.
func TestCastsAreBounded(t *testing.T) {
	var c casts
	for step := range 100 {
		c.add(castHead{castKey: castKey{castState, step}, Size: maxCast}, []byte{1})
	}
	held := 0
	for _, data := range c.data {
		held += cap(data)
	}
	if held > maxCasts || held == 0 || c.bytes != held {
		t.Errorf("%d bytes are held, %d counted; want at most %d", held, c.bytes, maxCasts)
	}
	for step := range 100 {
		c.drop(castKey{castState, step})
	}
	if c.bytes != 0 || len(c.data) != 0 {
		t.Errorf("%d bytes are counted of nothing", c.bytes)
	}
}

// The parts of a large request are put together in a time that grows with its size, not with its square: each byte is copied a few times.
func TestKeepIsLinear(t *testing.T) {
	const parts, size = 200, 64 << 10
	h, part := &Host{}, make([]byte, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := &guest{}
	for k := range parts {
		if r := h.keep(g, request{Offset: k * size, Size: parts * size}, part); r.Status != statusOK {
			t.Fatalf("part %d: %+v", k, r)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*parts*size || len(g.put) != parts*size {
		t.Errorf("%d bytes are allocated for a request of %d; want at most 8 times as many", got, len(g.put))
	}
}

// A worker that names a number of slices which no step has is refused: the coordinator makes nothing of that size.
func TestTooManySlices(t *testing.T) {
	s := newSite(t, false)
	l, _ := s.link("w", identity)
	if _, err := l.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, _ := s.host.exchange(&guest{}, request{Worker: "w", Slices: mostSlices + 1}, nil)
	if r.Status != statusRefused {
		t.Errorf("%+v; want it refused", r)
	}
}
