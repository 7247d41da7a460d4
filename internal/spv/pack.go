package spv

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// names is the number of names of a module's own identifiers; the most that it may define is less.
const (
	names   = 1 << 16
	mostOwn = names / 2
)

// Pack packs a module. Unpack returns it with its identifiers numbered in the order of their definition.
//
// Errors: bytes that are no SPIR-V, an instruction that is not in the list of those that are packed, and an identifier without definition.
func Pack(code []byte) ([]byte, error) {
	all, err := parse(code)
	if err != nil {
		return nil, fmt.Errorf("spv: %w", err)
	}
	p := packer{name: map[uint32]uint32{}, number: map[uint32]int{}}
	if err := p.define(all); err != nil {
		return nil, fmt.Errorf("spv: %w", err)
	}
	p.out = append([]byte(signature), code[4:12]...) // version and generator
	for _, in := range all {
		if err := p.instruction(in); err != nil {
			return nil, fmt.Errorf("spv: %w", err)
		}
	}
	return p.out, nil
}

type packer struct {
	name    map[uint32]uint32 // of the module's own identifiers
	number  map[uint32]int    // of functions' names, in the order of definition
	inside  bool              // a function has begun
	defined int               // identifiers of functions so far
	out     []byte
}

// define names and numbers all identifiers.
func (p *packer) define(all []instruction) error {
	decorations := map[uint32][]instruction{}
	taken := make([]bool, names)
	inside := false
	for _, in := range all {
		if in.op == opDecorate || in.op == opMemberDecorate {
			decorations[in.args[0]] = append(decorations[in.args[0]], in)
		}
		inside = inside || in.op == opFunction
		for i, kind := range in.kinds {
			if kind != 'r' {
				continue
			}
			id := in.args[i]
			if _, ok := p.name[id]; ok {
				return fmt.Errorf("identifier %d is defined twice", id)
			}
			if _, ok := p.number[id]; ok {
				return fmt.Errorf("identifier %d is defined twice", id)
			}
			if inside {
				p.number[id] = len(p.number)
				continue
			}
			if len(p.name) == mostOwn {
				return fmt.Errorf("more than %d types, constants and variables", mostOwn)
			}
			name := p.hash(in, decorations[id])
			for taken[name] { // definitions may be alike but for their place
				name = (name + 1) % names
			}
			taken[name], p.name[id] = true, name
		}
	}
	return nil
}

// hash returns a hash of a definition and its decorations that does not depend on the numbers of identifiers.
func (p *packer) hash(in instruction, decorations []instruction) uint32 {
	h := fnv.New32a()
	add := func(in instruction, first int) {
		word := binary.LittleEndian.AppendUint32(nil, uint32(in.op))
		for i := first; i < len(in.args); i++ {
			switch in.kinds[i] {
			case 'l':
				word = binary.LittleEndian.AppendUint32(word, in.args[i])
			case 'i', 't':
				word = binary.LittleEndian.AppendUint32(word, p.name[in.args[i]])
			}
		}
		_, _ = h.Write(word)
	}
	add(in, 0)
	for _, d := range decorations {
		add(d, 1)
	}
	return h.Sum32() >> 16 % names
}

func (p *packer) instruction(in instruction) error {
	p.inside = p.inside || in.op == opFunction
	p.out = binary.AppendUvarint(p.out, uint64(in.op))
	if varies(in.op) {
		p.out = binary.AppendUvarint(p.out, uint64(len(in.args)))
	}
	for i, kind := range in.kinds {
		arg := in.args[i]
		switch {
		case kind == 'r' && p.inside:
			p.defined++
		case kind == 'r':
			p.out = binary.LittleEndian.AppendUint16(p.out, uint16(p.name[arg]))
		case kind == 'l' && numeric(in.op):
			p.out = binary.LittleEndian.AppendUint32(p.out, arg)
		case kind == 'l':
			p.out = binary.AppendUvarint(p.out, uint64(arg))
		default:
			if name, ok := p.name[arg]; ok {
				p.out = binary.AppendUvarint(p.out, uint64(name)<<1|1)
				continue
			}
			number, ok := p.number[arg]
			if !ok {
				return fmt.Errorf("identifier %d has no definition", arg)
			}
			distance := int64(p.defined - number) // negative: defined later
			p.out = binary.AppendUvarint(p.out, uint64(distance<<1^distance>>63)<<1)
		}
	}
	return nil
}

// numeric reports whether the literals of an instruction are the bits of numbers, which are seldom small as integers.
func numeric(op uint16) bool { return op == opConstant || op == opSpecConstant }
