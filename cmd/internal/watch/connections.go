package watch

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections is enough for some browsers with several pages.
const maxConnections = 32

// descriptorShare is the share of the process's descriptors that connections may take: the others are the run's.
const descriptorShare = 8

// mostConnections returns how many connections there may be at a time.
func mostConnections() int {
	return max(2, min(maxConnections, descriptorLimit()/descriptorShare))
}

// connections closes the connection that has waited longest for a request when there are too many, so that a page is answered
// however many others are open.
type connections struct {
	most    int
	mu      sync.Mutex
	waiting map[net.Conn]time.Time // since when; zero: a request is being answered
}

func newConnections(most int) *connections {
	return &connections{most: most, waiting: map[net.Conn]time.Time{}}
}

// changed is http.Server's ConnState. It is called with a new connection before the next one is accepted.
func (c *connections) changed(of net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.waiting[of] = time.Now()
	case http.StateActive:
		c.waiting[of] = time.Time{}
	case http.StateClosed, http.StateHijacked:
		delete(c.waiting, of)
	}
	if len(c.waiting) <= c.most {
		return
	}
	oldest := of // if all others are being answered
	for other, since := range c.waiting {
		if !since.IsZero() && since.Before(c.waiting[oldest]) {
			oldest = other
		}
	}
	_ = oldest.Close() // the server notices
	delete(c.waiting, oldest)
}
