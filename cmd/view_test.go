package cmd

import (
	"encoding/json"
	"image/gif"
	"image/png"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestView: an episode is shown with the return that the environment gave, as by evorl eval.
func TestView(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "run", "--iterations", "4", "tiny.toml")
	v := b.object(b.must("view", "--json", "--seed", "5", "--member", "3", "--gif", "a.gif", "--png", "a.png", "--out", "a.html", "--at", "0.1",
		"--seconds", "0.2", "--width", "64", "--height", "48", "run"))
	e := b.object(b.must("eval", "--json", "--seed", "5", "--member", "3", "--episodes", "1", "run"))
	b.must("export", "--seed", "5", "--member", "3", "--policy", "policy.json", "run")
	if v["return"] != e["mean_return"] || v["member"] != 3. || v["seed"] != 5. || v["length"] != v["return"] { // CartPole pays 1 a step
		t.Errorf("viewed: %v; evaluated: %v", v, e)
	}
	page, err := os.ReadFile(b.path("a.html"))
	if err != nil {
		t.Fatal(err)
	}
	data := regexp.MustCompile(`(?s)id="episode">(.*?)</script>`).FindSubmatch(page)
	if data == nil {
		t.Fatalf("no episode in a page of %d bytes", len(page))
	}
	var episode map[string]any
	if err := json.Unmarshal(data[1], &episode); err != nil {
		t.Fatal(err)
	}
	if episode["return"] != v["return"] || episode["length"] != v["length"] {
		t.Errorf("the page says %v after %v steps; the episode has %v after %v", episode["return"], episode["length"], v["return"], v["length"])
	}
	f, err := os.Open(b.path("a.gif"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	moving, err := gif.DecodeAll(f)
	if err != nil || moving.Config.Width != 64 || moving.Config.Height != 48 || len(moving.Image) < 2 {
		t.Errorf("a.gif: %v, %+v, %d frames", err, moving.Config, len(moving.Image))
	}
	g, err := os.Open(b.path("a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if still, err := png.Decode(g); err != nil || still.Bounds().Dx() != 64 {
		t.Errorf("a.png: %v", err)
	}
	var policy struct {
		Format string
		Member int
		Layers []struct {
			Weight [][]float64
			Bias   []float64
		}
		Action struct{ Discrete bool }
	}
	text, err := os.ReadFile(b.path("policy.json"))
	if err != nil || json.Unmarshal(text, &policy) != nil {
		t.Fatal(err, string(text))
	}
	if l := policy.Layers; policy.Format != "evorl policy 2" || policy.Member != 3 || !policy.Action.Discrete || len(l) != 2 || len(l[0].Weight) != 4 ||
		len(l[0].Weight[0]) != 16 || len(l[1].Bias) != 2 {
		t.Errorf("policy: %s", text)
	}

	// By default the fittest, into the run's own folder.
	stdout := b.must("view", "run")
	if _, err := os.Stat(b.path("run", "episode.html")); err != nil || !strings.Contains(stdout, "episode.html") || !strings.Contains(stdout, "return ") {
		t.Errorf("%v: %s", err, stdout)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--member", "8", "run"}, "no member 8; it has 0 to 7"},
		{[]string{"--member", "-1", "run"}, "no member -1"},
		{[]string{"--width", "1", "run"}, "--width 1: want 16 to 4096"},
		{[]string{"--seconds", "-1", "run"}, "--seconds -1"},
		{[]string{"--at", "NaN", "run"}, "--at NaN"},
		{[]string{"--seed", "x", "run"}, "--seed x"},
		{[]string{}, "want one RUN_DIR"},
	} {
		_, stderr, status := b.run(append([]string{"view"}, c.args...)...)
		if status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("view %v: status %d, %s; want %q", c.args, status, stderr, c.want)
		}
	}
	if _, stderr, status := b.run("view", "--png", "none/a.png", "run"); status != 1 || !strings.Contains(stderr, "none/a.png") {
		t.Errorf("a folder that is not there: status %d, %s", status, stderr)
	}
	if _, stderr, status := b.run("view", "nowhere"); status == 0 || !strings.Contains(stderr, "nowhere") {
		t.Errorf("a run that is not there: status %d, %s", status, stderr)
	}
}

// TestViewSearch: policies that evolution has found are shown too.
func TestViewSearch(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"openes\"\nenv = \"Pendulum-v1\"\niterations = 2\n[search]\nmembers = 2\n[environment]\ntime_limit = 30\naction_repeat = 2\n"+
		"[network]\nnormalize_obs = \"virtual_batch\"\n[openes]\npopulation = 8\n[evaluation]\nepisodes = 2\n")
	b.must("run", "--out", "es", "es.toml")
	v := b.object(b.must("view", "--json", "--out", "es.html", "--member", "1", "es"))
	e := b.object(b.must("eval", "--json", "--episodes", "1", "--member", "1", "es"))
	b.must("export", "--member", "1", "--policy", "policy.json", "es")
	if got, want := v["return"].(float64), e["mean_return"].(float64); got != want || math.IsNaN(got) || v["length"] != 30. {
		t.Errorf("viewed: %v; evaluated: %v", v, e)
	}
	best := b.object(b.must("view", "--json", "--out", "es.html", "es"))
	if m := best["member"].(float64); m != 0 && m != 1 {
		t.Errorf("the best is member %v", m)
	}
	if text, err := os.ReadFile(b.path("policy.json")); err != nil || !strings.Contains(string(text), `"observation":{"mean":[`) {
		t.Errorf("%v: %s", err, text)
	}
}

// Where the page cannot be written into the run directory, the error says how to write it elsewhere.
func TestViewElsewhere(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "run", "--iterations", "2", "tiny.toml")
	if err := os.Mkdir(b.path("run", "episode.html"), 0o555); err != nil { // nor can root write to it
		t.Fatal(err)
	}
	if _, stderr, status := b.run("view", "run"); status != statusFailed || !strings.Contains(stderr, "episode.html") ||
		!strings.Contains(stderr, "want --out FILE") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	b.must("view", "--out", "page.html", "run")
}
