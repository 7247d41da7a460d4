package onnx

import (
	"slices"
	"strconv"
)

// Builder is a graph under construction. Its methods add nodes and constants, and return the names of their results.
type Builder struct {
	Graph
	count int
}

// Node adds a node whose result has a unique name.
func (b *Builder) Node(op string, inputs []string, attributes ...Attribute) string {
	b.count++
	return b.Named(op+strconv.Itoa(b.count), op, inputs, attributes...)
}

// Named adds a node whose result has the given name.
func (b *Builder) Named(result, op string, inputs []string, attributes ...Attribute) string {
	b.Nodes = append(b.Nodes, Node{Op: op, Inputs: inputs, Outputs: []string{result}, Attributes: attributes})
	return result
}

// Floats adds a constant of a shape; without one, a scalar.
func (b *Builder) Floats(name string, values []float32, shape ...int) string {
	b.Initializers = append(b.Initializers, Tensor{Name: name, Shape: shape, Floats: values})
	return name
}

// Ints adds a constant vector of whole numbers.
func (b *Builder) Ints(name string, values ...int64) string {
	b.Initializers = append(b.Initializers, Tensor{Name: name, Shape: []int{len(values)}, Ints: values})
	return name
}

// Constant adds a number, once for all nodes that use the name.
func (b *Builder) Constant(name string, value float64) string {
	if b.has(name) {
		return name
	}
	return b.Floats(name, []float32{float32(value)}, 1)
}

// Index adds a whole number, once for all nodes that use it.
func (b *Builder) Index(value int) string {
	name := "index." + strconv.Itoa(value)
	if b.has(name) {
		return name
	}
	return b.Ints(name, int64(value))
}

func (b *Builder) has(name string) bool {
	return slices.ContainsFunc(b.Initializers, func(t Tensor) bool { return t.Name == name })
}

// Columns adds the columns [from, to) of a matrix.
func (b *Builder) Columns(x string, from, to int) string {
	return b.Node("Slice", []string{x, b.Index(from), b.Index(to), b.Index(1)})
}
