package engine

import (
	"math"
	"testing"
)

// TestSum: sums over each axis, of rows that are multiples of four long and others.
func TestSum(t *testing.T) {
	for _, inner := range []int{37, 520} {
		s := memberState(t)
		const outer, count = 3, 5
		values := normals(outer * count * inner)
		value := floats(t, s, "value", values, Axis("what", outer), Axis("split", count), Members(inner))
		within, first := floats(t, s, "within", nil, Axis("what", outer), Members(inner)), floats(t, s, "first", nil, Axis("split", count), Members(inner))
		last := floats(t, s, "last", nil, Axis("what", outer), Axis("split", count))
		runRecorded(t, s, func(r *Recorder) {
			Sum(r, within, value, "split")
			Sum(r, first, value, "what")
			Sum(r, last, value, MemberAxis)
		})
		wants := map[*Tensor][]float64{within: make([]float64, within.Len()), first: make([]float64, first.Len()), last: make([]float64, last.Len())}
		for i, v := range values {
			a, b, c := i/inner/count, i/inner%count, i%inner
			wants[within][a*inner+c] += float64(v)
			wants[first][b*inner+c] += float64(v)
			wants[last][a*count+b] += float64(v)
		}
		for x, want := range wants {
			for i, got := range readFloats(t, x) {
				if !(math.Abs(float64(got)-want[i]) <= 1e-4) {
					t.Fatalf("inner %d: element %d of %v is %v; want %v", inner, i, x, got, want[i])
				}
			}
		}
		_, err := s.Engine().Record("other axes", func(r *Recorder) { Sum(r, within, value, "what") })
		_, missing := s.Engine().Record("no axis", func(r *Recorder) { Sum(r, within, value, TimeAxis) })
		if err == nil || missing == nil {
			t.Errorf("sums of other lengths give %v, and over an axis that is missing %v; want errors", err, missing)
		}
	}
}
