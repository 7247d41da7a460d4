package catalog

import (
	"testing"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/hybrid"
)

// TestChoose: a document's keys precede the last value of the section's type, and that the defaults.
func TestChoose(t *testing.T) {
	other, last, none := hybrid.DefaultERL(), hybrid.DefaultERL(), (*hybrid.ERLConfig)(nil)
	other.Agent, other.Search, last.Agent, last.Search = "ddpg", "snes", "sac", "ga"
	wrong := hybrid.DefaultCEMRL()
	wrong.Agent = "wrong"
	defaults := hybrid.DefaultERL()
	for _, c := range []struct {
		text          string
		values        []any
		agent, search string
	}{
		{"", nil, defaults.Agent, defaults.Search},
		{"", []any{wrong, none, nil, 3}, defaults.Agent, defaults.Search},
		{"", []any{other, &last, none, wrong}, "sac", "ga"},
		{"[erl]\nsearch = \"openes\"\n", []any{&last, other}, "ddpg", "openes"},
		{"[erl]\nsearch = \"openes\"\nagents = -1\n", nil, defaults.Agent, "openes"}, // other keys are not its business
	} {
		d, err := config.Parse("x.toml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var chosen struct{ Agent, Search string }
		if err := choose(d, "erl", &defaults, c.values, &chosen); err != nil || chosen.Agent != c.agent || chosen.Search != c.search {
			t.Errorf("%q with %v: %+v, %v; want %s and %s", c.text, c.values, chosen, err, c.agent, c.search)
		}
	}
	if defaults != hybrid.DefaultERL() {
		t.Errorf("the section's value became %+v", defaults)
	}
	d, err := config.Parse("x.toml", []byte("[erl]\nagent = 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	var chosen struct{ Agent string }
	if err := choose(d, "erl", &defaults, nil, &chosen); err == nil {
		t.Error("a number names an agent")
	}
}
