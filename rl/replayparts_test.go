package rl

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
)

// A replay that is saved on a device whose limits divide it is loaded where it is whole, and the reverse.
func TestReplayPartsElsewhere(t *testing.T) {
	const members, rows = 2, 60
	state := func(most uint64) (*engine.State, *Replay) {
		c := replayCase{name: "parts", horizon: 3, members: members, environments: 2, features: 5, actions: 2, rows: rows, batch: 4, steps: 1, most: most}
		cfg := c.config()
		cfg.Save = true
		_, s, _, y := newReplayOf(t, c, cfg)
		return s, y
	}
	_, divided := state(1200)
	_, whole := state(1 << 20)
	if len(divided.parts) < 3 || len(whole.parts) != 1 {
		t.Fatalf("%d and %d parts; want several and one", len(divided.parts), len(whole.parts))
	}
	for _, most := range [][2]uint64{{1200, 1 << 20}, {1 << 20, 1200}, {1200, 2000}} {
		s, y := state(most[0])
		other, got := state(most[1])
		var want [members][]float32
		for p, part := range y.parts {
			values := make([]float32, part.obs.Len())
			for i := range values {
				values[i] = float32(1000*p + i)
			}
			if err := part.obs.WriteFloat32(t.Context(), values); err != nil {
				t.Fatal(err)
			}
			each := len(values) / members
			for m := range members {
				want[m] = append(want[m], values[m*each:(m+1)*each]...)
			}
		}
		dir := t.TempDir()
		if _, err := s.Save(t.Context(), dir, 1); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(checkpoint.Path(dir, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Load(t.Context(), c); err != nil {
			t.Fatalf("%v: %v", most, err)
		}
		var found [members][]float32
		for _, part := range got.parts {
			values, err := part.obs.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			each := len(values) / members
			for m := range members {
				found[m] = append(found[m], values[m*each:(m+1)*each]...)
			}
		}
		for m := range members {
			if !slices.Equal(found[m], want[m]) {
				t.Errorf("%v: ring %d is %v; want %v", most, m, found[m], want[m])
			}
		}
	}
}
