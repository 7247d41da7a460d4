package vk

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Access is how a kernel uses a binding. It must match the shader's readonly and writeonly, since barriers are derived from it.
type Access uint8

// The kinds of access.
const (
	Read Access = 1 << iota
	Write
	ReadWrite = Read | Write
)

// String returns read, write or read-write.
func (a Access) String() string {
	switch a {
	case Read:
		return "read"
	case Write:
		return "write"
	case ReadWrite:
		return "read-write"
	}
	return fmt.Sprintf("access %d", uint8(a))
}

// Binding is a storage buffer or texel buffer of a shader, in descriptor set 0.
type Binding struct {
	Name   string
	Index  uint32 // the number in layout(binding = …)
	Access Access
	Texel  Texel // NoTexel: a storage buffer
	// Optional: a call may leave the range zero, and the kernel then does not use the binding.
	Optional bool
	View     string // the binding whose range this one binds too (Pack); "": a range of its own
}

// SpecConstant is a specialization constant of 32 bits.
type SpecConstant struct {
	Name    string
	ID      uint32 // the number in layout(constant_id = …)
	Default uint32 // the bits of the shader's default
	Has     string // the binding whose presence the constant tells (Pack): 1 if it is given, 0 if omitted; "": none
}

// Code returns a SPIR-V module with one entry point, "main". It is called when the shader is first used, so that declaring shaders
// that are never used costs nothing.
type Code func() []byte

// SPIRV is the Code of a module in memory.
func SPIRV(module []byte) Code { return func() []byte { return module } }

// MarshalText writes the module in base64.
func (c Code) MarshalText() ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	return base64.StdEncoding.AppendEncode(nil, c()), nil
}

// UnmarshalText reads what MarshalText writes.
func (c *Code) UnmarshalText(text []byte) error {
	module, err := base64.StdEncoding.AppendDecode(nil, text)
	*c = SPIRV(module)
	return err
}

// Shader is a compute kernel. It must not be changed after its first use.
type Shader struct {
	Name      string
	Label     string // the kernel's name in profiles and errors; "": Name
	SPIRV     Code
	Bindings  []Binding
	PushBytes uint32 // size of the push-constant block
	Spec      []SpecConstant
	LocalSize [3]uint32
	// LocalSizeSpec holds, for each dimension, the ID of the specialization constant that sets the local size, or -1.
	LocalSizeSpec [3]int32
}

// Call is one dispatch of a shader.
type Call struct {
	Shader   *Shader
	Ranges   []Range   // in the order of Shader.Bindings
	Push     []byte    // Shader.PushBytes bytes
	Spec     []uint32  // in the order of Shader.Spec; nil: the defaults
	Groups   [3]uint32 // workgroups by dimension
	Subgroup uint32    // the subgroup size that the kernel needs; 0: any
	Label    string    // the kernel's name in profiles and errors; "": the shader's
	err      error     // of Pack
}

const spirvMagic = 0x07230203

// code returns the shader's module.
func (s *Shader) code() (code []byte, err error) {
	if s.SPIRV != nil {
		code = s.SPIRV()
	}
	if len(code) < 20 || len(code)%4 != 0 || binary.LittleEndian.Uint32(code) != spirvMagic {
		return nil, fmt.Errorf("its SPIRV (%d bytes) is not a SPIR-V module", len(code))
	}
	return code, nil
}

// check validates a shader for device d, once: thousands of dispatches of a program may have the same, and unpacking a large module takes milliseconds.
func (s *Shader) check(d *Device) error {
	if _, ok := d.moduleBytes(s); ok {
		return nil
	}
	var code []byte
	if d.cfg.imitated == nil { // an imitated device compiles none
		var err error
		if code, err = s.code(); err != nil {
			return err
		}
	}
	limits := &d.phys.info.Limits
	if s.PushBytes > limits.MaxPushBytes || s.PushBytes%4 != 0 {
		return fmt.Errorf("%d bytes of push constants: a multiple of 4 up to %d is needed", s.PushBytes, limits.MaxPushBytes)
	}
	buffers, views := 0, 0
	for _, b := range s.Bindings {
		if b.Texel == NoTexel {
			buffers++
		} else {
			views++
		}
	}
	if uint32(buffers) > limits.MaxBindings || uint32(views) > limits.MaxTexelBindings {
		return fmt.Errorf("%d storage and %d texel buffers, and this device allows %d and %d", buffers, views, limits.MaxBindings, limits.MaxTexelBindings)
	}
	for i, b := range s.Bindings {
		if b.Access == 0 || b.Access > ReadWrite {
			return fmt.Errorf("binding %q: %v is not an access: want vk.Read, vk.Write or vk.ReadWrite", b.Name, b.Access)
		}
		if b.Texel != NoTexel && (b.Access != Read || int(b.Texel) >= len(texels)) {
			return fmt.Errorf("binding %q: a texel buffer must be read-only and of a known format, not %v to %v", b.Name, b.Texel, b.Access)
		}
		for _, c := range s.Bindings[:i] {
			if b.Index == c.Index {
				return fmt.Errorf("bindings %q and %q both have index %d", c.Name, b.Name, b.Index)
			}
		}
	}
	d.noteModule(s, len(code))
	return nil
}

// spec returns the values of all specialization constants, and how the shader loads: loads replaces a TEXEL_LOADS of 0.
func (s *Shader) spec(values []uint32, loads uint32) ([]uint32, uint32, error) {
	if values == nil {
		values = make([]uint32, len(s.Spec))
		for i, c := range s.Spec {
			values[i] = c.Default
		}
	}
	if len(values) != len(s.Spec) {
		return nil, 0, fmt.Errorf("%d specialization constants given, and the shader has %d", len(values), len(s.Spec))
	}
	for i, c := range s.Spec {
		if c.Name != TexelLoads {
			continue
		}
		if values[i] != 0 {
			return values, values[i], nil
		}
		values = slices.Clone(values)
		values[i] = loads
		return values, loads, nil
	}
	return values, LoadTexels, nil
}

// localSize returns the workgroup size for the given specialization constants.
func (s *Shader) localSize(spec []uint32) [3]uint32 {
	size := s.LocalSize
	for way, id := range s.LocalSizeSpec {
		for i, c := range s.Spec {
			if id >= 0 && c.ID == uint32(id) {
				size[way] = spec[i]
			}
		}
		size[way] = max(size[way], 1)
	}
	return size
}

// checkSizes validates the workgroup and subgroup sizes for device d.
func (s *Shader) checkSizes(d *Device, spec []uint32, subgroup uint32) error {
	info, size := &d.phys.info, s.localSize(spec)
	invocations := uint64(size[0]) * uint64(size[1]) * uint64(size[2])
	for way := range size {
		if size[way] > info.Limits.MaxLocalSize[way] {
			return fmt.Errorf("a workgroup of %v invocations, and this device allows %v", size, info.Limits.MaxLocalSize)
		}
	}
	if invocations > uint64(info.Limits.MaxInvocations) {
		return fmt.Errorf("a workgroup of %v = %d invocations, and this device allows %d", size, invocations, info.Limits.MaxInvocations)
	}
	switch {
	case subgroup == 0:
	case !d.phys.requiredSize:
		if subgroup != info.SubgroupSize {
			return fmt.Errorf("a subgroup size of %d, and this device has %d", subgroup, info.SubgroupSize)
		}
	case bits.OnesCount32(subgroup) != 1 || subgroup < info.MinSubgroupSize || subgroup > info.MaxSubgroupSize:
		return fmt.Errorf("a subgroup size of %d, and this device has the powers of two from %d to %d", subgroup, info.MinSubgroupSize, info.MaxSubgroupSize)
	case invocations > uint64(subgroup)*uint64(info.Limits.MaxSubgroups):
		subgroups := (invocations + uint64(subgroup) - 1) / uint64(subgroup)
		return fmt.Errorf("a workgroup of %d subgroups of %d, and this device allows %d", subgroups, subgroup, info.Limits.MaxSubgroups)
	}
	return nil
}
