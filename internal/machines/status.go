package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine/cluster"
)

// Status is what a run's coordinator tells of its workers.
type Status struct {
	Run        string
	Iterations int
	Workers    []WorkerStatus // the coordinator's own devices first
	Divides    string         // what is in slices, as Run has it
	Slices     int            // of a step; 0: unknown
	Done       int64          // slices
	Again      int64          // of them, those done twice
	ToAll      int64          // bytes that were sent to all workers, of one copy
	At         time.Time
}

// WorkerStatus describes a worker.
type WorkerStatus struct {
	Name    string
	Device  string
	Step    int           // in which it is; -1: it has not begun
	Slices  int           // that it has done
	Has     int           // slices whose state it has; 0 in a search
	Mean    time.Duration // of a slice, lately; 0: unknown
	In, Out int64         // bytes from it and to it, without what is sent to all; 0 of the coordinator's own devices
	Silent  time.Duration // since its last message
	Left    bool
	Cause   string // why it left, or was refused; "": it did not fail
}

// NoRunError: nobody coordinates a run of the name at a server.
type NoRunError struct{ Run string }

func (e *NoRunError) Error() string {
	return fmt.Sprintf("no run %q is coordinated there: want the address that the run shows", e.Run)
}

// replyRoom is more than the head of a status takes.
const replyRoom = 128

// status answers a question for the workers.
func (h *Host) status() []byte {
	s := Status{Run: h.run.Name, Iterations: h.run.Iterations, Divides: h.run.Divides, At: time.Now()}
	var all []cluster.Status
	if h.run.Status != nil {
		var totals cluster.Totals
		all, totals = h.run.Status()
		s.Slices, s.Done, s.Again = totals.Step, totals.Slices, totals.Again
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.ToAll = h.toAll
	known := map[string]bool{}
	for _, of := range all {
		w := WorkerStatus{Name: of.Worker, Device: h.run.Identity.Device, Step: of.Step, Slices: of.Slices, Has: of.Has, Mean: of.Mean, Left: of.Left}
		if of.Cause != nil {
			w.Cause = of.Cause.Error()
		}
		for _, g := range h.guests {
			if g.Name == of.Worker {
				w.Device = g.Identity.Device
			}
		}
		if g := h.members[of.Worker]; g != nil {
			w.In, w.Out, w.Silent = g.in, g.out, s.At.Sub(g.seen)
		}
		known[of.Worker] = true
		s.Workers = append(s.Workers, w)
	}
	for _, g := range h.guests { // those that compile their kernels, or were refused
		if known[g.Name] {
			continue
		}
		w := WorkerStatus{Name: g.Name, Device: g.Identity.Device, Step: -1}
		if g.Refused != nil {
			w.Left, w.Cause = true, g.Refused.Error()
		}
		s.Workers = append(s.Workers, w)
	}
	text, err := json.Marshal(s)
	if err != nil || len(text) > int(h.conn.MaxPayload())-replyRoom {
		return encode(reply{Status: statusFailed, Text: fmt.Sprintf("the status of %d workers is too long for a message", len(s.Workers))}, nil)
	}
	return encode(reply{Status: statusOK}, text)
}

// count counts bytes of a worker's request and of the reply; known is false if there is no such worker.
func (h *Host) count(worker string, in, out int) (known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.members[worker]
	if g != nil {
		g.in, g.out = g.in+int64(in), g.out+int64(out)
	}
	return g != nil
}

// ReadStatus asks the coordinator of a run for its workers. Errors: *NoRunError; of the connection.
func ReadStatus(ctx context.Context, conn *nats.Conn, run string) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, Timing{}.complete().Poll)
	defer cancel()
	m, err := conn.RequestWithContext(ctx, subject(run, callStatus), nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, &NoRunError{run}
	}
	if err != nil {
		return nil, fmt.Errorf("machines: the status of run %q: %w", run, err)
	}
	var r reply
	rest, err := decode(m.Data, &r)
	if err != nil {
		return nil, err
	}
	if r.Status != statusOK {
		return nil, &FailedError{r.Text}
	}
	s := &Status{}
	if err := json.Unmarshal(rest, s); err != nil {
		return nil, fmt.Errorf("machines: the status of run %q: %w", run, err)
	}
	return s, nil
}
