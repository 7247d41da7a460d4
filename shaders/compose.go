package shaders

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// environmentInclude is the include that is replaced by an environment's source.
const environmentInclude = "ENVIRONMENT"

// Compose returns the source of a kernel of the embedded tree as one text that needs no include path: every include is
// inserted once, and #line directives keep compiler messages pointing at the original files. environment names
// the environment of the embedded tree that replaces #include "ENVIRONMENT"; it is "" for kernels without that line.
//
// Errors name file and line: a missing include (wrapping ErrNotFound), a cycle of includes, an include inside #if, or an
// environment that is unknown, missing, or not taken by the kernel.
func Compose(kernel string, environment string) (string, error) {
	if environment == "" {
		return ComposeFrom(tree, kernel, nil)
	}
	all, err := Environments(tree)
	if err != nil {
		return "", err
	}
	var names []string
	for i := range all {
		if all[i].Name == environment {
			return ComposeFrom(tree, kernel, &all[i])
		}
		names = append(names, all[i].Name)
	}
	return "", fmt.Errorf("shaders: environment %q: %w; there are: %s", environment, ErrNotFound, strings.Join(names, ", "))
}

// ComposeEnvironment is Compose with the source of an environment that is not in the tree.
func ComposeEnvironment(kernel string, environment Environment) (string, error) {
	return ComposeFrom(tree, kernel, &environment)
}

// ComposeFrom is Compose for any tree. environment is nil for kernels that take none.
func ComposeFrom(fsys fs.FS, kernel string, environment *Environment) (string, error) {
	file := kernel + ".comp"
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return "", fmt.Errorf("shaders: kernel %q (%s): %w", kernel, shown(file), ErrNotFound)
	}
	c := composer{fsys: fsys, environment: environment, done: map[string]bool{}}
	if err := c.add(shown(file), string(text)); err != nil {
		return "", err
	}
	if environment != nil && !c.usesEnvironment {
		return "", fmt.Errorf("%s: the kernel takes no environment (it has no line #include %q), but %q was given",
			shown(file), environmentInclude, environment.Name)
	}
	if environment != nil && c.seated() != environment.seated() {
		return "", fmt.Errorf("%s: the kernel is not for environments of %d agents, with a state in the buffer: %t, as %q is",
			shown(file), environment.Agents(), environment.Stored(), environment.Name)
	}
	if c.version == "" {
		return "", fmt.Errorf("%s:1: the kernel does not begin with #version (#version 450)", shown(file))
	}
	var out strings.Builder
	out.WriteString(c.version + "\n")
	// glslc and glslangValidator accept file names in #line only with this extension.
	out.WriteString("#extension GL_GOOGLE_cpp_style_line_directive : require\n")
	for _, extension := range c.extensions {
		out.WriteString(extension)
	}
	out.WriteString(c.body.String())
	return out.String(), nil
}

// TakesEnvironment reports whether a kernel includes "ENVIRONMENT", directly or through another include.
func TakesEnvironment(fsys fs.FS, kernel string) (bool, error) {
	c, err := scan(fsys, kernel)
	if err != nil {
		return false, err
	}
	return c.usesEnvironment, nil
}

// scan composes a kernel with an empty environment.
func scan(fsys fs.FS, kernel string) (*composer, error) {
	file := kernel + ".comp"
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("shaders: kernel %q (%s): %w", kernel, shown(file), ErrNotFound)
	}
	c := &composer{fsys: fsys, environment: &Environment{File: environmentInclude}, done: map[string]bool{}}
	return c, c.add(shown(file), string(text))
}

// composer flattens one kernel.
type composer struct {
	fsys            fs.FS
	environment     *Environment
	usesEnvironment bool
	version         string
	extensions      []string // with their #line, moved to the top, where GLSL requires them
	body            strings.Builder
	done            map[string]bool // files already in the body
	open            []string        // the files being included, outermost first
}

// add appends one file. Lines that are moved or removed leave an empty line, so that numbers stay right between #line directives.
func (c *composer) add(file, text string) error {
	for i, name := range c.open {
		if name == file {
			return fmt.Errorf("includes form a cycle: %s", strings.Join(append(c.open[i:], file), " → "))
		}
	}
	if c.done[file] {
		return nil
	}
	c.done[file] = true
	c.open = append(c.open, file)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	c.line(1, file)
	conditions, comment := 0, false
	if at := ContinuedInclude(text); at > 0 {
		return fmt.Errorf("%s:%d: an #include that continues on the next line: want it in one line", file, at)
	}
	place := 1 // what a #line of the text itself adds to the index of a line
	for i, line := range lines(text) {
		number := i + place
		var plain string
		plain, comment = stripComments(line, comment)
		directive, rest := splitDirective(plain)
		switch directive {
		case "if", "ifdef", "ifndef":
			conditions++
		case "endif":
			conditions--
		case "line":
			if n, err := fmt.Sscanf(rest, "%d %q", &place, &file); n != 2 {
				return fmt.Errorf("%s:%d: #line %s; want #line NUMBER \"FILE\": %w", file, number, rest, err)
			}
			place -= i + 1 // it belongs to the next line
		case "version":
			if len(c.open) > 1 {
				return fmt.Errorf("%s:%d: only kernels declare a #version; an include takes that of its kernel", file, number)
			}
			c.version = "#version " + rest
			line = ""
		case "extension":
			if conditions > 0 {
				break
			}
			if name, _, _ := strings.Cut(rest, ":"); !strings.HasPrefix(strings.TrimSpace(name), "GL_GOOGLE_") {
				c.extensions = append(c.extensions, fmt.Sprintf("#line %d %q\n#extension %s\n", number, file, rest))
			}
			line = ""
		case "include":
			if conditions > 0 {
				return fmt.Errorf("%s:%d: #include inside #if: a file is included once, whatever the condition; move it out", file, number)
			}
			if err := c.include(file, number, rest); err != nil {
				return err
			}
			c.line(number+1, file)
			continue
		}
		c.body.WriteString(line)
		c.body.WriteByte('\n')
	}
	return nil
}

// ContinuedInclude returns the number of the first line of an #include that continues on the next line, which a compiler would join and read from anywhere;
// 0: none.
func ContinuedInclude(text string) int {
	all := lines(text)
	for i := 0; i < len(all); i++ {
		first, joined := i, all[i]
		for strings.HasSuffix(strings.TrimRight(joined, " \t\r"), "\\") && i+1 < len(all) {
			i++
			joined = strings.TrimSuffix(strings.TrimRight(joined, " \t\r"), "\\") + all[i]
		}
		if plain, _ := stripComments(joined, false); i > first {
			if directive, _ := splitDirective(plain); directive == "include" {
				return first + 1
			}
		}
	}
	return 0
}

func (c *composer) line(number int, file string) {
	fmt.Fprintf(&c.body, "#line %d %q\n", number, file)
}

// include adds the file named by an #include directive.
func (c *composer) include(file string, number int, argument string) error {
	name, err := strconv.Unquote(strings.TrimSpace(argument))
	if err != nil {
		return fmt.Errorf("%s:%d: #include %s: want a quoted path from the root of the shaders, e.g. #include %q", file, number, argument, "engine/rng.glsl")
	}
	if name == environmentInclude {
		c.usesEnvironment = true
		if c.environment == nil {
			return fmt.Errorf("%s:%d: the kernel needs an environment in place of #include %q, and none was given", file, number, environmentInclude)
		}
		return c.within(file, number, c.environment.File, c.environment.Text)
	}
	if c.environment != nil && c.environment.Cooperative {
		if other := cooperativeInclude(c.fsys, name); shown(other) != file { // which may include what it stands for
			name = other
		}
	}
	text, err := fs.ReadFile(c.fsys, name)
	if err != nil || !fs.ValidPath(name) {
		return fmt.Errorf("%s:%d: #include %q: %w (paths count from the root of the shaders)", file, number, name, ErrNotFound)
	}
	return c.within(file, number, shown(name), string(text))
}

// within adds a file. If that fails, the error includes the position of the include.
func (c *composer) within(file string, number int, included, text string) error {
	if err := c.add(included, text); err != nil {
		return fmt.Errorf("%w\n\tincluded from %s:%d", err, file, number)
	}
	return nil
}

// splitDirective returns the name of a preprocessor directive and what follows it; "" for other lines.
func splitDirective(line string) (name, rest string) {
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return "", ""
	}
	line = strings.TrimSpace(line)
	end := strings.IndexFunc(line, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimSpace(line[end:])
}

// stripComments removes comments from a line. open is whether a block comment is open before and after it.
func stripComments(line string, open bool) (string, bool) {
	var out strings.Builder
	for line != "" {
		if open {
			_, after, closed := strings.Cut(line, "*/")
			if !closed {
				return out.String(), true
			}
			line, open = after, false
			continue
		}
		block, single := strings.Index(line, "/*"), strings.Index(line, "//")
		if single >= 0 && (block < 0 || single < block) {
			out.WriteString(line[:single])
			return out.String(), false
		}
		if block < 0 {
			out.WriteString(line)
			break
		}
		out.WriteString(line[:block] + " ")
		line, open = line[block+2:], true
	}
	return out.String(), open
}
