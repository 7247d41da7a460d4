package spv

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// ins is an instruction, as words.
func ins(op uint32, args ...uint32) []uint32 {
	return append([]uint32{uint32(len(args)+1)<<16 | op}, args...)
}

// assemble makes a module.
func assemble(instructions ...[]uint32) []byte {
	words := append([]uint32{magic, 0x10300, 7, 100, 0}, slices.Concat(instructions...)...)
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

// sample is a small module with the given identifiers: types, constants, a function with a loop that refers to what comes later.
func sample(id []uint32, extra ...[]uint32) []byte {
	void, u32, function, two, main, entry, loop, exit, phi, next, more := id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10]
	label := uint32('m') | 'a'<<8 | 'i'<<16 | 'n'<<24
	all := [][]uint32{
		ins(17, 1), ins(14, 0, 1), ins(15, 5, main, label, 0), ins(16, main, 17, 8, 1, 1), ins(71, two, 1, 4),
		ins(19, void), ins(21, u32, 32, 0), ins(33, function, void),
	}
	all = append(all, extra...)
	all = append(all,
		ins(50, u32, two, 0x40490fdb),
		ins(54, void, main, 0, function), ins(248, entry), ins(249, loop),
		ins(248, loop), ins(245, u32, phi, two, entry, next, loop), ins(128, u32, next, phi, two), ins(246, exit, loop, 0),
		ins(170, u32, more, next, two), ins(250, more, loop, exit), ins(248, exit), ins(253), ins(56))
	return assemble(all...)
}

// A packed module does not depend on the numbers of identifiers, and comes back numbered in the order of definition.
func TestPackRenumbers(t *testing.T) {
	canonical := sample([]uint32{1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10})
	binary.LittleEndian.PutUint32(canonical[12:], 12)
	packed, err := Pack(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if code, err := Unpack(packed); err != nil || !bytes.Equal(code, canonical) {
		t.Errorf("a module comes back as %x, %v; want %x", code, err, canonical)
	}
	if other, err := Pack(sample([]uint32{90, 80, 70, 60, 50, 45, 40, 30, 20, 10, 3})); err != nil || !bytes.Equal(other, packed) {
		t.Errorf("with other numbers it is packed as %x, %v; want %x", other, err, packed)
	}
	if len(packed) > len(canonical)/2 {
		t.Errorf("%d bytes are packed into %d", len(canonical), len(packed))
	}
}

// A definition more changes the packed module where it is, and nowhere else.
func TestPackIsLocal(t *testing.T) {
	id := []uint32{1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10}
	before, err := Pack(sample(id))
	if err != nil {
		t.Fatal(err)
	}
	after, err := Pack(sample(id, ins(22, 12, 32), ins(43, 12, 13, 0x3f800000)))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for same < len(before) && before[same] == after[same] {
		same++
	}
	if tail := before[same:]; !bytes.HasSuffix(after, tail) {
		t.Errorf("a constant more changes more than its place:\n%x\n%x", before, after)
	}
}

func TestPackRefuses(t *testing.T) {
	id := []uint32{1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10}
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"no header":        {[]byte("spirv"), "header"},
		"unknown opcode":   {sample(id, ins(9999, 1)), "opcode 9999"},
		"too short":        {sample(id, ins(21, 12, 32)), "want more"},
		"too long":         {sample(id, ins(22, 12, 32, 1, 2)), "want 2"},
		"defined twice":    {sample(id, ins(19, 1)), "defined twice"},
		"undefined":        {sample(id, ins(28, 12, 77, 1)), "no definition"},
		"beyond the end":   {assemble([]uint32{5 << 16}), "before the end"},
		"constant of what": {sample(id, ins(52, 2, 12, 56)), "OpSpecConstantOp"},
	} {
		if _, err := Pack(c.code); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", name, err, c.want)
		}
	}
}

// Whatever bytes are unpacked, the result is a module that packs into these bytes, or an error.
func FuzzUnpack(f *testing.F) {
	packed, err := Pack(sample([]uint32{1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	for i := range packed {
		f.Add(packed[:i])
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		code, err := Unpack(packed)
		if err != nil {
			return
		}
		again, err := Pack(code)
		if err != nil {
			return // unpacking does not check what no module needs
		}
		if back, err := Unpack(again); err != nil || !bytes.Equal(back, code) {
			t.Errorf("%x is unpacked to %x, packed to %x, unpacked to %x, %v", packed, code, again, back, err)
		}
	})
}
