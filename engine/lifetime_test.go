package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
)

// TestLifetimes: a checkpoint holds what Tensor made, a copied member takes over what is not Own, poison reaches scratch alone, and a
// constant has its values from the allocation on, also after Zero, Poison and Load.
func TestLifetimes(t *testing.T) {
	ctx := t.Context()
	s := New(testDevice(t)).NewState()
	defer s.Close()
	m := Members(3)
	learned, counted := s.Tensor("learned", Float32, Axis("layer", 2), m), s.Tensor("shared", Uint32, Axis("word", 5))
	own := s.Tensor("own", Float32, m).Own()
	scratch, padded := s.Scratch("scratch", Float32, m), s.Cleared("padded", Float32, Axis("split", 1001), m)
	bounds := Constant(s, "bounds", func() []float32 { return []float32{-1, 2} }, Axis("bound", 2))
	table := Constant(s, "table", func() []uint32 { return []uint32{7, 8, 9} }, Axis("entry", 3))
	if got := s.Inherited(); !slices.Equal(got, []*Tensor{learned}) {
		t.Errorf("a copied member takes over %v; want %v", got, learned)
	}
	if got := s.Tensors(); !slices.Equal(got, []*Tensor{learned, counted, own}) {
		t.Errorf("saved are %v", got)
	}
	constants := func(after string) {
		t.Helper()
		floats, err := bounds.ReadFloat32(ctx)
		if err != nil || !slices.Equal(floats, []float32{-1, 2}) {
			t.Errorf("after %s the bounds are %v, %v", after, floats, err)
		}
		words, err := table.ReadUint32(ctx)
		if err != nil || !slices.Equal(words, []uint32{7, 8, 9}) {
			t.Errorf("after %s the table is %v, %v", after, words, err)
		}
	}
	constants("allocation")
	zero := func(after string) {
		t.Helper()
		for i, v := range read32(t, padded) {
			if v != 0 {
				t.Fatalf("after %s element %d of a cleared tensor is %#x", after, i, v)
			}
		}
	}
	zero("allocation")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Zero(ctx))
	constants("Zero")
	must(own.WriteFloat32(ctx, []float32{4, 5, 6}))
	must(s.Poison(ctx))
	constants("Poison")
	zero("Poison")
	for _, v := range read32(t, scratch) {
		if v != poison {
			t.Errorf("poisoned scratch holds %#x", v)
		}
	}
	dir := t.TempDir()
	_, err := s.Save(ctx, dir, 1)
	must(err)
	must(own.Fill(ctx, 0))
	c, _, err := checkpoint.Latest(dir)
	must(err)
	must(s.Load(ctx, c))
	constants("Load")
	if got, err := own.ReadFloat32(ctx); err != nil || !slices.Equal(got, []float32{4, 5, 6}) {
		t.Errorf("loaded %v, %v", got, err)
	}
}

// TestInherit: copies take over what is not Own, and what OnInherit sees to.
func TestInherit(t *testing.T) {
	ctx := t.Context()
	eng := New(testDevice(t))
	s := eng.NewState()
	defer s.Close()
	m := Members(3)
	learned, own, seen := s.Tensor("learned", Float32, m), s.Tensor("own", Float32, m).Own(), s.Tensor("seen", Float32, m).Own()
	source := s.Scratch("source", Uint32, m)
	s.Sub("part").OnInherit(func(r *Recorder, source *Tensor) { Renew(r, source, seen, learned) })
	for _, err := range []error{
		s.Zero(ctx), learned.WriteFloat32(ctx, []float32{1, 2, 3}), own.WriteFloat32(ctx, []float32{4, 5, 6}), seen.WriteFloat32(ctx, []float32{7, 8, 9}),
		source.WriteUint32(ctx, []uint32{2, 1, 2}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := eng.Record("inherit", func(r *Recorder) { s.Inherit(r, source) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*Tensor][]float32{learned: {3, 2, 3}, own: {4, 5, 6}, seen: {3, 8, 9}} {
		if got, err := of.ReadFloat32(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v is %v, %v; want %v", of, got, err, want)
		}
	}
}

// TestOnResume: what checkpoints do not hold is made anew once, by the first Advance after a Load.
func TestOnResume(t *testing.T) {
	ctx := t.Context()
	s := New(testDevice(t)).NewState()
	defer s.Close()
	s.Tensor("learned", Float32, Members(2))
	ran := 0
	s.OnResume(func(context.Context) error {
		ran++
		return nil
	})
	advance := func(iteration, want int) {
		t.Helper()
		if err := s.Advance(ctx, iteration); err != nil || ran != want {
			t.Errorf("iteration %d: error %v, it ran %d times; want %d", iteration, err, ran, want)
		}
	}
	if err := s.Zero(ctx); err != nil {
		t.Fatal(err)
	}
	advance(0, 0)
	dir := t.TempDir()
	if _, err := s.Save(ctx, dir, 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ran = 0
		c, _, err := checkpoint.Latest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Load(ctx, c); err != nil {
			t.Fatal(err)
		}
		advance(1, 1)
		advance(2, 1)
	}
	failed := errors.New("failed")
	settled := 0
	s.OnSave(func(context.Context) error {
		settled++
		return nil
	})
	if _, err := s.Digest(ctx); err != nil || settled != 1 {
		t.Errorf("a digest: error %v; OnSave ran %d times", err, settled)
	}
	if _, err := s.Save(ctx, t.TempDir(), 1); err != nil || settled != 2 {
		t.Errorf("saving: error %v; OnSave ran %d times", err, settled)
	}
	s.OnResume(func(context.Context) error { return failed })
	c, _, err := checkpoint.Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(ctx, c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(ctx, t.TempDir(), 1); err != nil || settled != 2 {
		t.Errorf("saving what was loaded: error %v; OnSave ran %d times in all", err, settled)
	}
	if err := s.Advance(ctx, 1); !errors.Is(err, failed) {
		t.Errorf("error %v; want %v", err, failed)
	}
}

func read32(t *testing.T, tensor *Tensor) []uint32 {
	t.Helper()
	bits := *tensor
	bits.typ = Uint32
	words, err := bits.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// TestConstantSize: a constant with another number of values than elements is an error, not a short write.
func TestConstantSize(t *testing.T) {
	s := New(testDevice(t)).NewState()
	defer s.Close()
	Constant(s, "weights", Same(3, 1), Axis("rank", 4))
	if err := s.Allocate(); err == nil || !strings.Contains(err.Error(), "constant weights F32[rank 4] has 3 values; want 4") {
		t.Errorf("error %v", err)
	}
}

// TestView: the same elements by other axes; another number of elements is an error of the state.
func TestView(t *testing.T) {
	s := New(testDevice(t)).NewState()
	defer s.Close()
	stack := s.Tensor("critics", Float32, Axis("stack", 2), Members(3), Axis("parameter", 4))
	view := stack.View(Members(6), Axis("parameter", 4))
	if view.Size(MemberAxis) != 6 || view.Range() != stack.Range() || view.Name() != "critics" {
		t.Errorf("view %v at %v of %v at %v", view, view.Range(), stack, stack.Range())
	}
	stack.View(Members(5), Axis("parameter", 4))
	want := "critics F32[stack 2, member 3, parameter 4], of 24 elements, viewed as critics F32[member 5, parameter 4], of 20"
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// TestScopes: two parts of one workflow draw from different streams for the same purpose, and have learning rates of their own.
func TestScopes(t *testing.T) {
	s := New(testDevice(t)).NewState()
	defer s.Close()
	actor, critic := s.Sub("actor"), s.Sub("critic")
	if actor.Stream("init") == critic.Stream("init") || actor.Stream("init") != Stream("actor/init") {
		t.Errorf("streams %#x and %#x; want different ones, the first %#x", actor.Stream("init"), critic.Stream("init"), Stream("actor/init"))
	}
	apart := actor.Temporary("random_steps")
	defer apart.Close()
	if apart.Stream("env") != Stream("actor/random_steps/env") {
		t.Error("a temporary state draws from another scope's streams")
	}
	if apart.Tensor("x", Float32, Members(1)); len(s.Tensors()) != 0 {
		t.Error("a temporary state's tensor is the state's")
	}
	hyper := NewHyper(s, 2)
	rate := hyper.Add("discount", 0.99)
	first, second := hyper.Sub("actor"), hyper.Sub("critic")
	a, b := first.Add("learning_rate", 1e-3), second.Add("learning_rate", 2e-3)
	if s.Err() != nil || a.Name() != "hyper/actor/learning_rate" || b.Name() != "hyper/critic/learning_rate" || rate.Name() != "hyper/discount" {
		t.Errorf("tensors %v, %v and %v, %v", a, b, rate, s.Err())
	}
	if got := hyper.Names(); !slices.Equal(got, []string{"discount", "actor/learning_rate", "critic/learning_rate"}) {
		t.Errorf("the workflow lists %v", got)
	}
	if got := first.Names(); !slices.Equal(got, []string{"learning_rate"}) ||
		first.Lookup("learning_rate") != a ||
		hyper.Lookup("critic/learning_rate") != b || first.Lookup("discount") != nil {
		t.Errorf("the actor lists %v", got)
	}
	if err := hyper.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := b.ReadFloat32(t.Context()); err != nil || !slices.Equal(got, []float32{2e-3, 2e-3}) {
		t.Errorf("the critic's learning rate begins at %v, %v", got, err)
	}
	second.Hide("learning_rate")
	if got := hyper.Names(); !slices.Equal(got, []string{"discount", "actor/learning_rate"}) {
		t.Errorf("with the critic's hidden the workflow lists %v", got)
	}
}
