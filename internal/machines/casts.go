package machines

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// What all workers need of a step is published once, for the server to copy it: its results, and the replica of a loose run. Replies only say that it was.
// A worker to which it has not come asks for it by itself.

// Kinds of what is sent to all.
const (
	castResults = "results"
	castState   = "state"
)

// castKey is what is sent to all.
type castKey struct {
	Kind string
	Step int
}

// castHead is the head of a message to all. Its parts come in their order.
type castHead struct {
	castKey
	Epoch        string
	Offset, Size int
}

const (
	maxCast  = 16 << 20    // bytes; more is fetched by each worker, since the server drops connections with too much on its way
	maxCasts = 64 << 20    // bytes that a worker keeps
	keptSent = 256         // steps of which the host knows that it has sent them
	overdue  = time.Second // without a further part, after which a worker asks by itself
)

// sent is what the host has sent to all.
type sent struct {
	once sync.Once
	ok   bool
}

// cast sends what the reply to q needs to all, unless that was done, or returns it with the reply.
func (h *Host) cast(q request, kind string, r reply, rest func() []byte) (reply, []byte) {
	if q.Whole {
		return r, rest()
	}
	h.mu.Lock()
	key := castKey{kind, q.Step}
	of := h.casts[key]
	if of == nil {
		of = &sent{}
		h.casts[key] = of
		maps.DeleteFunc(h.casts, func(k castKey, _ *sent) bool { return k.Step <= q.Step-keptSent })
	}
	h.mu.Unlock()
	of.once.Do(func() { of.ok = h.publish(castHead{castKey: key, Epoch: h.epoch}, rest()) })
	if !of.ok {
		return r, rest()
	}
	r.Cast = true
	return r, nil
}

func (h *Host) publish(head castHead, data []byte) bool {
	if len(data) > maxCast {
		return false
	}
	most := piece(h.conn)
	for head.Size = len(data); head.Offset < len(data); head.Offset += most {
		part := data[head.Offset:min(head.Offset+most, len(data))]
		h.mu.Lock()
		h.toAll += int64(len(part))
		h.mu.Unlock()
		if h.conn.Publish(subject(h.run.Name, callCast), encode(head, part)) != nil {
			return false
		}
	}
	return len(data) > 0
}

// casts is what has come to a worker of what was sent to all.
type casts struct {
	mu    sync.Mutex
	data  map[castKey][]byte
	size  map[castKey]int
	bytes int           // of their sizes, as memory is taken for the whole at the first part
	news  chan struct{} // closed when a part comes; nil: nobody waits
}

// hear takes a message to all.
func (l *Link) hear(m *nats.Msg) {
	var head castHead
	rest, err := decode(m.Data, &head)
	l.mu.Lock() // until it is kept, so that what Hello forgets does not come back
	defer l.mu.Unlock()
	if err == nil && head.Epoch == l.epoch {
		l.had.add(head, rest)
	}
}

// add keeps a part. Without the parts before it, it is of no use.
func (c *casts) add(head castHead, part []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if head.Offset == 0 {
		c.drop(head.castKey)
	}
	have := len(c.data[head.castKey])
	if head.Offset != have || len(part) == 0 || len(part) > head.Size-have || head.Size > maxCast {
		c.drop(head.castKey)
		return
	}
	if c.data == nil {
		c.data, c.size = map[castKey][]byte{}, map[castKey]int{}
	}
	if have == 0 && len(part) < head.Size {
		c.data[head.castKey] = make([]byte, 0, head.Size)
	}
	if have == 0 {
		c.bytes += head.Size
	}
	if have > 0 || len(part) < head.Size {
		part = append(c.data[head.castKey], part...)
	}
	c.data[head.castKey], c.size[head.castKey] = part, head.Size
	for c.bytes > maxCasts {
		first := head.castKey
		for k := range c.data {
			if k.Step < first.Step {
				first = k
			}
		}
		c.drop(first)
	}
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

func (c *casts) drop(k castKey) {
	c.bytes -= c.size[k]
	delete(c.data, k)
	delete(c.size, k)
}

// forget forgets all of it: it was of another session, whose steps have the same numbers.
func (c *casts) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data, c.size, c.bytes = nil, nil, 0
}

// take waits for what is sent to all, and forgets it and what came before; ok is false if it does not come.
func (c *casts) take(ctx context.Context, key castKey) (data []byte, ok bool) {
	for {
		c.mu.Lock()
		if data, ok = c.data[key]; ok && len(data) == c.size[key] {
			for k := range c.data {
				if k.Kind == key.Kind && k.Step <= key.Step {
					c.drop(k)
				}
			}
			c.mu.Unlock()
			return data, true
		}
		if c.news == nil {
			c.news = make(chan struct{})
		}
		news := c.news
		c.mu.Unlock()
		timer := time.NewTimer(overdue)
		select {
		case <-news:
			timer.Stop()
		case <-timer.C:
			return nil, false
		case <-ctx.Done():
			timer.Stop()
			return nil, false
		}
	}
}

// fetch makes a request whose answer may have been sent to all.
func (l *Link) fetch(ctx context.Context, call, kind string, q request, rest []byte) (reply, []byte, error) {
	r, got, err := l.ask(ctx, call, q, rest)
	if err != nil || !r.Cast {
		return r, got, err
	}
	if got, ok := l.had.take(ctx, castKey{kind, q.Step}); ok {
		return r, got, nil
	}
	q.Whole, q.Result = true, false // that was taken
	return l.ask(ctx, call, q, nil)
}
