package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk/spirv"
)

// matrixKernel multiplies tiles of M × K and K × N, the first by columns.
const matrixKernel = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;
layout(constant_id = 2) const uint K = 16;
layout(std430, binding = 0) readonly buffer A { float16_t a[]; };
layout(std430, binding = 1) readonly buffer B { float16_t b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
void main() {
    fcoopmatNV<16, gl_ScopeSubgroup, M, K> x;
    fcoopmatNV<16, gl_ScopeSubgroup, K, N> y;
    coopMatLoadNV(x, a, 0, 64, true);
    coopMatLoadNV(y, b, 0, 80, false);
    fcoopmatNV<32, gl_ScopeSubgroup, M, N> z = fcoopmatNV<32, gl_ScopeSubgroup, M, N>(float(x.length()));
    coopMatStoreNV(coopMatMulAddNV(x, y, z), c, 0, 96, false);
}
`

// compileMatrices compiles a kernel of cooperative matrices and translates it.
func compileMatrices(t *testing.T, source string) ([]byte, error) {
	t.Helper()
	glslc, err := exec.LookPath("glslc")
	if err != nil {
		t.Fatal(err)
	}
	code, err := shaders.Glslc(context.Background(), glslc, source, "-O")
	if err != nil {
		t.Fatal(err)
	}
	return cooperativeMatrices(code)
}

// TestCooperativeMatrices: the translated module has KHR's instructions, with uses and layouts in place of sizes and flags.
func TestCooperativeMatrices(t *testing.T) {
	code, err := compileMatrices(t, matrixKernel)
	if err != nil {
		t.Fatal(err)
	}
	m, err := spirv.Reflect(code)
	if err != nil {
		t.Fatal(err)
	}
	has := " " + strings.Join(append(m.Capabilities, m.Extensions...), " ") + " "
	if !strings.Contains(has, " CooperativeMatrixKHR ") || !strings.Contains(has, " "+extensionKHR+" ") || strings.Contains(has, "NV") {
		t.Errorf("capabilities and extensions%s; want those of KHR and not of NV", has)
	}
	header, all, err := spirvInstructions(code)
	if err != nil {
		t.Fatal(err)
	}
	constants, uses, counts := map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]int{}
	value := func(id uint32) uint32 {
		v, ok := constants[id]
		if !ok || id >= header[spirvBound] {
			t.Fatalf("id %d, of a bound of %d, is no constant declared before", id, header[spirvBound])
		}
		return v
	}
	for _, i := range all {
		counts[i.op]++
		if i.op == opSpecConstantOp {
			counts[i.args[2]]++
		}
		switch i.op {
		case opConstant:
			constants[i.args[1]] = i.args[2]
		case opTypeMatrixKHR:
			uses[i.args[0]] = value(i.args[5])
		case opMatrixLoadKHR: // A by columns with 64 numbers from one to the next, B by rows with 80
			use := uses[i.args[0]]
			wantLayout, wantStride := uint32(1), uint32(64)
			if use == useB {
				wantLayout, wantStride = 0, 80
			}
			if layout, stride := value(i.args[3]), value(i.args[4]); layout != wantLayout || stride != wantStride {
				t.Errorf("matrix of use %d: layout %d, stride %d; want %d, %d", use, layout, stride, wantLayout, wantStride)
			}
		case opMatrixStoreKHR:
			if layout, stride := value(i.args[2]), value(i.args[3]); layout != 0 || stride != 96 {
				t.Errorf("result: layout %d, stride %d; want 0, 96", layout, stride)
			}
		case opMatrixMulAddKHR:
			if use := uses[i.args[0]]; use != useResult {
				t.Errorf("a product has use %d, want %d", use, useResult)
			}
		}
	}
	for op, want := range map[uint32]int{
		opTypeMatrixKHR: 3, opMatrixLoadKHR: 2, opMatrixStoreKHR: 1, opMatrixMulAddKHR: 1, opMatrixLengthKHR: 1,
		opTypeMatrixNV: 0, opMatrixLoadNV: 0, opMatrixStoreNV: 0, opMatrixMulAddNV: 0, opMatrixLengthNV: 0,
	} {
		if counts[op] != want {
			t.Errorf("%d instructions %d, want %d", counts[op], op, want)
		}
	}
}

// TestCooperativeMatricesRefused: types that could be A and B, and layouts that are no constants, are errors.
func TestCooperativeMatricesRefused(t *testing.T) {
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(matrixKernel) }
	for text, source := range map[string]string{
		"could be A and B":   replaced("M, K>", "16, 16>", "K, N>", "16, 16>", "M, N>", "16, 16>"),
		"want true or false": replaced("64, true", "64, COLUMNS", "void main", "layout(constant_id = 3) const bool COLUMNS = true;\nvoid main"),
	} {
		if _, err := compileMatrices(t, source); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
	if _, err := cooperativeMatrices([]byte{1, 2, 3}); err == nil {
		t.Error("3 bytes are a module")
	}
	header := make([]byte, 24)
	if _, err := cooperativeMatrices(header); err == nil {
		t.Error("an instruction of no words is one")
	}
}
