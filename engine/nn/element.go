package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Element is how the elements of observations are stored. To environments and networks they are floats. Elements smaller than a
// word are packed into 32-bit words, the first in the lowest bits; each observation begins with a new word, and the bits after its
// last element are 0.
type Element uint32

const (
	Floats Element = iota // float32
	Bytes                 // multiples of 1/255 from 0 to 1: 8 bits each; what lies between is rounded
	Bits                  // 0 and 1; what is not 0 is 1
)

var elementNames = [...]string{"float32", "uint8", "bit"}

func (e Element) String() string { return config.NameOf(e, elementNames[:]) }

// UnmarshalText parses a type's name: float32, uint8 or bit.
func (e *Element) UnmarshalText(text []byte) error {
	return config.UnmarshalName(e, "type of observations", elementNames[:], text)
}

// MarshalText returns a type's name.
func (e Element) MarshalText() ([]byte, error) {
	return config.MarshalName(e, "type of observations", elementNames[:])
}

// Packed reports whether a word holds several elements.
func (e Element) Packed() bool { return e != Floats }

// Words returns the number of 32-bit words that hold an observation of the given number of elements.
func (e Element) Words(elements int) int {
	each := e.each()
	return (elements + each - 1) / each
}

// each returns the elements of a word.
func (e Element) each() int {
	switch e {
	case Bytes:
		return 4
	case Bits:
		return 32
	default:
		return 1
	}
}

// Word returns the type of tensors that hold observations: Uint32 if they are packed.
func (e Element) Word() engine.DType {
	if e.Packed() {
		return engine.Uint32
	}
	return engine.Float32
}

// Levels returns the number of values of an element; 0: any float.
func (e Element) Levels() int {
	switch e {
	case Bytes:
		return 256
	case Bits:
		return 2
	default:
		return 0
	}
}
