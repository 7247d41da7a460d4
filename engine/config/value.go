package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value sets v from a node. path is the table that contains the key; f describes the key.
func (c *decoder) value(n *node, v reflect.Value, f *field, path string) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return c.value(n, v.Elem(), f, path)
	}
	wrong := func() error {
		return n.src.errorAt(n.val, fmt.Sprintf("%q%s wants %s, not %s", f.label(), inSection(path), withArticle(typeName(v.Type())), n.describe()), "")
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		text, ok := n.text()
		if !ok {
			return wrong()
		}
		if f.choices != nil && !slices.Contains(f.choices, text) {
			return n.noChoice(f, path, text, f.choices)
		}
		if err := u.UnmarshalText([]byte(text)); err != nil {
			var name *NameError
			if errors.As(err, &name) {
				return n.noChoice(f, path, text, name.Names)
			}
			return n.src.errorAt(n.val, fmt.Sprintf("%q%s: %v", f.label(), inSection(path), err), "")
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		if n.kind != table {
			return wrong()
		}
		inner := join(path, f.name) + f.position
		for _, name := range n.order {
			if err := c.structKey(n.kids[name], name, v, inner); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		if n.kind != table {
			return wrong()
		}
		return c.mapping(n, v, f, join(path, f.name)+f.position)
	case reflect.Slice, reflect.Array:
		if n.kind != array {
			return wrong()
		}
		return c.list(n, v, f, path)
	}
	if n.kind != scalar {
		return wrong()
	}
	return c.scalar(n, v, f, path, wrong)
}

func (c *decoder) mapping(n *node, v reflect.Value, f *field, path string) error {
	out := reflect.MakeMap(v.Type())
	for _, name := range n.order {
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		element := newElement(v.Type().Elem())
		if old := v.MapIndex(key); old.IsValid() {
			element.Set(old)
			c.began[n.kids[name]] = true
		}
		of := *f
		of.name, of.position = name, ""
		if err := c.value(n.kids[name], element, &of, path); err != nil {
			return err
		}
		out.SetMapIndex(key, element)
	}
	v.Set(out)
	return nil
}

func (c *decoder) list(n *node, v reflect.Value, f *field, path string) error {
	if v.Kind() == reflect.Array && len(n.items) != v.Len() {
		return n.src.errorAt(n.val, fmt.Sprintf("%q%s has length %d: want %d", f.label(), inSection(path), len(n.items), v.Len()), "")
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	}
	for i, item := range n.items {
		element := newElement(v.Type().Elem())
		of := *f
		of.position += fmt.Sprintf("[%d]", i)
		if err := c.value(item, element, &of, path); err != nil {
			return err
		}
		v.Index(i).Set(element)
	}
	return nil
}

// noChoice returns the error for a text that is not one of the key's choices.
func (n *node) noChoice(f *field, path, text string, choices []string) error {
	hint := "" // the message lists them
	if near := Nearest(text, choices); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return n.src.errorAt(n.val, fmt.Sprintf("%q%s is %q: want one of %s", f.label(), inSection(path), text, quoted(choices)), hint)
}

// newElement returns an element of a map or slice with the defaults of its type.
func newElement(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if d, ok := p.Interface().(interface{ SetDefaults() }); ok {
		d.SetDefaults()
	}
	return p.Elem()
}

func (c *decoder) scalar(n *node, v reflect.Value, f *field, path string, wrong func() error) error {
	outside := func(want string) error {
		hint := ""
		if text, ok := n.value.(string); ok {
			if near := Nearest(text, f.choices); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
		}
		return n.src.errorAt(n.val, fmt.Sprintf("%q%s is %s: want %s", f.label(), inSection(path), n.show(), want), hint)
	}
	switch {
	case v.Type() == durationType:
		text, ok := n.text()
		if !ok {
			return wrong()
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return outside(`a duration such as "50ms" or "1m30s"`)
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool:
		b, ok := n.value.(bool)
		if !ok {
			return wrong()
		}
		v.SetBool(b)
	case v.Kind() == reflect.String:
		text, ok := n.text()
		if !ok {
			return wrong()
		}
		v.SetString(text)
	case v.CanFloat():
		x, ok := n.value.(float64)
		if i, isInt := n.value.(int64); isInt {
			x, ok = float64(i), true
		}
		if !ok {
			return wrong()
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return outside("a finite number")
		}
		if v.OverflowFloat(x) {
			return outside("a number that fits 32 bits")
		}
		v.SetFloat(x)
	default:
		i, ok := n.value.(int64)
		if !ok {
			if x, isFloat := n.value.(float64); isFloat && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
				return outside("an integer, written " + strconv.FormatInt(int64(x), 10))
			}
			return wrong()
		}
		if v.CanInt() && v.OverflowInt(i) || v.CanUint() && (i < 0 || v.OverflowUint(uint64(i))) {
			if want := f.check(reflect.ValueOf(i)); want != "" {
				return outside(want)
			}
			return outside(intRange(v.Type()))
		}
		if v.CanInt() {
			v.SetInt(i)
		} else {
			v.SetUint(uint64(i))
		}
	}
	if want := f.check(v); want != "" {
		return outside(want)
	}
	return nil
}

// text returns a scalar as a string. Command-line values are taken as they are, since the shell has removed their quotes.
func (n *node) text() (string, bool) {
	if n.kind != scalar {
		return "", false
	}
	if text, ok := n.value.(string); ok {
		return text, true
	}
	return n.src.slice(n.val), n.src.flag != ""
}

// show returns a value as it was written, shortened.
func (n *node) show() string {
	const most = 40
	r := []rune(n.src.slice(n.val))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	if text, ok := n.value.(string); ok && n.src.flag != "" {
		return strconv.Quote(text)
	}
	return string(r)
}

// describe returns a value with its type, for type errors.
func (n *node) describe() string {
	switch n.kind {
	case table:
		return "a table"
	case array:
		return "an array"
	}
	switch n.value.(type) {
	case string:
		return "the string " + n.show()
	case int64:
		return "the integer " + n.show()
	case float64:
		return "the number " + n.show()
	case bool:
		return "the boolean " + n.show()
	}
	return "the date or time " + n.show()
}

func withArticle(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}
