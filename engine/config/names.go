package config

import "fmt"

// UnmarshalName and MarshalName are the methods UnmarshalText and MarshalText of a type whose values 0, 1, … have names. what is what they
// are, for errors.
func UnmarshalName[T ~uint32](to *T, what string, names []string, text []byte) error {
	for i, name := range names {
		if string(text) == name {
			*to = T(i)
			return nil
		}
	}
	return &NameError{What: what, Text: string(text), Names: names}
}

// MarshalName is described at UnmarshalName.
func MarshalName[T ~uint32](value T, what string, names []string) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("%s %d; want 0 to %d", what, value, len(names)-1)
	}
	return []byte(names[value]), nil
}

// NameError is the error of a text that names none of the values of a type.
type NameError struct {
	What  string // what the values are
	Text  string
	Names []string // those there are
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s %q; want one of %s", e.What, e.Text, quoted(e.Names))
}
