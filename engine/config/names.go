package config

import (
	"fmt"
	"strings"
)

// UnmarshalName and MarshalName implement UnmarshalText and MarshalText for a type with names for its values 0, 1, … what
// describes the values in errors.
func UnmarshalName[T ~uint32](to *T, what string, names []string, text []byte) error {
	for i, name := range names {
		if string(text) == name {
			*to = T(i)
			return nil
		}
	}
	return &NameError{What: what, Text: string(text), Names: names}
}

// MarshalName implements MarshalText: see UnmarshalName.
func MarshalName[T ~uint32](value T, what string, names []string) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("%s %d; want 0 to %d", what, value, len(names)-1)
	}
	return []byte(names[value]), nil
}

// NameOf implements String for such a type: a value's name or, without one, its type and number.
func NameOf[T ~uint32](value T, names []string) string {
	if int(value) < len(names) {
		return names[value]
	}
	name := fmt.Sprintf("%T", value)
	return fmt.Sprintf("%s(%d)", name[strings.LastIndexByte(name, '.')+1:], uint32(value))
}

// NameError is the error of a text that is not one of the names.
type NameError struct {
	What  string // what the values are
	Text  string
	Names []string // the valid names
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s %q; want one of %s", e.What, e.Text, quoted(e.Names))
}
