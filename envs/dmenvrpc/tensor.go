package dmenvrpc

import (
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// floating reports whether a type is of floating point numbers.
func floating(of pb.DataType) bool { return of == pb.DataType_FLOAT || of == pb.DataType_DOUBLE }

// numeric reports whether a type is of numbers or BOOL.
func numeric(of pb.DataType) bool { return of >= pb.DataType_FLOAT && of <= pb.DataType_BOOL }

// limits are the least and the largest number of an integer type. Those of UINT64 beyond INT64 are left out.
func limits(of pb.DataType) (low, high int64) {
	switch of {
	case pb.DataType_INT8:
		return math.MinInt8, math.MaxInt8
	case pb.DataType_UINT8:
		return 0, math.MaxUint8
	case pb.DataType_INT32:
		return math.MinInt32, math.MaxInt32
	case pb.DataType_UINT32:
		return 0, math.MaxUint32
	case pb.DataType_UINT64:
		return 0, math.MaxInt64
	case pb.DataType_BOOL:
		return 0, 1
	}
	return math.MinInt64, math.MaxInt64
}

func fits(of pb.DataType, v int64) bool {
	low, high := limits(of)
	return v >= low && v <= high
}

// putFloats sets a tensor's elements of a floating type.
func putFloats(t *pb.Tensor, of pb.DataType, v []float64) {
	if of == pb.DataType_DOUBLE {
		t.Payload = &pb.Tensor_Doubles{Doubles: &pb.Tensor_DoubleArray{Array: v}}
		return
	}
	t.Payload = &pb.Tensor_Floats{Floats: &pb.Tensor_FloatArray{Array: converted[float32](v)}}
}

// putInts sets a tensor's elements of an integer type or BOOL, which fit.
func putInts(t *pb.Tensor, of pb.DataType, v []int64) {
	switch of {
	case pb.DataType_INT8:
		t.Payload = &pb.Tensor_Int8S{Int8S: &pb.Tensor_Int8Array{Array: converted[byte](v)}}
	case pb.DataType_UINT8:
		t.Payload = &pb.Tensor_Uint8S{Uint8S: &pb.Tensor_Uint8Array{Array: converted[byte](v)}}
	case pb.DataType_INT32:
		t.Payload = &pb.Tensor_Int32S{Int32S: &pb.Tensor_Int32Array{Array: converted[int32](v)}}
	case pb.DataType_UINT32:
		t.Payload = &pb.Tensor_Uint32S{Uint32S: &pb.Tensor_Uint32Array{Array: converted[uint32](v)}}
	case pb.DataType_UINT64:
		t.Payload = &pb.Tensor_Uint64S{Uint64S: &pb.Tensor_Uint64Array{Array: converted[uint64](v)}}
	case pb.DataType_BOOL:
		bools := make([]bool, len(v))
		for i := range v {
			bools[i] = v[i] != 0
		}
		t.Payload = &pb.Tensor_Bools{Bools: &pb.Tensor_BoolArray{Array: bools}}
	default:
		t.Payload = &pb.Tensor_Int64S{Int64S: &pb.Tensor_Int64Array{Array: v}}
	}
}

type number interface {
	~int8 | ~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

func converted[To, From number](from []From) []To {
	out := make([]To, len(from))
	for i, v := range from {
		out[i] = To(v)
	}
	return out
}

// payload returns a tensor's type and the number of its elements.
func payload(t *pb.Tensor) (of pb.DataType, n int) {
	switch p := t.GetPayload().(type) {
	case *pb.Tensor_Floats:
		return pb.DataType_FLOAT, len(p.Floats.GetArray())
	case *pb.Tensor_Doubles:
		return pb.DataType_DOUBLE, len(p.Doubles.GetArray())
	case *pb.Tensor_Int8S:
		return pb.DataType_INT8, len(p.Int8S.GetArray())
	case *pb.Tensor_Uint8S:
		return pb.DataType_UINT8, len(p.Uint8S.GetArray())
	case *pb.Tensor_Int32S:
		return pb.DataType_INT32, len(p.Int32S.GetArray())
	case *pb.Tensor_Uint32S:
		return pb.DataType_UINT32, len(p.Uint32S.GetArray())
	case *pb.Tensor_Int64S:
		return pb.DataType_INT64, len(p.Int64S.GetArray())
	case *pb.Tensor_Uint64S:
		return pb.DataType_UINT64, len(p.Uint64S.GetArray())
	case *pb.Tensor_Bools:
		return pb.DataType_BOOL, len(p.Bools.GetArray())
	case *pb.Tensor_Strings:
		return pb.DataType_STRING, len(p.Strings.GetArray())
	case *pb.Tensor_Protos:
		return pb.DataType_PROTO, len(p.Protos.GetArray())
	}
	return pb.DataType_INVALID_DATA_TYPE, 0
}

// check returns an error if a tensor does not have the type and the shape of its spec, and otherwise whether its one element stands for all.
func (s *TensorSpec) check(t *pb.Tensor) (one bool, err error) {
	of, n := payload(t)
	if of != s.dtype() {
		return false, fmt.Errorf("%q has elements of type %v; want %v", s.Name, of, s.dtype())
	}
	size := s.size()
	shape := make([]int, len(t.GetShape()))
	known, free := 1, -1
	for i, d := range t.GetShape() {
		if shape[i] = int(d); d >= 0 {
			if known *= int(d); known > mostElements {
				return false, fmt.Errorf("%q has shape %v; want %v", s.Name, t.GetShape(), s.Shape)
			}
		} else if free >= 0 {
			return false, fmt.Errorf("%q has shape %v with several unknown dimensions; want %v", s.Name, t.GetShape(), s.Shape)
		} else {
			free = i
		}
	}
	if free >= 0 && known > 0 {
		shape[free] = n / known
		if n == 1 { // it is repeated to fill the shape
			shape[free] = size / known
		}
	}
	if !slices.Equal(shape, s.Shape) {
		return false, fmt.Errorf("%q has shape %v; want %v", s.Name, shape, s.Shape)
	}
	if n != size && n != 1 {
		return false, fmt.Errorf("%q has %d elements; want %d", s.Name, n, size)
	}
	return n == 1, nil
}

// read writes the elements of a tensor of numbers to out, each multiplied by scale.
func (s *TensorSpec) read(t *pb.Tensor, scale float32, out []float32) error {
	if t == nil {
		return fmt.Errorf("%q was asked for and is not there", s.Name)
	}
	one, err := s.check(t)
	if err != nil {
		return err
	}
	switch p := t.GetPayload().(type) {
	case *pb.Tensor_Floats:
		if scale == 1 {
			copy(out, p.Floats.GetArray())
		} else {
			scaled(out, p.Floats.GetArray(), scale)
		}
	case *pb.Tensor_Doubles:
		scaled(out, p.Doubles.GetArray(), scale)
	case *pb.Tensor_Int8S:
		for i, v := range p.Int8S.GetArray() {
			out[i] = float32(int8(v)) * scale
		}
	case *pb.Tensor_Uint8S:
		for i, v := range p.Uint8S.GetArray() {
			out[i] = float32(v) * scale
		}
	case *pb.Tensor_Int32S:
		scaled(out, p.Int32S.GetArray(), scale)
	case *pb.Tensor_Uint32S:
		scaled(out, p.Uint32S.GetArray(), scale)
	case *pb.Tensor_Int64S:
		scaled(out, p.Int64S.GetArray(), scale)
	case *pb.Tensor_Uint64S:
		scaled(out, p.Uint64S.GetArray(), scale)
	case *pb.Tensor_Bools:
		for i, v := range p.Bools.GetArray() {
			if out[i] = 0; v {
				out[i] = scale
			}
		}
	}
	if one {
		for i := range out {
			out[i] = out[0]
		}
	}
	for i, v := range out {
		if v-v != 0 {
			return fmt.Errorf("%q has %v as its element %d; want finite numbers", s.Name, v, i)
		}
	}
	return nil
}

func scaled[T number](out []float32, of []T, scale float32) {
	for i, v := range of {
		out[i] = float32(v) * scale
	}
}
