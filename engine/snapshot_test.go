package engine_test

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
)

// A snapshot passes all saved tensors, by its bytes, to a state of the same workflow, and to no other.
func TestSnapshot(t *testing.T) {
	eng := engine.New(vktest.Device(t))
	state := func(members int, more bool) (s *engine.State, clock engine.Clock, saved, scratch *engine.Tensor) {
		s = eng.NewState()
		t.Cleanup(func() { s.Close() })
		clock, saved = engine.NewClock(s), s.Tensor("saved", engine.Float32, engine.Members(members))
		scratch = s.Scratch("scratch", engine.Float32, engine.Axis("x", 2))
		if more {
			s.Tensor("more", engine.Uint32, engine.Axis("x", 1))
		}
		return s, clock, saved, scratch
	}
	from, clock, saved, _ := state(3, false)
	if _, err := from.Snapshot(t.Context()); err == nil {
		t.Error("a state without contents has a snapshot")
	}
	if err := from.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []float32{1.5, -2, 7}
	if err := saved.WriteFloat32(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := clock.Tensor().WriteUint32(t.Context(), []uint32{5, 80}); err != nil {
		t.Fatal(err)
	}
	of, err := from.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := of.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again engine.Snapshot
	if err := again.UnmarshalBinary(data); err != nil || again.Next() != 5 {
		t.Fatalf("a snapshot of iteration %d (%v); want 5", again.Next(), err)
	}
	if err := again.UnmarshalBinary(data[:len(data)/2]); err == nil {
		t.Error("half a snapshot is accepted")
	}
	to, _, copied, scratch := state(3, false)
	if err := scratch.Fill(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	if err := to.Restore(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	got, err := copied.ReadFloat32(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("restored %v (%v); want %v", got, err, want)
	}
	if rest, err := scratch.ReadFloat32(t.Context()); err != nil || !slices.Equal(rest, []float32{0, 0}) {
		t.Errorf("scratch after a restore: %v (%v); want zeros", rest, err)
	}
	if a, b := digest(t, from), digest(t, to); a != b {
		t.Errorf("digests %s and %s of equal states", a, b)
	}
	for _, members := range []int{2, 4} {
		other, _, _, _ := state(members, false)
		if other.Restore(t.Context(), of) == nil || other.Overwrite(t.Context(), of) == nil {
			t.Errorf("a state of %d members takes a snapshot of 3", members)
		}
	}
	if more, _, _, _ := state(3, true); more.Restore(t.Context(), of) == nil || more.Restore(t.Context(), nil) == nil {
		t.Error("a state of other tensors takes a snapshot, or none is accepted")
	}
}

func digest(t *testing.T, s *engine.State) string {
	t.Helper()
	d, err := s.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
