package engine_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/internal/vktest"
)

// TestElsewhere: a tensor elsewhere is saved and loaded as any other, and neither cleared nor taken by kernels.
func TestElsewhere(t *testing.T) {
	eng := engine.New(vktest.Device(t))
	s := eng.NewState()
	defer s.Close()
	clock, held, cleared := engine.NewClock(s), []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0
	at := engine.Elsewhere{
		Read:  func(context.Context) ([]byte, error) { return held, nil },
		Write: func(_ context.Context, data []byte) error { held = bytes.Clone(data); return nil },
	}
	far := s.Elsewhere("far", engine.Uint32, at, engine.Members(2))
	s.OnZero(func(context.Context) error { cleared++; return nil })
	if err := s.Continue(1); err == nil {
		t.Error("a state without contents continues")
	}
	if err := s.Zero(t.Context()); err != nil || cleared != 1 || held[0] != 1 {
		t.Errorf("cleared %d times (%v), and the elements are %v; want once, and these untouched", cleared, err, held)
	}
	if n := len(s.Inherited()); n != 0 {
		t.Errorf("%d tensors are inherited; want none", n)
	}
	dir, want := t.TempDir(), bytes.Clone(held)
	if _, err := s.Save(t.Context(), dir, 3); err != nil {
		t.Fatal(err)
	}
	held = make([]byte, 8)
	c, err := checkpoint.Open(checkpoint.Path(dir, 3))
	if err == nil {
		err = s.Load(t.Context(), c)
	}
	if err != nil || !bytes.Equal(held, want) {
		t.Errorf("loaded %v (%v); want %v", held, err, want)
	}
	resumed := 0
	s.OnResume(func(context.Context) error { resumed++; return nil })
	if err := errors.Join(s.Continue(7), s.Advance(t.Context(), 7)); err != nil || resumed != 1 {
		t.Errorf("continuing at iteration 7: %v, resumed %d times; want once", err, resumed)
	}
	var iteration *engine.IterationError
	if err := s.Continue(-1); !errors.As(err, &iteration) {
		t.Errorf("continuing at -1: %v; want an *IterationError", err)
	}
	p, err := eng.Record("kernel", func(r *engine.Recorder) { r.Copy(clock.Tensor(), far) })
	if err == nil {
		err = p.Build()
		p.Free()
	}
	if err == nil {
		t.Error("a program takes a tensor that is elsewhere")
	}
	held = held[:4]
	if _, err := far.ReadBytes(t.Context()); err == nil {
		t.Error("too few bytes are read")
	}
	empty := eng.NewState()
	defer empty.Close()
	empty.Elsewhere("far", engine.Uint32, engine.Elsewhere{}, engine.Members(2))
	var missing *engine.NilError
	if err := empty.Allocate(); !errors.As(err, &missing) {
		t.Errorf("a tensor without functions: %v; want a *NilError", err)
	}
}

// TestWriteMetrics: metrics of the host are those of the rows in their order, and what does not fit them is refused.
func TestWriteMetrics(t *testing.T) {
	eng := engine.New(vktest.Device(t))
	s := eng.NewState()
	defer s.Close()
	clock, m := engine.NewClock(s), engine.NewMetrics(s, 3, 4)
	m.Row("a")
	m.Row("b")
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(t.Context(), [][]float32{{1, 2, 3}, {4, 5, 6}}); err != nil {
		t.Fatal(err)
	}
	p, err := eng.Record("metrics", func(r *engine.Recorder) { m.Record(r, clock) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Read(0); err != nil || got["a"][2] != 3 || got["b"][0] != 4 {
		t.Errorf("read %v (%v); want what was written", got, err)
	}
	for _, values := range [][][]float32{{{1, 2}}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}} {
		if err := m.Write(t.Context(), values); err == nil {
			t.Errorf("%v are accepted; want an error", values)
		}
	}
}

// TestSliceEngine: the streams of a slice are others than the run's, except those of the slice that begins it.
func TestSliceEngine(t *testing.T) {
	dev := vktest.Device(t)
	eng := engine.New(dev, engine.Seed(5), engine.Beside(dev))
	if n := len(eng.Devices()); n != 2 {
		t.Errorf("%d devices; want 2", n)
	}
	streams := map[uint32]bool{}
	for _, first := range []int{0, 2, 4} {
		of := eng.Slice(dev, first)
		s := of.NewState()
		defer s.Close()
		stream := s.Stream("env")
		if of.Seed() != 5 || of.First() != first || streams[stream] || first == 0 && stream != engine.Stream("env") {
			t.Errorf("the slice from %d has seed %d, first member %d and stream %#x; want the run's seed and a stream of its own", first, of.Seed(), of.First(), stream)
		}
		streams[stream] = true
	}
}
