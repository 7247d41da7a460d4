package config

import (
	"errors"
	"strings"
	"testing"
)

// Documents that are easy to misread. In each, the mark « is taken out and the key must be found where
// it stood.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ path, text string }{
		{"b", "a = '''\nb = 1\n'''\n«b = 2"},
		{"b", "a = \"\"\"\\\nb = 1 \"\"\" # \"\"\"\n«b = 2"},
		{"b", `a = """x""""` + "\n«b = 2"},
		{"b", `a = """"""` + "\n«b = 2"},
		{"b", `a = '''x'''''` + "\n«b = 2"},
		{"b", `a = """\""" b = 1"""` + "\n«b = 2"},
		{"b", `a = "\\"` + "\n«b = 2"},
		{"b", `a = '\'` + "\n«b = 2"},
		{"b", "a = [ 'b = 1', # ]\n \"]\", ]\n«b = 2"},
		{"b", "# b = 1\n\n«b = 2"},
		{"b.c", "a.c = 1\nb.«c = 2"},
		{"b.c", "[a]\nc = 1\n[b]\n«c = 2"},
		{"b.c", "[a.b]\nc = 1\n[ b ] # [c]\n«c = 2"},
		{"b.c", "[a]\nb.c = 1\n[ \"b\" . d ]\nc = 1\n[b]\n«c = 2"},
		{"b.«c", "[b.c.d]\ne = 1\n[b.«c]\n"},
		{"b.c", "[b.«c.d]\ne = 1\n[b]\nx = 1"},
		{`"b.c".d`, "b.c = 1\n\"b.c\".«d = 2"},
		{`b.c`, "'b' . «\"c\" = 2"},
		{`"é"`, "«\"\\u00e9\" = 2"},
		{`""`, "«\"\" = 2"},
		{"b.c", "a = {b = {c = 1}}\nb = {x = {c = 1}, y = [{c = 2}], «c = 3}"},
		{"b.c", "b = {x.c = 1, d = 'c = 1', «c = 3}"},
		{"b.c.d", "[[b]]\nc.d = 1\n[[b]]\nc.«d = 2"},
		{"b.c.d", "[[b]]\n[b.c]\nd = 1\n[[b]]\n[b.c]\n«d = 2"},
		{"b.d", "[[b.c]]\n[[b.c]]\n[b]\n«d = 1"},
		{"b", "a = 1979-05-27T07:32:00Z\n«b = 2"},
		{"b", "a = 1979-05-27 07:32:00\r\n\t «b=2\r\n"},
		{"1234", "«1234 = 2"},
		{"true", "«true = false"},
		{"b.2.x", "[b.1]\nx = 1\n[b.2]\n«x = 1"},
		{"b", "a=-inf\n«b=+nan"},
		{"b.c", "b = {\n  # c = 1\n  a = 1,\n  «c = 2,\n}"},
	} {
		mark := strings.Index(c.text, "«")
		src := &source{name: "a.toml", text: strings.Replace(c.text, "«", "", 1)}
		root, _, err := src.parse()
		if err != nil {
			t.Errorf("%q: %v", src.text, err)
			continue
		}
		n := root
		s := scanner{src: &source{text: strings.Replace(c.path, "«", "", 1)}}
		for _, p := range s.dotted() {
			if n.kind == array {
				n = n.items[len(n.items)-1]
			}
			if n = n.kid(p.name); n == nil {
				t.Errorf("%q: no %s", src.text, c.path)
				break
			}
		}
		if n != nil && n.key.start != mark {
			t.Errorf("%q: %s found at %d, %q; want %d", src.text, c.path, n.key.start, src.slice(n.key), mark)
		}
	}
}

// mismatch compares the scanner's view with the library's: every value has a place and every place a value.
func mismatch(n *node, value any, path string) string {
	switch v := value.(type) {
	case map[string]any:
		if n.kind != table || len(n.order) != len(v) || len(n.kids) != len(v) {
			return path + ": a table of other keys"
		}
		for name, x := range v {
			kid := n.kids[name]
			if kid == nil {
				return path + ": no place for " + name
			}
			text := kid.src.slice(kid.key)
			if text != name && unquote(text) != name {
				return path + ": " + name + " is placed at " + text
			}
			if m := mismatch(kid, x, join(path, name)); m != "" {
				return m
			}
		}
	case []map[string]any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return mismatch(n, items, path)
	case []any:
		if n.kind != array || len(n.items) != len(v) {
			return path + ": an array of another length"
		}
		for i := range v {
			if m := mismatch(n.items[i], v[i], path+"[]"); m != "" {
				return m
			}
		}
	default:
		again := &source{text: "x = " + n.src.slice(n.val)}
		values, err := again.decode()
		if n.kind != scalar || err != nil || values["x"] != value && value == value {
			return path + ": a value of another text: " + n.src.slice(n.val)
		}
	}
	return ""
}

var seeds = []string{
	"", "workflow = 'x'\n[ppo]\nlearning_rate = 3e-4\n", "a.b.c = [1, {x.y = 2}, [\"]\"]]\n[d.\"e f\"]\ng = '''x'''\n[[h]]\ni = 1\n[h.j]\n[[h]]\n",
	"pbt = {search = {a = {low = 1, high = 2, prior = 'uniform'}}}", "x = 1979-05-27 07:32:00 # c\r\ny = \"\"\"a\\\n  b\"\"\"\"\n",
	"[network]\nlayers = [{units = 1}]",
	"\xef\xbb\xbfseed = 0x10", "a = [", "{", "[", "[[", "=", "'''", "a = {\n b = 1, # c\n}\n",
}

// The library lets some of these pass and drops a value.
func TestDefinedTwice(t *testing.T) {
	for _, text := range []string{
		"a.b.c = 1\na.«b = 2", "a.b = [{x = 1}]\na.«b.c = 2", "a = 1\n«a = 2", "a = {b = 1}\n«a.c = 2", "a = {b = 1}\n[«a.c]", "a = [1]\n[[«a]]",
		"a = {b = 1, «b = 2}", "[a]\nb = 1\n[a.«b]", "a = [{}]\n[«a.b]", "[[a]]\nb = 1\n«b = 2", "[a]\n[[«a]]",
	} {
		_, err := Parse("a.toml", []byte(strings.Replace(text, "«", "", 1)))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, "not TOML") {
			t.Errorf("%q: error %v", text, err)
		}
		if scanned := scan(&source{text: strings.Replace(text, "«", "", 1)}); scanned.twice == nil || scanned.twice.start != strings.Index(text, "«") {
			t.Errorf("%q: noted at %v", text, scanned.twice)
		}
	}
}

// Any broken text ends in one error with a place; the places of a valid one are right.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "ppo.epochs=3")
		f.Add("workflow='x'", s)
	}
	f.Fuzz(func(t *testing.T, text, override string) {
		check := func(err error) {
			if err == nil {
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Flag == "" && e.Line < 1 || e.Column < 1 || e.Width < 1 || e.Message == "" || e.Error() == "" {
				t.Errorf("error %#v", err)
			}
			if e.Flag == "" && e.Line > strings.Count(text, "\n")+1 {
				t.Errorf("error at line %d of %q", e.Line, text)
			}
		}
		src := &source{name: "a.toml", text: strings.TrimPrefix(text, "\ufeff")}
		if values, err := src.decode(); err == nil {
			scanned := scan(src)
			if m := mismatch(scanned.root, values, ""); m != "" && scanned.tooDeep == nil && scanned.twice == nil {
				t.Errorf("%q: %s", text, m)
			}
		}
		_, err := decode(text)
		check(err)
		_, err = decode(text, Set(override))
		check(err)
		_, err = decode("workflow='x'", Set(override))
		check(err)
		if d, err := Parse("a.toml", []byte(text), Set(override)); err == nil {
			d.Defined(override)
			check(d.Errorf(override, "x"))
			check(d.Locate(Unknown(override, "key", nil)))
			check(d.UnknownValue(override, "value", nil))
		}
	})
}

// Deep nesting and great length end in an error, not in an exhausted stack.
func TestNestingAndLength(t *testing.T) {
	for _, text := range []string{
		"a = " + strings.Repeat("[", maxBytes-10), "a = " + strings.Repeat("{a=", maxBytes/3-10), strings.Repeat("a.", maxBytes/4-10) + "a = 1",
		"[" + strings.Repeat("a.", maxBytes/4-10) + "a]", strings.Repeat("#", maxBytes+1), "a = '" + strings.Repeat("x", maxBytes/2) + "'",
	} {
		_, err := decode(text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.20q…: error %v", text, err)
		}
		_, err = decode("", Set(text))
		if !errors.As(err, &e) {
			t.Errorf("%.20q… as a flag: error %v", text, err)
		}
	}
}
