package cmd

import (
	"bytes"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec/problem"
)

// TestPainting: a search paints a user's picture; its run shows scores, is exact to resume, refuses a target that was changed, and writes its picture.
func TestPainting(t *testing.T) {
	b := newBox(t)
	picture := func(name string, size int) {
		drawn, err := problem.DrawnPicture(size)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := png.Encode(&out, drawn.Image()); err != nil {
			t.Fatal(err)
		}
		b.write(name, out.String())
	}
	picture("sea.png", 40)
	b.write("p.toml", "workflow = \"pgpe\"\nenv = \"painting\"\niterations = 8\n[task]\ntarget = \"sea.png\"\nsize = 20\ntriangles = 5\n[pgpe]\npopulation = 10\n"+
		"[evaluation]\nevery = 4\nepisodes = 1\n")
	want := b.digest("--out", "whole", "p.toml")
	if half := b.digest("--out", "half", "--iterations", "4", "p.toml"); half == want {
		t.Error("half a run gives the digest of a whole one")
	}
	stdout, stderr, status := b.run("run", "--resume", "--log-every", "0s", "--out", "half", "p.toml")
	if status != 0 || !strings.Contains(stdout, "digest  "+want) || !strings.Contains(stdout, "score") || !strings.Contains(stderr, "  score 0.") {
		t.Errorf("status %d, %s%s; want scores, and digest %s", status, stdout, stderr, want)
	}
	for _, c := range []struct {
		args   []string
		longer int
	}{{nil, 20}, {[]string{"--size", "33"}, 33}} {
		stdout := b.must(append(append([]string{"export", "--png", "out.png"}, c.args...), "half")...)
		img, err := png.Decode(bytes.NewReader(b.read("out.png")))
		if err != nil || img.Bounds().Dx() != c.longer || img.Bounds().Dy() != c.longer || !strings.Contains(stdout, "wrote out.png (") {
			t.Errorf("%v: %v, %v, %s", c.args, err, img, stdout)
		}
	}
	b.must("run", "--out", "run", "--iterations", "2", "tiny.toml")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"export", "--png", "x.png", "run"}, 1, "pbt on CartPole-v1 has no picture"},
		{[]string{"export", "--onnx", "x.onnx", "half"}, 1, "pgpe on painting has no policy"},
		{[]string{"export", "--png", "x.png", "--size", "0", "half"}, 2, "--size 0: want 1 to 1024"},
		{[]string{"export", "--policy", "x.json", "--size", "9", "half"}, 2, "with --png FILE"},
		{[]string{"run", "--set", "task.target=p.toml", "p.toml"}, 2, "p.toml cannot be read"},
		{[]string{"run", "--set", "task.target=none.png", "p.toml"}, 2, "none.png: no such file"},
		{[]string{"run", "--set", "task.target=", "--set", "task.digest=0", "p.toml"}, 2, "a digest without a target"},
	} {
		if _, stderr, status := b.run(c.args...); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %s; want %d, %q", c.args, status, stderr, c.status, c.want)
		}
	}
	picture("sea.png", 41) // another one
	for _, args := range []string{"run --resume --out half", "run --resume --out half p.toml", "export --png x.png half"} {
		if _, stderr, status := b.run(strings.Fields(args)...); status == 0 || !strings.Contains(stderr, "another file than the run's") {
			t.Errorf("%s: status %d, %s; want a refusal of the changed file", args, status, stderr)
		}
	}
	if err := os.Remove(b.path("sea.png")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := b.run("run", "--resume", "--out", "half"); status == 0 || !strings.Contains(stderr, "sea.png: no such file") {
		t.Errorf("status %d, %s; want the missing file", status, stderr)
	}
}
