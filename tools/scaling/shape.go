package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialer connects a virtual worker by a network of a given latency and rate. It takes the place of a link of the network: what passes is delayed in this
// process, in both directions.
type dialer struct {
	latency time.Duration // one way
	rate    float64       // bits a second, of each direction; 0: not limited
	traffic *traffic
}

// traffic counts bytes of a worker's connection.
type traffic struct{ down, up atomic.Int64 }

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	c := &shaped{Conn: conn, traffic: d.traffic, in: make(chan chunk, queued), out: make(chan chunk, queued), closed: make(chan struct{})}
	down, up := lane{dialer: d}, lane{dialer: d}
	c.up = &up
	go c.pull(&down)
	go c.push()
	return c, nil
}

// queued chunks are on their way at most; then the sender waits, as for a full socket.
const queued = 1024

// lane is a direction of a link: it sends one bit after the other.
type lane struct {
	*dialer
	free time.Time // when it has sent what it was given
}

// due returns when n bytes arrive that are sent now.
func (l *lane) due(n int) time.Time {
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	if l.rate > 0 {
		l.free = l.free.Add(time.Duration(8 * float64(n) / l.rate * float64(time.Second)))
	}
	return l.free.Add(l.latency)
}

// chunk is bytes on their way.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

// shaped is a connection with a lane for each direction.
type shaped struct {
	net.Conn
	traffic *traffic
	up      *lane
	in, out chan chunk
	rest    []byte // of the chunk that is read
	once    sync.Once
	closed  chan struct{}
}

// pull takes what comes from the socket on its way to Read.
func (c *shaped) pull(down *lane) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.Conn.Read(buffer)
		c.traffic.down.Add(int64(n))
		select {
		case c.in <- chunk{append([]byte(nil), buffer[:n]...), down.due(n), err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// push writes to the socket what has arrived from Write.
func (c *shaped) push() {
	for {
		select {
		case of := <-c.out:
			time.Sleep(time.Until(of.due))
			if _, err := c.Conn.Write(of.data); err != nil {
				_ = c.Close() // reading reports it
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Read implements net.Conn.
func (c *shaped) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		select {
		case of := <-c.in:
			time.Sleep(time.Until(of.due))
			if c.rest = of.data; of.err != nil {
				return 0, of.err
			}
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Write implements net.Conn.
func (c *shaped) Write(p []byte) (int, error) {
	c.traffic.up.Add(int64(len(p)))
	select {
	case c.out <- chunk{append([]byte(nil), p...), c.up.due(len(p)), nil}:
		return len(p), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// Close implements net.Conn.
func (c *shaped) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Deadlines are of a socket, and none of a link.
func (c *shaped) SetDeadline(time.Time) error      { return nil }
func (c *shaped) SetReadDeadline(time.Time) error  { return nil }
func (c *shaped) SetWriteDeadline(time.Time) error { return nil }
