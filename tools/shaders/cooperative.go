package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// Debian 12's glslc and spirv-val know cooperative matrices as SPV_NV_cooperative_matrix only. Kernels are written with that
// extension, compiled, optimized and validated, and then turned into modules of SPV_KHR_cooperative_matrix, the form that
// all vendors' drivers have. The two differ in numbers of instructions, in the order of some operands, and in what the type
// of a matrix says: KHR's also says whether it is A, B or the accumulator of a product.

// Numbers of the SPIR-V specification and of the two extensions.
const (
	spirvHeader = 5 // words
	spirvBound  = 3 // the word that is larger than all ids

	opExtension           = 10
	opTypeInt             = 21
	opConstantTrue        = 41
	opConstantFalse       = 42
	opConstant            = 43
	opCapability          = 17
	opSpecConstantOp      = 52
	opTypeMatrixNV        = 5358
	opMatrixLoadNV        = 5359
	opMatrixStoreNV       = 5360
	opMatrixMulAddNV      = 5361
	opMatrixLengthNV      = 5362
	opTypeMatrixKHR       = 4456
	opMatrixLoadKHR       = 4457
	opMatrixStoreKHR      = 4458
	opMatrixMulAddKHR     = 4459
	opMatrixLengthKHR     = 4460
	capabilityMatrixNV    = 5357
	capabilityMatrixKHR   = 6022
	useA, useB, useResult = 0, 1, 2 // CooperativeMatrixUse; the first two are also the layouts by rows and by columns
)

const (
	extensionNV  = "SPV_NV_cooperative_matrix"
	extensionKHR = "SPV_KHR_cooperative_matrix"
)

// spirvInstruction is one instruction without its first word.
type spirvInstruction struct {
	op   uint32
	args []uint32
}

// cooperativeMatrices turns a module of SPV_NV_cooperative_matrix into one of SPV_KHR_cooperative_matrix. It returns other
// modules as they are.
func cooperativeMatrices(code []byte) ([]byte, error) {
	header, all, err := spirvInstructions(code)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(i spirvInstruction) bool { return i.op == opCapability && i.args[0] == capabilityMatrixNV }) {
		return code, nil
	}
	t := matrixTranslator{next: header[spirvBound], columnMajor: map[uint32]uint32{}}
	if err := t.declarations(all); err != nil {
		return nil, err
	}
	var out []uint32
	for _, i := range all {
		if i.op == opTypeMatrixNV && !t.declared {
			t.declared = true
			for value := range uint32(3) {
				out = append(out, 4<<16|opConstant, t.uint, t.next+value, value)
			}
		}
		if i, err = t.instruction(i); err != nil {
			return nil, err
		}
		out = append(out, uint32(len(i.args)+1)<<16|i.op)
		out = append(out, i.args...)
	}
	header[spirvBound] += 3
	var to bytes.Buffer
	for _, words := range [][]uint32{header, out} {
		_ = binary.Write(&to, binary.LittleEndian, words) // a buffer never fails
	}
	return to.Bytes(), nil
}

// spirvInstructions divides a module into its header and its instructions.
func spirvInstructions(code []byte) (header []uint32, all []spirvInstruction, err error) {
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	if len(words) < spirvHeader {
		return nil, nil, fmt.Errorf("%d bytes are no SPIR-V module", len(code))
	}
	for at := spirvHeader; at < len(words); {
		n := int(words[at] >> 16)
		if n == 0 || at+n > len(words) {
			return nil, nil, fmt.Errorf("word %d of the SPIR-V module: an instruction of %d words, %d are left", at, n, len(words)-at)
		}
		all = append(all, spirvInstruction{words[at] & 0xffff, words[at+1 : at+n]})
		at += n
	}
	return words[:spirvHeader], all, nil
}

// matrixTranslator holds the ids of one module.
type matrixTranslator struct {
	next        uint32            // three ids from here on become the constants 0, 1 and 2
	declared    bool              // the constants
	uint        uint32            // the type of 32-bit unsigned integers
	columnMajor map[uint32]uint32 // constants true and false: 1 and 0
	results     []spirvInstruction
}

// declarations finds the types and constants that the translation refers to.
func (t *matrixTranslator) declarations(all []spirvInstruction) error {
	results := map[uint32]bool{}
	for _, i := range all {
		switch i.op {
		case opTypeInt:
			if i.args[1] == 32 && i.args[2] == 0 {
				t.uint = i.args[0]
			}
		case opConstantTrue, opConstantFalse:
			t.columnMajor[i.args[1]] = opConstantFalse - i.op
		case opMatrixMulAddNV:
			results[i.args[0]] = true
		}
	}
	if t.uint == 0 {
		return fmt.Errorf("a module with cooperative matrices has no type uint")
	}
	for _, i := range all {
		if i.op == opTypeMatrixNV && results[i.args[0]] {
			t.results = append(t.results, i)
		}
	}
	return nil
}

// use returns what a matrix type is in products: a result, A by its rows, or B by its columns.
func (t *matrixTranslator) use(i spirvInstruction) (uint32, error) {
	a, b := false, false
	for _, r := range t.results {
		if r.args[0] == i.args[0] {
			return useResult, nil
		}
		a, b = a || i.args[3] == r.args[3], b || i.args[4] == r.args[4]
	}
	switch {
	case a && !b:
		return useA, nil
	case b && !a:
		return useB, nil
	}
	return 0, fmt.Errorf("a type of cooperative matrices could be A and B, or neither; want sizes by constants of their own, M × K and K × N, of products M × N")
}

// layout returns the id of a layout for the id of a column-major flag.
func (t *matrixTranslator) layout(columnMajor uint32) (uint32, error) {
	layout, ok := t.columnMajor[columnMajor]
	if !ok {
		return 0, fmt.Errorf("a cooperative matrix is loaded or stored column-major by a specialization constant; want true or false")
	}
	return t.next + layout, nil
}

// instruction translates one instruction.
func (t *matrixTranslator) instruction(i spirvInstruction) (spirvInstruction, error) {
	args := slices.Clone(i.args)
	var err error
	switch i.op {
	case opCapability:
		if args[0] == capabilityMatrixNV {
			args[0] = capabilityMatrixKHR
		}
	case opExtension:
		if words := spirvString(extensionNV); slices.Equal(args, words) {
			args = spirvString(extensionKHR)
		}
	case opTypeMatrixNV:
		var use uint32
		use, err = t.use(i)
		i.op, args = opTypeMatrixKHR, append(args, t.next+use)
	case opMatrixLoadNV: // type, result, pointer, stride, column-major → type, result, pointer, layout, stride
		i.op, args[4] = opMatrixLoadKHR, args[3]
		args[3], err = t.layout(i.args[4])
	case opMatrixStoreNV: // pointer, object, stride, column-major → pointer, object, layout, stride
		i.op, args[3] = opMatrixStoreKHR, args[2]
		args[2], err = t.layout(i.args[3])
	case opMatrixMulAddNV:
		i.op = opMatrixMulAddKHR
	case opMatrixLengthNV:
		i.op = opMatrixLengthKHR
	case opSpecConstantOp: // the length of a matrix whose size is a specialization constant
		if args[2] == opMatrixLengthNV {
			args[2] = opMatrixLengthKHR
		}
	}
	return spirvInstruction{i.op, args}, err
}

// spirvString encodes a string as a module does: with a zero byte, padded to words.
func spirvString(s string) []uint32 {
	padded := make([]byte, len(s)/4*4+4)
	copy(padded, s)
	words := make([]uint32, len(padded)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(padded[4*i:])
	}
	return words
}
