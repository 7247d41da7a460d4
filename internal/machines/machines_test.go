package machines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine/cluster"
)

// quick is the timing of tests.
var quick = Timing{Poll: 200 * time.Millisecond, Beat: 50 * time.Millisecond, Lost: 400 * time.Millisecond}

var identity = Identity{Version: "1", Device: "a device"}

// site is a server, of messages so small that all that matters goes in parts, and a coordinator with its host.
type site struct {
	t      *testing.T
	server *Server
	c      *cluster.Coordinator
	host   *Host
}

const lead = "lead"

func newSite(t *testing.T, loose bool) *site {
	t.Helper()
	server, err := listen(Address{Host: "127.0.0.1:0"}, Access{}, headRoom+64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := &site{t: t, server: server}
	s.begin(loose)
	return s
}

// begin begins a session of the run.
func (s *site) begin(loose bool) {
	s.t.Helper()
	c, err := cluster.NewCoordinator(cluster.Config{Late: 50 * time.Millisecond, Loose: loose}, lead)
	if err != nil {
		s.t.Fatal(err)
	}
	s.c = c
	conn := s.connect()
	config := bytes.Repeat([]byte("a long configuration\n"), 40)
	status := func() ([]cluster.Status, cluster.Totals) { return c.Status(), c.Totals() }
	run := Run{Name: "test", Config: config, Digest: "d", Seed: 7, Iterations: 50, Loose: loose, Identity: identity, Status: status}
	if s.host, err = Serve(conn, run, c, quick); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.host.Close)
	s.t.Cleanup(c.Close)
}

func (s *site) connect() *nats.Conn {
	s.t.Helper()
	conn, err := Connect(s.t.Context(), s.server.URL(), Access{}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(conn.Close)
	return conn
}

func (s *site) link(name string, of Identity) (*Link, *nats.Conn) {
	s.t.Helper()
	conn := s.connect()
	l, err := NewLink(conn, "test", name, of, quick, func(string) {})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(l.Close)
	return l, conn
}

const slices = 3

// value is the result of a slice, longer than a message.
func value(step, slice int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d/%d.", step, slice), 40) }

// steps goes through steps as a worker, and checks all results.
func steps(ctx context.Context, link cluster.Link, name string, from, to int, do func(step int)) error {
	w, err := cluster.NewWorker(name, link)
	if err != nil {
		return err
	}
	for step := from; step < to; step++ {
		state, err := w.Sync(ctx, step, func() ([]byte, error) { return value(step, 99), nil })
		if err != nil {
			return err
		}
		if state != nil && !bytes.Equal(state, value(step, 99)) {
			return fmt.Errorf("worker %s begins step %d with another state", name, step)
		}
		results, err := w.Step(ctx, step, slices, "", func(_ context.Context, slice int) ([]byte, error) {
			do(step)
			return value(step, slice), nil
		})
		if err != nil {
			return err
		}
		for k, r := range results {
			if !bytes.Equal(r, value(step, k)) {
				return fmt.Errorf("worker %s has %q of slice %d of step %d", name, r, k, step)
			}
		}
	}
	return nil
}

// until waits for a condition.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in 20 seconds")
		}
	}
}

// enter makes a worker join, and returns the step with which it begins.
func enter(ctx context.Context, t *testing.T, l *Link, name string) int {
	t.Helper()
	hello, err := l.Hello(ctx)
	if err != nil || hello.Seed != 7 || hello.Iterations != 50 || len(hello.Config) != 840 || hello.Signer != "" {
		t.Errorf("hello: %+v (%v)", hello, err)
		return -1
	}
	step, state, err := l.Join(ctx, name)
	if err != nil || !bytes.Equal(state, value(step, 99)) {
		t.Errorf("joined step %d with %q (%v)", step, state, err)
	}
	return step
}

// Workers join, and everybody has all results, with large messages in parts; the end of the run reaches them. In a loose run every step begins with the
// first one's state.
func TestTogether(t *testing.T) {
	for _, loose := range []bool{false, true} {
		s := newSite(t, loose)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		joined := make(chan struct{}, 2)
		for _, name := range []string{"a", "b"} {
			l, _ := s.link(name, identity)
			all.Go(func() {
				from := enter(ctx, t, l, name)
				joined <- struct{}{}
				if err := steps(ctx, l, name, from, 50, func(int) {}); err != nil {
					t.Errorf("loose %v: %v", loose, err)
				}
				if err := l.Await(ctx); !errors.Is(err, ErrEnded) {
					t.Errorf("loose %v: the end is %v; want ErrEnded", loose, err)
				}
				<-l.Ended()
				l.Leave(name, nil)
			})
		}
		for step := 0; step < 50; step++ {
			if step == 40 {
				<-joined
				<-joined
			}
			if err := steps(ctx, s.c, lead, step, step+1, func(int) { time.Sleep(time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
		}
		until(t, func() bool {
			all := s.c.Status()
			return all[1].Step == 49 && all[2].Step == 49
		})
		status, err := ReadStatus(ctx, s.connect(), "test")
		if err != nil || len(status.Workers) != 3 || status.Iterations != 50 || status.Done-status.Again != 50*slices || status.ToAll == 0 {
			t.Errorf("loose %v: status %+v (%v)", loose, status, err)
		} else if w := status.Workers[1]; w.Name != "a" && w.Name != "b" || w.Step != 49 || w.In == 0 || w.Out == 0 || w.Device != "a device" {
			t.Errorf("loose %v: worker %+v", loose, w)
		}
		var none *NoRunError
		if _, err := ReadStatus(ctx, s.connect(), "other"); !errors.As(err, &none) {
			t.Errorf("the status of a run that nobody coordinates: %v", err)
		}
		s.host.Finish()
		all.Wait()
		if done := s.c.Status(); done[1].Slices+done[2].Slices == 0 {
			t.Errorf("loose %v: the workers did no slices: %+v", loose, done)
		}
	}
}

// The slices of a worker that dies without a word are done by others, and it is given up. One that was given up in error joins again.
func TestDead(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, conn := s.link("dies", identity)
	begins, over := make(chan int), make(chan struct{})
	go func() {
		defer close(over)
		from := enter(ctx, t, l, "dies")
		begins <- from
		_ = steps(ctx, l, "dies", from, 50, func(int) { conn.Close(); l.silence() })
	}()
	first := 0
	for joined := false; !joined; first++ {
		if err := steps(ctx, s.c, lead, first, first+1, func(int) { time.Sleep(time.Millisecond) }); err != nil {
			t.Fatal(err)
		}
		select {
		case <-begins:
			joined = true
		default:
		}
	}
	for !conn.IsClosed() { // it has a slice
		if err := steps(ctx, s.c, lead, first, first+1, func(int) { time.Sleep(5 * time.Millisecond) }); err != nil {
			t.Fatal(err)
		}
		first++
	}
	if err := steps(ctx, s.c, lead, first, first+3, func(int) {}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return s.c.Status()[1].Left })
	if cause := s.c.Status()[1].Cause; cause == nil || !strings.Contains(cause.Error(), "no sign of life") {
		t.Errorf("it left because of %v; want that it gave no sign of life", cause)
	}
	<-over
	again, _ := s.link("dies", identity)
	if _, err := again.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	again.attempt = l.attempt
	if _, err := again.Exchange(ctx, cluster.Report{Worker: "dies", Step: first, Slices: slices}); !errors.Is(err, ErrEpoch) {
		t.Errorf("a report of a worker that was given up: %v; want ErrEpoch", err)
	}
	go func() { begins <- enter(ctx, t, again, "dies") }()
	until(t, func() bool { return !s.c.Status()[1].Left })
	if err := steps(ctx, s.c, lead, first+3, first+4, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if step := <-begins; step != first+3 {
		t.Errorf("it joins again in step %d; want %d", step, first+3)
	}
}

// A worker waits for a coordinator that is gone, and is told to join the next session; messages of older ones are dropped.
func TestEpochs(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn := s.connect()
	if _, err := Serve(conn, Run{Name: "test"}, s.c, quick); !errors.Is(err, ErrTaken) {
		t.Errorf("a second coordinator: %v; want ErrTaken", err)
	}
	l, _ := s.link("a", identity)
	if _, err := l.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, _, err := l.Join(ctx, "a")
		done <- err
	}()
	until(t, func() bool { return len(s.c.Status()) == 2 })
	s.c.Close()
	s.host.Close()
	select {
	case err := <-done:
		t.Fatalf("without a coordinator, joining ends with %v; want it to wait", err)
	case <-time.After(3 * again):
	}
	s.begin(false)
	if err := <-done; !errors.Is(err, ErrEpoch) {
		t.Errorf("joining a session that has ended: %v; want ErrEpoch", err)
	}
	if _, err := l.Exchange(ctx, cluster.Report{Worker: "a", Slices: 1, Result: []byte{1}}); !errors.Is(err, ErrEpoch) {
		t.Errorf("a report of an older session: %v; want ErrEpoch", err)
	}
	if got := s.c.Totals(); got.Slices != 0 {
		t.Errorf("%+v; want no result of the older session", got)
	}
	go func() { done <- func() error { enter(ctx, t, l, "a"); return nil }() }()
	until(t, func() bool { return len(s.c.Status()) == 2 })
	if err := steps(ctx, s.c, lead, 0, 1, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Workers of another version, device or configuration are refused, by what differs; a loose run takes other devices.
func TestRefused(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var no *RefusedError
	for _, of := range []struct {
		identity Identity
		want     string
	}{{Identity{Version: "2", Device: "a device"}, `evorl of the worker is "2", and of the run "1"`}, {Identity{Version: "1", Device: "other"}, "the device"}} {
		l, _ := s.link("x"+of.identity.Device, of.identity)
		if _, err := l.Hello(ctx); !errors.As(err, &no) || !strings.Contains(no.Text, of.want) {
			t.Errorf("%+v: %v; want it refused, with %q", of.identity, err, of.want)
		}
	}
	if got := s.host.Guests(); len(got) != 2 || got[0].Refused == nil {
		t.Errorf("guests %+v; want two, refused", got)
	}
	l, _ := s.link("a", identity)
	if _, err := l.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	l.digest = "other"
	if _, _, err := l.Join(ctx, "a"); !errors.As(err, &no) || !strings.Contains(no.Text, "configuration") {
		t.Errorf("another configuration: %v; want it refused", err)
	}
	loose := newSite(t, true)
	l, _ = loose.link("a", Identity{Version: "1", Device: "other"})
	if _, err := l.Hello(ctx); err != nil {
		t.Errorf("another device in a loose run: %v", err)
	}
}

// Servers that other machines reach need a login and a certificate; addresses say what is wrong with them.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"embed":                 {Embed: true, Host: "127.0.0.1:4222", Run: "run"},
		"embed://127.0.0.1:0/x": {Embed: true, Host: "127.0.0.1:0", Run: "x"},
		"nats://127.0.0.1:0":    {Embed: true, Server: "nats://127.0.0.1:0", Host: "127.0.0.1:0", Run: "run"},
		"tls://host/swing-up":   {Server: "tls://host:4222", Host: "host:4222", Run: "swing-up"},
		"nats://[::1]:7":        {Server: "nats://[::1]:7", Host: "[::1]:7", Run: "run"},
	} {
		if got, err := ParseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v (%v); want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "want embed", "host": "want embed", "http://host": "nats://", "nats://user:secret@host": "--login",
		"nats://host/a.b": "name", "nats://host/a/b": "name",
	} {
		if _, err := ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v; want an error with %q", text, err, want)
		}
	}
	var exposed *ExposedError
	for _, host := range []string{"0.0.0.0:0", "[::]:0", "localhost:0"} {
		if _, err := Listen(Address{Host: host}, Access{}); !errors.As(err, &exposed) || exposed.Missing != "a login" {
			t.Errorf("%s: %v; want that a login is missing", host, err)
		}
	}
	if _, err := Listen(Address{Host: "0.0.0.0:0"}, Access{Login: "x"}); !errors.As(err, &exposed) || exposed.Missing != "a certificate" {
		t.Errorf("%v; want that a certificate is missing", err)
	}
}

// Messages that are none are answered by what would be right, and change nothing.
func TestStrangeMessages(t *testing.T) {
	s := newSite(t, false)
	conn := s.connect()
	for _, data := range [][]byte{nil, {1, 2}, {255, 255, 255, 255, 1}, encode("x", nil), encode(request{}, nil),
		encode(request{Worker: strings.Repeat("x", 999)}, nil),
		encode(request{Worker: lead, Epoch: s.host.epoch, Digest: "d", Offset: -1, Size: -1, Put: true, Result: true, Slices: 1}, nil)} {
		for _, call := range []string{callHello, callPut, callPart, callExchange, callSync, callJoin, callExchange, callSync, "other", callLeave} {
			m, err := conn.Request(subject("test", call), data, 5*time.Second)
			if err != nil {
				t.Fatalf("%s of %q: %v", call, data, err)
			}
			var r reply
			if _, err := decode(m.Data, &r); err != nil || r.Status == statusOK && call != callLeave {
				t.Errorf("%s of %q is answered by %+v (%v)", call, data, r, err)
			}
		}
	}
	if got := s.c.Status(); len(got) != 1 || got[0].Left || got[0].Step != -1 {
		t.Errorf("%+v; want the first worker as it was", got)
	}
	for _, data := range [][]byte{nil, {255, 255, 255, 255}, {1, 0, 0, 0}, {1, 0, 0, 0, 2, 0, 0, 0, 1}, {0, 0, 0, 0, 1}} {
		if _, err := separated(data); err == nil {
			t.Errorf("results in %v", data)
		}
	}
}
