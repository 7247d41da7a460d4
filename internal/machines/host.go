package machines

import (
	"context"
	"crypto/rand"
	"errors"
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
	Digest     string // of Config
	Seed       uint32
	Iterations int
	Loose      bool // workers of any identity are taken
	Identity   Identity
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
}

// guest is a worker, as far as its messages are concerned.
type guest struct {
	attempt int
	seen    time.Time
	gone    bool     // it has left, or was given up
	join    *joining // nil: it has not asked to
	put     []byte   // the parts of a request that have come
	reply   []byte   // the rest of its newest large reply
	serial  int      // of that
}

// joining is a worker's Join, which outlasts the requests that ask for its outcome.
type joining struct {
	done  chan struct{}
	step  int
	state []byte
	err   error
}

// joins reports whether a worker joins or has joined by the host. Names of others, such as the coordinator's own devices, are not its to use.
func (g *guest) joins() bool {
	if g.join == nil {
		return false
	}
	select {
	case <-g.join.done:
		return g.join.err == nil
	default:
		return true
	}
}

// ErrTaken: another process coordinates a run of the name.
var ErrTaken = errors.New("another process coordinates a run of this name on the server")

// Serve begins to serve a link, as a new epoch of the run.
func Serve(conn *nats.Conn, run Run, link cluster.Link, timing Timing) (*Host, error) {
	h := &Host{conn: conn, run: run, link: link, timing: timing.complete(), epoch: rand.Text(), members: map[string]*guest{}}
	if _, err := conn.Request(subject(run.Name, callBeat), encode(request{}, nil), h.timing.Beat); err == nil {
		return nil, fmt.Errorf("machines: run %q: %w; want another name behind the address", run.Name, ErrTaken)
	}
	h.ctx, h.stop = context.WithCancel(context.Background())
	var err error
	if h.sub, err = conn.Subscribe(subject(run.Name, "*"), h.receive); err != nil {
		h.stop()
		return nil, fmt.Errorf("machines: %w", err)
	}
	h.busy.Go(h.watch)
	return h, conn.Flush()
}

// subject returns the subject of a call.
func subject(run, call string) string { return "evorl." + run + "." + call }

// Guests returns the workers that have said hello, in that order.
func (h *Host) Guests() []Guest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Guest{}, h.guests...)
}

// watch gives up workers that give no sign of life.
func (h *Host) watch() {
	tick := time.NewTicker(h.timing.Beat)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		for name, silent := range h.silent(time.Now()) {
			h.link.Leave(name, fmt.Errorf("it gave no sign of life for %v", silent.Round(time.Millisecond)))
		}
	}
}

// silent returns the workers that are to be given up, and forgets what is kept for them.
func (h *Host) silent(now time.Time) map[string]time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]time.Duration{}
	for name, g := range h.members {
		if silent := now.Sub(g.seen); silent > h.timing.Lost && !g.gone {
			if g.joins() {
				all[name] = silent
			}
			g.gone, g.put, g.reply = true, nil, nil
		}
	}
	return all
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
		if err != nil {
			r, rest = reply{Status: statusRefused, Text: cut(err.Error())}, nil
		} else {
			r, rest = h.answer(call, q, rest)
		}
		if m.Reply == "" {
			return
		}
		r.Epoch = h.epoch
		_ = m.Respond(h.fit(q, r, rest)) // without an answer it is asked again
	})
}

// fit makes a message of a reply, and keeps what does not fit in it.
func (h *Host) fit(q request, r reply, rest []byte) []byte {
	if r.Size == 0 {
		r.Size = len(rest)
		if most := piece(h.conn); len(rest) > most {
			h.mu.Lock()
			if g := h.members[q.Worker]; g != nil {
				h.serial++
				g.reply, g.serial, r.Serial = rest, h.serial, h.serial
			}
			h.mu.Unlock()
			rest = rest[:most]
		}
	}
	return encode(r, rest)
}

// piece returns how much of a message fits in one of the server's, besides its head.
func piece(conn *nats.Conn) int { return max(int(conn.MaxPayload())-headRoom, 1) }

// answer answers a request.
func (h *Host) answer(call string, q request, rest []byte) (reply, []byte) {
	if call == callBeat && q.Worker == "" {
		return reply{Status: statusOK}, nil // of another host, see Serve
	}
	if q.Worker == "" || len(q.Worker) > maxName {
		return refused("a worker's name of %d bytes: want 1 to %d", len(q.Worker), maxName), nil
	}
	if call == callHello {
		return h.hello(q)
	}
	if q.Epoch != h.epoch {
		return reply{Status: statusEpoch}, nil
	}
	if q.Digest != h.run.Digest && call != callPart {
		return refused("the worker has built another configuration (%s) than the run's (%s): want the same version of evorl", q.Digest, h.run.Digest), nil
	}
	g, ok := h.guest(call, q)
	if !ok {
		return reply{Status: statusLeft, Text: "it was given up, or joined anew"}, nil
	}
	if (call == callExchange || call == callSync) && !h.hasJoined(g) {
		return refused("worker %q has not joined the run", q.Worker), nil
	}
	switch call {
	case callBeat:
		if h.finished() {
			return reply{Status: statusEnded}, nil
		}
		return reply{Status: statusOK}, nil
	case callPut:
		return h.keep(g, q, rest), nil
	case callPart:
		return h.part(g, q)
	case callJoin:
		return h.joined(g, q)
	case callExchange:
		return h.exchange(g, q, rest)
	case callSync:
		return h.sync(q)
	case callLeave:
		return h.leave(g, q), nil
	}
	return refused("a call %q, which this version of evorl does not have", call), nil
}

func (h *Host) hasJoined(g *guest) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return g.joins()
}

func refused(format string, args ...any) reply {
	return reply{Status: statusRefused, Text: cut(fmt.Sprintf(format, args...))}
}

// hello describes the run to a worker that may take part.
func (h *Host) hello(q request) (reply, []byte) {
	if q.Identity == nil {
		return refused("a worker that does not say what it is"), nil
	}
	text := q.Identity.differs(h.run.Identity)
	r := reply{Status: statusOK, Hello: &Hello{Seed: h.run.Seed, Iterations: h.run.Iterations, Loose: h.run.Loose, Digest: h.run.Digest}}
	of := Guest{Name: q.Worker, Identity: *q.Identity}
	if text != "" && !h.run.Loose {
		r = refused("%s: they do not compute the same bits; want equal ones, or a loose run", text)
		of.Refused = errors.New(r.Text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return reply{Status: statusEnded}, nil
	}
	known := false
	for i := range h.guests {
		if h.guests[i].Name == of.Name {
			h.guests[i], known = of, true
		}
	}
	if !known {
		h.guests = append(h.guests, of)
	}
	if of.Refused != nil {
		return r, nil
	}
	if g := h.members[q.Worker]; g == nil || g.gone || g.attempt != q.Attempt {
		h.members[q.Worker] = &guest{attempt: q.Attempt, seen: time.Now()} // a large configuration is fetched in parts
	}
	return r, h.run.Config
}

// guest returns the worker of a request and notes that it lives; ok is false for one that was given up, until it joins anew.
func (h *Host) guest(call string, q request) (g *guest, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g = h.members[q.Worker]
	if g == nil || g.attempt < q.Attempt && call == callJoin {
		g = &guest{attempt: q.Attempt}
		h.members[q.Worker] = g
	}
	g.seen = time.Now()
	return g, g.attempt == q.Attempt && !g.gone
}

// keep keeps a part of a large request. Parts come in their order; one that is repeated is kept once.
func (h *Host) keep(g *guest, q request, rest []byte) reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.Offset == 0 {
		g.put = nil
	}
	switch {
	case q.Size > maxMessage:
		return refused("a message of %d bytes: want at most %d", q.Size, maxMessage)
	case q.Offset < 0 || q.Offset > len(g.put) || q.Offset+len(rest) > q.Size:
		return reply{Status: statusGone}
	}
	g.put = append(g.put[:q.Offset:q.Offset], rest...)
	return reply{Status: statusOK}
}

// part returns a part of the worker's newest large reply.
func (h *Host) part(g *guest, q request) (reply, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.reply == nil || g.serial != q.Serial || q.Offset < 0 || q.Offset >= len(g.reply) {
		return reply{Status: statusGone}, nil
	}
	end := min(q.Offset+piece(h.conn), len(g.reply))
	return reply{Status: statusOK, Size: len(g.reply), Serial: g.serial}, g.reply[q.Offset:end]
}

// poll is the context of a call that may wait.
func (h *Host) poll() (context.Context, context.CancelFunc) {
	return context.WithTimeout(h.ctx, h.timing.Poll)
}

// joined waits for the outcome of a worker's joining, which it begins.
func (h *Host) joined(g *guest, q request) (reply, []byte) {
	h.mu.Lock()
	j := g.join
	if j == nil {
		j = &joining{done: make(chan struct{})}
		g.join = j
		h.busy.Go(func() {
			defer close(j.done)
			j.step, j.state, j.err = h.link.Join(h.ctx, q.Worker)
		})
	}
	h.mu.Unlock()
	ctx, cancel := h.poll()
	defer cancel()
	select {
	case <-j.done:
	case <-ctx.Done():
		return reply{Status: statusWait}, nil
	}
	if j.err != nil {
		return h.failed(j.err), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.state == nil { // it has reported already
		return reply{Status: statusLeft, Text: "it has joined before"}, nil
	}
	return reply{Status: statusOK, Step: j.step}, j.state
}

func (h *Host) exchange(g *guest, q request, rest []byte) (reply, []byte) {
	r := cluster.Report{Worker: q.Worker, Step: q.Step, Slices: q.Slices, State: q.State, Done: q.Done}
	h.mu.Lock()
	select {
	case <-g.join.done:
		g.join.state = nil // it has it
	default:
	}
	if q.Put {
		rest, g.put = g.put, nil
	}
	h.mu.Unlock()
	if q.Put && len(rest) != q.Size {
		return reply{Status: statusGone}, nil
	}
	if q.Result {
		r.Result = append([]byte{}, rest...)
	}
	ctx, cancel := h.poll()
	defer cancel()
	o, err := h.link.Exchange(ctx, r)
	switch {
	case err != nil:
		return h.failed(err), nil
	case o.Results != nil:
		return reply{Status: statusOK}, joined(o.Results)
	}
	return reply{Status: statusOK, Slice: o.Slice}, nil
}

func (h *Host) sync(q request) (reply, []byte) {
	ctx, cancel := h.poll()
	defer cancel()
	state, err := h.link.Sync(ctx, q.Worker, q.Step, nil)
	if err != nil {
		return h.failed(err), nil
	}
	return reply{Status: statusOK}, state
}

func (h *Host) leave(g *guest, q request) reply {
	h.mu.Lock()
	joins := g.joins()
	g.gone, g.put, g.reply = true, nil, nil
	h.mu.Unlock()
	var cause error
	if q.Cause != "" {
		cause = errors.New(q.Cause)
	}
	if joins {
		h.link.Leave(q.Worker, cause)
	}
	return reply{Status: statusOK}
}

// failed is the reply for an error of the link.
func (h *Host) failed(err error) reply {
	var left *cluster.LeftError
	switch {
	case errors.As(err, &left):
		return reply{Status: statusLeft, Text: cut(err.Error())}
	case h.finished():
		return reply{Status: statusEnded}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, cluster.ErrClosed):
		return reply{Status: statusWait} // or the session ends, and another one may follow
	}
	return reply{Status: statusFailed, Text: cut(err.Error())}
}

// farewell is how long End waits for the workers to hear of it.
const farewell = 2 * time.Second

// Finish tells the workers that the run is complete; Close must follow.
func (h *Host) Finish() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	if h.conn.Publish(subject(h.run.Name, callEnd), encode(reply{Status: statusEnded, Epoch: h.epoch}, nil)) != nil || h.conn.Flush() != nil {
		return
	}
	for end := time.Now().Add(farewell); time.Now().Before(end) && h.attended(); {
		time.Sleep(10 * time.Millisecond)
	}
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
