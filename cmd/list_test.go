package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/config"
)

// The overview fits a screen and has every name; words find keys by their names, else by their meaning.
func TestListOnAScreen(t *testing.T) {
	all, err := everything(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{width: 100, known: all}
	l.overview(all)
	if text := l.text.String(); strings.Count(text, "\n") > 24 {
		t.Errorf("%d lines; want a screen\n%s", strings.Count(text, "\n"), text)
	}
	for _, x := range all {
		if !slices.Contains(strings.Fields(l.text.String()), x.Name) {
			t.Errorf("no %s", x.Name)
		}
	}
	for query, want := range map[string]string{
		"gae_lambda": "gae_lambda", "mappo": "critic_input", "ppo EPOCHS": "epochs", "Lemmas nobody wrote": "", "truncated": "time_limit",
	} {
		found := keysWith(all, query)
		if want == "" {
			if found != nil {
				t.Errorf("%q finds %v", query, found)
			}
			continue
		}
		if len(found) == 0 || !slices.ContainsFunc(found[0].Sections[0].Keys, func(k config.Key) bool { return k.Name == want }) {
			t.Errorf("%q does not find %s but %v", query, want, found)
		}
	}
	b := newBox(t)
	if _, stderr, status := b.run("list", "qmix"); status != statusUsage || !strings.Contains(stderr, "no sums of values (VDN, QMIX); see docs/limits.md") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status := b.run("list", "entropy_wight"); status != statusUsage || !strings.Contains(stderr, `did you mean "entropy_weight"?`) {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// A configuration that init writes has the defaults, and runs.
func TestInit(t *testing.T) {
	b := newBox(t)
	b.write("my.toml", b.must("init", "--set", "ppo.members=3", "ppo", "CartPole-v1"))
	if text := string(b.read("my.toml")); !strings.Contains(text, "# Units per hidden layer") || !strings.Contains(text, "members = 3\n") {
		t.Errorf("%s", text)
	}
	if r := b.object(b.must("run", "-q", "--json", "--iterations", "1", "--out", "r", "my.toml")); r["workflow"] != "ppo" {
		t.Errorf("%v", r)
	}
	for args, want := range map[string]string{"ppo CartPole-v2": `did you mean "CartPole-v1"?`, "pp0 CartPole-v1": "ppo", "ppo": "want a WORKFLOW and an ENV"} {
		if _, stderr, status := b.run(append([]string{"init"}, strings.Fields(args)...)...); status != statusUsage || !strings.Contains(stderr, want) ||
			strings.Contains(stderr, "evorl.New") {
			t.Errorf("init %s: status %d\n%s; want %q", args, status, stderr, want)
		}
	}
}

// What shells ask for: keys of the configuration given, values of keys that have few, devices, names, and no files where none are meant.
func TestCompletion(t *testing.T) {
	b := newBox(t)
	b.must("run", "-q", "--out", "r", "--iterations", "1", "tiny.toml")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "tiny.toml", "--set", "ppo.e"}, "ppo.epochs="},
		{[]string{"run", "--set", "sac.t"}, "sac.tau="},
		{[]string{"run", "--set", "ppo.normalize_advantage="}, "ppo.normalize_advantage=true"},
		{[]string{"run", "--device", ""}, "0\t"},
		{[]string{"init", "pp"}, "ppo\t"},
		{[]string{"init", "ppo", "Hop"}, "Hopper-v5"},
		{[]string{"list", "sph"}, "sphere\t"},
		{[]string{"run", ""}, "toml\n:8"},
		{[]string{"plot", ""}, ":16"},
		{[]string{"plot", "--band", "boot"}, "bootstrap"},
		{[]string{"run", "--log-format", ""}, "json"},
		{[]string{"plot", "--log", ""}, "xy"},
		{[]string{"plot", "r", "--metric", "policy/"}, "policy/entropy"},
		{[]string{"bench", "--suite", "s"}, "score"},
		{[]string{"bench", "--suite", "score", "--only", "hop"}, "hopper/mlp\t"},
	} {
		stdout := b.must(append([]string{"__complete"}, c.args...)...)
		if !strings.Contains(stdout, c.want) {
			t.Errorf("%q completes to\n%s; want %q", c.args, stdout, c.want)
		}
		if strings.HasPrefix(c.args[len(c.args)-1], "ppo.") && strings.Contains(stdout, "sac.") {
			t.Errorf("%q has keys of others:\n%s", c.args, stdout)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := b.must("completion", shell); !strings.Contains(script, "evorl") {
			t.Errorf("%s: %s", shell, script)
		}
	}
	b.must("man", "man")
	if page := string(b.read("man/evorl-run.1")); !strings.Contains(page, "Run a configuration") {
		t.Errorf("%s", page)
	}
}

// The list has every key of every section with the defaults of all who have it, in lines that fit.
func TestListIsComplete(t *testing.T) {
	all, err := everything(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{width: 100, known: all}
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
		"[environment] of all but nsga-ii, nsga-iii, moead time_limit", "[replay] of ddpg, dqn, redq, sac, td3, dvd, cem-rl, erl, pga-me, qd-pg capacity",
		"[network] of dvd-es, openes,", "random_steps = 10000", "Default 32 of pbt, pbt-cso, emogi.",
		"[pso] population", "[task] of Hopper-v5 forward_reward_weight = 1.0",
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
