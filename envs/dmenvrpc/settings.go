package dmenvrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// parseSettings returns the settings of a JSON object as tensors. true is a BOOL, "text" a STRING, 3 an INT64, 0.5 a DOUBLE, as the tensors are that Python
// packs; arrays, which may be nested, are tensors of more elements; and {"type": "float", "value": [0.5, 1]} has the type by its name.
func parseSettings(text string) (map[string]*pb.Tensor, error) {
	if text == "" {
		return nil, nil
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil || object == nil {
		return nil, fmt.Errorf("%.100q is no JSON object; want one such as {\"level\": 3}", text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%.100q has more than one JSON object; want one", text)
	}
	out := make(map[string]*pb.Tensor, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		tensor, err := setting(object[name])
		if err != nil {
			return nil, fmt.Errorf("setting %q: %w", name, err)
		}
		out[name] = tensor
	}
	return out, nil
}

// setting returns a JSON value as a tensor.
func setting(value any) (*pb.Tensor, error) {
	typ := ""
	if object, ok := value.(map[string]any); ok {
		if typ, ok = object["type"].(string); !ok || len(object) != 2 {
			return nil, errors.New(`an object has "type", a name such as "float", and "value"; want these two`)
		}
		if value, ok = object["value"]; !ok {
			return nil, errors.New(`an object without "value"; want "type" and "value"`)
		}
	}
	var elements []any
	shape, err := flatten(value, &elements)
	if err != nil {
		return nil, err
	}
	if typ == "" {
		if typ, err = typeOf(elements); err != nil {
			return nil, err
		}
	}
	t := &pb.Tensor{Shape: shape}
	return t, fill(t, typ, elements)
}

// flatten appends the elements of a value in row-major order, and returns its shape.
func flatten(value any, elements *[]any) (shape []int32, err error) {
	array, ok := value.([]any)
	if !ok {
		*elements = append(*elements, value)
		return nil, nil
	}
	for i, v := range array {
		inner, err := flatten(v, elements)
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(inner, shape) {
			return nil, errors.New("an array whose rows differ in shape; want equal ones")
		}
		shape = inner
	}
	if len(array) == 0 {
		return nil, errors.New("an empty array; want at least one element")
	}
	return append([]int32{int32(len(array))}, shape...), nil
}

// typeOf returns the type of a tensor of JSON values.
func typeOf(elements []any) (string, error) {
	of := ""
	for _, e := range elements {
		is := ""
		switch e := e.(type) {
		case bool:
			is = "bool"
		case string:
			is = "string"
		case json.Number:
			is = "int64"
			if _, err := e.Int64(); err != nil {
				is = "double"
			}
		default:
			return "", fmt.Errorf("%v is no setting; want true or false, a string, a number, or an array of them", e)
		}
		if numbers := []string{"int64", "double"}; of != "" && of != is && slices.Contains(numbers, of) && slices.Contains(numbers, is) {
			is = "double"
		} else if of != "" && of != is {
			return "", fmt.Errorf("an array of %ss and %ss; want elements of one type", of, is)
		}
		of = is
	}
	return of, nil
}

// fill sets a tensor's elements.
func fill(t *pb.Tensor, typ string, elements []any) error {
	dtype, ok := pb.DataType_value[strings.ToUpper(typ)]
	of := pb.DataType(dtype)
	if !ok || of == pb.DataType_INVALID_DATA_TYPE || of == pb.DataType_PROTO {
		return fmt.Errorf("type %q; want float, double, int8, int32, int64, uint8, uint32, uint64, bool or string", typ)
	}
	switch of {
	case pb.DataType_STRING:
		all, err := each[string](elements, typ)
		t.Payload = &pb.Tensor_Strings{Strings: &pb.Tensor_StringArray{Array: all}}
		return err
	case pb.DataType_BOOL:
		all, err := each[bool](elements, typ)
		t.Payload = &pb.Tensor_Bools{Bools: &pb.Tensor_BoolArray{Array: all}}
		return err
	}
	all, err := each[json.Number](elements, typ)
	if err != nil {
		return err
	}
	return fillNumbers(t, of, all)
}

// each returns elements as a type.
func each[T any](elements []any, typ string) ([]T, error) {
	out := make([]T, len(elements))
	for i, e := range elements {
		v, ok := e.(T)
		if !ok {
			return nil, fmt.Errorf("%v is no %s", e, typ)
		}
		out[i] = v
	}
	return out, nil
}

// fillNumbers sets a tensor's numbers.
func fillNumbers(t *pb.Tensor, of pb.DataType, elements []json.Number) error {
	floats, ints := make([]float64, len(elements)), make([]int64, len(elements))
	for i, e := range elements {
		var err error
		if floating(of) {
			floats[i], err = e.Float64()
		} else if ints[i], err = e.Int64(); err == nil && !fits(of, ints[i]) {
			err = errors.New("out of range")
		}
		if err != nil {
			return fmt.Errorf("%v is no %s", e, strings.ToLower(of.String()))
		}
	}
	if floating(of) {
		putFloats(t, of, floats)
	} else {
		putInts(t, of, ints)
	}
	return nil
}
