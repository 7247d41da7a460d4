package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/evorl/evorl/internal/regular"
)

// Far above what people write. The library's time grows with the square of the nesting, and its stack with the nesting.
const (
	maxBytes = 256 << 10
	maxDepth = 32
)

// Document is a configuration that was read but not yet decoded.
type Document struct {
	root *node
}

// Override is one setting on the command line, which takes precedence over the file: --set ppo.epochs=8, or a dedicated flag
// for a key.
type Override struct {
	Flag string // the flag as written, for errors
	Text string // key=value
}

// Set returns the override of a --set flag.
func Set(text string) Override { return Override{"--set", text} }

// Read reads a TOML file and applies overrides; the last one wins. A mistake in the text or in an override is an [*Error]. If the
// file cannot be read, Read returns the system's error.
func Read(path string, overrides ...Override) (*Document, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("configuration: %s is a folder; want a TOML file", path)
	}
	text, err := regular.ReadLinked(path, maxBytes)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(path, text, overrides...)
}

// unreadable wraps err without the name of the failed system call.
func unreadable(path string, err error) error {
	var call *fs.PathError
	if errors.As(err, &call) {
		err = call.Err
	}
	return fmt.Errorf("configuration %s: %w", path, err)
}

// Parse is Read for a text in memory. name identifies it in errors.
func Parse(name string, text []byte, overrides ...Override) (*Document, error) {
	src := &source{name: name, text: strings.TrimPrefix(string(text), "\ufeff")}
	return src.document(overrides)
}

// Overrides returns a document made only of overrides, for a program without a file. name identifies it in errors.
func Overrides(name string, overrides ...Override) (*Document, error) {
	return (&source{flag: name}).document(overrides)
}

// Rename renames a key of the top level, unless the new name exists or the key is a section.
func (d *Document) Rename(from, to string) {
	n := d.root.kid(from)
	if n == nil || n.kind == table || d.root.kid(to) != nil {
		return
	}
	delete(d.root.kids, from)
	d.root.order = slices.DeleteFunc(d.root.order, func(name string) bool { return name == from })
	d.root.add(to, n)
}

// document parses the text and applies overrides.
func (s *source) document(overrides []Override) (*Document, error) {
	root, _, err := s.parse()
	if err != nil {
		return nil, err
	}
	for _, o := range overrides {
		from, err := o.parse()
		if err != nil {
			return nil, err
		}
		if err := merge(root, from, ""); err != nil {
			return nil, err
		}
	}
	return &Document{root}, nil
}

// parse checks a text and combines the library's values with their positions.
func (s *source) parse() (root *node, statements int, err error) {
	if len(s.text) > maxBytes {
		return nil, 0, s.errorAt(span{}, fmt.Sprintf("%d bytes are too many for a configuration: at most %d", len(s.text), maxBytes), "")
	}
	// The scanner runs first to find the depth of the nesting. It agrees with the library up to the first syntax error, where the
	// library stops.
	scanned := scan(s)
	if scanned.tooDeep != nil {
		return nil, 0, s.errorAt(*scanned.tooDeep, fmt.Sprintf("nested too deeply: at most %d levels", maxDepth), "")
	}
	values, err := s.decode()
	if err != nil {
		return nil, 0, err
	}
	if at := scanned.twice; at != nil {
		return nil, 0, s.errorAt(*at, fmt.Sprintf("not TOML: %s is defined before", s.slice(*at)), "")
	}
	attach(scanned.root, values)
	return scanned.root, scanned.statements, nil
}

// wording replaces characters in the library's messages by names.
var wording = strings.NewReplacer(`'\x00'`, "the end of the file", `'\n'`, "the end of the line", "end of file", "the end of the file")

func (s *source) decode() (values map[string]any, err error) {
	defer func() {
		// The library panics on its own defects. None is known, but a configuration must not crash the program.
		if r := recover(); r != nil {
			values, err = nil, s.errorAt(span{}, fmt.Sprintf("not TOML: %v", r), "")
		}
	}()
	if _, err := toml.Decode(s.text, &values); err != nil {
		var p toml.ParseError
		if errors.As(err, &p) {
			message := strings.TrimSuffix(wording.Replace(p.Message), ".")
			hint := ""
			if strings.HasPrefix(message, `expected value but found "`) {
				hint = "a string stands in quotes"
			}
			return nil, s.errorAt(span{p.Position.Start, p.Position.Start + p.Position.Len}, "not TOML: "+message, hint)
		}
		return nil, s.errorAt(span{}, "not TOML: "+err.Error(), "")
	}
	return values, nil
}

// attach sets the values of the nodes. The library decides what exists: a value without a position gets the position of its
// parent, and a position without a value is dropped.
func attach(n *node, value any) {
	switch v := value.(type) {
	case map[string]any:
		if n.kind != table {
			*n = node{src: n.src, key: n.key, val: n.val, kind: table}
		}
		if n.kids == nil {
			n.kids = map[string]*node{}
		}
		var known []string
		for _, name := range n.order {
			if _, ok := v[name]; ok {
				known = append(known, name)
			} else {
				delete(n.kids, name)
			}
		}
		n.order = known
		for name, x := range v {
			if n.kids[name] == nil {
				n.add(name, &node{src: n.src, key: n.key, val: n.val})
			}
			attach(n.kids[name], x)
		}
	case []map[string]any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		attach(n, items)
	case []any:
		n.kind, n.kids, n.order = array, nil, nil
		for len(n.items) < len(v) {
			n.items = append(n.items, &node{src: n.src, key: n.key, val: n.val})
		}
		n.items = n.items[:len(v)]
		for i := range v {
			attach(n.items[i], v[i])
		}
	default:
		*n = node{src: n.src, key: n.key, val: n.val, kind: scalar, value: value}
	}
}

// parse reads key=value as one line of TOML. If that fails, the value is taken as a string, so that --set env=CartPole-v1 needs no quotes.
func (o Override) parse() (*node, error) {
	src := &source{flag: o.Flag, text: o.Text}
	if src.flag == "" {
		src.flag = "--set"
	}
	root, statements, err := src.parse()
	leaf := root.leaf()
	whole := len(strings.TrimRight(o.Text, " \t\r\n"))
	if err == nil && statements == 1 && leaf != nil && leaf.val.end == whole {
		return root, nil
	}
	// The key, followed by whatever comes after its "=".
	scanned := &scanner{src: src}
	parts := scanned.dotted()
	scanned.blank(false)
	if len(parts) == 0 || !scanned.accept('=') {
		return nil, src.errorAt(span{0, len(o.Text)}, "want key=value", "for example ppo.learning_rate=3e-4")
	}
	scanned.blank(false)
	rest := span{scanned.pos, max(scanned.pos, whole)}
	if !utf8.ValidString(o.Text) {
		return nil, src.errorAt(rest, "the value is not UTF-8", "")
	}
	if err != nil && strings.IndexAny(src.slice(rest), `"'[{`) == 0 {
		return nil, err // intended as TOML
	}
	for _, p := range parts {
		if p.at.start == p.at.end || strings.ContainsAny(p.name, "\n\r") {
			return nil, src.errorAt(span{0, scanned.pos}, "want key=value", "")
		}
	}
	root = newTable(src, span{})
	root.open = true
	last := parts[len(parts)-1]
	leaf = &node{src: src, key: last.at, val: rest, kind: scalar, value: src.slice(rest)}
	scanned.descend(root, parts[:len(parts)-1]).add(last.name, leaf)
	return root, nil
}

// leaf follows the only key of each open table to the given value, or nil.
func (n *node) leaf() *node {
	for n != nil && n.open {
		if len(n.order) != 1 {
			return nil
		}
		n = n.kids[n.order[0]]
	}
	return n
}

// merge overwrites values of into by from's.
func merge(into, from *node, path string) error {
	for _, name := range from.order {
		newer, old := from.kids[name], into.kids[name]
		switch {
		case old == nil || !newer.open:
			into.add(name, newer)
		case old.kind != table:
			return newer.src.errorAt(newer.key, fmt.Sprintf("%q%s is a value, not a section", name, inSection(path)), "")
		default:
			if err := merge(old, newer, join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// join appends a name to a dotted path, quoted where TOML needs it.
func join(path, name string) string {
	if path == "" {
		return toml.Key{name}.String()
	}
	return path + "." + toml.Key{name}.String()
}

func inSection(path string) string {
	if path == "" {
		return " at the top level"
	}
	return " in [" + path + "]"
}
