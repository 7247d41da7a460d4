package machines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine/cluster"
)

// Link is a worker's connection to the Host of a run. It implements cluster.Link and cluster.Jobs. Calls wait for a host that does not answer, until their
// context ends.
type Link struct {
	conn     *nats.Conn
	run      string
	worker   string
	identity Identity
	timing   Timing
	tell     func(text string) // of what the worker waits for

	ends *nats.Subscription
	all  *nats.Subscription // to what is sent to all workers
	had  casts              // what has come of it
	next ahead              // what was asked for before it is needed
	beat context.CancelFunc // ends the signs of life; nil: none are given

	mu      sync.Mutex
	epoch   string
	attempt int
	digest  string
	ended   chan struct{} // closed when the run is complete
	loose   bool
	waits   bool               // it has told that it waits
	cut     context.CancelFunc // ends the request that waits for a reply; nil: none does
}

// NewLink makes the connection of a worker with a name of its own to a run. tell is called with what the worker waits for.
func NewLink(conn *nats.Conn, run, worker string, identity Identity, timing Timing, tell func(text string)) (*Link, error) {
	l := &Link{conn: conn, run: run, worker: worker, identity: identity, timing: timing.complete(), tell: tell, ended: make(chan struct{})}
	var err error
	l.ends, err = conn.Subscribe(subject(run, callEnd), func(m *nats.Msg) {
		var r reply
		if _, err := decode(m.Data, &r); err != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		select {
		case <-l.ended:
		default:
			if r.Status == statusEnded { // also of a session that the worker has not joined
				close(l.ended)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	if l.all, err = conn.Subscribe(subject(run, callCast), l.hear); err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	conn.SetDisconnectErrHandler(func(*nats.Conn, error) { // its reply will not come
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.cut != nil {
			l.cut()
		}
	})
	return l, nil
}

// Ended is closed when the run is complete.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Hello asks what the run is. It waits for a host. Whoever may connect to the server can answer; Hello.Signer is who it was, if it has signed the answer.
func (l *Link) Hello(ctx context.Context) (*Hello, error) {
	l.silence()
	l.next.end()
	l.mu.Lock()
	l.epoch, l.digest = "", ""
	l.had.forget()
	l.mu.Unlock()
	r, rest, err := l.ask(ctx, callHello, request{Identity: &l.identity}, nil)
	if err != nil {
		return nil, err
	}
	texts, err := separated(rest)
	if r.Hello == nil || err != nil || len(texts) != 2 {
		return nil, fmt.Errorf("machines: run %q does not say what it is; want a coordinator of the same version of evorl", l.run)
	}
	h := r.Hello
	h.Config, h.Source, h.run, h.epoch = texts[0], texts[1], l.run, r.Epoch
	if h.Signer != "" && h.Signed(h.Config, h.Source, h.Signature) == "" {
		return nil, fmt.Errorf("machines: run %q: its configuration does not have the signature of the key %.80q; it was changed on its way, or is another one's",
			l.run, h.Signer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch, l.loose, l.digest = r.Epoch, r.Hello.Loose, r.Hello.Digest
	return h, nil
}

// Join implements cluster.Link.
func (l *Link) Join(ctx context.Context, _ string) (step int, state []byte, err error) {
	l.mu.Lock()
	l.attempt++
	l.mu.Unlock()
	l.live()
	r, state, err := l.ask(ctx, callJoin, request{}, nil)
	return r.Step, state, err
}

// exchange makes an exchange, and waits for its outcome.
func (l *Link) exchange(ctx context.Context, of cluster.Report) (cluster.Order, error) {
	q := request{Step: of.Step, Slices: of.Slices, Done: of.Done, State: of.State, Result: of.Result != nil, Held: of.Held, Early: of.Early}
	r, rest, err := l.fetch(ctx, callExchange, castResults, q, of.Result)
	if err != nil || !r.Done {
		return cluster.Order{Slice: r.Slice}, err
	}
	results, err := separated(rest)
	return cluster.Order{Results: results, Next: r.Next}, err
}

// Sync implements cluster.Link.
func (l *Link) Sync(ctx context.Context, _ string, step int, _ func() ([]byte, error)) ([]byte, error) {
	l.mu.Lock()
	loose := l.loose
	l.mu.Unlock()
	if !loose {
		return nil, nil
	}
	_, state, err := l.fetch(ctx, callSync, castState, request{Step: step}, nil)
	return state, err
}

// Next implements cluster.Jobs.
func (l *Link) Next(ctx context.Context, _ string, done int, result []byte) (number int, job []byte, err error) {
	for {
		r, job, err := l.ask(ctx, callNext, request{Done: done, Result: result != nil}, result)
		if err != nil || r.Step != done {
			return r.Step, job, err
		}
		result = nil // it was taken
	}
}

// Leave implements cluster.Link. The host hears it at once, if it can.
func (l *Link) Leave(_ string, cause error) {
	l.silence()
	l.next.end()
	q := request{}
	if cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, ErrEnded) { // else it was stopped
		q.Cause = cut(cause.Error())
	}
	_, _ = l.conn.Request(subject(l.run, callLeave), encode(l.signed(q), nil), l.timing.Beat) // else it is given up after a while
}

// Await waits for the end of the run, with ErrEnded, or for another session of it, with ErrEpoch.
func (l *Link) Await(ctx context.Context) error {
	for {
		if _, _, err := l.ask(ctx, callBeat, request{}, nil); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(l.timing.Beat):
		}
	}
}

// Close ends the connection's part in the run.
func (l *Link) Close() {
	l.silence()
	l.next.end()
	_ = l.ends.Unsubscribe() // else the connection is closed
	_ = l.all.Unsubscribe()
}

// live gives signs of life from now on.
func (l *Link) live() {
	l.silence()
	ctx, stop := context.WithCancel(context.Background())
	l.mu.Lock()
	l.beat = stop
	l.mu.Unlock()
	go func() {
		tick := time.NewTicker(l.timing.Beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = l.conn.Publish(subject(l.run, callBeat), encode(l.signed(request{}), nil)) // else the next one
			}
		}
	}()
}

// silence ends the signs of life.
func (l *Link) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.beat != nil {
		l.beat()
		l.beat = nil
	}
}

// signed adds to a request who sends it.
func (l *Link) signed(q request) request {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.Worker, q.Epoch, q.Attempt, q.Digest = l.worker, l.epoch, l.attempt, l.digest
	return q
}

// again is how long a worker waits before it repeats a request that nobody has answered.
const again = 300 * time.Millisecond

// ask makes a request until it is answered, and returns the whole of the reply.
func (l *Link) ask(ctx context.Context, call string, q request, rest []byte) (reply, []byte, error) {
	for {
		r, got, err := l.once(ctx, call, l.signed(q), rest)
		switch {
		case ctx.Err() != nil:
			return reply{}, nil, context.Cause(ctx)
		case err != nil && l.conn.IsClosed(): // the server refuses it now
			return reply{}, nil, fmt.Errorf("machines: %w", refusal(l.conn.ConnectedUrlRedacted(), cmp.Or(l.conn.LastError(), err)))
		case err != nil:
			l.waiting(err)
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
			continue
		}
		switch r.Status {
		case statusOK:
			l.heard()
			return r, got, nil
		case statusWait, statusGone:
			l.heard()
		case statusEpoch:
			return reply{}, nil, ErrEpoch
		case statusLeft:
			return reply{}, nil, fmt.Errorf("%w: %s", ErrEpoch, r.Text)
		case statusEnded:
			return reply{}, nil, ErrEnded
		case statusFailed:
			return reply{}, nil, &FailedError{r.Text}
		default:
			return reply{}, nil, &RefusedError{r.Text}
		}
	}
}

// once makes a request, in parts if it is large, and fetches the parts of its reply.
func (l *Link) once(ctx context.Context, call string, q request, rest []byte) (reply, []byte, error) {
	if most := piece(l.conn); len(rest) > most {
		for at := 0; at < len(rest); at += most {
			part := q
			part.Offset, part.Size = at, len(rest)
			r, _, err := l.message(ctx, callPut, part, rest[at:min(at+most, len(rest))])
			if err != nil || r.Status != statusOK {
				return r, nil, err
			}
		}
		q.Put, q.Size, rest = true, len(rest), nil
	}
	r, got, err := l.message(ctx, call, q, rest)
	if err != nil || r.Status != statusOK || r.Size <= len(got) {
		return r, got, err
	}
	if r.Size > maxMessage {
		return reply{}, nil, fmt.Errorf("machines: a reply of %d bytes; want at most %d", r.Size, maxMessage)
	}
	got = append(make([]byte, 0, r.Size), got...)
	for len(got) < r.Size {
		of := q
		of.Epoch, of.Offset, of.Serial = r.Epoch, len(got), r.Serial
		p, more, err := l.message(ctx, callPart, of, nil)
		switch {
		case err != nil || p.Status != statusOK:
			return p, nil, err
		case len(more) == 0 || len(got)+len(more) > r.Size:
			return reply{}, nil, fmt.Errorf("machines: a part of %d bytes at %d of %d", len(more), len(got), r.Size)
		}
		got = append(got, more...)
	}
	return r, got, nil
}

// message sends a message and returns the reply.
func (l *Link) message(ctx context.Context, call string, q request, rest []byte) (reply, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timing.answer())
	defer cancel()
	l.mu.Lock()
	l.cut = cancel
	l.mu.Unlock()
	m, err := l.conn.RequestWithContext(ctx, subject(l.run, call), encode(q, rest))
	if err != nil {
		return reply{}, nil, err
	}
	var r reply
	got, err := decode(m.Data, &r)
	return r, got, err
}

// waiting tells once that no host answers.
func (l *Link) waiting(err error) {
	l.mu.Lock()
	told := l.waits
	l.waits = true
	l.mu.Unlock()
	if errors.Is(err, context.Canceled) {
		err = errors.New("the connection is lost")
	}
	if !told {
		l.tell(fmt.Sprintf("waiting for the coordinator of run %q: %v", l.run, err))
	}
}

// heard notes that a host answers.
func (l *Link) heard() {
	l.mu.Lock()
	told := l.waits
	l.waits = false
	l.mu.Unlock()
	if told {
		l.tell(fmt.Sprintf("the coordinator of run %q answers", l.run))
	}
}
