package machines

import (
	"fmt"
	"time"
)

// guest is a worker, as far as its messages are concerned.
type guest struct {
	attempt int
	seen    time.Time
	gone    bool     // it has left, or was given up
	join    *joining // nil: it has not asked to
	put     []byte   // the parts of a request that have come
	reply   []byte   // the rest of its newest large reply
	serial  int      // of that
	in, out int64    // bytes of its messages, without what is sent to all
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

func (h *Host) hasJoined(g *guest) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return g.joins()
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
