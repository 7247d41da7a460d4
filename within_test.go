package evorl

import (
	"errors"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/config"
)

// A configuration from elsewhere names only what the program contains; nothing is read or started before it is refused.
func TestWithin(t *testing.T) {
	for text, want := range map[string]string{
		"workflow = \"openes\"\nenv = \"CartPole-v1\"\n":                                 "",
		"workflow = \"openes\"\nenv = \"/nowhere/x.glsl\"\n":                             "is a file",
		"workflow = \"openes\"\nenv = \"/nowhere/x.xml\"\n":                              "is a file",
		"workflow = \"ppo\"\nenv = \"exec:/nowhere/program\"\n":                          "stepped by other processes",
		"workflow = \"ppo\"\nenv = \"gymnasium:CartPole-v1\"\n":                          "stepped by other processes",
		"workflow = \"ppo\"\nenv = \"dm_env_rpc://127.0.0.1:1\"\n":                       "stepped by other processes",
		"workflow = \"openes\"\nenv = \"mnist\"\n[task]\nfolder = \"/nowhere\"\n":        "read from a file",
		"workflow = \"openes\"\nenv = \"painting\"\n[task]\ntarget = \"/nowhere.png\"\n": "read from a file",
	} {
		_, err := Parse("x.toml", []byte(text), within())
		var wrong *config.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want an error with %q", text, err, want)
		}
	}
}
