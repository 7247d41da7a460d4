package bridge

import (
	"strings"
	"sync"
)

// tail keeps the end of what a process writes.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// mostSaid is how much of a process's output an error has.
const mostSaid = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if n := len(t.last) - mostSaid; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "?"))
}
