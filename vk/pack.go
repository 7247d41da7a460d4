package vk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// Pack returns a call of x × y × z workgroups of s. K is the struct that tools/shaders generates for the shader's kernel. In order, it has
//
//   - a Range for each binding that is not a view of another one (Binding.View),
//   - the push constants: uint32, int32, float32, bool (4 bytes in the shader) or arrays of them, without gaps,
//   - the specialization constants, of the same types without arrays, except those that follow from a binding (SpecConstant.Has).
//     Zero is the shader's default.
//
// All calls with one K are of one shader or of its variants. If K is no such struct, Program.Dispatch reports it.
func Pack[K any](s *Shader, k *K, x, y, z uint32) Call {
	if s == nil {
		return Call{} // which Dispatch refuses
	}
	c := s.pack(reflect.TypeFor[K](), unsafe.Pointer(k))
	c.Groups = [3]uint32{x, y, z}
	return c
}

// packings holds the packing of each type of kernel that was packed. It depends on the type alone.
var packings sync.Map // of reflect.Type and *packing

// packing says where a kernel's struct holds what a call needs.
type packing struct {
	ranges []uintptr // by binding
	push   []word
	spec   []word // by specialization constant
	err    error
}

// word is a field, or an element of one, that becomes a word of 32 bits.
type word struct {
	at   uintptr
	kind wordKind
}

type wordKind uint8

const (
	bitsWord  wordKind = iota // uint32 or int32
	floatWord                 // as bits, but -0 is zero too
	boolWord
	givenWord // a Range: 1 if it has a buffer
)

var wordKinds = map[reflect.Kind]wordKind{
	reflect.Uint32: bitsWord, reflect.Int32: bitsWord, reflect.Float32: floatWord, reflect.Bool: boolWord,
}

// value returns the word, and whether it differs from zero in Go.
func (w word) value(k unsafe.Pointer) (bits uint32, set bool) {
	field := unsafe.Add(k, w.at)
	switch w.kind {
	case boolWord:
		set = *(*bool)(field)
	case givenWord:
		set = (*Range)(field).Buffer != nil
	case floatWord:
		bits = *(*uint32)(field)
		return bits, bits<<1 != 0
	default:
		bits = *(*uint32)(field)
		return bits, bits != 0
	}
	if set {
		bits = 1
	}
	return bits, set
}

func (s *Shader) pack(typ reflect.Type, k unsafe.Pointer) Call {
	found, ok := packings.Load(typ)
	if !ok {
		found, _ = packings.LoadOrStore(typ, s.packing(typ))
	}
	p := found.(*packing)
	c := Call{Shader: s, Label: cmp.Or(s.Label, s.Name), err: p.err}
	if p.err != nil {
		return c
	}
	if len(p.ranges) > 0 {
		c.Ranges = make([]Range, len(p.ranges))
	}
	for i, at := range p.ranges {
		c.Ranges[i] = *(*Range)(unsafe.Add(k, at))
	}
	// Push and specialization constants share an allocation.
	words := make([]uint32, len(p.spec)+len(p.push))
	if len(p.spec) > 0 {
		c.Spec = words[:len(p.spec):len(p.spec)]
	}
	for i, w := range p.spec {
		var set bool
		if c.Spec[i], set = w.value(k); !set {
			c.Spec[i] = s.Spec[i].Default
		}
	}
	if len(p.push) > 0 {
		words = words[len(p.spec):]
		c.Push = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words))
	}
	for i, w := range p.push {
		bits, _ := w.value(k)
		binary.LittleEndian.PutUint32(c.Push[4*i:], bits)
	}
	return c
}

// packing reads the fields of a kernel's struct.
func (s *Shader) packing(typ reflect.Type) *packing {
	p, err := s.match(typ)
	if err != nil {
		p = &packing{err: fmt.Errorf("%v does not fit shader %s: %w", typ, s.Name, err)}
	}
	return p
}

func (s *Shader) match(typ reflect.Type) (*packing, error) {
	if typ.Kind() != reflect.Struct {
		return nil, fmt.Errorf("it is no struct")
	}
	p := &packing{ranges: make([]uintptr, len(s.Bindings))}
	fields := typ.NumField()
	next := 0
	binding := map[string]uintptr{} // fields by the names of their bindings
	for i, b := range s.Bindings {
		if b.View != "" {
			continue
		}
		if next == fields || typ.Field(next).Type != reflect.TypeFor[Range]() {
			return nil, fmt.Errorf("field %d should be the Range of binding %q", next, b.Name)
		}
		p.ranges[i] = typ.Field(next).Offset
		binding[b.Name] = p.ranges[i]
		next++
	}
	for i, b := range s.Bindings {
		at, ok := binding[b.View]
		switch {
		case b.View == "":
		case !ok:
			return nil, fmt.Errorf("binding %q views %q, which is no binding with a field", b.Name, b.View)
		default:
			p.ranges[i] = at
		}
	}
	for ; next < fields && len(p.push) < int(s.PushBytes)/4; next++ {
		var ok bool
		if p.push, ok = appendWords(p.push, typ.Field(next).Type, typ.Field(next).Offset); !ok {
			return nil, fmt.Errorf("push constant %s is of %v; want words of 32 bits, bools or arrays", typ.Field(next).Name, typ.Field(next).Type)
		}
	}
	if 4*len(p.push) != int(s.PushBytes) {
		return nil, fmt.Errorf("it has %d bytes of push constants, the shader %d", 4*len(p.push), s.PushBytes)
	}
	for _, c := range s.Spec {
		if c.Has != "" {
			at, ok := binding[c.Has]
			if !ok {
				return nil, fmt.Errorf("constant %s follows from %q, which is no binding with a field", c.Name, c.Has)
			}
			p.spec = append(p.spec, word{at, givenWord})
			continue
		}
		if next == fields {
			return nil, fmt.Errorf("it lacks a field for specialization constant %s", c.Name)
		}
		f := typ.Field(next)
		kind, ok := wordKinds[f.Type.Kind()]
		if !ok {
			return nil, fmt.Errorf("specialization constant %s is of %v; want a word of 32 bits or a bool", f.Name, f.Type)
		}
		p.spec = append(p.spec, word{f.Offset, kind})
		next++
	}
	if next < fields {
		return nil, fmt.Errorf("field %s belongs to nothing of it", typ.Field(next).Name)
	}
	return p, nil
}

// appendWords appends the words of a field at an offset.
func appendWords(words []word, typ reflect.Type, at uintptr) ([]word, bool) {
	if typ.Kind() == reflect.Array {
		ok := true
		for i := 0; i < typ.Len() && ok; i++ {
			words, ok = appendWords(words, typ.Elem(), at+uintptr(i)*typ.Elem().Size())
		}
		return words, ok
	}
	kind, ok := wordKinds[typ.Kind()]
	return append(words, word{at, kind}), ok
}

// Variants returns the variants of a kernel: copies of s that differ in their code and have the names NAME.VARIANT. The code is that
// of code(NAME.VARIANT). Profiles and errors call all of them by the name of s.
func Variants(code func(name string) func() []byte, s Shader, variants ...string) map[string]*Shader {
	all := make(map[string]*Shader, len(variants))
	s.Label = s.Name
	for _, v := range variants {
		variant := s
		variant.Name = s.Name + "." + v
		variant.SPIRV = code(variant.Name)
		all[v] = &variant
	}
	return all
}
