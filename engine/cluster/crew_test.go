package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestCrew: workers get their jobs in order and once, although they ask twice; one that leaves fails its job, and can join again.
func TestCrew(t *testing.T) {
	c := NewCrew("own")
	if _, _, err := c.Join(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("joining a closed crew: %v", err)
	}
	c.Open()
	join := func(name string) *Hand {
		t.Helper()
		if _, _, err := c.Join(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		all := c.Hands()
		return all[len(all)-1]
	}
	a := join("a")
	if _, _, err := c.Join(t.Context(), "a"); err == nil {
		t.Error("a name that is taken joins")
	}
	if _, _, err := c.Next(t.Context(), "b", 0, nil); err == nil {
		t.Error("a worker that has not joined gets a job")
	}
	ended := make(chan error, 1)
	work := func(name string) {
		var result []byte
		for done := 0; ; {
			for range 2 { // the first answer is lost
				n, job, err := c.Next(t.Context(), name, done, result)
				if err != nil {
					ended <- err
					return
				}
				if n != done+1 {
					ended <- fmt.Errorf("job %d after %d", n, done)
					return
				}
				result = append([]byte("done "), job...)
			}
			done++
		}
	}
	go work("a")
	for i := range 5 {
		text := fmt.Sprint(i)
		if got, err := a.Do(t.Context(), []byte(text)); err != nil || string(got) != "done "+text {
			t.Fatalf("job %s: %q, %v", text, got, err)
		}
	}
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, _, err := c.Next(short, "a", 5, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a job that does not come: %v", err)
	}
	if _, _, err := c.Next(t.Context(), "a", 7, nil); err == nil {
		t.Error("a worker has done a job that it was not given")
	}
	cause := errors.New("cause")
	c.Leave("a", cause)
	var left *LeftError
	if err := <-ended; !errors.As(err, &left) || !errors.Is(err, cause) {
		t.Errorf("a worker that was given up ends with %v", err)
	}
	if _, err := a.Do(t.Context(), nil); !errors.As(err, &left) {
		t.Errorf("a job of a worker that has left: %v", err)
	}
	b := join("a")
	failed := make(chan error, 1)
	go func() {
		_, err := b.Do(t.Context(), []byte("job"))
		failed <- err
	}()
	if n, job, err := c.Next(t.Context(), "a", 0, nil); n != 1 || string(job) != "job" || err != nil {
		t.Errorf("the first job of a worker that joins again: %d, %q, %v", n, job, err)
	}
	b.Leave(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("the job of a worker that leaves: %v", err)
	}
	c.Note(0, 3, 2, time.Second)
	if all, _ := c.Status(); all[0].Left || all[0].Has != 2 {
		t.Errorf("status %+v of a device of this process; want two slices", all[0])
	}
	c.Lost(0, cause)
	c.Close()
	if all, _ := c.Status(); len(all) != 2 || all[0].Worker != "own" || !all[0].Left || all[0].Cause != cause || all[0].Has != 0 || !all[1].Left ||
		len(c.Hands()) != 0 {
		t.Errorf("status %+v", all)
	}
}
