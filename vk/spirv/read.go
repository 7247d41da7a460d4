package spirv

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	magic        = 0x07230203
	headerBytes  = 20
	opName       = 5
	opMemberName = 6
	opExtension  = 10
	opEntryPoint = 15
	opExecMode   = 16
	opCapability = 17

	opTypeVoid    = 19
	opTypeForward = 39
	opTypeBool    = 20
	opTypeInt     = 21
	opTypeFloat   = 22
	opTypeVector  = 23
	opTypeImage   = 25
	opTypeArray   = 28
	opTypeRTArray = 29
	opTypeStruct  = 30
	opTypePointer = 32

	opConstantTrue      = 41
	opConstantFalse     = 42
	opConstant          = 43
	opConstantComposite = 44
	opSpecTrue          = 48
	opSpecFalse         = 49
	opSpecConstant      = 50
	opSpecComposite     = 51
	opFunction          = 54
	opVariable          = 59
	opDecorate          = 71
	opMemberDecorate    = 72
	opExecModeID        = 331

	modelGLCompute  = 5
	modeLocalSize   = 17
	modeLocalSizeID = 38

	decSpecID        = 1
	decBlock         = 2
	decBufferBlock   = 3
	decArrayStride   = 6
	decBuiltIn       = 11
	decNonWritable   = 24
	decNonReadable   = 25
	decBinding       = 33
	decDescriptorSet = 34
	decOffset        = 35

	builtInWorkgroupSize = 25
)

// instruction is one declaration: its operands after the opcode word, and its offset.
type instruction struct {
	op     uint16
	args   []uint32
	offset int
}

type memberKey struct {
	id     uint32
	member uint32
}

type entry struct {
	id   uint32
	name string
}

// declarations holds everything before the first function of a module, by result id.
type declarations struct {
	version      Version
	capabilities []string
	extensions   []string
	entries      []entry
	modes        []instruction
	names        map[uint32]string
	memberNames  map[memberKey]string
	decorations  map[uint32]map[uint32]uint32    // id → decoration → first operand (0 if it has none)
	memberDecs   map[memberKey]map[uint32]uint32 // the same for members of structures
	results      map[uint32]instruction          // types and constants; args start after the result id (and type)
	resultTypes  map[uint32]uint32               // type of a constant or variable
	variables    []variable
	specOrder    []uint32 // ids of scalar specialization constants, in order of declaration
}

type variable struct {
	id, pointer, class uint32
	offset             int
}

func newDeclarations() *declarations {
	return &declarations{
		names:       map[uint32]string{},
		memberNames: map[memberKey]string{},
		decorations: map[uint32]map[uint32]uint32{},
		memberDecs:  map[memberKey]map[uint32]uint32{},
		results:     map[uint32]instruction{},
		resultTypes: map[uint32]uint32{},
	}
}

// read walks all instructions. It records those before the first function and only checks the length of the rest.
func (d *declarations) read(code []byte) error {
	switch {
	case len(code) < headerBytes:
		return failf(-1, "a module of %d bytes: the header alone has %d", len(code), headerBytes)
	case len(code)%4 != 0:
		return failf(-1, "a module of %d bytes: the length must be a multiple of 4", len(code))
	}
	first := binary.LittleEndian.Uint32(code)
	if first != magic {
		if binary.BigEndian.Uint32(code) == magic {
			return failf(0, "the module is big-endian; evorl reads and writes little-endian modules")
		}
		return failf(0, "the first word is %#08x, not the SPIR-V magic number %#08x", first, uint32(magic))
	}
	v := binary.LittleEndian.Uint32(code[4:])
	d.version = Version{Major: uint8(v >> 16), Minor: uint8(v >> 8)}
	functions := false
	for at := headerBytes; at < len(code); {
		head := binary.LittleEndian.Uint32(code[at:])
		words, op := int(head>>16), uint16(head)
		switch left := (len(code) - at) / 4; {
		case words == 0:
			return failf(at, "an instruction (opcode %d) of length 0", op)
		case words > left:
			return failf(at, "an instruction (opcode %d) of %d words, but only %d are left", op, words, left)
		}
		functions = functions || op == opFunction
		if !functions {
			args := make([]uint32, words-1)
			for i := range args {
				args[i] = binary.LittleEndian.Uint32(code[at+4+4*i:])
			}
			if err := d.record(instruction{op: op, args: args, offset: at}); err != nil {
				return err
			}
		}
		at += 4 * words
	}
	return nil
}

// least is the smallest number of operands of each instruction that record reads.
var least = map[uint16]int{
	opName: 2, opMemberName: 3, opExtension: 1, opEntryPoint: 3, opExecMode: 2, opExecModeID: 2, opCapability: 1,
	opTypeVoid: 1, opTypeBool: 1, opTypeInt: 3, opTypeFloat: 2, opTypeVector: 3, opTypeImage: 8, opTypeArray: 3, opTypeRTArray: 2,
	opTypeStruct: 1, opTypePointer: 3, opConstantTrue: 2, opConstantFalse: 2, opConstant: 3, opConstantComposite: 2,
	opSpecTrue: 2, opSpecFalse: 2, opSpecConstant: 3, opSpecComposite: 2, opVariable: 3, opDecorate: 2,
	opMemberDecorate: 3,
}

func (d *declarations) record(in instruction) error {
	if n, ok := least[in.op]; ok && len(in.args) < n {
		return failf(in.offset, "an instruction (opcode %d) with %d operands; it needs at least %d", in.op, len(in.args), n)
	}
	a := in.args
	switch in.op {
	case opCapability:
		d.capabilities = append(d.capabilities, capabilityName(a[0]))
	case opExtension:
		name, _ := text(a)
		d.extensions = append(d.extensions, name)
	case opName:
		d.names[a[0]], _ = text(a[1:])
	case opMemberName:
		d.memberNames[memberKey{a[0], a[1]}], _ = text(a[2:])
	case opEntryPoint:
		name, ok := text(a[2:])
		if !ok {
			return failf(in.offset, "the name of an entry point is not terminated")
		}
		if a[0] != modelGLCompute {
			return failf(in.offset, "entry point %q has execution model %d; kernels are compute shaders (GLCompute, %d)", name, a[0], modelGLCompute)
		}
		d.entries = append(d.entries, entry{id: a[1], name: name})
	case opExecMode, opExecModeID:
		d.modes = append(d.modes, in)
	case opDecorate:
		decorate(d.decorations, a[0], a[1:])
	case opMemberDecorate:
		decorate(d.memberDecs, memberKey{a[0], a[1]}, a[2:])
	case opVariable:
		d.variables = append(d.variables, variable{pointer: a[0], id: a[1], class: a[2], offset: in.offset})
	default:
		return d.define(in)
	}
	return nil
}

// define records types and constants by their result id.
func (d *declarations) define(in instruction) error {
	a := in.args
	var id uint32
	switch {
	case in.op >= opTypeVoid && in.op < opTypeForward:
		if len(a) < 1 {
			return failf(in.offset, "a type (opcode %d) without a result", in.op)
		}
		id, in.args = a[0], a[1:]
	case in.op >= opConstantTrue && in.op <= opConstantComposite, in.op >= opSpecTrue && in.op <= opSpecComposite:
		id, in.args = a[1], a[2:]
		d.resultTypes[id] = a[0]
		if in.op <= opSpecConstant && in.op >= opSpecTrue {
			d.specOrder = append(d.specOrder, id)
		}
	default:
		return nil
	}
	if old, ok := d.results[id]; ok {
		return failf(in.offset, "id %d is already defined at byte %d", id, old.offset)
	}
	d.results[id] = in
	return nil
}

func decorate[K comparable](into map[K]map[uint32]uint32, key K, args []uint32) {
	if into[key] == nil {
		into[key] = map[uint32]uint32{}
	}
	var value uint32
	if len(args) > 1 {
		value = args[1]
	}
	into[key][args[0]] = value
}

// text decodes a literal string. It returns false if no word holds the terminating zero.
func text(words []uint32) (string, bool) {
	var b strings.Builder
	for _, w := range words {
		for range 4 {
			c := byte(w)
			if c == 0 {
				return b.String(), true
			}
			b.WriteByte(c)
			w >>= 8
		}
	}
	return b.String(), false
}

// capabilityNames are those that compute kernels may need. Others are shown as numbers.
var capabilityNames = map[uint32]string{
	0: "Matrix", 1: "Shader", 9: "Float16", 10: "Float64", 11: "Int64", 12: "Int64Atomics", 22: "Int16", 39: "Int8", 46: "SampledBuffer", 47: "ImageBuffer",
	61: "GroupNonUniform", 62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
	65: "GroupNonUniformShuffle", 66: "GroupNonUniformShuffleRelative", 67: "GroupNonUniformClustered",
	68: "GroupNonUniformQuad", 4427: "DrawParameters", 4433: "StorageBuffer16BitAccess",
	4434: "UniformAndStorageBuffer16BitAccess", 4436: "StoragePushConstant16", 4448: "StorageBuffer8BitAccess",
	4464: "DenormPreserve", 4465: "DenormFlushToZero", 4466: "SignedZeroInfNanPreserve", 4467: "RoundingModeRTE",
	4468: "RoundingModeRTZ", 5345: "VulkanMemoryModel", 5346: "VulkanMemoryModelDeviceScope",
	5347: "PhysicalStorageBufferAddresses", 5357: "CooperativeMatrixNV", 6016: "DotProductInputAll",
	6018: "DotProductInput4x8BitPacked", 6019: "DotProduct", 6022: "CooperativeMatrixKHR",
	6033: "AtomicFloat32AddEXT", 6034: "AtomicFloat64AddEXT",
}

func capabilityName(n uint32) string {
	if name, ok := capabilityNames[n]; ok {
		return name
	}
	return fmt.Sprintf("Capability%d", n)
}
