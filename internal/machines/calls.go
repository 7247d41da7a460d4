package machines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine/cluster"
)

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
	if (call == callExchange || call == callSync || call == callNext) && !h.hasJoined(g) {
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
	case callNext:
		return h.next(g, q, rest)
	case callLeave:
		return h.leave(g, q), nil
	}
	return refused("a call %q, which this version of evorl does not have", call), nil
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
	r := reply{Status: statusOK, Hello: &Hello{
		Seed: h.run.Seed, Iterations: h.run.Iterations, Loose: h.run.Loose, Digest: h.run.Digest, Trace: h.run.Trace, Whole: h.run.Whole,
		Signer: h.run.Key.Public(), Signature: h.proof,
	}}
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
	return r, h.hail
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

// mostSlices is above the slices of any step. The coordinator keeps a record of each as soon as a worker names their number.
const mostSlices = 1 << 20

func (h *Host) exchange(g *guest, q request, rest []byte) (reply, []byte) {
	if q.Slices > mostSlices {
		return refused("a step of %d slices: want at most %d", q.Slices, mostSlices), nil
	}
	r := cluster.Report{Worker: q.Worker, Step: q.Step, Slices: q.Slices, State: q.State, Done: q.Done, Held: q.Held, Early: q.Early}
	var ok bool
	if r.Result, ok = h.result(g, q, rest); !ok {
		return reply{Status: statusGone}, nil
	}
	ctx, cancel := h.poll()
	defer cancel()
	o, err := h.link.Exchange(ctx, r)
	switch {
	case err != nil:
		return h.failed(err), nil
	case o.Results != nil:
		r := reply{Status: statusOK, Done: true, Next: o.Next}
		return h.cast(q, castResults, r, func() []byte { return joined(o.Results) })
	}
	return reply{Status: statusOK, Slice: o.Slice}, nil
}

// result returns the result that a request brings, nil if it brings none; ok is false if its parts were lost. The worker has joined.
func (h *Host) result(g *guest, q request, rest []byte) (result []byte, ok bool) {
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
		return nil, false
	}
	if q.Result {
		result = append([]byte{}, rest...)
	}
	return result, true
}

// next takes the result of a worker's job, and gives it the next one. Without one, the reply has the number of the last job: the result has come, and is not
// sent again.
func (h *Host) next(g *guest, q request, rest []byte) (reply, []byte) {
	jobs, ok := h.link.(cluster.Jobs)
	if !ok {
		return refused("the run has no jobs for workers: want the same version of evorl"), nil
	}
	result, ok := h.result(g, q, rest)
	if !ok {
		return reply{Status: statusGone}, nil
	}
	ctx, cancel := h.poll()
	defer cancel()
	number, job, err := jobs.Next(ctx, q.Worker, q.Done, result)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !h.finished():
		return reply{Status: statusOK, Step: q.Done}, nil
	case err != nil:
		return h.failed(err), nil
	}
	return reply{Status: statusOK, Step: number}, job
}

func (h *Host) sync(q request) (reply, []byte) {
	ctx, cancel := h.poll()
	defer cancel()
	state, err := h.link.Sync(ctx, q.Worker, q.Step, nil)
	if err != nil {
		return h.failed(err), nil
	}
	return h.cast(q, castState, reply{Status: statusOK}, func() []byte { return state })
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
