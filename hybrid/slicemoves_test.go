package hybrid

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/rl"
)

// counted counts a worker's jobs.
type counted struct {
	*cluster.Crew
	jobs *atomic.Int64
}

func (c counted) Next(ctx context.Context, worker string, done int, result []byte) (int, []byte, error) {
	number, job, err := c.Crew.Next(ctx, worker, done, result)
	if err == nil {
		c.jobs.Add(1)
	}
	return number, job, err
}

// TestMovesTogether: members that become copies of others, of their slice and of another one, end with the bits that they have on one device, and a worker gets
// one job for what is read of it, however many tensors that is.
func TestMovesTogether(t *testing.T) {
	const members, slice, iterations = 6, 3, 8
	pbt := *often(t, rl.DefaultPPO(), Tournament)
	begin := func(options ...engine.Option) (engine.Workflow, *Slices) {
		t.Helper()
		s, err := NewSlices(t.Context(), engine.New(open(t), append(options, engine.Seed(7))...), members, slice, slicedPPO)
		if err != nil {
			t.Fatal(err)
		}
		w := made(t)(NewPBT(t.Context(), s, pbt))
		initialized(t, w)
		return w, s
	}
	alone, _ := begin()
	steps(t, alone, 0, iterations)

	crew := cluster.NewCrew("own")
	crew.Open()
	w, s := begin(engine.Assisted(crew))
	jobs, ended := counted{crew, new(atomic.Int64)}, make(chan error, 1)
	go func() {
		ended <- Assist(t.Context(), engine.New(open(t), engine.Seed(7)), jobs, "worker", slice, 2, slicedPPO)
	}()
	for len(crew.Hands()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.homed, s.homing = time.Now(), time.Hour // so that slices stay where they are
	steps(t, w, 0, 1)
	moved := 0
	for i := 1; i < iterations; i++ {
		s.homed, s.homing = time.Now(), time.Hour
		before := jobs.jobs.Load()
		steps(t, w, i, i+1)
		parents, err := w.(*PBT).parent.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for to, from := range parents {
			if to != int(from) {
				moved++
			}
		}
		if n := jobs.jobs.Load() - before; n > 3 {
			t.Errorf("iteration %d took %d jobs; want fitness, members that move, and a step", i, n)
		}
	}
	if _, here := s.Count(); here[0] != 1 || moved < iterations {
		t.Errorf("%d of 2 slices are here, and %d members have moved; want one, and one in each iteration at least", here[0], moved)
	}
	if got, want := digest(t, w), digest(t, alone); got != want {
		t.Errorf("with a worker it ends with %s; want %s", got, want)
	}
	crew.Close()
	if err := <-ended; !errors.Is(err, cluster.ErrClosed) {
		t.Errorf("the worker ends with %v", err)
	}
}
