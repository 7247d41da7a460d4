// Package vk is the part of the bindings that generated kernels need.
package vk

type Buffer struct{}

type Range struct {
	Buffer       *Buffer
	Offset, Size int64
}

type Access uint8

const (
	Read Access = 1 + iota
	Write
	ReadWrite
)

type Binding struct {
	Name   string
	Index  uint32
	Access Access
}

type SpecConstant struct {
	Name    string
	ID      uint32
	Default uint32
}

type Shader struct {
	Name          string
	SPIRV         []byte
	Bindings      []Binding
	PushBytes     uint32
	Spec          []SpecConstant
	LocalSize     [3]uint32
	LocalSizeSpec [3]int32
}

type Call struct {
	Shader   *Shader
	Ranges   []Range
	Push     []byte
	Spec     []uint32
	Groups   [3]uint32
	Subgroup uint32
	Label    string
}
