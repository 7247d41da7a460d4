package spirv

import (
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// The modules are testdata/interface.comp built by glslc -O0 and -O --target-env=vulkan1.1.
func TestReflect(t *testing.T) {
	m, err := Reflect(load(t, "interface.O0.spv"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Module{
		Version:    Version{1, 3},
		EntryPoint: "main",
		Bindings: []Binding{
			{Index: 0, Name: "A", Access: Read, Element: "float", Stride: 4, Array: "a"},
			{Index: 1, Name: "env_state", Access: ReadWrite, Element: "uvec2", Stride: 8, Array: "words"},
			{Index: 2, Name: "C", Access: Write, Element: "vec4", Stride: 16, Array: "c"},
		},
		Push: Push{Name: "Push", Size: 28, Members: []Member{
			{Name: "m", Offset: 0, Type: Uint, Components: 1},
			{Name: "x", Offset: 4, Type: Float, Components: 1},
			{Name: "y", Offset: 8, Type: Uint, Components: 2},
			{Name: "z", Offset: 16, Type: Int, Components: 1, Length: 3, Stride: 4},
		}},
		Spec: []SpecConstant{
			{ID: 0, Type: Uint, Default: 64},
			{ID: 3, Name: "FAST", Type: Bool},
			{ID: 4, Name: "GAIN", Type: Float, Default: 0x3fc00000},
			{ID: 5, Name: "SHIFT", Type: Int, Default: 0xfffffffe},
			{ID: 7, Name: "LANES", Type: Uint, Default: 4},
		},
		LocalSize:     [3]uint32{64, 2, 1},
		LocalSizeSpec: [3]int32{0, -1, -1},
		Capabilities:  []string{"Shader", "GroupNonUniform", "GroupNonUniformArithmetic"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	optimised, err := Reflect(load(t, "interface.O.spv"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Bindings {
		want.Bindings[i].Name, want.Bindings[i].Array = "", ""
	}
	for i := range want.Spec {
		want.Spec[i].Name = ""
	}
	if !reflect.DeepEqual(optimised.Bindings, want.Bindings) || !reflect.DeepEqual(optimised.Spec, want.Spec) ||
		optimised.Push.Size != want.Push.Size || optimised.LocalSizeSpec != want.LocalSizeSpec {
		t.Errorf("after optimisation: %+v", optimised)
	}
}

// ins assembles one instruction.
func ins(op uint32, args ...uint32) []uint32 {
	return append([]uint32{uint32(len(args)+1)<<16 | op}, args...)
}

// assemble writes a module of a header and instructions.
func assemble(instructions ...[]uint32) []byte {
	words := []uint32{magic, 0x00010300, 0, 1000, 0}
	for _, in := range instructions {
		words = append(words, in...)
	}
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

const mainWord = 0x6e69616d // "main"

var (
	entryPoint = ins(opEntryPoint, modelGLCompute, 1, mainWord, 0)
	localSize  = ins(opExecMode, 1, modeLocalSize, 8, 1, 1)
	uintType   = ins(opTypeInt, 10, 32, 0)
	floatArray = ins(opTypeRTArray, 12, 11)
	floatType  = ins(opTypeFloat, 11, 32)
)

func TestReflectErrors(t *testing.T) {
	block := [][]uint32{entryPoint, localSize, ins(opName, 20, 0x42), floatType, floatArray, ins(opTypeStruct, 20, 12)}
	buffer := func(class uint32, decorations ...[]uint32) []byte {
		all := append(append([][]uint32{}, block...), decorations...)
		return assemble(append(all, ins(opTypePointer, 21, class, 20), ins(opVariable, 21, 22, class))...)
	}
	whole := load(t, "interface.O0.spv")
	swapped := append([]byte{}, whole...)
	binary.BigEndian.PutUint32(swapped, magic)
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"empty":           {nil, "a module of 0 bytes"},
		"odd length":      {whole[:len(whole)-1], "multiple of 4"},
		"no magic":        {make([]byte, 40), "not the SPIR-V magic number"},
		"big-endian":      {swapped, "big-endian"},
		"truncated":       {whole[:400], "but only"},
		"zero length":     {assemble([]uint32{0}), "length 0"},
		"short":           {assemble(ins(opTypeVector, 1)), "at least 3"},
		"no entry":        {assemble(), "0 compute entry points"},
		"two entries":     {assemble(entryPoint, entryPoint), "2 compute entry points"},
		"fragment shader": {assemble(ins(opEntryPoint, 4, 1, mainWord, 0)), "execution model 4"},
		"no end of name":  {assemble(ins(opEntryPoint, 5, 1, mainWord)), "not terminated"},
		"no local size":   {assemble(entryPoint), "no local size"},
		"zero local size": {assemble(entryPoint, ins(opExecMode, 1, modeLocalSize, 8, 0, 1)), "dimension 1 of the local size is 0"},
		"twice defined":   {assemble(uintType, uintType), "already defined"},
		"uniform":         {buffer(classUniform, ins(opDecorate, 22, decBinding, 0)), `"B" is a uniform buffer`},
		"image":           {buffer(classUniformConstant), "opaque"},
		"no binding":      {buffer(classStorageBuffer), `buffer "B" has no binding`},
		"set":             {buffer(classStorageBuffer, ins(opDecorate, 22, decBinding, 0), ins(opDecorate, 22, decDescriptorSet, 1)), "in set 1"},
		"no offset":       {buffer(classPushConstant), "no offset"},
		"runtime array":   {buffer(classPushConstant, ins(opMemberDecorate, 20, 0, decOffset, 0)), "push constants are 32-bit"},
		"no pointer":      {assemble(entryPoint, localSize, uintType, ins(opVariable, 10, 22, classStorageBuffer)), "not a pointer"},
		"same binding": {assemble(append(append([][]uint32{}, block...), ins(opDecorate, 22, decBinding, 3), ins(opDecorate, 23, decBinding, 3),
			ins(opTypePointer, 21, classStorageBuffer, 20), ins(opVariable, 21, 22, classStorageBuffer),
			ins(opVariable, 21, 23, classStorageBuffer))...), "share binding 3"},
		"array of blocks": {assemble(append(append([][]uint32{}, block...), ins(opTypeRTArray, 24, 20),
			ins(opTypePointer, 21, classStorageBuffer, 24), ins(opVariable, 21, 22, classStorageBuffer))...), "array of blocks"},
		"huge offset": {buffer(classPushConstant, ins(opMemberDecorate, 20, 0, decOffset, 0xfffffffc)), "offset"},
		"64-bit constant": {assemble(entryPoint, localSize, ins(opDecorate, 31, decSpecID, 1), ins(opTypeInt, 30, 64, 0),
			ins(opSpecConstant, 30, 31, 1, 0)), "uint64_t"},
		"one id twice": {assemble(entryPoint, localSize, ins(opDecorate, 31, decSpecID, 1), ins(opDecorate, 32, decSpecID, 1), uintType,
			ins(opSpecConstant, 10, 31, 1), ins(opSpecConstant, 10, 32, 2)), "declared twice"},
	} {
		m, err := Reflect(c.code)
		var typed *Error
		if m != nil || !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an *Error with %q", name, m, err, c.want)
		}
	}
}

// Older modules declare storage buffers in class Uniform with decoration BufferBlock, and decorate the variables.
func TestReflectBufferBlock(t *testing.T) {
	m, err := Reflect(assemble(entryPoint, localSize, ins(opDecorate, 20, decBufferBlock), ins(opDecorate, 22, decBinding, 5),
		ins(opDecorate, 22, decNonWritable), floatType, floatArray, ins(opTypeStruct, 20, 12),
		ins(opTypePointer, 21, classUniform, 20), ins(opVariable, 21, 22, classUniform)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Binding{{Index: 5, Access: Read, Element: "float"}}; !reflect.DeepEqual(m.Bindings, want) {
		t.Errorf("got %+v, want %+v", m.Bindings, want)
	}
}

// Texel buffers are readonly imageBuffers of four formats.
func TestReflectTexelBuffer(t *testing.T) {
	image := func(dim, sampled, format uint32, decorations ...[]uint32) []byte {
		all := [][]uint32{entryPoint, localSize, ins(opName, 22, 0x42), ins(opDecorate, 22, decBinding, 7)}
		all = append(append(all, decorations...), floatType, ins(opTypeImage, 20, 11, dim, 0, 0, 0, sampled, format),
			ins(opTypePointer, 21, classUniformConstant, 20), ins(opVariable, 21, 22, classUniformConstant))
		return assemble(all...)
	}
	readonly := ins(opDecorate, 22, decNonWritable)
	for format, want := range map[uint32]Binding{1: {Element: "vec4", Texel: "rgba32f"}, 3: {Element: "float", Texel: "r32f"},
		30: {Element: "uvec4", Texel: "rgba32ui"}, 33: {Element: "uint", Texel: "r32ui"}} {
		want.Index, want.Name, want.Access = 7, "B", Read
		if m, err := Reflect(image(5, 2, format, readonly)); err != nil || !reflect.DeepEqual(m.Bindings, []Binding{want}) {
			t.Errorf("format %d: %+v, %v; want %+v", format, m, err, want)
		}
	}
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"two dimensions": {image(1, 2, 1, readonly), "opaque"},
		"sampled":        {image(5, 1, 1, readonly), "opaque"},
		"half floats":    {image(5, 2, 2, readonly), "image format 2"},
		"writable":       {image(5, 2, 1), "declare it readonly"},
		"set":            {image(5, 2, 1, readonly, ins(opDecorate, 22, decDescriptorSet, 1)), "in set 1"},
	} {
		if m, err := Reflect(c.code); m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", name, m, err, c.want)
		}
	}
}

// A local size given by LocalSizeId, which modules from SPIR-V 1.2 on may have.
func TestReflectLocalSizeID(t *testing.T) {
	m, err := Reflect(assemble(entryPoint, ins(opExecModeID, 1, modeLocalSizeID, 31, 32, 32), ins(opDecorate, 31, decSpecID, 9),
		uintType, ins(opSpecConstant, 10, 31, 128), ins(opConstant, 10, 32, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if m.LocalSize != [3]uint32{128, 1, 1} || m.LocalSizeSpec != [3]int32{9, -1, -1} {
		t.Errorf("local size %v by constants %v", m.LocalSize, m.LocalSizeSpec)
	}
}

func FuzzReflect(f *testing.F) {
	f.Add(load(f, "interface.O0.spv"))
	f.Add(load(f, "interface.O.spv"))
	f.Add(assemble(entryPoint, localSize, ins(opTypeStruct, 20, 20), ins(opTypePointer, 21, classPushConstant, 20), ins(opVariable, 21, 22, classPushConstant)))
	f.Fuzz(func(t *testing.T, code []byte) {
		m, err := Reflect(code)
		if (m == nil) == (err == nil) {
			t.Errorf("got %+v and %v", m, err)
		}
	})
}
