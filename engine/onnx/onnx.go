// Package onnx writes graphs in the Open Neural Network Exchange format, which onnxruntime and most inference libraries read.
//
// The message is onnx.proto's ModelProto of IR version 8 with operator set 17; both are old enough for runtimes since 2022.
package onnx

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The versions of what is written.
const (
	irVersion = 8
	opset     = 17
)

// ElementType is the type of a tensor's elements, with the numbers of TensorProto.DataType.
type ElementType int

// The element types.
const (
	Float32 ElementType = 1
	Int64   ElementType = 7
)

// Model is a graph with what describes it.
type Model struct {
	Producer, ProducerVersion string
	Doc                       string            // for people
	Metadata                  map[string]string // for programs
	Graph                     Graph
}

// Graph is a computation. Its nodes stand in an order in which each uses only what those before it have made.
type Graph struct {
	Name         string
	Inputs       []Value
	Outputs      []Value
	Initializers []Tensor // constants
	Nodes        []Node
}

// Node applies an operator of the standard set.
type Node struct {
	Op              string
	Inputs, Outputs []string
	Attributes      []Attribute
}

// Attribute is an operator's setting, made by Int, Float or Ints.
type Attribute struct{ encoded []byte }

// The values of AttributeProto.AttributeType.
const (
	attributeFloat = 1
	attributeInt   = 2
	attributeInts  = 7
)

// Int is a setting that is a whole number.
func Int(name string, v int64) Attribute {
	return Attribute{number(number(text(nil, 1, name), 3, v), 20, attributeInt)}
}

// Float is a setting that is a real number.
func Float(name string, v float32) Attribute {
	b := protowire.AppendTag(text(nil, 1, name), 2, protowire.Fixed32Type)
	return Attribute{number(protowire.AppendFixed32(b, math.Float32bits(v)), 20, attributeFloat)}
}

// Ints is a setting that is a list of whole numbers, such as axes.
func Ints(name string, values ...int64) Attribute {
	b := text(nil, 1, name)
	for _, v := range values {
		b = number(b, 8, v)
	}
	return Attribute{number(b, 20, attributeInts)}
}

// Tensor is a constant: Floats or Ints, row-major.
type Tensor struct {
	Name   string
	Shape  []int // empty: a scalar
	Floats []float32
	Ints   []int64
}

// Value declares an input or an output.
type Value struct {
	Name  string
	Type  ElementType
	Shape []Dim
}

// Dim is a dimension: of a size or, where it has a name, of any size that all dimensions of the name share.
type Dim struct {
	Name string
	Size int
}

// Encode is the model as the bytes of a file. The same model gives the same bytes.
func (m Model) Encode() []byte {
	b := number(nil, 1, irVersion)
	b = text(b, 2, m.Producer)
	b = text(b, 3, m.ProducerVersion)
	b = text(b, 6, m.Doc)
	b = message(b, 7, m.Graph.encode())
	b = message(b, 8, number(nil, 2, opset))
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		b = message(b, 14, text(text(nil, 1, key), 2, m.Metadata[key]))
	}
	return b
}

func (g Graph) encode() (b []byte) {
	for _, n := range g.Nodes {
		b = message(b, 1, n.encode())
	}
	b = text(b, 2, g.Name)
	for _, t := range g.Initializers {
		b = message(b, 5, t.encode())
	}
	for _, v := range g.Inputs {
		b = message(b, 11, v.encode())
	}
	for _, v := range g.Outputs {
		b = message(b, 12, v.encode())
	}
	return b
}

func (n Node) encode() (b []byte) {
	for _, name := range n.Inputs {
		b = text(b, 1, name)
	}
	for _, name := range n.Outputs {
		b = text(b, 2, name)
	}
	b = text(b, 4, n.Op)
	for _, a := range n.Attributes {
		b = message(b, 5, a.encoded)
	}
	return b
}

func (t Tensor) encode() (b []byte) {
	for _, n := range t.Shape {
		b = number(b, 1, int64(n))
	}
	kind, data := Float32, make([]byte, 0, 4*len(t.Floats)+8*len(t.Ints))
	for _, v := range t.Floats {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	if t.Ints != nil {
		kind = Int64
		for _, v := range t.Ints {
			data = binary.LittleEndian.AppendUint64(data, uint64(v))
		}
	}
	b = number(b, 2, int64(kind))
	b = text(b, 8, t.Name)
	return message(b, 9, data)
}

func (v Value) encode() []byte {
	var shape []byte
	for _, d := range v.Shape {
		dim := number(nil, 1, int64(d.Size))
		if d.Name != "" {
			dim = text(nil, 2, d.Name)
		}
		shape = message(shape, 1, dim)
	}
	tensor := message(number(nil, 1, int64(v.Type)), 2, shape)
	return message(text(nil, 1, v.Name), 2, message(nil, 1, tensor))
}

func number(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func message(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// text leaves an empty text out, as protocol buffers do.
func text(b []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return message(b, field, []byte(v))
}
