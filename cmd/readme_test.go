package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
)

// The README names every command, and begins with a picture and two commands; pages name every workflow, environment and problem. Its Go is that of an
// example, which is tested.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	page := func(name string) string {
		t.Helper()
		text, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	algorithms, environments := page("algorithms/index.md"), page("environments.md")
	has := func(page, text, name string) {
		t.Helper()
		if !strings.Contains(text, name) {
			t.Errorf("%s does not mention %s", page, name)
		}
	}
	lines := strings.Split(readme, "\n")
	for _, first := range []string{"](docs/pbt.svg)", "\nmake run ", "\nmake test "} {
		has("the first screen of README.md", strings.Join(lines[:24], "\n"), first)
	}
	if rows := strings.Count(readme, "\n| "); rows > 50 {
		t.Errorf("README.md has tables of %d rows in all; want them on pages", rows)
	}
	for _, c := range newRoot("evorl", nil).Commands() {
		has("README.md", readme, "`evorl "+c.Name())
	}
	for _, w := range evorl.Workflows() {
		has("docs/algorithms/index.md", algorithms, "| [`"+w.Name+"`]("+w.Name+".md) | "+w.Summary)
	}
	for _, e := range envs.Names() {
		has("docs/environments.md", environments, "`"+e+"`")
	}
	for _, p := range evorl.Problems() {
		has("docs/environments.md", environments, "`"+p.Name+"`")
	}
	_, code, ok := strings.Cut(readme, "```go\n")
	code, _, closed := strings.Cut(code, "```")
	example, err := os.ReadFile("../example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !ok || !closed || !strings.Contains(string(example), code) {
		t.Errorf("README.md's Go is not that of example_test.go:\n%s", code)
	}
}

// The README names the commands without --json.
func TestReadmeJSON(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	sentence := regexp.MustCompile("`--json`[^`]*flag of all but ([^.]+)\\.").FindSubmatch(data)
	if sentence == nil {
		t.Fatal("README.md does not say which commands have no --json")
	}
	for _, name := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(sentence[1], -1) {
		got = append(got, string(name[1]))
	}
	root := newRoot("evorl", nil)
	root.InitDefaultCompletionCmd()
	var visit func(of *cobra.Command)
	visit = func(of *cobra.Command) {
		for _, c := range of.Commands() {
			if c.Name() != "cluster" && c.Flags().Lookup("json") == nil { // cluster shows its commands
				want = append(want, strings.TrimPrefix(c.CommandPath(), "evorl "))
			}
			if c.Name() != "completion" { // has a command for each shell
				visit(c)
			}
		}
	}
	visit(root)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("README.md says that %q have no --json; want %q", got, want)
	}
}

// What the README and the pages beside it link to or tell to use is there.
func TestPagesLead(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages %q, %v", pages, err)
	}
	link := regexp.MustCompile(`\]\(([^):#]+)\)`)
	file := regexp.MustCompile(`\b(?:configs|tools|envs|docs)/[\w/.-]*\.(?:toml|py|go|sh|md|svg|gif)\b`)
	command := regexp.MustCompile(`go test \./([\w/]+)((?: -[\w.='$-]+(?: \w+)?)+)`)
	choice := regexp.MustCompile(` -(?:run|bench)[ =]'?(\w+)`)
	for _, page := range append(pages, "../README.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range link.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), to[1])); err != nil {
				t.Errorf("%s links to what is not there: %v", page, err)
			}
		}
		for _, name := range file.FindAllString(string(data), -1) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names what is not there: %v", page, err)
			}
		}
		for _, c := range command.FindAllStringSubmatch(string(data), -1) {
			chosen := choice.FindAllStringSubmatch(c[2], -1)
			for _, of := range chosen {
				if !tests(t, filepath.Join("..", c[1]), of[1]) {
					t.Errorf("%s: %s: there is no %s", page, c[0], of[1])
				}
			}
			if len(chosen) == 0 {
				t.Errorf("%s: %s runs everything", page, c[0])
			}
		}
	}
}

// tests says whether a folder's tests and benchmarks have one whose name contains a word.
func tests(t *testing.T, folder, word string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^func (?:Test|Benchmark)\w*` + word + `|(?m)^func ` + word)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if name.Match(data) {
			return true
		}
	}
	return false
}

// The commands in the README's table run, as do those below it.
func TestReadmeCommands(t *testing.T) {
	b := newBox(t)
	b.write("study.toml", "config = \"tiny.toml\"\nset = [\"iterations=2\"]\n[keys.\"ppo.epochs\"]\nvalues = [1, 2]\n")
	b.write("duel.toml", "workflow = \"ppo\"\nenv = \"PongDuel-v0\"\niterations = 1\n[environment]\ntime_limit = 40\n"+
		"[ppo]\nenvironments = 2\nrollout_length = 8\n[network]\nhidden = [4]\n")
	values := map[string][]string{
		"CONFIG.toml": {"tiny.toml"}, "FILE.toml": {"study.toml"}, "RUN_DIR": {"r"}, "RUN_DIR...": {"r", "study/trial-0"}, "FILE...": {"a.json", "a.json"},
		"WORKFLOW": {"ppo"}, "ENV": {"Hopper-v5"}, "DIR": {"man"},
	}
	options := map[string][]string{
		"run": {"--out", "r", "--iterations", "8"}, "sweep": {"--out", "study"}, "view": {"--png", "a.png", "--width", "32", "--height", "32"},
		"export": {"--onnx", "policy.onnx", "--csv", "metrics.csv"}, "bench": {"--only", "submit_latency", "--seconds", "0.01", "--out", "a.json"},
	}
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// TestWatch, TestServe and TestWorker run the others.
	ran := map[string]bool{"help": true, "watch": true, "serve": true, "worker": true, "cluster": true}
	for _, line := range regexp.MustCompile("(?m)^\\| `evorl ([^`]+)` \\||`evorl ((?:completion|man) [^`]+)`").FindAllStringSubmatch(string(data), -1) {
		words := strings.Fields(line[1] + line[2])
		if words[0] == "watch" || words[0] == "serve" || words[0] == "worker" || words[0] == "cluster" {
			continue
		}
		var args []string
		for _, w := range words {
			if given, ok := values[w]; ok {
				args = append(args, given...)
			} else if w == strings.ToLower(w) {
				args = append(args, w)
			} else {
				t.Fatalf("README.md: evorl %s: no value of %s is known here", strings.Join(words, " "), w)
			}
		}
		if words[0] == "play" { // a run of a game of two
			b.must("run", "--out", "duel", "duel.toml")
			args = []string{"play", "--games", "4", "duel", "duel"}
		}
		if len(words) == 1 || words[1] != "compare" {
			args = append(args, options[words[0]]...)
		}
		b.must(args...)
		ran[words[0]] = true
	}
	for _, c := range newRoot("evorl", nil).Commands() {
		if !ran[c.Name()] {
			t.Errorf("README.md's table has no evorl %s", c.Name())
		}
	}
}
