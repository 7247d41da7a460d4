package evorl

import (
	"errors"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/internal/catalog"
)

// A configuration from elsewhere names only what the program contains, and what is trusted; nothing is read or started before it is refused.
func TestWithin(t *testing.T) {
	const line = "// environment: Line\n#define STATE_SIZE 1\n#define OBS_SIZE 1\n#define ACTION_SIZE 2\n#define DISCRETE 1\n" +
		"void env_reset(out float s[1], inout Rng rng) { s[0] = 0.0; }\n" +
		"void env_step(inout float s[1], uint a, inout Rng rng, out float r, out bool end) { s[0] += 1.0; r = 1.0; end = false; }\n" +
		"void env_observe(const float s[1], out float o[1]) { o[0] = s[0]; }\n"
	stranger, signed := catalog.Trust{Outside: []string{"exec:/nowhere/program"}}, catalog.Trust{Signed: true, Outside: []string{"exec:/nowhere/other"}}
	const tail = "\n[environment]\ntime_limit = 5\n"
	for _, of := range []struct {
		text  string
		trust catalog.Trust
		glsl  string
		want  string
	}{
		{"workflow = \"openes\"\nenv = \"CartPole-v1\"\n", stranger, "", ""},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.glsl\"\n", stranger, line, "is a file"},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.xml\"\n", stranger, line, "is a file"},
		{"workflow = \"ppo\"\nenv = \"exec:/nowhere/program\"\n", stranger, "", "a run that is signed"},
		{"workflow = \"ppo\"\nenv = \"gymnasium:CartPole-v1\"\n", stranger, "", "stepped by other processes"},
		{"workflow = \"ppo\"\nenv = \"dm_env_rpc://127.0.0.1:1\"\n", stranger, "", "stepped by other processes"},
		{"workflow = \"openes\"\nenv = \"mnist\"\n[task]\nfolder = \"/nowhere\"\n", stranger, "", "read from a file"},
		{"workflow = \"openes\"\nenv = \"painting\"\n[task]\ntarget = \"/nowhere.png\"\n", stranger, "", "read from a file"},

		{"workflow = \"openes\"\nenv = \"x.glsl\"\n" + tail, signed, line, ""},
		{"workflow = \"openes\"\nenv = \"x.glsl\"\n" + tail + "[source]\ndigest = \"00\"\n", signed, line, "another file"},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.glsl\"\n", signed, "", "has not come"},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.xml\"\n", signed, line, "has not come"},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.json\"\n", signed, line, "has not come"},
		{"workflow = \"ppo\"\nenv = \"exec:/nowhere/program\"\n", signed, "", "only if its command line names it"},
		{"workflow = \"ppo\"\nenv = \"exec:/nowhere/other\"\n", signed, "", "there is no such program"},                                  // it was looked for
		{"workflow = \"ppo\"\nenv = \"exec:/nowhere/other\"\n[bridge]\nfolder = \"/nowhere\"\n", signed, "", "there is no such program"}, // here
		{"workflow = \"openes\"\nenv = \"mnist\"\n[task]\nfolder = \"/nowhere\"\n", signed, "", "read from a file"},
	} {
		var glsl []byte
		if of.glsl != "" {
			glsl = []byte(of.glsl)
		}
		_, err := Parse("x.toml", []byte(of.text), within(of.trust, glsl))
		var wrong *config.Error
		if of.want == "" && err != nil || of.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), of.want)) {
			t.Errorf("%q, signed %t: %v; want an error with %q", of.text, of.trust.Signed, err, of.want)
		}
	}
}
