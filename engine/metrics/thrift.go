package metrics

import "encoding/binary"

// thrift encodes a structure by Apache Thrift's compact protocol, which Parquet's metadata have. Fields are written in the order of their numbers.
type thrift struct {
	bytes []byte
	last  int // number of the field before
}

// Types of fields and of elements of lists.
const (
	thriftInteger = 5
	thriftLong    = 6
	thriftText    = 8
	thriftList    = 9
	thriftStruct  = 12
)

func (t *thrift) field(number, typ int) {
	t.bytes = append(t.bytes, byte((number-t.last)<<4|typ))
	t.last = number
}

// number writes an integer without a field.
func (t *thrift) number(x int64) { t.bytes = binary.AppendVarint(t.bytes, x) }

// string writes a text without a field.
func (t *thrift) string(text string) {
	t.bytes = append(binary.AppendUvarint(t.bytes, uint64(len(text))), text...)
}

// integer writes a field of 32 bits.
func (t *thrift) integer(field int, x int64) {
	t.field(field, thriftInteger)
	t.number(x)
}

// long writes a field of 64 bits.
func (t *thrift) long(field int, x int64) {
	t.field(field, thriftLong)
	t.number(x)
}

func (t *thrift) text(field int, text string) {
	t.field(field, thriftText)
	t.string(text)
}

// within writes a field that is a structure.
func (t *thrift) within(field int, write func(*thrift)) {
	t.field(field, thriftStruct)
	t.structure(write)
}

func (t *thrift) structure(write func(*thrift)) {
	var inner thrift
	write(&inner)
	t.bytes = append(t.bytes, inner.end()...)
}

// list writes a field that is a list of n elements.
func (t *thrift) list(field, typ, n int, write func(i int, to *thrift)) {
	t.field(field, thriftList)
	if n < 15 {
		t.bytes = append(t.bytes, byte(n<<4|typ))
	} else {
		t.bytes = binary.AppendUvarint(append(t.bytes, byte(15<<4|typ)), uint64(n))
	}
	for i := range n {
		if typ == thriftStruct {
			t.structure(func(inner *thrift) { write(i, inner) })
		} else {
			write(i, t)
		}
	}
}

// end returns the encoded structure.
func (t *thrift) end() []byte { return append(t.bytes, 0) }
