package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Invalid returns an error at the value of a key. Validate methods give a dotted path relative to their struct; errors for
// [Document.Locate] have a path from the top level.
func Invalid(key, format string, args ...any) error {
	return &fieldError{key: key, message: fmt.Sprintf(format, args...)}
}

// Unknown returns the error for an invalid free key of a table, such as an unknown hyperparameter to search. valid lists the valid
// names. The key is a dotted path, as in Invalid.
func Unknown(key, what string, valid []string) error {
	s := scanner{src: &source{text: key}}
	name := key
	if parts := s.dotted(); len(parts) > 0 {
		name = parts[len(parts)-1].name
	}
	return &fieldError{key: key, message: fmt.Sprintf("unknown %s %q", what, name), hint: hintFor(name, valid, listed), atKey: true}
}

// fieldError is an error that has a key but no position in a document.
type fieldError struct {
	key, message, hint string
	atKey              bool // the key itself is wrong, not its value
}

func (e *fieldError) Error() string {
	text := e.message
	if !e.atKey {
		text = strconv.Quote(e.key) + ": " + text
	}
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

// finish reports missing required keys and calls the Validate methods, inner ones first. n is the node of v, or nil if the
// document does not mention it; within is the nearest node that contains it. whole: v is a default, or started as one, so no key
// is missing.
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
			element := reflect.New(v.Type().Elem()).Elem() // addressable, since Validate may have a pointer receiver
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
	if err := c.replace(v, n, path); err != nil {
		return err
	}
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

// replace clears the lists that other keys of the table replace if they are given (tag replaces).
func (c *decoder) replace(v reflect.Value, n *node, path string) error {
	fields := c.fields[v.Type()]
	for _, f := range fields {
		kid := n.kid(f.name)
		if f.replaces == "" || kid == nil || isNone(v.FieldByIndex(f.index)) {
			continue
		}
		if other := n.kid(f.replaces); other != nil && len(other.items) > 0 {
			return other.src.errorAt(other.key, fmt.Sprintf("%q and %q%s exclude each other", f.replaces, f.name, inSection(path)), "")
		}
		i := slices.IndexFunc(fields, func(g field) bool { return g.name == f.replaces })
		v.FieldByIndex(fields[i].index).SetZero()
	}
	return nil
}

// isNone reports whether a decoded value is an empty list or, of another type, the zero value.
func isNone(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	return n.kids[name]
}

// deepest follows a dotted path to the last node that exists.
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

// Defined reports whether the document contains a key, given by its dotted path.
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

// Locate adds the position in the document to an error made by [Invalid] or [Unknown]. If the document does not contain the key, the
// position is the nearest table that could, and the message names the key. Other errors, and nil, are returned unchanged.
func (d *Document) Locate(err error) error {
	var of *fieldError
	if !errors.As(err, &of) {
		return err
	}
	n := d.root.deepest(of.key)
	at, message := n.val, of.message
	switch {
	case of.atKey:
		at = n.key
	case !d.Defined(of.key):
		message = strconv.Quote(of.key) + ": " + message
	}
	return n.src.errorAt(at, message, of.hint)
}

// Errorf returns an error at the value of a key, given by its dotted path, for checks that only the caller can make.
func (d *Document) Errorf(key, format string, args ...any) error {
	return d.Locate(Invalid(key, format, args...))
}

// UnknownValue returns the error for an unknown value, such as the name of an environment. valid lists the valid names.
func (d *Document) UnknownValue(key, what string, valid []string) error {
	n := d.root.deepest(key)
	text, ok := n.text()
	if !ok {
		text = n.show()
	}
	return n.src.errorAt(n.val, fmt.Sprintf("unknown %s %q", what, text), hintFor(text, valid, len(valid)))
}

// Text returns the string that a key has in the document; ok is false if it has none.
func (d *Document) Text(key string) (text string, ok bool) {
	if !d.Defined(key) {
		return "", false
	}
	return d.root.deepest(key).text()
}
