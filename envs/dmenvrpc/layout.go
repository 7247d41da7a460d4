package dmenvrpc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// discount is the observation that the protocol reserves for the discount after a step: at an end, 0 if there is no future.
const discount = "discount"

// mostActions bounds the combinations of discrete actions, each of which is an action.
const mostActions = 4096

// layout says which tensors make up observations, actions and rewards.
type layout struct {
	observation, action envs.Space
	seen                []TensorSpec // observations, one after the other
	scale               float32      // by which their elements are multiplied
	reward              *TensorSpec
	discount            *TensorSpec  // nil: the server has none
	taken               []TensorSpec // actions
	low, count          []int64      // of discrete ones, for each number: the least, and how many there are
}

// newLayout chooses from the specs what the configuration names.
func newLayout(specs *Specs, cfg *Config) (*layout, error) {
	l := &layout{scale: 1}
	var err error
	if l.reward, err = scalar(specs.Observations, cfg.Reward); err != nil {
		return nil, fmt.Errorf("the observation that is the reward ([%s] reward): %w", Section, err)
	}
	if slices.ContainsFunc(specs.Observations, func(s TensorSpec) bool { return s.Name == discount }) {
		if l.discount, err = scalar(specs.Observations, discount); err != nil {
			return nil, fmt.Errorf("the observation that is the discount: %w", err)
		}
	}
	if l.seen, err = choose(specs.Observations, cfg.Observations, "observations", cfg.Reward, discount); err != nil {
		return nil, err
	}
	if l.taken, err = choose(specs.Actions, cfg.Actions, "actions"); err != nil {
		return nil, err
	}
	if err := l.observe(); err != nil {
		return nil, fmt.Errorf("the server's observations: %w", err)
	}
	if err := l.act(); err != nil {
		return nil, fmt.Errorf("the server's actions: %w", err)
	}
	return l, nil
}

// namesOf lists the names of specs.
func namesOf(specs []TensorSpec) string {
	var names []string
	for _, s := range specs {
		names = append(names, fmt.Sprintf("%q", s.Name))
	}
	return strings.Join(names, ", ")
}

// find returns the spec of a name.
func find(specs []TensorSpec, name string) (*TensorSpec, error) {
	for i := range specs {
		if specs[i].Name == name {
			return &specs[i], nil
		}
	}
	return nil, fmt.Errorf("the server has none with the name %q; want one of %s", name, namesOf(specs))
}

// scalar returns the spec of a name that is one number.
func scalar(specs []TensorSpec, name string) (*TensorSpec, error) {
	s, err := find(specs, name)
	if err == nil && (!numeric(s.dtype()) || !s.fixed() || s.size() != 1) {
		err = fmt.Errorf("%q is %s %v; want one number", name, s.Type, s.Shape)
	}
	return s, err
}

// choose returns the specs of the chosen names; without any, all but those of some names.
func choose(specs []TensorSpec, chosen []string, key string, but ...string) (out []TensorSpec, err error) {
	for i, name := range chosen {
		s, err := find(specs, name)
		if err != nil {
			return nil, fmt.Errorf("[%s] %s: %w", Section, key, err)
		}
		if slices.Contains(chosen[:i], name) {
			return nil, fmt.Errorf("[%s] %s: %q twice; want different ones", Section, key, name)
		}
		out = append(out, *s)
	}
	if len(chosen) == 0 {
		for _, s := range specs {
			if !slices.Contains(but, s.Name) {
				out = append(out, s)
			}
		}
	}
	for _, s := range out {
		if !numeric(s.dtype()) || !s.fixed() {
			return nil, fmt.Errorf("the server's %s: %q is %s %v; want numbers of a fixed shape, or others in [%s] %s", key, s.Name, s.Type, s.Shape, Section, key)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the server has no %s to learn with; want at least one", key)
	}
	return out, nil
}

// observe makes the space of observations: one tensor keeps its shape, several are a vector.
func (l *layout) observe() error {
	size := 0
	for _, s := range l.seen {
		size += s.size()
	}
	if size > mostElements {
		return fmt.Errorf("%d elements; want at most %d", size, mostElements)
	}
	var axes nn.Shape
	if len(l.seen) == 1 {
		shape := l.seen[0].Shape
		switch len(shape) {
		case 0, 1:
		case 2:
			axes = nn.Shape{shape[0], shape[1], 1}
		default:
			axes = slices.Clone(shape)
		}
		if l.seen[0].dtype() == pb.DataType_UINT8 {
			l.scale = 1. / 255
			l.observation = envs.Image(1, 1, size)
			l.observation.Axes, l.observation.Element = axes, nn.Bytes
			return nil
		}
	}
	low, high := make([]float32, 0, size), make([]float32, 0, size)
	for _, s := range l.seen {
		least, most := math.Inf(-1), math.Inf(1)
		if t := s.dtype(); t == pb.DataType_BOOL || t == pb.DataType_UINT8 {
			a, b := limits(t)
			least, most = float64(a), float64(b)
		}
		for i := range s.size() {
			a, b := float32(bound(s.Min, i, least)), float32(bound(s.Max, i, most))
			if !(a < b) { // bounds only inform; constants are allowed
				a, b = float32(math.Inf(-1)), float32(math.Inf(1))
			}
			low, high = append(low, a), append(high, b)
		}
	}
	l.observation = envs.Box(low, high)
	l.observation.Axes = axes
	return nil
}

// act makes the space of actions: floating ones are a box, and of integers every combination is an action.
func (l *layout) act() error {
	var low, high []float32
	all := int64(1)
	for k, s := range l.taken {
		if floating(s.dtype()) != floating(l.taken[0].dtype()) {
			return fmt.Errorf("%q is %s, and %q is %s; want all floating or all integers: others can be left out of [%s] actions",
				l.taken[0].Name, l.taken[0].Type, s.Name, s.Type, Section)
		}
		for i := range s.size() {
			if floating(s.dtype()) {
				low = append(low, float32(bound(s.Min, i, math.Inf(-1))))
				high = append(high, float32(bound(s.Max, i, math.Inf(1))))
				continue
			}
			a, b := limits(s.dtype())
			from, to := bound(s.Min, i, float64(a)), bound(s.Max, i, float64(b))
			n := to - from + 1
			if !(n >= 1 && n <= mostActions) || all*int64(n) > mostActions {
				return fmt.Errorf("%q is from %g to %g, and there are %d combinations of those before; want at most %d together",
					l.taken[k].Name, from, to, all, mostActions)
			}
			all *= int64(n)
			l.low, l.count = append(l.low, int64(from)), append(l.count, int64(n))
		}
	}
	if low != nil {
		l.action = envs.Box(low, high)
		return nil
	}
	if all == 1 {
		return errors.New("there is one combination of them; want at least two")
	}
	l.action = envs.Discrete(int(all))
	return nil
}

// tensors returns an action, [D] or the index of a discrete one, as the tensors of its names. Of several numbers the last one counts fastest.
func (l *layout) tensors(action []float32, uids map[string]uint64) map[uint64]*pb.Tensor {
	out := make(map[uint64]*pb.Tensor, len(l.taken))
	numbers := make([]int64, len(l.count))
	if l.action.IsDiscrete() {
		index := int64(action[0])
		for k := len(numbers) - 1; k >= 0; k-- {
			numbers[k] = l.low[k] + index%l.count[k]
			index /= l.count[k]
		}
	}
	at := 0
	for _, s := range l.taken {
		n := s.size()
		t := &pb.Tensor{Shape: converted32(s.Shape)}
		if l.action.IsDiscrete() {
			putInts(t, s.dtype(), numbers[at:at+n])
		} else {
			numbers := converted[float64](action[at : at+n])
			for i, x := range numbers { // bounds of doubles are between those of float32
				numbers[i] = min(max(x, bound(s.Min, i, math.Inf(-1))), bound(s.Max, i, math.Inf(1)))
			}
			putFloats(t, s.dtype(), numbers)
		}
		out[uids[s.Name]] = t
		at += n
	}
	return out
}

func converted32(shape []int) []int32 {
	out := make([]int32, len(shape))
	for i, d := range shape {
		out[i] = int32(d)
	}
	return out
}

// requested returns the identifiers of the observations that are asked for.
func (l *layout) requested(uids map[string]uint64) []uint64 {
	var out []uint64
	for _, s := range l.seen {
		out = append(out, uids[s.Name])
	}
	for _, s := range []*TensorSpec{l.reward, l.discount} {
		if s != nil && !slices.Contains(out, uids[s.Name]) {
			out = append(out, uids[s.Name])
		}
	}
	return out
}

// read writes what a step returned to obs, and returns the reward and the discount, 0 without one.
func (l *layout) read(of map[uint64]*pb.Tensor, uids map[string]uint64, obs []float32) (reward, discounted float32, err error) {
	at := 0
	for i := range l.seen {
		s := &l.seen[i]
		n := s.size()
		if err := s.read(of[uids[s.Name]], l.scale, obs[at:at+n]); err != nil {
			return 0, 0, fmt.Errorf("observation %w", err)
		}
		at += n
	}
	var one [1]float32
	if err := l.reward.read(of[uids[l.reward.Name]], 1, one[:]); err != nil {
		return 0, 0, fmt.Errorf("reward %w", err)
	}
	reward = one[0]
	if l.discount == nil {
		return reward, 0, nil
	}
	if err := l.discount.read(of[uids[l.discount.Name]], 1, one[:]); err != nil {
		return 0, 0, fmt.Errorf("discount %w", err)
	}
	return reward, one[0], nil
}
