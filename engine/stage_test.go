package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/vk"
)

// hosted is a state with a tensor "sum" [2] u32 and a log of what host stages read in it.
type hosted struct {
	eng  *Engine
	s    *State
	sum  *Tensor
	seen []uint32
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	eng := New(testDevice(t))
	h := &hosted{eng: eng, s: eng.NewState()}
	h.sum = h.s.Tensor("sum", Uint32, Axis("count", 2))
	t.Cleanup(func() { h.s.Close() })
	if err := h.s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hosted) program(t *testing.T, record func(*Recorder)) *Program {
	t.Helper()
	p, err := h.eng.Record("hosted", record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Free)
	return p
}

// look is a host stage that reads the first count and adds 100 to it.
func (h *hosted) look(ctx context.Context) error {
	v, err := h.sum.ReadUint32(ctx)
	if err != nil {
		return err
	}
	h.seen = append(h.seen, v[0])
	v[0] += 100
	return h.sum.WriteUint32(ctx, v)
}

func (h *hosted) tick(r *Recorder) { Clock{h.sum}.Tick(r, 1, 0) }

// TestHost: a host stage sees what the commands before it wrote, and those after it what it wrote, wherever it stands.
func TestHost(t *testing.T) {
	for what, c := range map[string]struct {
		record func(h *hosted, r *Recorder)
		seen   []uint32 // in the first of two runs
		sum    uint32   // that a run adds
	}{
		"between": {func(h *hosted, r *Recorder) { h.tick(r); r.Host("look", h.look); h.tick(r) }, []uint32{1}, 102},
		"first":   {func(h *hosted, r *Recorder) { r.Host("look", h.look); h.tick(r) }, []uint32{0}, 101},
		"last":    {func(h *hosted, r *Recorder) { h.tick(r); r.Host("look", h.look) }, []uint32{1}, 101},
		"alone":   {func(h *hosted, r *Recorder) { r.Host("look", h.look); r.Host("again", h.look) }, []uint32{0, 100}, 200},
		"in a block": {func(h *hosted, r *Recorder) {
			h.tick(r)
			r.Repeat(3, func(r *Recorder, _ Counter) { h.tick(r); r.Host("look", h.look); h.tick(r) })
			h.tick(r)
		}, []uint32{2, 104, 206}, 308},
		"ended": {func(h *hosted, r *Recorder) {
			r.Repeat(2, func(r *Recorder, _ Counter) {
				r.Repeat(5, func(r *Recorder, i Counter) {
					h.tick(r)
					r.Host("end", func(ctx context.Context) error {
						if v, err := h.sum.ReadUint32(ctx); err != nil || v[0]%10 != 5 {
							return err
						}
						return ErrEndBlock
					})
					h.tick(r)
				})
				r.Repeat(5, func(r *Recorder, _ Counter) { h.tick(r) })
			})
		}, nil, 20},
		"in blocks": {func(h *hosted, r *Recorder) {
			r.Repeat(2, func(r *Recorder, _ Counter) {
				r.Repeat(2, func(r *Recorder, _ Counter) { h.tick(r) })
				r.Repeat(2, func(r *Recorder, _ Counter) { r.Host("look", h.look) })
			})
		}, []uint32{2, 102, 204, 304}, 404},
	} {
		h := newHosted(t)
		p := h.program(t, func(r *Recorder) { c.record(h, r) })
		for run := range uint32(2) {
			h.seen = nil
			if err := p.Run(t.Context()); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			want := slices.Clone(c.seen)
			for i := range want {
				want[i] += run * c.sum
			}
			if got := read32(t, h.sum)[0]; !slices.Equal(h.seen, want) || got != (run+1)*c.sum {
				t.Errorf("%s, run %d: stages saw %d, and the sum is %d; want %d, %d", what, run, h.seen, got, want, (run+1)*c.sum)
			}
		}
	}
}

// TestHostCounter: in a block with host stages the counter numbers iterations and parts as in others.
func TestHostCounter(t *testing.T) {
	h := newHosted(t)
	at := h.eng.NewState().Tensor("at", Uint32, Axis("part", 4))
	t.Cleanup(func() { _ = at.block.state.Close() })
	var seen []uint32
	p := h.program(t, func(r *Recorder) {
		r.Repeat(3, func(r *Recorder, i Counter) {
			r.Copy(at.Index(0), i.Tensor())
			i.Next(r)
			r.Copy(at.Index(1), i.Tensor())
			r.Repeat(2, func(r *Recorder, k Counter) { r.Copy(at.Index(2), k.Tensor()); r.Copy(at.Index(3), i.Tensor()) })
			r.Host("look", func(ctx context.Context) error {
				v, err := at.ReadUint32(ctx)
				seen = append(seen, v...)
				return err
			})
		})
	})
	for range 2 {
		seen = nil
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []uint32{0, 1, 1, 1, 2, 3, 1, 3, 4, 5, 1, 5}; !slices.Equal(seen, want) {
			t.Errorf("numbers of parts and iterations: %d; want %d", seen, want)
		}
	}
}

// TestHostSubmissions: a program without host stages stays one submission; host stages divide it.
func TestHostSubmissions(t *testing.T) {
	h := newHosted(t)
	for what, c := range map[string]struct {
		record func(*Recorder)
		want   uint64
	}{
		"none": {func(r *Recorder) { h.tick(r); h.tick(r) }, 1},
		"one":  {func(r *Recorder) { h.tick(r); r.Host("look", h.look); h.tick(r) }, 2},
		"four": {func(r *Recorder) {
			r.Repeat(4, func(r *Recorder, _ Counter) { h.tick(r); r.Host("look", h.look) })
		}, 1 + 2*4},
	} {
		p := h.program(t, c.record)
		for range 3 { // the first ones measure
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		transfers := func() vk.Counters { return h.eng.Device().Counters() }
		before := transfers()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := transfers().Submissions - before.Submissions; got != c.want {
			t.Errorf("%s: a run is %d submissions; want %d", what, got, c.want)
		}
	}
}

// TestHostProfile: a profile has the kernels and the host stages.
func TestHostProfile(t *testing.T) {
	h := newHosted(t)
	p := h.program(t, func(r *Recorder) {
		r.Repeat(3, func(r *Recorder, _ Counter) { h.tick(r); r.Host("look", h.look) })
	})
	times, err := p.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, k := range times {
		calls[k.Label] = k.Calls
	}
	if calls["look"] != 3 || calls["engine/tick"] != 3 {
		t.Errorf("calls %v; want 3 of look and of engine/tick", calls)
	}
}

// TestHostErrors: the error of a host stage names it, and ends the run before the commands after it.
func TestHostErrors(t *testing.T) {
	h := newHosted(t)
	failed := errors.New("the other machine is gone")
	for what, c := range map[string]struct {
		stage func(context.CancelFunc) error
		want  error
	}{
		"error":     {func(context.CancelFunc) error { return failed }, failed},
		"cancelled": {func(cancel context.CancelFunc) error { cancel(); return fmt.Errorf("no answer: %w", failed) }, context.Canceled},
		"before":    {func(context.CancelFunc) error { panic("reached") }, context.Canceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if what == "before" {
			cancel()
		}
		if err := h.s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := h.program(t, func(r *Recorder) {
			r.Repeat(2, func(r *Recorder, _ Counter) {
				r.Host("environment", func(context.Context) error { return c.stage(cancel) })
				h.tick(r)
			})
		})
		err := p.Run(ctx)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v; want %v", what, err, c.want)
		}
		var named *HostError
		if what != "before" && (!errors.As(err, &named) || !strings.Contains(err.Error(), `host stage "environment"`)) {
			t.Errorf("%s: error %v; want it to name the stage", what, err)
		}
		if got := read32(t, h.sum)[0]; got != 0 {
			t.Errorf("%s: %d iterations ran on", what, got)
		}
	}
	if _, err := h.eng.Record("nothing", func(r *Recorder) { r.Host("nothing", nil) }); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a stage without a function: %v", err)
	}
}

// TestHostTorn: after a failed host stage the state is between two iterations, until a checkpoint is loaded; the checkpoint before stays.
func TestHostTorn(t *testing.T) {
	ctx := t.Context()
	eng := New(testDevice(t))
	w := &tearing{Base: NewBase(eng, 1, 1)}
	broken := errors.New("broken")
	done := w.State().Tensor("done", Uint32, Axis("count", 2))
	init := func(context.Context) error { return nil }
	if err := w.Complete(Parts{Description: Description{Workflow: "counting"}, Init: init, Record: func(r *Recorder, rows func(*Recorder)) {
		Clock{done}.Tick(r, 1, 0)
		r.Host("environment", func(context.Context) error {
			if w.breaks {
				return broken
			}
			return nil
		})
		w.End(r, rows, 1)
	}}); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir := t.TempDir()
	if err := Learn(ctx, w, Iterations(3), CheckpointTo(dir, 1, 0)); err != nil {
		t.Fatal(err)
	}
	w.breaks = true
	if err := Learn(ctx, w, Iterations(5), CheckpointTo(dir, 1, 0)); !errors.Is(err, broken) {
		t.Errorf("error %v; want %v", err, broken)
	}
	var refused *IterationError
	if _, err := w.State().Save(ctx, dir, 4); !errors.As(err, &refused) {
		t.Errorf("saving: %v; want an *IterationError", err)
	}
	w.breaks = false
	c, bad, err := checkpoint.Latest(dir)
	if err != nil || len(bad) > 0 || c.Manifest.Step != 3 {
		t.Fatalf("the last checkpoint: %v, %v, %v; want that of iteration 3", c, bad, err)
	}
	if err := w.State().Load(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := Learn(ctx, w, Iterations(5), CheckpointTo(dir, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := read32(t, done)[0]; got != 5 {
		t.Errorf("%d iterations counted; want 5", got)
	}
}

// tearing is a workflow with a host stage.
type tearing struct {
	Base
	breaks bool
}
