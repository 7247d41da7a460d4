package config

import "strings"

// ParseHeader is Parse for TOML in the comments of a file of another language: all lines that begin with a mark, such as //!. Errors have the
// file's own lines and columns.
func ParseHeader(name string, text []byte, mark string) (*Document, error) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			b.WriteString(strings.Repeat(" ", len(mark)) + rest)
		} else {
			b.WriteByte('\n')
		}
	}
	return Parse(name, []byte(b.String()))
}
