package evorl_test

import (
	"strings"
	"testing"

	"github.com/evorl/evorl"
)

const pongOfTwo = "workflow = \"self-play\"\nenv = \"PongDuel-v0\"\n"

// What self-play does not do is refused at its place in the document.
func TestWrongSelfPlay(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"workflow = \"self-play\"\nenv = \"CartPole-v1\"\n", []string{"x.toml:2:7", "has one agent", `"PongDuel-v0"`}},
		{"workflow = \"self-play\"\nenv = \"SimpleSpread-v3\"\n", []string{"x.toml:2:7", "has 3 agents"}},
		{pongOfTwo + "[self-play]\nover = \"sac\"\n", []string{"x.toml:4:8", `does not train "sac"`, "[ppo]"}},
		{pongOfTwo + "[self-play]\nover = \"po\"\n", []string{"x.toml:4:8", `unknown agent "po"`, `"ppo"`}},
		{pongOfTwo + "[self-play]\nopponents = \"newst\"\n", []string{"x.toml:4:13", "newest"}},
		{pongOfTwo + "[self-play]\nlatest = 1.5\n", []string{"x.toml:4:10", "at most 1"}},
		{pongOfTwo + "[self-play]\nappend_samples = 0\n", []string{"x.toml:4:18", "append_win_rate"}},
		{pongOfTwo + "[self-play]\ncapacty = 3\n", []string{"x.toml:4:1", `did you mean "capacity"?`}},
		{pongOfTwo + "[sac]\n", []string{"x.toml:3"}},
		{"workflow = \"pbt\"\nenv = \"PongDuel-v0\"\n[pbt]\nover = \"self-play\"\n", []string{"x.toml:4:8", "cannot be trained itself"}},
	} {
		_, err := evorl.Parse("x.toml", []byte(c.text))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v; want %q in it", c.text, err, want)
			}
		}
	}
}
