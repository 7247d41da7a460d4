package dmenvrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// mostElements bounds the elements of a tensor.
const mostElements = 1 << 24

// Specs are the actions and the observations of an agent, ordered by their names.
type Specs struct {
	Actions      []TensorSpec `json:"actions"`
	Observations []TensorSpec `json:"observations"`
}

// TensorSpec describes a tensor as the protocol does.
type TensorSpec struct {
	Name  string    `json:"name"`
	Type  string    `json:"type"`          // in lower case: float, double, int8, int32, int64, uint8, uint32, uint64, bool, string, proto
	Shape []int     `json:"shape"`         // row-major; empty: one element; -1: a length that may change
	Min   []float64 `json:"min,omitempty"` // inclusive bounds, one or one for each element; none: unbounded
	Max   []float64 `json:"max,omitempty"`
}

// Text returns the Specs as JSON, for Config.Spec.
func (s *Specs) Text() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // names, and numbers that are finite
	}
	return string(text)
}

// parseSpecs reads what Text returned.
func parseSpecs(text string) (*Specs, error) {
	s := &Specs{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, err
	}
	for _, all := range [][]TensorSpec{s.Actions, s.Observations} {
		for i := range all {
			if err := all[i].valid(); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// specsOf returns the specs of a message, and the identifiers of actions and observations by their names.
func specsOf(of *pb.ActionObservationSpecs) (specs *Specs, actions, observations map[string]uint64, err error) {
	specs = &Specs{}
	if specs.Actions, actions, err = namedSpecs(of.GetActions()); err != nil {
		return nil, nil, nil, fmt.Errorf("the server's actions: %w", err)
	}
	if specs.Observations, observations, err = namedSpecs(of.GetObservations()); err != nil {
		return nil, nil, nil, fmt.Errorf("the server's observations: %w", err)
	}
	return specs, actions, observations, nil
}

func namedSpecs(of map[uint64]*pb.TensorSpec) (specs []TensorSpec, uids map[string]uint64, err error) {
	uids = map[string]uint64{}
	for _, uid := range slices.Sorted(maps.Keys(of)) {
		s := TensorSpec{Name: of[uid].GetName(), Type: strings.ToLower(of[uid].GetDtype().String()), Shape: []int{}}
		for _, d := range of[uid].GetShape() {
			s.Shape = append(s.Shape, int(d))
		}
		if s.Min, err = bounds(of[uid].GetMin()); err == nil {
			s.Max, err = bounds(of[uid].GetMax())
		}
		if err == nil {
			err = s.valid()
		}
		if _, twice := uids[s.Name]; twice {
			err = errors.New("two have this name")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", s.Name, err)
		}
		uids[s.Name] = uid
		specs = append(specs, s)
	}
	slices.SortFunc(specs, func(a, b TensorSpec) int { return strings.Compare(a.Name, b.Name) })
	return specs, uids, nil
}

// bounds returns the numbers of a bound; infinite ones are the largest that JSON has.
func bounds(of *pb.TensorSpec_Value) ([]float64, error) {
	var out []float64
	switch p := of.GetPayload().(type) {
	case *pb.TensorSpec_Value_Floats:
		out = converted[float64](p.Floats.GetArray())
	case *pb.TensorSpec_Value_Doubles:
		out = slices.Clone(p.Doubles.GetArray())
	case *pb.TensorSpec_Value_Int8S:
		for _, v := range p.Int8S.GetArray() {
			out = append(out, float64(int8(v)))
		}
	case *pb.TensorSpec_Value_Uint8S:
		out = converted[float64](p.Uint8S.GetArray())
	case *pb.TensorSpec_Value_Int32S:
		out = converted[float64](p.Int32S.GetArray())
	case *pb.TensorSpec_Value_Uint32S:
		out = converted[float64](p.Uint32S.GetArray())
	case *pb.TensorSpec_Value_Int64S:
		out = converted[float64](p.Int64S.GetArray())
	case *pb.TensorSpec_Value_Uint64S:
		out = converted[float64](p.Uint64S.GetArray())
	}
	for i, v := range out {
		if math.IsNaN(v) {
			return nil, errors.New("a bound is not a number")
		}
		out[i] = min(max(v, -math.MaxFloat64), math.MaxFloat64)
	}
	return out, nil
}

// dtype returns the protocol's type.
func (s *TensorSpec) dtype() pb.DataType {
	return pb.DataType(pb.DataType_value[strings.ToUpper(s.Type)])
}

// valid returns an error for what no message may have.
func (s *TensorSpec) valid() error {
	if s.dtype() == pb.DataType_INVALID_DATA_TYPE {
		return fmt.Errorf("its type is %q; want one of the protocol's", s.Type)
	}
	size, variable := 1, 0
	for _, d := range s.Shape {
		switch {
		case d < 0:
			variable++
		case d == 0 || size > mostElements/d:
			return fmt.Errorf("its shape is %v; want 1 to %d elements", s.Shape, mostElements)
		default:
			size *= d
		}
	}
	for _, of := range [][]float64{s.Min, s.Max} {
		if n := len(of); n > 1 && (n != size || variable > 0) {
			return fmt.Errorf("it has %d bounds, and its shape is %v; want one, or one for each element", n, s.Shape)
		}
	}
	return nil
}

// fixed reports whether all lengths are known.
func (s *TensorSpec) fixed() bool {
	return !slices.ContainsFunc(s.Shape, func(d int) bool { return d < 0 })
}

// size returns the number of elements of a tensor whose lengths are known.
func (s *TensorSpec) size() int {
	size := 1
	for _, d := range s.Shape {
		size *= d
	}
	return size
}

// bound returns bound i of Min or Max; none is its value without one.
func bound(of []float64, i int, none float64) float64 {
	switch len(of) {
	case 0:
		return none
	case 1:
		return of[0]
	}
	return of[i]
}
