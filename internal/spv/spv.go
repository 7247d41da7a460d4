// Package spv packs SPIR-V modules for version control and for the binary. A packed module takes a third of the bytes, and two of them differ
// only where the modules do: an instruction more in the middle of a module changes the number of every identifier behind it, but few bytes of
// the packed module. A commit that edits a kernel of all environments grows the repository by 0.4 MB packed, and by 5 MB otherwise.
//
// Identifiers are not written as numbers. Those of a function are the distance from their use to their definition. Those of the module
// (types, constants, variables) are named by 16 bits of a hash of their definition, which other definitions do not change. Unpack numbers them
// in the order of their definition, so modules differ from the compiler's in these numbers and nothing else.
package spv

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	magic       = 0x07230203 // first word of a SPIR-V module
	headerWords = 5          // magic, version, generator, bound of identifiers, 0
	signature   = "EVSP\x01" // first bytes of a packed module
)

// instruction is an instruction of a module, with the kinds of its operands.
type instruction struct {
	op    uint16
	args  []uint32
	kinds []byte // t, r, i or l for each
}

// kinds calls next for each operand of an instruction, in order, with its kind: t, r, i or l. next returns the operand, on which the kinds of others
// may depend. words is the number of operands.
func kinds(op uint16, words int, next func(kind byte) (uint32, error)) error {
	pattern, ok := patternOf(op)
	if !ok {
		return fmt.Errorf("opcode %d is not in the list of those that are packed", op)
	}
	at := 0
	take := func(kind byte) (uint32, error) {
		if at == words {
			return 0, fmt.Errorf("opcode %d with %d operands; want more", op, words)
		}
		at++
		return next(kind)
	}
	if err := walk(pattern, func() bool { return at < words }, take); err != nil {
		return err
	}
	if at < words {
		return fmt.Errorf("opcode %d with %d operands; want %d", op, words, at)
	}
	return nil
}

// walk takes the operands of a pattern; more reports whether there are any left.
func walk(pattern string, more func() bool, take func(kind byte) (uint32, error)) error {
	for _, p := range []byte(pattern) {
		var err error
		switch p {
		case 's':
			for word := ^uint32(0); word>>24 != 0 && err == nil; {
				word, err = take('l')
			}
		case 'I', 'L':
			for more() && err == nil {
				_, err = take(p - 'A' + 'a')
			}
		case 'P':
			for more() && err == nil {
				if _, err = take('l'); err == nil {
					_, err = take('i')
				}
			}
		case 'M':
			if more() {
				err = memoryOperands(take)
			}
		case 'O':
			err = constantOperation(more, take)
		default:
			_, err = take(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// memoryOperands takes a mask of memory operands and what its bits ask for.
func memoryOperands(take func(kind byte) (uint32, error)) error {
	mask, err := take('l')
	for _, bit := range []struct {
		mask uint32
		kind byte
	}{{0x2, 'l'}, {0x8, 'i'}, {0x10, 'i'}} { // alignment, scope that makes available, scope that makes visible
		if err == nil && mask&bit.mask != 0 {
			_, err = take(bit.kind)
		}
	}
	return err
}

// constantOperation takes the opcode of an OpSpecConstantOp and the operands of that operation.
func constantOperation(more func() bool, take func(kind byte) (uint32, error)) error {
	op, err := take('l')
	if err != nil {
		return err
	}
	pattern, ok := patternOf(uint16(op))
	if !ok || op > 0xffff || len(pattern) < 2 || pattern[:2] != "tr" || pattern[2:] == "O" {
		return fmt.Errorf("an OpSpecConstantOp of opcode %d, which is not in the list of those that are packed", op)
	}
	return walk(pattern[2:], more, take)
}

// parse splits a module into its instructions.
func parse(code []byte) ([]instruction, error) {
	if len(code) < 4*headerWords || len(code)%4 != 0 || binary.LittleEndian.Uint32(code) != magic {
		return nil, fmt.Errorf("%d bytes without the header of a little-endian SPIR-V module", len(code))
	}
	if schema := binary.LittleEndian.Uint32(code[16:]); schema != 0 {
		return nil, fmt.Errorf("a module of schema %d; want 0", schema)
	}
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	var all []instruction
	for at := headerWords; at < len(words); {
		n := int(words[at] >> 16)
		if n == 0 || n > len(words)-at {
			return nil, fmt.Errorf("word %d: an instruction of %d words, %d before the end", at, n, len(words)-at)
		}
		in := instruction{op: uint16(words[at]), args: words[at+1 : at+n]}
		in.kinds = make([]byte, 0, n-1)
		err := kinds(in.op, n-1, func(kind byte) (uint32, error) {
			in.kinds = append(in.kinds, kind)
			return in.args[len(in.kinds)-1], nil
		})
		if err != nil {
			return nil, fmt.Errorf("word %d: %w", at, err)
		}
		all = append(all, in)
		at += n
	}
	return all, nil
}

// patterns is grammar as an array, and variable tells which instructions have any number of operands.
var patterns, variable = func() (patterns [1 << 13]string, variable [1 << 13]bool) {
	for op, pattern := range grammar {
		patterns[op] = pattern + "."
		variable[op] = strings.ContainsAny(pattern, "sILPMO")
	}
	return patterns, variable
}()

// patternOf returns the pattern of an opcode.
func patternOf(op uint16) (string, bool) {
	if int(op) >= len(patterns) || patterns[op] == "" {
		return "", false
	}
	return patterns[op][:len(patterns[op])-1], true
}

// varies reports whether instructions of an opcode in the list have any number of operands.
func varies(op uint16) bool { return variable[op] }
