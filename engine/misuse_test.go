package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/vk"
)

// Wrong use is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	w, closed := newCounting(t), newCounting(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	eng := w.State().Engine()
	state := func(f func(*State)) func() error {
		return func() error {
			s := eng.NewState()
			defer s.Close()
			f(s)
			return s.Allocate()
		}
	}
	recording := func(f func(*Recorder)) func() error {
		return func() error {
			_, err := eng.Record("misuse", f)
			return err
		}
	}
	const huge = 1 << 40
	const nilTensor, noState = "the tensor is nil", "the state is closed"
	for _, c := range []struct {
		what string
		f    func() error
		want string
	}{
		{"nil engine", func() error { return (*Engine)(nil).NewState().Allocate() }, "engine is nil"},
		{"nil device", func() error { return New(nil).NewState().Allocate() }, "device of the engine is nil"},
		{"nil option", func() error { return New(eng.Device(), nil).NewState().Allocate() }, "option of the engine is nil"},
		{"base of a nil engine", func() error { b := NewBase(nil, 1, 1); return b.Complete(Parts{}) }, "engine is nil"},
		{"base of no members", func() error { b := NewBase(eng, -1, 1); return b.Complete(Parts{}) }, "want at least 1"},
		{"no recording", recording(nil), "recording function is nil"},
		{"no body", recording(func(r *Recorder) { r.Repeat(2, nil) }), "recording function is nil"},
		{"-1 iterations", recording(func(r *Recorder) { r.Repeat(-1, func(*Recorder, Counter) {}) }), "want at least 1 iteration"},
		{"no call", recording(func(r *Recorder) { r.Dispatch(vk.Call{}) }), "no shader"},
		{"fill nil", recording(func(r *Recorder) { r.Fill(nil, 1) }), nilTensor},
		{"copy nil", recording(func(r *Recorder) { r.Copy(nil, nil) }), nilTensor},
		{"next nil", recording(func(r *Recorder) { Next(r, nil) }), nilTensor},
		{"rank nil", recording(func(r *Recorder) { Rank(r, nil, nil) }), ""},
		{"order nil", recording(func(r *Recorder) { Order(r, nil, nil) }), ""},
		{"mean nil", recording(func(r *Recorder) { Mean(r, nil, nil, nil, 1) }), "no axis"},
		{"gather nil", recording(func(r *Recorder) { Gather(r, nil, nil) }), "want an axis"},
		{"renew nil", recording(func(r *Recorder) { Renew(r, nil, nil, nil) }), "want an axis"},
		{"counts of nil", recording(func(r *Recorder) { CopyCounts(r, nil, nil) }), ""},
		{"no invocations", recording(func(r *Recorder) {
			r.Share(0, 0)
			r.Share(-1, -1)
			r.WorkgroupFor(-1)
			r.Invocations(-1)
			r.Fill(nil, 1)
		}), nilTensor},
		{"axis of -1", state(func(s *State) { s.Tensor("x", Float32, Axis("a", -1)) }), "want at least 1"},
		{"axis of 0", state(func(s *State) { s.Scratch("x", Float32, Axis("a", 0)) }), "want at least 1"},
		{"huge axes", state(func(s *State) { s.Tensor("x", Float32, Axis("a", huge), Axis("b", huge)) }), "no device has room"},
		{"huge axis", state(func(s *State) { s.Tensor("x", Float32, Axis("a", math.MaxInt)) }), "no device has room"},
		{"type 7", state(func(s *State) { s.Tensor("x", DType(7), Axis("a", 1)) }), "want Float32 or Uint32"},
		{"constant of nil", state(func(s *State) { Constant[float32](s, "x", nil, Axis("a", 2)) }), "function of its values is nil"},
		{"constant of -1", state(func(s *State) { Constant(s, "x", Same(-1, 1), Axis("a", 2)) }), "has 0 values; want 2"},
		{"huge metrics", state(func(s *State) { NewMetrics(s, huge, huge).Row("x") }), "no device has room"},
		{"no metrics", state(func(s *State) { NewMetrics(s, -1, -1).Row("x") }), "want at least 1"},
		{"read nil", func() error { _, err := (*Tensor)(nil).ReadFloat32(ctx); return err }, "tensor is nil"},
		{"write nil", func() error { return (*Tensor)(nil).WriteUint32(ctx, nil) }, "nothing"},
		{"steps of nil", func() error { _, err := EnvSteps(ctx, nil); return err }, "workflow is nil"},
		{"load nil", func() error { return w.State().Load(ctx, nil) }, "checkpoint is nil"},
		{"load members of nil", func() error { return w.State().LoadMembers(ctx, nil, 1, []int{0}) }, "checkpoint is nil"},
		{"save no tensors", func() error { _, err := checkpoint.Save(dir, 0, nil); return err }, "tensors are nil"},
		{"closed: learn", func() error { return Learn(ctx, closed, Iterations(1)) }, noState},
		{"closed: init", func() error { return closed.State().Zero(ctx) }, noState},
		{"closed: save", func() error { _, err := closed.State().Save(ctx, dir, 0); return err }, noState},
		{"closed: load", func() error { return closed.State().Load(ctx, &checkpoint.Checkpoint{}) }, noState},
		{"closed: digest", func() error { _, err := closed.State().Digest(ctx); return err }, noState},
		{"closed: metrics", func() error { _, err := closed.Metrics().Read(0); return err }, noState},
		{"closed: tensor", func() error { closed.State().Tensor("y", Float32, Axis("a", 1)); return closed.State().Allocate() }, noState},
	} {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, err, c.want)
		}
	}
	if got := Permute(3, 0, [4]uint32{}); got != 0 {
		t.Errorf("a permutation of nothing: %d", got)
	}
	if err := w.Init(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.State().Save(ctx, dir, 0, nil); err == nil || !strings.Contains(err.Error(), "option is nil") {
		t.Errorf("saved with a nil option: error %v", err)
	}
	if _, err := w.State().Save(ctx, dir, -1); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("saved as iteration -1: error %v", err)
	}
	if _, err := w.State().Save(ctx, dir, 0, checkpoint.Before(nil)); err != nil {
		t.Errorf("without a check before: %v", err)
	}
}
