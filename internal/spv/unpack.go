package spv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

var (
	errEnd   = errors.New("it ends within an instruction")
	errWidth = errors.New("a number of more than 32 bits")
)

// Unpack returns a packed module.
//
// Errors: bytes that Pack does not write.
func Unpack(packed []byte) ([]byte, error) {
	u := unpacker{rest: packed}
	code, err := u.module()
	if err != nil {
		return nil, fmt.Errorf("spv: a packed module of %d bytes: %w", len(packed), err)
	}
	return code, nil
}

type unpacker struct {
	rest    []byte
	own     [names]uint32 // identifiers of the module, by name; 0: not defined
	count   int           // of these
	inside  bool          // a function has begun: all of the module's own are defined
	defined int           // identifiers of functions so far
	words   []uint32
	early   []use
	used    int64 // largest identifier of the functions in use, and 1
}

// use is an identifier in words that a declaration uses before it can be numbered.
type use struct {
	at    int
	named bool
	value int64 // name, or number among functions' names
}

func (u *unpacker) module() ([]byte, error) {
	head, ok := strings.CutPrefix(string(u.rest[:min(len(u.rest), len(signature)+8)]), signature)
	if !ok || len(head) < 8 {
		return nil, fmt.Errorf("it does not begin with %q, version and generator", signature)
	}
	u.rest = u.rest[len(signature)+8:]
	u.words = make([]uint32, headerWords, headerWords+len(u.rest))
	u.words[0] = magic
	u.words[1], u.words[2] = binary.LittleEndian.Uint32([]byte(head)), binary.LittleEndian.Uint32([]byte(head[4:]))
	for len(u.rest) > 0 {
		if err := u.instruction(); err != nil {
			return nil, err
		}
	}
	return u.finish()
}

func (u *unpacker) instruction() error {
	word, err := u.varint()
	if err != nil {
		return err
	}
	op := uint16(min(word, math.MaxUint16))
	pattern, ok := patternOf(op)
	if !ok {
		return fmt.Errorf("opcode %d, which is not in the list", word)
	}
	u.inside = u.inside || op == opFunction
	n := len(pattern)
	if varies(op) {
		count, err := u.varint()
		if err != nil {
			return err
		}
		if count >= math.MaxUint16 || int(count) > len(u.rest)+2 { // a result takes no byte
			return errEnd
		}
		n = int(count)
	}
	u.words = append(u.words, uint32(n+1)<<16|uint32(op))
	return kinds(op, n, func(kind byte) (uint32, error) {
		word, err := u.operand(op, kind)
		u.words = append(u.words, word)
		return word, err
	})
}

// operand reads an operand. Identifiers are numbered later.
func (u *unpacker) operand(op uint16, kind byte) (uint32, error) {
	switch {
	case kind == 'r' && u.inside:
		u.defined++
		return u.local(int64(u.defined - 1)), nil
	case kind == 'r':
		if len(u.rest) < 2 {
			return 0, errEnd
		}
		name := binary.LittleEndian.Uint16(u.rest)
		u.rest = u.rest[2:]
		if u.own[name] != 0 {
			return 0, fmt.Errorf("two definitions of the name %#04x", name)
		}
		u.count++
		u.own[name] = uint32(u.count)
		return u.own[name], nil
	case kind == 'l' && numeric(op):
		if len(u.rest) < 4 {
			return 0, errEnd
		}
		word := binary.LittleEndian.Uint32(u.rest)
		u.rest = u.rest[4:]
		return word, nil
	case kind == 'l':
		return u.varint()
	}
	v, n := binary.Uvarint(u.rest)
	if n <= 0 {
		return 0, errEnd
	}
	u.rest = u.rest[n:]
	x := use{at: len(u.words), named: v&1 != 0, value: int64(v >> 1)}
	if !x.named {
		distance := x.value>>1 ^ -(x.value & 1)
		x.value = int64(u.defined) - distance
	}
	if !u.inside {
		u.early = append(u.early, x)
		return 0, nil
	}
	return u.identifier(x)
}

// local returns the number of an identifier of the functions.
func (u *unpacker) local(n int64) uint32 { return uint32(u.count) + 1 + uint32(n) }

// identifier returns the number of a use. That it does not lie beyond the last definition is checked at the end.
func (u *unpacker) identifier(x use) (uint32, error) {
	if x.named {
		if x.value >= names || u.own[x.value] == 0 {
			return 0, fmt.Errorf("the name %#04x has no definition", x.value)
		}
		return u.own[x.value], nil
	}
	if x.value < 0 || x.value > math.MaxInt32 {
		return 0, fmt.Errorf("identifier %d of the functions", x.value)
	}
	u.used = max(u.used, x.value+1)
	return u.local(x.value), nil
}

// varint reads a word.
func (u *unpacker) varint() (uint32, error) {
	v, n := binary.Uvarint(u.rest)
	switch {
	case n <= 0:
		return 0, errEnd
	case v > math.MaxUint32:
		return 0, errWidth
	}
	u.rest = u.rest[n:]
	return uint32(v), nil
}

// finish numbers the early uses and returns the module.
func (u *unpacker) finish() ([]byte, error) {
	for _, x := range u.early {
		id, err := u.identifier(x)
		if err != nil {
			return nil, err
		}
		u.words[x.at] = id
	}
	if u.used > int64(u.defined) {
		return nil, fmt.Errorf("identifier %d of the functions, which define %d", u.used-1, u.defined)
	}
	u.words[3] = uint32(u.count+u.defined) + 1
	code := make([]byte, 4*len(u.words))
	for i, w := range u.words {
		binary.LittleEndian.PutUint32(code[4*i:], w)
	}
	return code, nil
}
