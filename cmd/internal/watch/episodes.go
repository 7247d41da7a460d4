package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// episodes makes pages of episodes, one at a time, and keeps the newest checkpoint's.
type episodes struct {
	make   func(ctx context.Context, w io.Writer) error
	path   string
	mu     sync.Mutex
	of     int64 // the checkpoint of the page; 0: none
	page   []byte
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
}

// begin makes the context that close ends.
func (e *episodes) begin() context.Context {
	e.once.Do(func() { e.ctx, e.cancel = context.WithCancel(context.Background()) })
	return e.ctx
}

// close gives up what is being made, and waits for it.
func (e *episodes) close() {
	e.begin()
	e.cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
}

func (e *episodes) serve(w http.ResponseWriter, r *http.Request) {
	if e.make == nil {
		http.NotFound(w, r)
		return
	}
	answer := http.NewResponseController(w)
	_ = answer.SetWriteDeadline(time.Time{}) // of other writers than a connection there is none
	page, err := e.newest()
	_ = answer.SetWriteDeadline(time.Now().Add(answerTimeout))
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // the browser is gone
}

// newest is the page of the newest checkpoint.
func (e *episodes) newest() ([]byte, error) {
	ctx := e.begin()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	iteration, err := newestCheckpoint(e.path)
	switch {
	case err != nil:
		return nil, err
	case iteration == 0:
		return nil, fmt.Errorf("%w: the run has no checkpoint", errNothingYet)
	case iteration == e.of:
		return e.page, nil
	}
	var b bytes.Buffer
	if err := e.make(ctx, &b); err != nil {
		return nil, err
	}
	e.of, e.page = iteration, b.Bytes()
	return e.page, nil
}
