package machines

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine/cluster"
)

// Run is what a Host tells workers of its run.
type Run struct {
	Name       string // in subjects
	Config     []byte // TOML, all settings
	Source     []byte // the GLSL that Config names by env; nil: none
	Key        *Key   // signs both; nil: workers execute what their own program contains
	Digest     string // of Config
	Seed       uint32
	Iterations int
	Loose      bool   // workers of any identity are taken
	Divides    string // what is in slices, for those that look at the run
	Whole      bool   // workers do whole runs, each of a job of its own
	Trace      string // the span that those of workers belong to, as W3C's traceparent; "": nothing is traced
	Identity   Identity
	Status     func() ([]cluster.Status, cluster.Totals) // nil: it has none to show
}

// Guest is a worker of another process.
type Guest struct {
	Name     string
	Identity Identity
	Refused  error // why it was not taken; nil: it was
}

// Host serves a coordinator's link to workers elsewhere.
type Host struct {
	conn   *nats.Conn
	run    Run
	link   cluster.Link
	timing Timing
	epoch  string
	hail   []byte // Hello.Config and Hello.Source
	proof  []byte // Hello.Signature
	ctx    context.Context
	stop   context.CancelFunc
	sub    *nats.Subscription
	busy   sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	closed  bool
	members map[string]*guest
	guests  []Guest
	serial  int
	casts   map[castKey]*sent
	toAll   int64 // bytes
}

// Serve begins to serve a link, as a new epoch of the run.
func Serve(conn *nats.Conn, run Run, link cluster.Link, timing Timing) (*Host, error) {
	h := &Host{conn: conn, run: run, link: link, timing: timing.complete(), epoch: rand.Text(), members: map[string]*guest{},
		casts: map[castKey]*sent{}}
	if _, err := conn.Request(subject(run.Name, callBeat), encode(request{}, nil), h.timing.Beat); err == nil {
		return nil, fmt.Errorf("machines: run %q: %w; want another name behind the address", run.Name, ErrTaken)
	}
	var err error
	if h.proof, err = run.Key.sign(statement(run.Name, h.epoch, run.Config, run.Source)); err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	h.hail = joined([][]byte{run.Config, run.Source})
	h.ctx, h.stop = context.WithCancel(context.Background())
	if h.sub, err = conn.Subscribe(subject(run.Name, "*"), h.receive); err != nil {
		h.stop()
		return nil, fmt.Errorf("machines: %w", err)
	}
	h.busy.Go(h.watch)
	return h, conn.Flush()
}

// Sign signs the configuration of a whole run and its GLSL, for workers that do it in this session (Hello.Signed); nil: nothing is signed.
func (h *Host) Sign(configuration, source []byte) ([]byte, error) {
	return h.run.Key.sign(statement(h.run.Name, h.epoch, configuration, source))
}

// subject returns the subject of a call.
func subject(run, call string) string { return "evorl." + run + "." + call }

// Guests returns the workers that have said hello, in that order.
func (h *Host) Guests() []Guest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Guest{}, h.guests...)
}

// receive answers a message, in a goroutine of its own, since many wait.
func (h *Host) receive(m *nats.Msg) {
	call := m.Subject[len(subject(h.run.Name, "")):]
	if call == callEnd {
		return // the host's own
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.busy.Go(func() {
		var q request
		rest, err := decode(m.Data, &q)
		var r reply
		if call == callStatus {
			_ = m.Respond(h.status())
			return
		}
		known := h.count(q.Worker, len(m.Data), 0) // now, as the answer may take long
		if err != nil {
			r, rest = reply{Status: statusRefused, Text: cut(err.Error())}, nil
		} else {
			r, rest = h.answer(call, q, rest)
		}
		if m.Reply == "" {
			return
		}
		r.Epoch = h.epoch
		data := h.fit(q, r, rest)
		if !known { // it was not before
			h.count(q.Worker, len(m.Data), 0)
		}
		h.count(q.Worker, 0, len(data))
		_ = m.Respond(data) // without an answer it is asked again
	})
}

// farewell is how long Finish waits for the workers to hear of it.
const farewell = 2 * time.Second

// Finish tells the workers that the run is complete; Close must follow.
func (h *Host) Finish() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	if End(h.conn, h.run.Name) != nil {
		return
	}
	for end := time.Now().Add(farewell); time.Now().Before(end) && h.attended(); {
		time.Sleep(10 * time.Millisecond)
	}
}

// End tells workers that wait for another session of a run that there is none.
func End(conn *nats.Conn, run string) error {
	if err := conn.Publish(subject(run, callEnd), encode(reply{Status: statusEnded}, nil)); err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	return conn.Flush()
}

// finished reports whether the run is complete.
func (h *Host) finished() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// attended reports whether workers have not left.
func (h *Host) attended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.members {
		if !g.gone && g.joins() {
			return true
		}
	}
	return false
}

// Close ends the epoch. Workers wait for another one, unless the run is complete.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	_ = h.sub.Unsubscribe() // else the connection is closed
	h.stop()
	h.busy.Wait()
}
