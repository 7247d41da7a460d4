package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
)

// memberful makes tensors of a number of members: in front, behind another axis, two rows for each member, and none; element i of a member m is 10m + i.
func memberful(t *testing.T, s *State, p int) []*Tensor {
	row := func(inner, of int) []float32 {
		var x []float32
		for m := range p * of {
			for i := range inner {
				x = append(x, float32(10*(m/of)+inner*(m%of)+i))
			}
		}
		return x
	}
	return []*Tensor{
		floats(t, s, "front", row(3, 1), Members(p), Axis("feature", 3)),
		floats(t, s, "behind", append(row(2, 1), row(2, 1)...), Time(2), Members(p), Environments(2)),
		floats(t, s, "twins", row(2, 2), Axis(MemberAxis, 2*p), Axis("feature", 2)).Own(),
		floats(t, s, "shared", []float32{7, 8}, Axis("feature", 2)),
	}
}

// Members of a checkpoint continue in a state with fewer or more members, in any order.
func TestLoadMembers(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	of := memberState(t)
	memberful(t, of, 5)
	if _, err := of.Save(ctx, dir, 3); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(checkpoint.Path(dir, 3))
	if err != nil {
		t.Fatal(err)
	}
	for _, members := range [][]int{{4, 1, 1}, {0}, {0, 1, 2, 3, 4}, {3, 3, 0, 2, 1, 4, 4}} {
		s := memberState(t)
		got := memberful(t, s, len(members))
		for _, x := range got {
			if err := x.Fill(ctx, -1); err != nil {
				t.Fatal(err)
			}
		}
		if !s.FitsMembers(of, len(members), 5) {
			t.Fatalf("%v: the states do not fit", members)
		}
		if err := s.LoadMembers(ctx, c, 5, members); err != nil {
			t.Fatal(err)
		}
		var front, behind, twins []float32
		for _, m := range members {
			x := float32(10 * m)
			front, behind, twins = append(front, x, x+1, x+2), append(behind, x, x+1), append(twins, x, x+1, x+2, x+3)
		}
		for i, want := range [][]float32{front, append(behind, behind...), twins, {7, 8}} {
			if x := readFloats(t, got[i]); !slices.Equal(x, want) {
				t.Errorf("%v: %v has %v; want %v", members, got[i], x, want)
			}
		}
	}
	other := memberState(t)
	memberful(t, other, 2)
	if err := other.LoadMembers(ctx, c, 5, []int{0, 5}); err == nil || !strings.Contains(err.Error(), "no member 5") {
		t.Error(err)
	}
	if err := other.LoadMembers(ctx, c, 4, []int{0, 1}); err == nil || !strings.Contains(err.Error(), "of 4 members is") {
		t.Error(err)
	}
	floats(t, other, "more", nil, Members(2))
	if err := other.LoadMembers(ctx, c, 5, []int{0, 1}); err == nil || !strings.Contains(err.Error(), "holds 4 tensors") || other.FitsMembers(of, 2, 5) {
		t.Error(err)
	}
}
