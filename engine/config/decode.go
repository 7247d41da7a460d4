package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Section is the configuration of one part of a program: a pointer to a struct that holds the defaults. The section named ""
// has the keys at the top level.
type Section struct {
	Name  string
	Value any
}

// Sections are all sections of a document, in the order in which they are documented and written.
type Sections []Section

// DecodeOption configures [Document.Decode].
type DecodeOption func(*decoder)

// Absent extends the error for an unknown section by why(section), which explains why it is not allowed and what is right. "" adds nothing.
func Absent(why func(section string) string) DecodeOption { return func(c *decoder) { c.absent = why } }

// Decode sets the values of all sections from the document. An unknown key is an error, as is everything else described at [Error].
// Decode returns the first error; the values are then partly set. It validates every section, including those that the document
// does not mention.
func (d *Document) Decode(sections Sections, opts ...DecodeOption) error {
	c := &decoder{sections: sections}
	for _, o := range opts {
		o(c)
	}
	if err := c.known(); err != nil {
		return err
	}
	top := sections.find("")
	for _, name := range d.root.order {
		kid := d.root.kids[name]
		if s := sections.find(name); s != nil && name != "" {
			if err := c.value(kid, s.elem(), &field{name: name}, ""); err != nil {
				return err
			}
		} else if err := c.key(kid, name, top, ""); err != nil {
			return err
		}
	}
	for _, s := range sections {
		n := d.root
		if s.Name != "" {
			n = d.root.kids[s.Name]
		}
		if err := c.finish(s.elem(), n, d.root, s.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// Peek sets only those keys of a section that dst, a pointer to a struct, has, and ignores all others. It reads what must be known before
// the sections are. The section named "" is the top level.
func (d *Document) Peek(section string, dst any) error {
	s, n := Section{section, dst}, d.root
	if section != "" {
		n = n.kid(section)
	}
	c := &decoder{sections: Sections{s}}
	if err := c.known(); err != nil {
		return err
	}
	for _, name := range c.names(s.elem().Type()) {
		if kid := n.kid(name); kid != nil {
			if err := c.key(kid, name, &s, section); err != nil {
				return err
			}
		}
	}
	return c.finish(s.elem(), n, d.root, section, false)
}

// Only is Peek for a section whose keys dst has all: an unknown key is an error, reported before a missing one.
func (d *Document) Only(section string, dst any) error {
	s, n := Section{section, dst}, d.root.kid(section)
	c := &decoder{sections: Sections{s}}
	if err := c.known(); err != nil {
		return err
	}
	if n != nil {
		if err := c.value(n, s.elem(), &field{name: section}, ""); err != nil {
			return err
		}
	}
	return c.finish(s.elem(), n, d.root, section, false)
}

func (s Sections) find(name string) *Section {
	for i := range s {
		if s[i].Name == name {
			return &s[i]
		}
	}
	return nil
}

func (s Section) elem() reflect.Value { return reflect.ValueOf(s.Value).Elem() }

type decoder struct {
	sections Sections
	fields   map[reflect.Type][]field
	began    map[*node]bool              // elements of maps that started as a default
	absent   func(section string) string // see Absent; may be nil
}

// known checks the declarations of all sections once, so that decoding need not check them.
func (c *decoder) known() error {
	c.fields, c.began = map[reflect.Type][]field{}, map[*node]bool{}
	for i, s := range c.sections {
		if c.sections[:i].find(s.Name) != nil {
			return fmt.Errorf("config: two sections named %q", s.Name)
		}
		t := reflect.TypeOf(s.Value)
		if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || reflect.ValueOf(s.Value).IsNil() {
			return fmt.Errorf("config: section %q: want a pointer to a struct, not %T", s.Name, s.Value)
		}
		if err := c.learn(t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func (c *decoder) learn(t reflect.Type) error {
	if isText(t) && !t.Implements(marshalType) {
		return fmt.Errorf("config: %s has UnmarshalText and needs MarshalText", t)
	}
	if t == durationType || isText(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return c.learn(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("config: %s: the key of a map must be a string", t)
		}
		return c.learn(t.Elem())
	case reflect.Struct:
		if c.fields[t] != nil {
			return nil
		}
		fields, err := fieldsOf(t)
		if err != nil {
			return err
		}
		c.fields[t] = fields
		for _, f := range fields {
			if err := c.learn(t.FieldByIndex(f.index).Type); err != nil {
				return err
			}
		}
		return nil
	case reflect.Bool, reflect.String:
		return nil
	}
	if isNumber(t) {
		return nil
	}
	return fmt.Errorf("config: type %s cannot be configured", t)
}

func (c *decoder) names(t reflect.Type) []string {
	var names []string
	for _, f := range c.fields[t] {
		names = append(names, f.name)
	}
	return names
}

// key sets one key of a struct. A nil in means that there is no struct, so that every key is unknown.
func (c *decoder) key(n *node, name string, in *Section, path string) error {
	if in == nil {
		return c.unknown(n, name, nil, path)
	}
	return c.structKey(n, name, in.elem(), path)
}

func (c *decoder) structKey(n *node, name string, v reflect.Value, path string) error {
	fields := c.fields[v.Type()]
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return c.unknown(n, name, c.names(v.Type()), path)
	}
	return c.value(n, v.FieldByIndex(fields[i].index), &fields[i], path)
}

// unknown returns the error for an unknown key. valid are the keys of its table.
func (c *decoder) unknown(n *node, name string, valid []string, path string) error {
	what := "key"
	if path == "" {
		for _, s := range c.sections {
			if s.Name != "" {
				valid = append(valid, s.Name)
			}
		}
		if n.kind == table {
			what = "section"
		}
	}
	message := fmt.Sprintf("unknown %s %q%s", what, name, inSection(path))
	if what == "section" {
		message = fmt.Sprintf("unknown section [%s]", join("", name))
	}
	hint := ""
	if what == "section" && c.absent != nil {
		hint = c.absent(name)
	}
	if hint == "" && Nearest(name, valid) == "" {
		for _, s := range c.sections {
			if s.Name != path && slices.Contains(c.names(s.elem().Type()), name) {
				hint = fmt.Sprintf("%q is a key%s", name, inSection(s.Name))
			}
		}
	}
	if hint == "" {
		hint = hintFor(name, valid, listed)
	}
	return n.src.errorAt(n.key, message, hint)
}
