package config_test

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/config"
)

func TestParseHeader(t *testing.T) {
	const text = "// environment: x\n//! steps = 3\n#define A 1\n//! names = [\n//!   \"a\",\n//! ]\nvoid f() { } // ! no\r\n"
	var got struct {
		Steps int
		Names []string
	}
	d, err := config.ParseHeader("x.glsl", []byte(text), "//!")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(config.Sections{{Name: "", Value: &got}}); err != nil || got.Steps != 3 || len(got.Names) != 1 || got.Names[0] != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"\n//! step = 3\n": "x.glsl:2:5: unknown key \"step\"", "\n\n//! steps = \"no\"\n": "x.glsl:3:13: ", "//! steps = \n": "x.glsl:1:",
	} {
		d, err := config.ParseHeader("x.glsl", []byte(text), "//!")
		if err == nil {
			err = d.Decode(config.Sections{{Name: "", Value: &got}})
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
