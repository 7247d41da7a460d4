package config

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// The TOML library checks a document and returns its values, but not the position of each key and value. scan finds the positions.
// It need only be right where the library accepts, so it is lenient.

// node is a value of a document and its position.
type node struct {
	src  *source
	key  span // of the part of the key that names it
	val  span // of its value; for a table with a header, of the header
	kind kind

	value any // scalar: as decoded by the library

	order []string // table: keys in the order of first mention
	kids  map[string]*node
	items []*node // array

	open bool // made by a dotted key or a header, so more keys or elements may follow
}

type kind uint8

const (
	scalar kind = iota
	table
	array
)

func newTable(src *source, at span) *node {
	return &node{src: src, key: at, val: at, kind: table, kids: map[string]*node{}}
}

func (n *node) add(name string, kid *node) {
	if n.kids[name] == nil {
		n.order = append(n.order, name)
	}
	n.kids[name] = kid
}

type scanner struct {
	src        *source
	pos        int
	root       *node
	statements int   // key/value lines and headers seen
	depth      int   // of the value being read
	tooDeep    *span // where the nesting exceeds maxDepth
	twice      *span // where something closed is defined again, which the library does not always detect
}

// part is one component of a dotted key.
type part struct {
	name string
	at   span
}

func scan(src *source) *scanner {
	s := &scanner{src: src, root: newTable(src, span{0, 0})}
	s.root.open = true
	current := s.root
	for s.blank(true); s.pos < len(src.text) && s.tooDeep == nil; s.blank(true) {
		before := s.pos
		s.statements++
		if s.peek() == '[' {
			current = s.header()
		} else {
			s.keyValue(current)
		}
		if s.pos == before {
			s.pos++ // the library rejects this; continue instead of hanging
		}
	}
	return s
}

// deep records where the nesting exceeds the limit. What is read afterwards does not count.
func (s *scanner) deep(at span) {
	if s.tooDeep == nil {
		s.tooDeep = &at
	}
	s.pos = len(s.src.text)
}

func (s *scanner) peek() byte {
	if s.pos < len(s.src.text) {
		return s.src.text[s.pos]
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() != c || s.pos >= len(s.src.text) {
		return false
	}
	s.pos++
	return true
}

// blank skips spaces, and if lines is set also newlines and comments.
func (s *scanner) blank(lines bool) {
	for s.pos < len(s.src.text) {
		switch c := s.src.text[s.pos]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			s.pos++
		case lines && c == '#':
			for s.pos < len(s.src.text) && s.src.text[s.pos] != '\n' {
				s.pos++
			}
		default:
			return
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the table for the keys that follow.
func (s *scanner) header() *node {
	start := s.pos
	s.pos++
	isArray := s.accept('[')
	parts := s.dotted()
	s.blank(false)
	s.accept(']')
	if isArray {
		s.accept(']')
	}
	at := span{start, s.pos}
	if len(parts) == 0 {
		return newTable(s.src, at)
	}
	parent := s.descend(s.root, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	kid := parent.kids[last.name]
	if isArray {
		if kid == nil || kid.kind != array || !kid.open {
			s.clash(kid, last.at)
			kid = &node{src: s.src, key: last.at, val: at, kind: array, open: true}
			parent.add(last.name, kid)
		}
		item := newTable(s.src, last.at)
		item.val, item.open = at, true
		kid.items = append(kid.items, item)
		return item
	}
	if kid == nil || kid.kind != table || !kid.open {
		s.clash(kid, last.at)
		kid = newTable(s.src, last.at)
		parent.add(last.name, kid)
	}
	kid.key, kid.val, kid.open = last.at, at, true // overrides a position implied by an earlier, longer name
	return kid
}

// descend follows parts and creates missing tables.
func (s *scanner) descend(from *node, parts []part) *node {
	for _, p := range parts {
		kid := from.kids[p.name]
		if kid != nil && kid.kind == array && len(kid.items) > 0 {
			kid = kid.items[len(kid.items)-1]
		}
		if kid == nil || kid.kind != table || !kid.open {
			s.clash(kid, p.at)
			kid = newTable(s.src, p.at)
			kid.open = true
			from.add(p.name, kid)
		}
		from = kid
	}
	return from
}

func (s *scanner) keyValue(in *node) {
	parts := s.dotted()
	s.blank(false)
	if !s.accept('=') || len(parts) == 0 {
		return
	}
	s.blank(false)
	last := parts[len(parts)-1]
	v := s.value()
	v.key = last.at
	within := s.descend(in, parts[:len(parts)-1])
	s.clash(within.kids[last.name], last.at)
	within.add(last.name, v)
}

// clash records that the key at a position is already defined.
func (s *scanner) clash(old *node, at span) {
	if old != nil && s.twice == nil {
		s.twice = &at
	}
}

// dotted reads a key such as a."b c".d.
func (s *scanner) dotted() []part {
	var parts []part
	for {
		s.blank(false)
		start := s.pos
		name := ""
		if c := s.peek(); c == '"' || c == '\'' {
			s.text()
			name = unquote(s.src.text[start:s.pos])
		} else {
			for s.pos < len(s.src.text) && !strings.ContainsRune(" \t\r\n.=]#\"'[{},", rune(s.peek())) {
				s.pos++
			}
			name = s.src.text[start:s.pos]
			if name == "" {
				return parts
			}
		}
		parts = append(parts, part{name, span{start, s.pos}})
		if s.depth+len(parts) > maxDepth {
			s.deep(span{start, s.pos})
			return parts
		}
		s.blank(false)
		if !s.accept('.') {
			return parts
		}
	}
}

// unquote decodes a quoted key. The library handles its escapes.
func unquote(text string) string {
	var v struct{ K string }
	if _, err := toml.Decode("K = "+text, &v); err != nil {
		return text
	}
	return v.K
}

func (s *scanner) value() *node {
	n := &node{src: s.src}
	start := s.pos
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.deep(span{start, start + 1})
		return n
	}
	switch s.peek() {
	case '"', '\'':
		s.text()
	case '[':
		s.pos++
		n.kind = array
		for s.blank(true); s.pos < len(s.src.text) && !s.accept(']'); s.blank(true) {
			before := s.pos
			item := s.value()
			item.key = item.val
			n.items = append(n.items, item)
			s.blank(true)
			if !s.accept(',') && s.pos == before {
				s.pos++
			}
		}
	case '{':
		s.pos++
		n.kind, n.kids = table, map[string]*node{}
		for s.blank(true); s.pos < len(s.src.text) && !s.accept('}'); s.blank(true) {
			before := s.pos
			s.keyValue(n)
			s.blank(true)
			if !s.accept(',') && s.pos == before {
				s.pos++
			}
		}
	default: // a number, boolean or date
		for s.pos < len(s.src.text) && !strings.ContainsRune("\n,]}#", rune(s.peek())) {
			s.pos++
		}
		s.pos = start + len(strings.TrimRight(s.src.text[start:s.pos], " \t\r"))
	}
	n.val = span{start, s.pos}
	return n
}

// text skips a string of any of the four kinds.
func (s *scanner) text() {
	quote := s.src.text[s.pos : s.pos+1]
	rest := s.src.text[s.pos:]
	long := strings.HasPrefix(rest, quote+quote+quote)
	end := quote
	if long {
		end = quote + quote + quote
	}
	for i := len(end); i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == `"`:
			i++ // an escaped character does not end the string
		case strings.HasPrefix(rest[i:], end):
			i += len(end)
			for extra := 0; long && extra < 2 && strings.HasPrefix(rest[i:], quote); extra++ {
				i++ // a multi-line string may end in one or two quotes of its own
			}
			s.pos += i
			return
		}
	}
	s.pos = len(s.src.text)
}
