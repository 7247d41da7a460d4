package cmd

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The program of docs/own.md has its own environment and strategy in every command; a run of it is resumed with the same bits, and plain evorl says what
// it does not know of it.
func TestOwnProgram(t *testing.T) {
	b := ownBox(t)
	page, err := os.ReadFile("../docs/own.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "climber.toml"} {
		text, err := os.ReadFile("../docs/examples/climber/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b.write(name, string(text))
		if _, code, ok := strings.Cut(string(text), "//go:embed"); ok {
			text = []byte("//go:embed" + code)
		}
		if !strings.Contains(string(page), string(text)) {
			t.Errorf("docs/own.md does not have the %s of docs/examples/climber", name)
		}
	}
	own := b.path("climber")
	if out, err := exec.Command("go", "build", "-o", own, "../docs/examples/climber").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.program = own
	list := b.must("list")
	for _, want := range []string{"climber", "Valley-v0", "CartPole-v1"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in\n%s", want, list)
		}
	}
	if keys := b.must("list", "climber"); !strings.Contains(keys, "step = 0.5") || !strings.Contains(keys, "Candidates of a generation.") {
		t.Errorf("%s", keys)
	}
	for args, want := range map[string]string{"init cli": "climber\t", "init climber Val": "Valley-v0", "run climber.toml --set climber.s": "climber.step="} {
		if stdout := b.must(append([]string{"__complete"}, strings.Fields(args)...)...); !strings.Contains(stdout, want) {
			t.Errorf("%s completes to\n%s", args, stdout)
		}
	}
	whole := b.object(b.must("run", "-q", "--json", "--out", "whole", "climber.toml"))
	start := b.object(b.must("run", "-q", "--json", "--out", "half", "--iterations", "1", "climber.toml"))
	if whole["mean_return"].(float64) < start["mean_return"].(float64)+1 {
		t.Errorf("return %v after 60 generations, %v after one: it does not learn", whole["mean_return"], start["mean_return"])
	}
	if half := b.object(b.must("run", "-q", "--json", "--resume", "--out", "half", "climber.toml")); half["digest"] != whole["digest"] {
		t.Errorf("resumed: %v; want %v", half["digest"], whole["digest"])
	}
	if again := b.object(b.must("run", "-q", "--json", "--resume", "--out", "half", "--iterations", "61")); again["resumed_from"] != 60. {
		t.Errorf("%v", again)
	}
	b.write("sweep.toml", "config = \"climber.toml\"\nset = [\"iterations=2\"]\n[keys.\"climber.step\"]\nvalues = [0.1, 0.3]\n")
	for _, args := range []string{
		"eval --best --episodes 4 whole", "view --png a.png --width 32 --height 32 whole", "inspect whole", "plot -o a.svg whole half", "compare whole half",
		"export --policy p.json whole", "sweep -q --out sweep sweep.toml", "sweep -q --resume --out sweep",
	} {
		b.must(strings.Fields(args)...)
	}
	if _, stderr, status := b.run("run", "--set", "climber.stap=1", "climber.toml"); status != statusUsage || !strings.Contains(stderr, `did you mean "step"?`) {
		t.Errorf("status %d, %s", status, stderr)
	}
	if help := b.must("run", "--help"); !strings.Contains(help, "climber run [flags] CONFIG.toml") {
		t.Errorf("%s", help)
	}
	b.program = ""
	for _, args := range []string{"eval whole", "run --resume --out whole", "view whole", "export --policy p.json whole", "inspect whole"} {
		_, stderr, status := b.run(strings.Fields(args)...)
		if status != statusUsage || !strings.Contains(stderr, `this program does not know workflow "climber"`) ||
			!strings.Contains(stderr, "want the program that began it, climber,") || !strings.Contains(stderr, "docs/own.md") {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	b.must("plot", "-o", "b.svg", "whole") // needs no more than its records
}

// The program of docs/own.md that steps its environment in Go has it in every command. Checkpoints contain what the environment saves, so that a run is
// resumed with the same bits, and warns of nothing.
func TestOwnEnvironmentInGo(t *testing.T) {
	b := newBox(t)
	page, err := os.ReadFile("../docs/own.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/examples/corridor/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, code, ok := strings.Cut(string(text), ")\n\n"); !ok || !strings.Contains(string(page), "```go\n"+code+"```\n") {
		t.Error("docs/own.md does not have the code of docs/examples/corridor")
	}
	settings, err := os.ReadFile("../docs/examples/corridor/corridor.toml")
	if err != nil {
		t.Fatal(err)
	}
	b.write("corridor.toml", string(settings))
	program := b.path("corridor")
	if out, err := exec.Command("go", "build", "-o", program, "../docs/examples/corridor").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.program = program
	whole := b.object(b.must("run", "-q", "--json", "--out", "whole", "corridor.toml"))
	if mean := whole["mean_return"].(float64); mean < -7 { // to the right it is -6.5, and at random about -40
		t.Errorf("mean return %v; want at least -7", mean)
	}
	b.must("run", "-q", "--out", "half", "--iterations", "5", "corridor.toml")
	stdout, stderr, status := b.run("run", "--json", "--resume", "--iterations", "12", "--out", "half")
	if half := b.object(stdout); status != 0 || half["digest"] != whole["digest"] || strings.Contains(stderr, "exactly") {
		t.Errorf("resumed: status %d, %v, %s; want the digest %v", status, half, stderr, whole["digest"])
	}
	e := b.object(b.must("eval", "--json", "--member", "0", "--seed", "3", "--episodes", "1", "half"))
	v := b.object(b.must("view", "--json", "--member", "0", "--seed", "3", "--png", "a.png", "--width", "32", "--height", "32", "half"))
	if e["mean_return"] != v["return"] {
		t.Errorf("evaluated %v, viewed %v", e, v)
	}
	for _, args := range []string{"export --onnx p.onnx --policy p.json whole", "inspect whole", "plot -o a.svg whole half", "list Corridor-v0"} {
		b.must(strings.Fields(args)...)
	}
}
