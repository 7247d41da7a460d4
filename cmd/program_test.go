package cmd

import (
	"os"
	"os/exec"
	"slices"
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

// The program of docs/games.md has a game that drives: an agent learns to catch the prey, and a search finds its players.
func TestGameThatDrives(t *testing.T) {
	b := newBox(t)
	page, err := os.ReadFile("../docs/games.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/examples/hunt/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, code, ok := strings.Cut(string(text), ")\n\n"); !ok || !strings.Contains(string(page), "```go\n"+code+"```\n") {
		t.Error("docs/games.md does not have the code of docs/examples/hunt")
	}
	settings, err := os.ReadFile("../docs/examples/hunt/hunt.toml")
	if err != nil {
		t.Fatal(err)
	}
	b.write("hunt.toml", string(settings))
	b.write("search.toml", "workflow = \"openes\"\nenv = \"Hunt-v0\"\niterations = 2\n[openes]\npopulation = 8\n[policy]\nepisodes = 2\n[network]\nhidden = [4]\n"+
		"[evaluation]\nepisodes = 4\nbest_episodes = 0\n")
	program := b.path("hunt")
	if out, err := exec.Command("go", "build", "-o", program, "../docs/examples/hunt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.program = program
	learned := b.object(b.must("run", "-q", "--json", "--out", "ppo", "hunt.toml"))
	if mean := learned["mean_return"].(float64); mean < -9 { // a hunter that goes straight for the prey has -5.2, and one at random about -28
		t.Errorf("mean return %v; want at least -9", mean)
	}
	b.must("run", "-q", "--out", "search", "search.toml")
	if e := b.object(b.must("eval", "--json", "--episodes", "4", "ppo")); e["mean_return"].(float64) < -12 {
		t.Errorf("evaluated: %v", e["mean_return"])
	}
}

// Every command takes the runs of a program whose environments have two agents, images, or are stepped in Go, or says why it does not.
func TestOwnWorlds(t *testing.T) {
	b := newBox(t)
	if _, err := exec.LookPath("glslc"); err != nil && os.Getenv("CI") == "" {
		t.Skip("no glslc: ", err)
	}
	program := b.path("worlds")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/worlds").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.program = program
	const settings = "iterations = 2\n[ppo]\nenvironments = 4\nrollout_length = 10\nepochs = 1\nminibatches = 1\n[evaluation]\nepisodes = 2\n"
	const convolution = "[[network.layers]]\ntype = \"conv\"\nchannels = 2\nkernel = 2\n[[network.layers]]\ntype = \"dense\"\nunits = 4\n"
	for name, layers := range map[string]string{
		"Duel-v0": "[network]\nhidden = [4]\n", "Spot-v0": convolution, "Lamp-v0": convolution, "Recall-v0": "[[network.layers]]\ntype = \"gru\"\nunits = 4\n",
	} {
		b.write(name+".toml", "workflow = \"ppo\"\nenv = \""+name+"\"\n"+settings+layers)
	}
	for name, want := range map[string]string{
		"Duel-v0": "2 agents, of each observations Box(-Inf, +Inf, (2)), actions Discrete(2), at most 12 steps",
		"Lamp-v0": "observations Box(0, 1, (3, 3, 1)), actions Discrete(2), at most 9 steps",
	} {
		if text := strings.Join(strings.Fields(b.must("list", name)), " "); !strings.Contains(text, want) {
			t.Errorf("%s; want %s", text, want)
		}
	}
	for _, name := range []string{"Duel-v0", "Spot-v0", "Lamp-v0"} {
		b.must("run", "-q", "--out", name, name+".toml")
		e := b.object(b.must("eval", "--json", "--seed", "3", "--episodes", "1", name))
		if stdout, stderr, status := b.run("view", "--json", "--seed", "3", name); name == "Lamp-v0" {
			if status != statusUsage || !strings.Contains(stderr, "Lamp-v0 cannot be seen: it has no geometry") {
				t.Errorf("status %d, %s", status, stderr)
			}
		} else if v := b.object(stdout); status != 0 || v["return"] != e["mean_return"] {
			t.Errorf("%s: status %d, viewed %v, evaluated %v, %s", name, status, v, e, stderr)
		} else if seats, ok := v["seats"].([]any); ok != (name == "Duel-v0") || ok && (len(seats) != 2 || seats[0].(float64) != -seats[1].(float64)) {
			t.Errorf("%s: returns %v of the seats; want two opposite ones of Duel-v0 alone", name, seats)
		} else if evaluated, ok := e["seat_returns"].([]any); ok != (name == "Duel-v0") || !slices.Equal(evaluated, seats) {
			t.Errorf("%s: evaluated returns %v of the seats; want %v", name, evaluated, seats)
		} else if text := b.must("eval", name); ok != strings.Contains(text, "\nby seat  0: ") {
			t.Errorf("%s: %s", name, text)
		}
		b.must("export", "--onnx", "p.onnx", "--policy", "p.json", "--safetensors", "p.safetensors", "--csv", "m.csv", name)
		if p := b.object(string(b.read("p.json"))); p["env"] != name || p["layers"].([]any)[0].(map[string]any)["window"] != nil == (name == "Duel-v0") {
			t.Errorf("%s: the policy is %v", name, p)
		}
		if text := b.must("inspect", name); !strings.Contains(text, name) {
			t.Errorf("%s", text)
		}
	}
	b.must("run", "-q", "--out", "Recall-v0", "Recall-v0.toml")
	b.must("export", "--onnx", "p.onnx", "--policy", "p.json", "Recall-v0")
	if e := b.object(b.must("eval", "--json", "--seed", "3", "--episodes", "1", "Recall-v0")); e["mean_return"] == nil {
		t.Errorf("a memory is evaluated to %v", e)
	}
	b.write("sac.toml", "workflow = \"sac\"\nenv = \"Recall-v0\"\niterations = 2\n[[network.layers]]\ntype = \"gru\"\nunits = 4\n")
	if _, stderr, status := b.run("run", "sac.toml"); status != statusUsage || !strings.Contains(stderr, "other agents without") {
		t.Errorf("a memory of sac: status %d, %s", status, stderr)
	}
}
