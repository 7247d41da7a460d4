package config

import (
	"strings"
	"testing"
)

// replacing has a list that another one replaces.
type replacing struct {
	Sizes []int
	Parts []struct{ Size int } `replaces:"sizes"`
	Whole bool                 `replaces:"sizes"`
}

// TestReplaces: a list that is given, or another key that is not zero, takes the place of the default of the list that it replaces; both are an error, empty
// ones are not.
func TestReplaces(t *testing.T) {
	for text, want := range map[string]replacing{
		"":                                    {Sizes: []int{1, 2}},
		"[x]\nparts = []\n":                   {Sizes: []int{1, 2}},
		"[[x.parts]]\nsize = 3\n":             {Parts: []struct{ Size int }{{3}}},
		"[x]\nwhole = true":                   {Whole: true},
		"[x]\nwhole = false":                  {Sizes: []int{1, 2}},
		"[x]\nsizes = []\nparts = [{size=3}]": {Parts: []struct{ Size int }{{3}}},
	} {
		got := replacing{Sizes: []int{1, 2}}
		d, err := Parse("x.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(Sections{{"x", &got}}); err != nil || len(got.Sizes) != len(want.Sizes) || len(got.Parts) != len(want.Parts) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	got := replacing{}
	d, err := Parse("x.toml", []byte("[x]\nsizes = [4]\n[[x.parts]]\nsize = 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(Sections{{"x", &got}}); err == nil || !strings.Contains(err.Error(), `x.toml:2:1: "sizes" and "parts" in [x] exclude each other`) {
		t.Errorf("both lists: %v", err)
	}
	var wrong struct {
		Parts []int `replaces:"sizes"`
	}
	if err := d.Decode(Sections{{"x", &wrong}}); err == nil || !strings.Contains(err.Error(), "is no key") {
		t.Errorf("a list that replaces none: %v", err)
	}
}
