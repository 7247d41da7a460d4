package watch

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Hundreds of connections without a request leave the page reachable, and all but a few are closed.
func TestIdleConnections(t *testing.T) {
	server, err := Serve(Source{Path: t.TempDir()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address := strings.TrimSuffix(strings.TrimPrefix(server.URL(), "http://"), "/")
	const idle = 200
	var open []net.Conn
	for range idle {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	answer, err := http.Get(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d beside %d idle connections", answer.StatusCode, idle)
	}
	closed := 0
	for _, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			closed++
		}
	}
	if most := mostConnections(); closed < idle-most || most > maxConnections {
		t.Errorf("%d of %d were closed; want all but at most %d", closed, idle, most)
	}
}
