package ec

import "fmt"

// nameOf is the name of a choice in TOML.
func nameOf(what string, names []string, i uint32) ([]byte, error) {
	if int(i) >= len(names) {
		return nil, fmt.Errorf("%s %d; want 0 to %d", what, i, len(names)-1)
	}
	return []byte(names[i]), nil
}

// named is the choice of a name.
func named(what string, names []string, text []byte) (uint32, error) {
	for i, name := range names {
		if string(text) == name {
			return uint32(i), nil
		}
	}
	return 0, fmt.Errorf("%s %q; want one of %q", what, text, names)
}
