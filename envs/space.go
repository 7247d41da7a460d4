package envs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/nn"
)

// Space is a set of observations or actions: either discrete, the integers 0 … N-1, or a box of real vectors. The
// zero Space is invalid; use Discrete or Box.
type Space struct {
	N         int       // number of elements of a discrete space, 0 for a box
	Low, High []float32 // inclusive bounds of a box, one per dimension; infinite if unbounded
	Axes      nn.Shape  // of a box, such as [height, width, channels], row-major; nil: a vector

	// Element is how replays, and trajectories (RolloutConfig.Packed), store a box's elements: as floats,
	// bytes (multiples of 1/255 from 0 to 1) or bits (0 and 1).
	Element nn.Element
	// Frames is the number of frames that observations stack along their last axis, oldest first; 0 and 1: none. The stack of an
	// episode's first observation is its first frame, repeated (as in Gymnasium's FrameStackObservation), so that replays store each frame
	// once.
	Frames int
}

// Discrete returns the space 0 … n-1.
func Discrete(n int) Space { return Space{N: n} }

// Box returns the space of vectors between low and high, which must have equal length.
func Box(low, high []float32) Space { return Space{Low: low, High: high} }

// Symmetric returns the box from -high to high.
func Symmetric(high ...float32) Space {
	low := make([]float32, len(high))
	for i, h := range high {
		low[i] = -h
	}
	return Box(low, high)
}

// Image returns the space of images [height, width, channels] of values from 0 to 1, which convolutions take.
func Image(height, width, channels int) Space {
	n := max(0, height) * max(0, width) * max(0, channels)
	high := make([]float32, n)
	for i := range high {
		high[i] = 1
	}
	return Space{Low: make([]float32, n), High: high, Axes: nn.Shape{height, width, channels}}
}

// IsDiscrete reports whether the space is discrete.
func (s Space) IsDiscrete() bool { return s.N > 0 }

// Size returns the number of actions of a discrete space, or of dimensions of a box: the width of a network's output
// for it.
func (s Space) Size() int {
	if s.IsDiscrete() {
		return s.N
	}
	return len(s.Low)
}

// Shape returns the shape of a box's elements: [dimensions] of a vector, [height, width, channels] of an image; of a discrete space it is [1].
func (s Space) Shape() nn.Shape {
	switch {
	case s.IsDiscrete():
		return nn.Shape{1}
	case s.Axes == nil:
		return nn.Shape{len(s.Low)}
	}
	return slices.Clone(s.Axes)
}

// Words returns the number of 32-bit words of an element of the space as it is stored.
func (s Space) Words() int {
	if s.IsDiscrete() {
		return 1
	}
	return s.Element.Words(len(s.Low))
}

// Channels returns the size of the last axis of a frame.
func (s Space) Channels() int {
	shape := s.Shape()
	return shape[len(shape)-1] / max(s.Frames, 1)
}

// scale returns the middle of a dimension's range and half its width; 0 and 1 if unbounded or discrete.
func (s Space) scale(i int) (middle, half float32) {
	if s.IsDiscrete() || !isFinite(s.Low[i]) || !isFinite(s.High[i]) {
		return 0, 1
	}
	return (s.Low[i] + s.High[i]) / 2, (s.High[i] - s.Low[i]) / 2
}

// scales returns the scale of every action, [2, D]: middles, then half widths.
func (s Space) scales() []float32 {
	n := s.Size()
	scales := make([]float32, 2*n)
	for i := range n {
		scales[i], scales[n+i] = s.scale(i)
	}
	return scales
}

// unscaled converts an action from units of half its range about the middle to the environment's units; a discrete
// action is an index in both.
func (s Space) unscaled(action []float32) []float32 {
	if s.IsDiscrete() {
		return action
	}
	out := make([]float32, len(action))
	for i, v := range action {
		middle, half := s.scale(i)
		out[i] = middle + half*v
	}
	return out
}

// bounded reports whether all dimensions of a box have finite bounds.
func (s Space) bounded() bool {
	for i := range s.Low {
		if !isFinite(s.Low[i]) || !isFinite(s.High[i]) {
			return false
		}
	}
	return true
}

// Head returns the usual head of a policy that acts in the space: categorical, or Gaussian with its deviations as
// parameters.
func (s Space) Head() nn.Head {
	if s.IsDiscrete() {
		return nn.Head{Kind: nn.Categorical, Size: s.N}
	}
	return nn.Head{Kind: nn.Gaussian, Size: s.Size()}
}

func isFinite(x float32) bool { return x-x == 0 }

// Contains reports whether a vector is in the space; an element of a discrete space is a vector of one integer.
func (s Space) Contains(x []float32) bool {
	if s.IsDiscrete() {
		return len(x) == 1 && x[0] >= 0 && x[0] < float32(s.N) && x[0] == float32(math.Trunc(float64(x[0])))
	}
	if len(x) != len(s.Low) {
		return false
	}
	for i, v := range x {
		if !(v >= s.Low[i] && v <= s.High[i]) {
			return false
		}
	}
	return true
}

// String formats the space as Gymnasium does: Discrete(2), Box([-1 0], [1 +Inf]); if the bounds of several dimensions
// are equal, Box(-1, 1, (8)).
func (s Space) String() string {
	if s.IsDiscrete() {
		return fmt.Sprintf("Discrete(%d)", s.N)
	}
	if n := len(s.Low); n > 1 && len(s.High) == n && same(s.Low) && same(s.High) {
		axes := strings.Trim(fmt.Sprint([]int(s.Shape())), "[]")
		return fmt.Sprintf("Box(%.4g, %.4g, (%s))", s.Low[0], s.High[0], strings.ReplaceAll(axes, " ", ", "))
	}
	row := func(v []float32) string {
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = fmt.Sprintf("%.4g", x)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "Box(" + row(s.Low) + ", " + row(s.High) + ")"
}

// same reports whether all values are equal.
func same(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != v[0] })
}

// check validates the space.
func (s Space) check() error {
	switch {
	case s.N < 0:
		return fmt.Errorf("a discrete space of %d elements; want at least 1", s.N)
	case s.N > 0 && len(s.Low)+len(s.High) > 0:
		return fmt.Errorf("a space that is discrete (N = %d) and has bounds; want one of the two", s.N)
	case s.N == 0 && len(s.Low) == 0 && len(s.High) == 0:
		return fmt.Errorf("an empty space; want Discrete(n) or Box(low, high)")
	case s.N > 0 && s.Axes != nil:
		return fmt.Errorf("a discrete space (N = %d) of shape %v; want no shape", s.N, s.Axes)
	case s.Axes != nil && (slices.Min(append(slices.Clone(s.Axes), 1)) < 1 || s.Axes.Size() != len(s.Low)):
		return fmt.Errorf("a box of shape %v with %d lower bounds; want one for each element", s.Axes, len(s.Low))
	case len(s.Low) != len(s.High):
		return fmt.Errorf("a box with %d lower and %d upper bounds; want one of each per dimension", len(s.Low), len(s.High))
	}
	if err := s.checkStored(); err != nil {
		return err
	}
	for i := range s.Low {
		if !(s.Low[i] < s.High[i]) {
			return fmt.Errorf("a box with bounds %g … %g in dimension %d; want the lower below the upper", s.Low[i], s.High[i], i)
		}
	}
	return nil
}

// checkStored validates how elements of the space are stored.
func (s Space) checkStored() error {
	switch {
	case s.Element > nn.Bits:
		return fmt.Errorf("a space of %v; want float32, uint8 or bit", s.Element)
	case s.IsDiscrete() && (s.Element.Packed() || s.Frames != 0):
		return fmt.Errorf("a discrete space (N = %d) of %v in %d frames; want neither", s.N, s.Element, s.Frames)
	case s.Frames < 0 || s.Frames > maxFrames:
		return fmt.Errorf("a box of %d frames; want 0 (none) to %d", s.Frames, maxFrames)
	case s.Frames > 1 && s.Shape()[len(s.Shape())-1]%s.Frames != 0:
		return fmt.Errorf("a box of shape %v in %d frames; want frames that divide the last axis", s.Shape(), s.Frames)
	case !s.Element.Packed():
		return nil
	}
	for i := range s.Low {
		if !(s.Low[i] >= 0 && s.High[i] <= 1) {
			return fmt.Errorf("a box of %v with bounds %g … %g in dimension %d; want bounds within 0 … 1", s.Element, s.Low[i], s.High[i], i)
		}
	}
	return nil
}

// maxFrames bounds what kernels note of each frame.
const maxFrames = 16
