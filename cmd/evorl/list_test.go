package main

import (
	"strings"
	"testing"
)

// The list has every key of every section with the defaults of all who have it, in lines that fit.
func TestListIsComplete(t *testing.T) {
	all, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{width: 100}
	l.list(all)
	text := strings.Join(strings.Fields(l.text.String()), " ")
	_, text, _ = strings.Cut(text, "CONFIGURATION")
	sections := sectionsOf(all)
	for _, x := range all {
		for _, s := range x.Sections {
			found := false
			for _, of := range sections {
				for i, name := range of.users {
					if name != x.Name || of.Name != s.Name {
						continue
					}
					found = true
					for k, key := range s.Keys {
						if of.Keys[k].Name != key.Name || of.Keys[k].Doc != key.Doc || of.defaults[k][i] != key.Default {
							t.Errorf("%s: [%s] %s = %s is listed as %s = %s", x.Name, s.Name, key.Name, key.Default, of.Keys[k].Name, of.defaults[k][i])
						}
						if !strings.Contains(text, strings.Join(strings.Fields(key.Name+" = "+defaultText(of.Keys[k])+" "+docText(key)), " ")) {
							t.Errorf("%s: [%s] %s is not in the text", x.Name, s.Name, key.Name)
						}
					}
				}
			}
			if !found {
				t.Errorf("%s: [%s] is not listed", x.Name, s.Name)
			}
		}
	}
	for _, want := range []string{
		"[environment] of all but nsga-ii, nsga-iii, moead time_limit", "[replay] of ddpg, dqn, sac, td3, dvd, cem-rl, erl, pga-me capacity",
		"[network] of openes,", "random_steps = 10000", "Default 32 of pbt, pbt-cso.", "[pso] population", "[task] of Hopper-v5 forward_reward_weight = 1.0",
		"[checkpoint] every", "[bbob] function = (required)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the list has no %q", want)
		}
	}
	if first, second := strings.Index(text, "[openes]"), strings.Index(text, "[evaluation]"); !(strings.Index(text, "[a2c]") < first && first < second) {
		t.Error("sections are not in TOML's order")
	}
	for line := range strings.Lines(l.text.String()) {
		if trimmed := strings.TrimSuffix(line, "\n"); strings.TrimRight(trimmed, " ") != trimmed {
			t.Errorf("%q ends in blanks", line)
		}
	}
}
