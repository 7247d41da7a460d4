package config

import (
	"bytes"
	"encoding"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// EncodeOption configures [Encode].
type EncodeOption func(*encoder)

// WithDocs writes each key's documentation as a comment above it.
func WithDocs() EncodeOption { return func(e *encoder) { e.docs = true } }

// Encode writes all values of sections as TOML. [Document.Decode] reads back the same values. The text depends only on the
// values: fields are in declaration order, maps sorted by key. Nil pointers are omitted.
func Encode(w io.Writer, sections Sections, opts ...EncodeOption) error {
	c := &decoder{sections: sections}
	if err := c.known(); err != nil {
		return err
	}
	e := &encoder{decoder: c}
	for _, o := range opts {
		o(e)
	}
	if top := sections.find(""); top != nil {
		if err := e.table(top.elem(), ""); err != nil {
			return err
		}
	}
	for _, s := range sections {
		if s.Name == "" {
			continue
		}
		e.header("[%s]", join("", s.Name))
		if err := e.table(s.elem(), join("", s.Name)); err != nil {
			return err
		}
	}
	_, err := w.Write(e.out.Bytes())
	return err
}

type encoder struct {
	*decoder
	docs bool
	out  bytes.Buffer
}

func (e *encoder) header(format, path string) {
	if e.out.Len() > 0 {
		e.out.WriteByte('\n')
	}
	fmt.Fprintf(&e.out, format+"\n", path)
}

// table writes the keys of a struct: first its own values, then the tables within it, as TOML requires.
func (e *encoder) table(v reflect.Value, path string) error {
	fields := e.fields[v.Type()]
	for _, f := range fields {
		x := v.FieldByIndex(f.index)
		for x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		if _, _, isTable := tableOf(x); x.Kind() == reflect.Pointer || isTable && x.Kind() != reflect.Slice && x.Kind() != reflect.Array {
			continue
		}
		text, err := inline(x)
		if err != nil {
			return fmt.Errorf("config: %s: %w", join(path, f.name), err)
		}
		if e.docs {
			e.comment(&f)
		}
		fmt.Fprintf(&e.out, "%s = %s\n", join("", f.name), text)
	}
	for _, f := range fields {
		x := v.FieldByIndex(f.index)
		for x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		_, _, isTable := tableOf(x)
		if x.Kind() == reflect.Pointer || !isTable {
			continue
		}
		inner := join(path, f.name)
		switch x.Kind() {
		case reflect.Struct:
			e.header("[%s]", inner)
			if err := e.table(x, inner); err != nil {
				return err
			}
		case reflect.Map:
			e.header("[%s]", inner) // even if empty, since it replaces a default that is not
			for _, k := range sortedKeys(x) {
				name := join(inner, k.String())
				e.header("[%s]", name)
				if err := e.table(x.MapIndex(k), name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (e *encoder) comment(f *field) {
	text := f.doc
	for _, more := range []string{f.unit, f.rangeText()} {
		if more != "" {
			text = strings.TrimSpace(text + " [" + more + "]")
		}
	}
	if f.choices != nil {
		text = strings.TrimSpace(text + " [one of " + quoted(f.choices) + "]")
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(&e.out, "# %s\n", strings.TrimRight(line, "\n"))
	}
}

// inline writes a value on one line.
func inline(v reflect.Value) (string, error) {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok && isText(v.Type()) {
		text, err := m.MarshalText()
		return quote(string(text)), err
	}
	if v.Type() == durationType {
		return quote(time.Duration(v.Int()).String()), nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return inline(v.Elem())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.String:
		return quote(v.String()), nil
	case reflect.Float32, reflect.Float64:
		return number(v.Float(), v.Type().Bits())
	case reflect.Slice, reflect.Array:
		parts := make([]string, v.Len())
		for i := range parts {
			var err error
			if parts[i], err = inline(v.Index(i)); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case reflect.Map:
		var parts []string
		for _, k := range sortedKeys(v) {
			text, err := inline(v.MapIndex(k))
			if err != nil {
				return "", err
			}
			parts = append(parts, join("", k.String())+" = "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	case reflect.Struct:
		fields, err := fieldsOf(v.Type())
		if err != nil {
			return "", err
		}
		var parts []string
		for _, f := range fields {
			x := v.FieldByIndex(f.index)
			if x.Kind() == reflect.Pointer && x.IsNil() {
				continue
			}
			text, err := inline(x)
			if err != nil {
				return "", err
			}
			parts = append(parts, join("", f.name)+" = "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	}
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.CanUint():
		if v.Uint() > math.MaxInt64 {
			return "", fmt.Errorf("%d exceeds the integers of TOML", v.Uint())
		}
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("type %s cannot be written", v.Type())
}

func number(x float64, bits int) (string, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", fmt.Errorf("%v is not finite", x)
	}
	text := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text, nil
}

// quote writes a basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r) // invalid UTF-8 is ranged over as U+FFFD
		}
	}
	b.WriteByte('"')
	return b.String()
}
