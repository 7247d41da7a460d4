package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Invalid is the error a Validate method returns to say which key is wrong: a dotted path from the struct it belongs to.
func Invalid(key, format string, args ...any) error {
	return &fieldError{key, fmt.Sprintf(format, args...)}
}

type fieldError struct{ key, message string }

func (e *fieldError) Error() string { return strconv.Quote(e.key) + ": " + e.message }

// finish looks for required keys that are missing and calls the Validate methods, inner ones first. n is the node of v, nil when
// the document does not mention it; within is the nearest node that holds it. An element that is a default, or began as one,
// lacks nothing: whole says so.
func (c *decoder) finish(v reflect.Value, n, within *node, path string, whole bool) error {
	if n != nil {
		within = n
	}
	whole = whole || c.began[n]
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return c.finish(v.Elem(), n, within, path, whole)
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			element := reflect.New(v.Type().Elem()).Elem() // addressable, as a method of a pointer needs
			element.Set(v.MapIndex(key))
			kid := n.kid(key.String())
			if err := c.finish(element, kid, within, join(path, key.String()), whole || kid == nil); err != nil {
				return err
			}
		}
		return nil
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			var item *node
			if n != nil && i < len(n.items) {
				item = n.items[i]
			}
			if err := c.finish(v.Index(i), item, within, fmt.Sprintf("%s[%d]", path, i), whole || item == nil); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		return c.finishStruct(v, n, within, path, whole)
	}
	return nil
}

func (c *decoder) finishStruct(v reflect.Value, n, within *node, path string, whole bool) error {
	for _, f := range c.fields[v.Type()] {
		kid := n.kid(f.name)
		if f.required && kid == nil && !whole {
			return within.src.errorAt(within.val, fmt.Sprintf("key %q is missing%s", f.name, inSection(path)), f.doc)
		}
		if err := c.finish(v.FieldByIndex(f.index), kid, within, join(path, f.name), whole); err != nil {
			return err
		}
	}
	checked, ok := v.Addr().Interface().(interface{ Validate() error })
	if !ok {
		return nil
	}
	err := checked.Validate()
	if err == nil {
		return nil
	}
	var of *fieldError
	if !errors.As(err, &of) {
		return within.src.errorAt(within.val, err.Error(), "")
	}
	at, name := within, of.key
	if n != nil {
		at = n.deepest(of.key)
	}
	return at.src.errorAt(at.val, fmt.Sprintf("%q%s: %s", name, inSection(path), of.message), "")
}

func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	return n.kids[name]
}

// deepest follows a dotted path as far as there are nodes.
func (n *node) deepest(path string) *node {
	s := scanner{src: &source{text: path}}
	for _, p := range s.dotted() {
		next := n.kid(p.name)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// Defined reports whether the document gives a key, by its dotted path.
func (d *Document) Defined(key string) bool {
	n := d.root
	s := scanner{src: &source{text: key}}
	for _, p := range s.dotted() {
		if n = n.kid(p.name); n == nil {
			return false
		}
	}
	return true
}

// Errorf is an error at the value of a key, by its dotted path, for what only the caller can know.
func (d *Document) Errorf(key, format string, args ...any) *Error {
	n := d.root.deepest(key)
	return n.src.errorAt(n.val, fmt.Sprintf(format, args...), "")
}

// UnknownValue is the error for a value that names nothing there is, such as an environment; valid are the names there are.
func (d *Document) UnknownValue(key, what string, valid []string) *Error {
	n := d.root.deepest(key)
	text, ok := n.text()
	if !ok {
		text = n.show()
	}
	return n.src.errorAt(n.val, fmt.Sprintf("unknown %s %q", what, text), hintFor(text, valid))
}

// UnknownKey is the error for a free key of a table that names nothing there is, such as a hyperparameter to search.
func (d *Document) UnknownKey(key, what string, valid []string) *Error {
	n := d.root.deepest(key)
	s := scanner{src: &source{text: key}}
	name := key
	if parts := s.dotted(); len(parts) > 0 {
		name = parts[len(parts)-1].name
	}
	return n.src.errorAt(n.key, fmt.Sprintf("unknown %s %q", what, name), hintFor(name, valid))
}
