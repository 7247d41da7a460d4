package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Key documents one key of a section.
type Key struct {
	Name     string   `json:"name"`              // dotted path within the section; <name> stands for a free key, [] for an element
	Type     string   `json:"type"`              // boolean, integer, number, string, duration, "array of …"
	Default  string   `json:"default"`           // as TOML; empty if there is none
	Doc      string   `json:"doc"`               // description
	Unit     string   `json:"unit,omitempty"`    // of a number
	Range    string   `json:"range,omitempty"`   // in words, such as "above 0 and at most 1"
	Choices  []string `json:"choices,omitempty"` // the allowed strings
	Required bool     `json:"required,omitempty"`
	Member   *Member  `json:"member,omitempty"` // nil: all members have the same value

	field field
}

// Schema lists every key of a section's struct, including nested ones, in declaration order. v is the struct with the defaults, or a
// pointer to it. A default outside its own range is an error.
func Schema(v any) ([]Key, error) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		return nil, fmt.Errorf("config: schema of %T: want a struct", v)
	}
	c := &decoder{fields: map[reflect.Type][]field{}}
	if err := c.learn(value.Type()); err != nil {
		return nil, err
	}
	l := lister{decoder: c, within: map[reflect.Type]bool{}}
	err := l.structure(value, "", true)
	return l.keys, err
}

type lister struct {
	*decoder
	keys   []Key
	within map[reflect.Type]bool // structs being listed: a recursive one is listed once
}

// structure lists a struct. real: its values are defaults; false for an element that does not exist yet.
func (l *lister) structure(v reflect.Value, prefix string, real bool) error {
	if l.within[v.Type()] {
		return nil
	}
	l.within[v.Type()] = true
	defer delete(l.within, v.Type())
	for _, f := range l.fields[v.Type()] {
		x := v.FieldByIndex(f.index)
		name := prefix + f.name
		if inner, at, ok := tableOf(x); ok {
			if err := l.structure(inner, name+at+".", real && at == ""); err != nil {
				return err
			}
			continue
		}
		k := Key{
			Name: name, Type: typeName(x.Type()), Doc: f.doc, Unit: f.unit, Range: f.rangeText(), Choices: f.choices, Required: f.required,
			Member: f.member, field: f,
		}
		if x.Kind() == reflect.Map {
			k.Name, k.Type = name+".<name>", typeName(x.Type().Elem())
		}
		if !f.required && !(x.Kind() == reflect.Pointer && x.IsNil()) && !(x.Kind() == reflect.Map && x.Len() == 0) {
			text, err := inline(x)
			if err != nil {
				return fmt.Errorf("config: default of %s: %w", name, err)
			}
			k.Default = text
			if want := f.checkAll(x); real && want != "" {
				return fmt.Errorf("config: the default of %s is %s: want %s", name, text, want)
			}
		}
		l.keys = append(l.keys, k)
	}
	return nil
}

// tableOf returns the struct in a field, or the struct of its elements with the placeholder of the element's name.
func tableOf(v reflect.Value) (inner reflect.Value, at string, ok bool) {
	t := v.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		at = ".<name>"
	case reflect.Slice, reflect.Array:
		at = "[]"
	case reflect.Struct:
		if isText(t) {
			return reflect.Value{}, "", false
		}
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() == reflect.Pointer {
			return newElement(t), "", true
		}
		return v, "", true
	default:
		return reflect.Value{}, "", false
	}
	t = t.Elem()
	if t.Kind() != reflect.Struct || isText(t) {
		return reflect.Value{}, "", false
	}
	return newElement(t), at, true
}

// checkAll applies check to a value and everything it contains.
func (f *field) checkAll(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return f.checkAll(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if want := f.checkAll(v.Index(i)); want != "" {
				return want
			}
		}
		return ""
	case reflect.Map:
		for _, k := range sortedKeys(v) {
			if want := f.checkAll(v.MapIndex(k)); want != "" {
				return want
			}
		}
		return ""
	}
	return f.check(v)
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// Integer is an integer key of a section, with a pointer to its value.
type Integer struct {
	Name  string
	Value *int
}

// Integers lists the keys of type int of a section's struct, given by pointer, in declaration order.
func Integers(section any) ([]Integer, error) {
	v := reflect.ValueOf(section)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("config: integers of %T: want a pointer to a struct", section)
	}
	fields, err := fieldsOf(v.Elem().Type())
	if err != nil {
		return nil, err
	}
	var out []Integer
	for _, f := range fields {
		if p, ok := v.Elem().FieldByIndex(f.index).Addr().Interface().(*int); ok {
			out = append(out, Integer{f.name, p})
		}
	}
	return out, nil
}
