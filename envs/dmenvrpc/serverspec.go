package dmenvrpc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// Identifiers of what Server serves. There is no observation "discount": it is 0 where a sequence is terminated and 1 elsewhere, as clients assume without one.
const (
	uidAction      = 1
	uidObservation = 1
	uidReward      = 2
)

// served are the specs of an environment.
type served struct {
	action, observation, reward TensorSpec
	message                     *pb.ActionObservationSpecs
}

func newServed(env *envs.Environment) *served {
	o := env.Observation
	s := &served{
		observation: TensorSpec{Name: "observation", Type: "float", Shape: o.Shape(), Min: boundsOf(o.Low), Max: boundsOf(o.High)},
		reward:      TensorSpec{Name: "reward", Type: "float"},
	}
	if env.Action.IsDiscrete() {
		s.action = TensorSpec{Name: "action", Type: "int32", Min: []float64{0}, Max: []float64{float64(env.Action.N - 1)}}
	} else {
		s.action = TensorSpec{
			Name: "action", Type: "float", Shape: env.Action.Shape(), Min: boundsOf(env.Action.Low), Max: boundsOf(env.Action.High),
		}
	}
	s.message = &pb.ActionObservationSpecs{
		Actions:      map[uint64]*pb.TensorSpec{uidAction: s.action.proto()},
		Observations: map[uint64]*pb.TensorSpec{uidObservation: s.observation.proto(), uidReward: s.reward.proto()},
	}
	return s
}

// boundsOf returns the bounds of a space, one if all are equal; none if all are infinite.
func boundsOf(of []float32) []float64 {
	if !slices.ContainsFunc(of, func(v float32) bool { return !math.IsInf(float64(v), 0) }) {
		return nil
	}
	if !slices.ContainsFunc(of, func(v float32) bool { return v != of[0] }) {
		of = of[:1]
	}
	return converted[float64](of)
}

// proto returns the message of a spec of FLOAT or INT32.
func (s *TensorSpec) proto() *pb.TensorSpec {
	value := func(of []float64) *pb.TensorSpec_Value {
		switch {
		case of == nil:
			return nil
		case s.dtype() == pb.DataType_INT32:
			return &pb.TensorSpec_Value{Payload: &pb.TensorSpec_Value_Int32S{Int32S: &pb.Tensor_Int32Array{Array: converted[int32](of)}}}
		}
		return &pb.TensorSpec_Value{Payload: &pb.TensorSpec_Value_Floats{Floats: &pb.Tensor_FloatArray{Array: converted[float32](of)}}}
	}
	return &pb.TensorSpec{Name: s.Name, Dtype: s.dtype(), Shape: converted32(s.Shape), Min: value(s.Min), Max: value(s.Max)}
}

// act returns the numbers of the actions of a step.
func (s *served) act(actions map[uint64]*pb.Tensor) ([]float32, error) {
	for uid := range actions {
		if uid != uidAction {
			return nil, fmt.Errorf("an action with the identifier %d; want %d (%q)", uid, uidAction, s.action.Name)
		}
	}
	t := actions[uidAction]
	if t == nil {
		return nil, errors.New("a step within a sequence without an action; want one")
	}
	out := make([]float32, s.action.size())
	if err := s.action.read(t, 1, out); err != nil {
		return nil, fmt.Errorf("action %w", err)
	}
	for i, v := range out {
		low, high := bound(s.action.Min, i, math.Inf(-1)), bound(s.action.Max, i, math.Inf(1))
		if float64(v) < low || float64(v) > high {
			return nil, fmt.Errorf("action %q has %v as its element %d; want %v to %v", s.action.Name, v, i, low, high)
		}
	}
	return out, nil
}

// seen is what an agent may observe.
type seen struct {
	obs    []float32
	reward float32
}

// checkRequested returns an error for an identifier that is none of an observation.
func checkRequested(of []uint64) error {
	for _, uid := range of {
		if uid < uidObservation || uid > uidReward {
			return fmt.Errorf("an observation with the identifier %d; want %d (\"observation\") or %d (\"reward\")", uid, uidObservation, uidReward)
		}
	}
	return nil
}

// tensors returns the observations that are asked for.
func (s *served) tensors(of seen, requested []uint64) map[uint64]*pb.Tensor {
	out := map[uint64]*pb.Tensor{}
	for _, uid := range requested {
		t := &pb.Tensor{}
		array := []float32{of.reward}
		if uid == uidObservation {
			t.Shape, array = converted32(s.observation.Shape), slices.Clone(of.obs)
		}
		t.Payload = &pb.Tensor_Floats{Floats: &pb.Tensor_FloatArray{Array: array}}
		out[uid] = t
	}
	return out
}

// seedIn returns the setting "seed", the only one; nil if there is none.
func seedIn(settings map[string]*pb.Tensor) (*uint32, error) {
	for name := range settings {
		if name != "seed" {
			return nil, fmt.Errorf("setting %q; want none, or \"seed\"", name)
		}
	}
	t := settings["seed"]
	if t == nil {
		return nil, nil
	}
	of, n := payload(t)
	seed := int64(-1)
	if n == 1 {
		switch p := t.GetPayload().(type) {
		case *pb.Tensor_Int32S:
			seed = int64(p.Int32S.GetArray()[0])
		case *pb.Tensor_Int64S:
			seed = p.Int64S.GetArray()[0]
		case *pb.Tensor_Uint32S:
			seed = int64(p.Uint32S.GetArray()[0])
		}
	}
	if seed < 0 || seed > math.MaxUint32 {
		return nil, fmt.Errorf("a seed of type %v, %d elements; want one int32, int64 or uint32 from 0 to %d", of, n, uint32(math.MaxUint32))
	}
	out := uint32(seed)
	return &out, nil
}
