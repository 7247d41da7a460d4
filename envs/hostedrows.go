package envs

import "github.com/evorl/evorl/engine"

// hostRows are the host's view of observations, a row for each environment: floats or, of frames, bytes.
type hostRows struct {
	floats []float32 // [E, O]
	frames []byte    // [E, Spec.FrameBytes]
	size   int       // elements from a row to the next
}

// mapRows returns the host's view of a staging tensor.
func mapRows(t *engine.Tensor, spec Spec) (r hostRows, err error) {
	if spec.Framed {
		r.size = spec.FrameBytes()
		r.frames, err = engine.MappedBytes(t)
		return r, err
	}
	r.size = spec.ObsSize()
	r.floats, err = engine.Mapped[float32](t)
	return r, err
}

// row returns environment i's observation, if observations are floats.
func (r hostRows) row(i int) []float32 { return r.floats[i*r.size : (i+1)*r.size] }

func (r hostRows) frame(i int) []byte { return r.frames[i*r.size : (i+1)*r.size] }

// clear makes environment i's observation 0.
func (r hostRows) clear(i int) {
	if r.frames != nil {
		clear(r.frame(i))
		return
	}
	clear(r.row(i))
}

// copy makes environment i's observation that of environment k in other rows.
func (r hostRows) copy(i int, from hostRows, k int) {
	if r.frames != nil {
		copy(r.frame(i), from.frame(k))
		return
	}
	copy(r.row(i), from.row(k))
}

// finite reports whether environment i's observation has finite numbers only.
func (r hostRows) finite(i int) bool { return r.frames != nil || finite(r.row(i)) }
