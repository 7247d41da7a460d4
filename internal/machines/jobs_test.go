package machines

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine/cluster"
)

// TestJobs: a worker of a crew gets jobs and sends results that are larger than a message, also when it waits for long and when a connection is lost. One that
// dies without a word is given up, and joins again as another one. A run of slices has no jobs, and one of jobs no slices.
func TestJobs(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := cluster.NewCrew("own")
	c.Open()
	defer c.Close()
	host, err := Serve(s.connect(), Run{Name: "jobs", Digest: "d", Identity: identity, Status: c.Status}, c, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	conn := s.connect()
	l, err := NewLink(conn, "jobs", "a", identity, quick, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	work := func(l *Link) {
		var result []byte
		_, err := l.Hello(ctx)
		if err == nil {
			_, _, err = l.Join(ctx, "a")
		}
		for done := 0; err == nil; done++ {
			var n int
			if n, result, err = l.Next(ctx, "a", done, result); err == nil && n != done+1 {
				err = errors.New("a job is lost")
			}
			result = bytes.ToUpper(result)
		}
		l.Leave("a", nil)
		ended <- err
	}
	go work(l)
	until(t, func() bool { return len(c.Hands()) == 1 })
	hand := c.Hands()[0]
	job := bytes.Repeat([]byte("job "), 200)
	for i := range 4 {
		switch i {
		case 2:
			time.Sleep(2 * quick.Poll)
		case 3:
			if err := conn.ForceReconnect(); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := hand.Do(ctx, job); err != nil || !bytes.Equal(got, bytes.ToUpper(job)) {
			t.Fatalf("job %d: %d bytes, %v", i, len(got), err)
		}
	}
	if status, err := ReadStatus(ctx, s.connect(), "jobs"); err != nil || len(status.Workers) != 2 || status.Workers[1].In < 4*800 {
		t.Errorf("status %+v (%v)", status, err)
	}
	if _, err := l.Exchange(ctx, cluster.Report{Worker: "a", Slices: 1}); err == nil || !strings.Contains(err.Error(), "slices of a search") {
		t.Errorf("a report to a run of jobs: %v", err)
	}
	l.silence()
	conn.Close()
	var left *cluster.LeftError
	if _, err := hand.Do(ctx, job); !errors.As(err, &left) || !strings.Contains(err.Error(), "no sign of life") {
		t.Errorf("a job of a worker that is dead: %v", err)
	}
	<-ended
	again, err := NewLink(s.connect(), "jobs", "a", identity, quick, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.attempt = l.attempt
	go work(again)
	until(t, func() bool { return len(c.Hands()) == 1 })
	if got, err := c.Hands()[0].Do(ctx, job); err != nil || len(got) != len(job) {
		t.Errorf("a job of a worker that joins again: %d bytes, %v", len(got), err)
	}
	host.Finish()
	if err := <-ended; !errors.Is(err, ErrEnded) {
		t.Errorf("the end of the run is %v", err)
	}

	other, _ := s.link("b", identity)
	if _, err := other.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	joined := make(chan error, 1)
	go func() {
		_, _, err := other.Join(ctx, "b")
		joined <- err
	}()
	until(t, func() bool { return len(s.c.Status()) == 2 })
	if err := steps(ctx, s.c, lead, 0, 1, func(int) {}); err != nil {
		t.Fatal(err)
	}
	var no *RefusedError
	if err := <-joined; err != nil {
		t.Error(err)
	} else if _, _, err := other.Next(ctx, "b", 0, nil); !errors.As(err, &no) {
		t.Errorf("asking a run of slices for a job: %v; want it refused", err)
	}
}
