// Package spirv reads the interface of a compute SPIR-V module: which buffers it binds and how it uses them, the
// layout of its push constants, its specialization constants, its local size and the capabilities it needs. It is
// pure Go and needs neither a Vulkan loader nor the SPIR-V tools.
//
// It reads the declarations that glslc and glslangValidator write for kernels of this module's conventions (storage
// buffers and readonly texel buffers in set 0, one push-constant block, one GLCompute entry point). A module that departs from
// them gives an error. Names are present only in modules built with -O0; everything else is also there after -O.
package spirv

import (
	"cmp"
	"fmt"
	"slices"
)

// Module is the interface of one compute module.
type Module struct {
	Version       Version
	EntryPoint    string
	Bindings      []Binding // set 0, in order of their index
	Push          Push
	Spec          []SpecConstant // in order of their id, each id once
	LocalSize     [3]uint32      // invocations in x, y, z; the default if a specialization constant sets it
	LocalSizeSpec [3]int32       // id of the specialization constant that sets the dimension, or -1
	Capabilities  []string       // names as in the SPIR-V specification, e.g. "Shader", "GroupNonUniformArithmetic"
	Extensions    []string       // SPIR-V extensions the module declares
}

// Version is the SPIR-V version of a module, e.g. 1.3 for Vulkan 1.1.
type Version struct{ Major, Minor uint8 }

// String formats the version as "1.3".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Access is how a kernel uses a buffer.
type Access uint8

// NoAccess is a buffer declared both readonly and writeonly in GLSL: only its length can be used.
const (
	NoAccess  Access = 0
	Read      Access = 1
	Write     Access = 2
	ReadWrite        = Read | Write
)

// String returns the GLSL qualifier: "readonly", "writeonly" or "read-write".
func (a Access) String() string {
	switch a {
	case Read:
		return "readonly"
	case Write:
		return "writeonly"
	case ReadWrite:
		return "read-write"
	default:
		return "no access"
	}
}

// Binding is one storage buffer of set 0, or one texel buffer (imageBuffer in GLSL).
type Binding struct {
	Index   uint32
	Name    string // name of the block in GLSL, or of the variable for a texel buffer; empty after optimisation
	Access  Access
	Element string // type of the block's last member without its array, e.g. "float" or "uvec4"
	Stride  uint32 // bytes from one element to the next; 0 if the last member is not an array
	Array   string // name of the block's last member; empty for texel buffers and after optimisation
	Texel   string // format of a texel buffer: r32f, rgba32f, r32ui or rgba32ui; empty for storage buffers
}

// Scalar is the component type of a push or specialization constant.
type Scalar uint8

// The component types. Bool occurs in specialization constants only.
const (
	Uint Scalar = iota + 1
	Int
	Float
	Bool
)

// String returns the GLSL name of the type.
func (s Scalar) String() string {
	switch s {
	case Uint:
		return "uint"
	case Int:
		return "int"
	case Float:
		return "float"
	case Bool:
		return "bool"
	default:
		return "no type"
	}
}

// Push is the push-constant block. Size is 0 if a module has none.
type Push struct {
	Name    string
	Members []Member // in order of declaration
	Size    uint32   // bytes up to the end of the last member, a multiple of 4
}

// Member is one 32-bit scalar, vector or array of a push-constant block.
type Member struct {
	Name       string
	Offset     uint32 // bytes from the start of the block
	Type       Scalar
	Components uint32 // 1 for a scalar, 2 to 4 for a vector
	Length     uint32 // elements of an array; 0 if it is not an array
	Stride     uint32 // bytes from one element of an array to the next
}

// SpecConstant is one 32-bit specialization constant.
type SpecConstant struct {
	ID      uint32
	Name    string // empty after optimisation, and for a local size without a constant_id of the same id
	Type    Scalar
	Default uint32 // bits; 0 or 1 for a bool
}

// Error reports why a module cannot be read. Offset is the byte offset in the module, or -1 if the error concerns no single
// instruction.
type Error struct {
	Offset int
	Reason string
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return "spirv: " + e.Reason
	}
	return fmt.Sprintf("spirv: byte %d: %s", e.Offset, e.Reason)
}

func failf(offset int, format string, args ...any) error {
	return &Error{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Reflect reads the interface of a module with exactly one compute entry point. It accepts any input; a malformed module, or
// one outside the conventions in the package comment, gives an *Error.
func Reflect(code []byte) (*Module, error) {
	d := newDeclarations()
	if err := d.read(code); err != nil {
		return nil, err
	}
	m := &Module{Version: d.version, Capabilities: d.capabilities, Extensions: d.extensions}
	if len(d.entries) != 1 {
		return nil, failf(-1, "the module has %d compute entry points; a kernel has exactly one", len(d.entries))
	}
	m.EntryPoint = d.entries[0].name
	for _, resolve := range []func(*Module) error{d.resolveVariables, d.resolveSpec, d.resolveLocalSize} {
		if err := resolve(m); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(m.Bindings, func(a, b Binding) int { return cmp.Compare(a.Index, b.Index) })
	for i := 1; i < len(m.Bindings); i++ {
		if a, b := m.Bindings[i-1], m.Bindings[i]; a.Index == b.Index {
			return nil, failf(-1, "buffers %q and %q share binding %d", a.Name, b.Name, a.Index)
		}
	}
	return m, nil
}
