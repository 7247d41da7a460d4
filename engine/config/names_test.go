package config

import (
	"errors"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"linear", "relu"}
	type kind uint32
	for i, name := range names {
		text, err := MarshalName(kind(i), "activation", names)
		back := kind(9)
		if err != nil || string(text) != name || UnmarshalName(&back, "activation", names, text) != nil || back != kind(i) {
			t.Errorf("%d is %q, %v, and back %d; want %q", i, text, err, back, name)
		}
	}
	if _, err := MarshalName(kind(2), "activation", names); err == nil || err.Error() != "activation 2; want 0 to 1" {
		t.Errorf("error %v of a value without a name", err)
	}
	left := kind(1)
	err := UnmarshalName(&left, "activation", names, []byte("sine"))
	var of *NameError
	if !errors.As(err, &of) || of.Text != "sine" || !slices.Equal(of.Names, names) || left != 1 ||
		err.Error() != `activation "sine"; want one of "linear", "relu"` {
		t.Errorf("error %v of an unknown name, value %d", err, left)
	}
}

// An unknown name of a named type is reported like an unknown choice.
func TestNameInFile(t *testing.T) {
	var c struct{ Mode mode }
	d, err := Parse("x.toml", []byte("mode = \"fsat\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = d.Decode(Sections{{Value: &c}})
	want := "x.toml:1:8: \"mode\" at the top level is \"fsat\": want one of \"slow\", \"fast\"\n" +
		"  mode = \"fsat\"\n         ^^^^^^\ndid you mean \"fast\"?"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}

type mode uint32

func (m *mode) UnmarshalText(text []byte) error {
	return UnmarshalName(m, "mode", []string{"slow", "fast"}, text)
}

func (m mode) MarshalText() ([]byte, error) { return MarshalName(m, "mode", []string{"slow", "fast"}) }
