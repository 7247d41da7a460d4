package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// Polyak averaging with one tau per member agrees with float64.
func TestFollow(t *testing.T) {
	for _, members := range []int{1, 3, 17} {
		for _, size := range []int{4, 36, 4100} {
			t.Run(fmt.Sprintf("%d members/%d", members, size), func(t *testing.T) {
				s := testState(t)
				p, row := engine.Members(members), engine.Axis("parameter", size)
				target, source := s.Tensor("target", engine.Float32, p, row), s.Tensor("source", engine.Float32, p, row)
				tau := s.Tensor("tau", engine.Float32, p)
				tv, sv, shares := normals(target.Len()), normals(source.Len()), make([]float32, members)
				for m := range shares {
					shares[m] = float32(m+1) / 20
				}
				fill(t, target, tv)
				fill(t, source, sv)
				fill(t, tau, shares)
				record(t, s, func(r *engine.Recorder) { Follow(r, target, source, tau) })
				for i, got := range read(t, target) {
					share := float64(shares[i/size])
					a, b := (1-share)*float64(tv[i]), share*float64(sv[i])
					// Four roundings, each within half a unit in the last place.
					if tolerance := 0x1p-22 * (math.Abs(a) + math.Abs(b)); !(math.Abs(float64(got)-a-b) <= tolerance) {
						t.Fatalf("element %d is %v, want %v ± %v", i, got, a+b, tolerance)
					}
				}
			})
		}
	}
}

func TestFollowErrors(t *testing.T) {
	s := testState(t)
	tensor := func(name string, members, size int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, engine.Members(members), engine.Axis("parameter", size))
	}
	a, b, odd, few := tensor("a", 3, 8), tensor("b", 3, 8), tensor("odd", 3, 7), tensor("few", 2, 12)
	tau, short := s.Tensor("tau", engine.Float32, engine.Members(3)), s.Tensor("short", engine.Float32, engine.Members(2))
	for _, c := range []struct {
		want                string
		target, source, tau *engine.Tensor
	}{
		{"multiple of 4", a, odd, tau}, {"same members", few, b, tau}, {"one for each of 3", a, b, short}, {"own target", a, a, tau},
	} {
		_, err := s.Engine().Record("follow", func(r *engine.Recorder) { Follow(r, c.target, c.source, c.tau) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want one with %q", err, c.want)
		}
	}
}
