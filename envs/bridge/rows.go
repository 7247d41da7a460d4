package bridge

import (
	"unsafe"

	"github.com/evorl/evorl/envs"
)

// rows are observations of environments as bytes, those of float32 too.
type rows struct {
	data      []byte // [E, step]
	size      int    // bytes of an observation
	step      int    // from a row to the next: of bytes a multiple of 4
	areFloats bool
}

// rows makes rows for n environments.
func (h *Hello) rows(n int) rows {
	r := rows{size: h.Observation.size(), areFloats: !h.Observation.bytes()}
	if r.areFloats {
		r.size *= 4
	}
	r.step = (r.size + 3) / 4 * 4
	r.data = make([]byte, n*r.step)
	return r
}

// like returns others in the same form.
func (r rows) like(data []byte) rows {
	r.data = data
	return r
}

// of returns an environment's observation.
func (r rows) of(i int) []byte { return r.data[i*r.step : i*r.step+r.size] }

// notFinite returns a number of a row that is not finite and its place; -1: there is none.
func (r rows) notFinite(row []byte) (v float32, place int) {
	if !r.areFloats {
		return 0, -1
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(&row[0])), len(row)/4)
	var sum float32
	for _, v := range values {
		sum += v - v
	}
	if sum == 0 {
		return 0, -1
	}
	for k, v := range values {
		if !finite(v) {
			return v, k
		}
	}
	return 0, -1
}

// floats returns the rows of a slice of the rollout's.
func (st *stepper) floats(of []float32) rows {
	return st.last.like(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(of))), 4*len(of)))
}

// observations returns where a step writes what to act on next.
func (st *stepper) observations(s *envs.Step) rows {
	if !st.last.areFloats {
		return st.last.like(s.Frames)
	}
	return st.floats(s.Obs)
}

// finals returns where a step writes last observations.
func (st *stepper) finals(s *envs.Step) rows {
	if !st.last.areFloats {
		return st.last.like(s.FinalFrames)
	}
	return st.floats(s.Final)
}
