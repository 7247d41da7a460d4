package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// field describes a key, from the tags of its struct field.
type field struct {
	name     string
	index    []int
	doc      string
	unit     string
	low      *bound
	high     *bound
	choices  []string
	required bool
	replaces string // a list of the table, which is empty if this key is given and is not empty, nor zero; both are an error
	member   *Member
	position string // within a list: [0], [1] …
}

// label returns the name of the key in errors.
func (f *field) label() string { return f.name + f.position }

// bound is one end of a range of numbers; for durations in seconds.
type bound struct {
	value float64
	open  bool // the value itself is excluded
	text  string
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalType  = reflect.TypeFor[encoding.TextMarshaler]()
)

// fieldsOf lists the keys of a struct in declaration order. An error is a defect of the declaration.
func fieldsOf(t reflect.Type) ([]field, error) {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, tagged := sf.Tag.Lookup("toml")
		if name == "-" {
			continue
		}
		if sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct {
			inner, err := fieldsOf(sf.Type)
			if err != nil {
				return nil, err
			}
			for _, f := range inner {
				f.index = append([]int{i}, f.index...)
				out = append(out, f)
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, index: []int{i}, doc: sf.Tag.Get("doc"), unit: sf.Tag.Get("unit"), required: sf.Tag.Get("required") == "true",
			replaces: sf.Tag.Get("replaces")}
		if name == "" {
			f.name = snake(sf.Name)
		}
		if err := f.readTags(sf); err != nil {
			return nil, fmt.Errorf("config: field %s of %s: %w", sf.Name, t, err)
		}
		out = append(out, f)
	}
	for i, f := range out {
		if slices.ContainsFunc(out[:i], func(g field) bool { return g.name == f.name }) {
			return nil, fmt.Errorf("config: %s has two fields named %s", t, f.name)
		}
	}
	for _, f := range out {
		if f.replaces != "" && !slices.ContainsFunc(out, func(g field) bool { return g.name == f.replaces }) {
			return nil, fmt.Errorf("config: %s.%s replaces %s, which is no key", t, f.name, f.replaces)
		}
	}
	return out, nil
}

func (f *field) readTags(sf reflect.StructField) error {
	leaf := elementType(sf.Type)
	for _, tag := range []struct {
		name string
		to   **bound
		open bool
	}{{"min", &f.low, false}, {"above", &f.low, true}, {"max", &f.high, false}, {"below", &f.high, true}} {
		text, ok := sf.Tag.Lookup(tag.name)
		if !ok {
			continue
		}
		var x float64
		if leaf == durationType {
			d, err := time.ParseDuration(text)
			if err != nil {
				return err
			}
			x = d.Seconds()
		} else if isNumber(leaf) {
			var err error
			if x, err = strconv.ParseFloat(text, 64); err != nil {
				return err
			}
		} else {
			return fmt.Errorf("the tag %s is for numbers, not %s", tag.name, leaf)
		}
		if *tag.to != nil {
			return fmt.Errorf("two tags for the same bound")
		}
		*tag.to = &bound{x, tag.open, text}
	}
	if text, ok := sf.Tag.Lookup("choices"); ok {
		if leaf.Kind() != reflect.String && !isText(leaf) {
			return fmt.Errorf("the tag choices is for strings, not %s", leaf)
		}
		f.choices = strings.Split(text, ",")
	}
	if text, ok := sf.Tag.Lookup("member"); ok {
		if !isNumber(sf.Type) || sf.Type == durationType {
			return fmt.Errorf("the tag member is for numbers, not %s", sf.Type)
		}
		m, err := parseMember(text)
		if err != nil {
			return err
		}
		f.member = m
	}
	return nil
}

// elementType returns the type that a field's bounds apply to: the type itself, or the element type of a pointer, list or map.
func elementType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		if isText(t) {
			return t
		}
		t = t.Elem()
	}
	return t
}

// isText reports whether a type decodes itself from a string.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
}

// check returns a description of valid values, or "" if the value is valid.
func (f *field) check(v reflect.Value) string {
	if f.choices != nil && v.Kind() == reflect.String && !slices.Contains(f.choices, v.String()) {
		return "one of " + quoted(f.choices)
	}
	if f.low == nil && f.high == nil {
		return ""
	}
	var x float64
	switch {
	case v.Type() == durationType:
		x = time.Duration(v.Int()).Seconds()
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return ""
	}
	if f.low != nil && (x < f.low.value || x == f.low.value && f.low.open) || f.high != nil && (x > f.high.value || x == f.high.value && f.high.open) {
		return f.rangeText()
	}
	return ""
}

// rangeText returns the range in words, such as "at least 1" or "above 0 and at most 1".
func (f *field) rangeText() string {
	var words []string
	if f.low != nil {
		words = append(words, map[bool]string{false: "at least ", true: "above "}[f.low.open]+f.low.text)
	}
	if f.high != nil {
		words = append(words, map[bool]string{false: "at most ", true: "below "}[f.high.open]+f.high.text)
	}
	return strings.Join(words, " and ")
}

// snake turns a Go name into a key: GAELambda is gae_lambda, ClipEpsilon is clip_epsilon.
func snake(name string) string {
	r := []rune(name)
	var b strings.Builder
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = strconv.Quote(n)
	}
	return strings.Join(q, ", ")
}

// typeName returns the name of a type in the documentation and in errors.
func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case isText(t):
		return "string"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "number"
	case isNumber(t):
		return "integer"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array of " + typeName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "table"
	}
	return t.String()
}

// intRange returns the range of an integer type that is smaller than TOML's.
func intRange(t reflect.Type) string {
	bits := t.Bits()
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		if bits == 64 {
			return "at least 0"
		}
		return fmt.Sprintf("at least 0 and at most %d", uint64(math.MaxUint64)>>(64-bits))
	}
	return fmt.Sprintf("at least %d and at most %d", int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits))
}
