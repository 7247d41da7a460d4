package cmd

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/hybrid"
)

// duels is a run of self-play that is over in a second.
const duels = `
workflow = "self-play"
env = "PongDuel-v0"
iterations = 6
seed = 3
[environment]
time_limit = 40
[network]
hidden = [8]
[ppo]
members = 2
environments = 2
rollout_length = 24
epochs = 1
[self-play]
capacity = 3
latest = 0.3
append_samples = 90
[evaluation]
every = 2
episodes = 2
best_episodes = 0
[checkpoint]
every = 2
keep = 2
best = false
`

// alter changes a bit in the middle of a tensor of a checkpoint.
func (b *box) alter(file, tensor string) {
	b.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	begin := 8 + int(binary.LittleEndian.Uint64(data))
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:begin], &header); err != nil {
		b.t.Fatal(err)
	}
	of := header[tensor].Offsets
	if of[1] <= of[0] {
		b.t.Fatalf("%s has no tensor %s", file, tensor)
	}
	data[begin+(of[0]+of[1])/2] ^= 1
	if err := os.WriteFile(file, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// A run with a damaged pool plays on from the checkpoint before, with word of it; without a good one it is refused, by a resumed run and by games alike.
func TestDamagedPools(t *testing.T) {
	b := newBox(t)
	b.write("duels.toml", duels)
	want := b.digest("--out", "whole", "duels.toml")
	b.must("run", "--out", "half", "--iterations", "4", "duels.toml")
	const games = "--games=4"
	for _, tensor := range []string{"opponents/rows", "opponents/match_rows", "self_play/payoff", "self_play/serial"} {
		t.Run(tensor, func(t *testing.T) {
			b.t = t
			run := strings.ReplaceAll(tensor, "/", "-")
			if err := os.CopyFS(b.path(run), os.DirFS(b.path("half"))); err != nil {
				t.Fatal(err)
			}
			b.alter(b.path(run, "checkpoints", "00000004", "tensors.safetensors"), tensor)
			for _, args := range [][]string{{"play", games, run, "whole"}, {"play", games, "whole", run}} {
				stdout, stderr, status := b.run(args...)
				if status != 0 || !strings.Contains(stdout, "at iteration 2,") || !strings.Contains(stderr, "checkpoint refused: ") ||
					!strings.Contains(stderr, "00000004") {
					t.Errorf("%v: status %d\n%s%s", args, status, stdout, stderr)
				}
			}
			none := run + "-none"
			if err := os.CopyFS(b.path(none), os.DirFS(b.path(run))); err != nil {
				t.Fatal(err)
			}
			b.alter(b.path(none, "checkpoints", "00000002", "tensors.safetensors"), tensor)
			for _, args := range [][]string{{"run", "--resume", "--out", none, "duels.toml"}, {"play", games, none, "whole"}, {"play", games, "whole", none}} {
				stdout, stderr, status := b.run(args...)
				if status != statusFailed || stdout != "" || !strings.Contains(stderr, none) || !strings.Contains(stderr, "tensors.safetensors: its SHA-256 is ") {
					t.Errorf("%v: status %d\n%s%s", args, status, stdout, stderr)
				}
			}
			stdout, stderr, status := b.run("run", "--json", "--resume", "--out", run, "duels.toml")
			if status != 0 || !strings.Contains(stderr, "of iteration 2, is used") {
				t.Fatalf("status %d\n%s", status, stderr)
			}
			if r := b.object(stdout); r["digest"] != want || r["resumed_from"] != 2.0 {
				t.Errorf("resumed: %v; want digest %s after iteration 2", r, want)
			}
		})
	}
}

// The ratings of a run's opponents are drawn as PNG and SVG, over any axis; the records are those of the pools. Runs without pools are told so.
// A run of self-play also plays against the world's script.
func TestRatings(t *testing.T) {
	b := newBox(t)
	b.write("duels.toml", duels)
	b.replace("duels.toml", "time_limit = 40", "time_limit = 8") // games enough for ratings
	b.write("values.toml", "workflow = \"dqn\"\nenv = \"PongDuel-v0\"\niterations = 1\n[environment]\ntime_limit = 8\n[network]\nhidden = [8]\n"+
		"[replay]\ncapacity = 128\nbatch = 4\n[dqn]\nenvironments = 2\nlearning_starts = 8\n[evaluation]\nepisodes = 1\nbest_episodes = 0\n")
	b.must("run", "-q", "--out", "one", "--set", "ppo.members=1", "duels.toml")
	if out, want := b.must("play", "--games", "4", "one", "scripted"), "B  scripted\n"; !strings.Contains(out, want) || !strings.Contains(out, "return of A") {
		t.Errorf("%s; want %q in it, and a return", out, want)
	}
	b.must("run", "-q", "--out", "pbt", "--set", "ppo.members=3", "--set", "workflow=pbt", "--set", "pbt.over=self-play", "--set", "pbt.warmup=2",
		"--set", "pbt.interval=2", "--set", "pbt.episodes=2", "duels.toml")
	if of := b.object(b.must("play", "--games", "4", "--draw", "--json", "one", "scripted")); of["draw"] != true || of["games"] != 4.0 {
		t.Errorf("%v; want four games of drawn actions", of)
	}
	b.must("run", "-q", "--out", "values", "values.toml")
	if _, stderr, status := b.run("play", "--draw", "values", "scripted"); status != statusUsage || !strings.Contains(stderr, "no distribution of actions") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.must("run", "-q", "--out", "es", "es.toml")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"one"}, []string{">Opponents of self-play on PongDuel-v0<", ">Environment steps<"}},
		{[]string{"--x", "iterations", "pbt"}, []string{">Opponents of pbt on PongDuel-v0<", ">member 0<", ">member 2<"}},
	} {
		b.must(append([]string{"plot", "--ratings", "-o", "r.svg"}, c.args...)...)
		svg := string(b.read("r.svg"))
		for _, want := range append(c.want, ">Rating (Elo; the mean of a pool is 0)<") {
			if !strings.Contains(svg, want) {
				t.Errorf("%v: no %q in %d bytes", c.args, want, len(svg))
			}
		}
	}
	b.must("plot", "--ratings", "-o", "r.png", "one")
	if png := b.read("r.png"); !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Error("no PNG")
	}
	if _, stderr, status := b.run("plot", "--ratings", "es"); status != statusFailed || !strings.Contains(stderr, "want a run of self-play") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status := b.run("plot", "--ratings", "one", "pbt"); status != statusUsage || !strings.Contains(stderr, "want one RUN_DIR, got 2") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status := b.run("plot", "--ratings", "--front", "one"); status != statusUsage || !strings.Contains(stderr, "at most one of") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// What the best response wins is written and in JSON; where plays are not listed, and with flags of games, it is refused.
func TestPlayBest(t *testing.T) {
	b := newBox(t)
	b.write("duels.toml", duels)
	b.replace("duels.toml", "PongDuel-v0", "KuhnPoker-v0")
	b.replace("duels.toml", "time_limit = 40", "auto_reset = \"normal\"")
	b.must("run", "-q", "--out", "one", "duels.toml")
	out := b.must("play", "--members", "1,0", "one", "best")
	for _, want := range []string{
		"A  one, self-play at iteration 6, member 1\n", "B  the best response on KuhnPoker-v0\n", "exploitability of A  0.",
		"exploitability of A's pool of 3 opponents  0.", "(B returns ", " from the first seat, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	of := b.object(b.must("play", "--json", "one", "best"))
	for _, key := range []string{"policy", "pool"} {
		response, _ := of[key].(map[string]any)
		returns, _ := response["returns"].([]any)
		if x, ok := response["exploitability"].(float64); !ok || len(returns) != 2 || math.Abs(x-(returns[0].(float64)+returns[1].(float64))/2) > 1e-12 {
			t.Errorf("%s: %v; want two returns and their mean", key, response)
		}
	}
	if of["env"] != "KuhnPoker-v0" || of["opponents"] != 3.0 {
		t.Errorf("%v; want KuhnPoker-v0 and 3 opponents", of)
	}
	likely, drawn := b.object(b.must("eval", "--json", "one")), b.object(b.must("eval", "--json", "--draw", "one"))
	if likely["draw"] != false || drawn["draw"] != true || likely["mean_return"] == drawn["mean_return"] {
		t.Errorf("evaluated to %v, and with drawn actions to %v", likely, drawn)
	}
	if out := b.must("eval", "--draw", "one"); !strings.Contains(out, "actions were drawn from the policy's distribution\n") {
		t.Errorf("%s\ndoes not say that actions were drawn", out)
	}
	for flag, want := range map[string]string{"--games=4": "--games: against the best response", "--seed=4": "--seed: against the best response",
		"--draw": "--draw: against the best response"} {
		if _, stderr, status := b.run("play", flag, "one", "best"); status != statusUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d\n%s", flag, status, stderr)
		}
	}
	b.write("duels.toml", duels)
	b.must("run", "-q", "--out", "pong", "--iterations", "2", "duels.toml")
	if _, stderr, status := b.run("play", "pong", "best"); status != statusUsage || !strings.Contains(stderr, `the plays of "PongDuel-v0" are not listed`) {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// Records of ratings have the time at which an opponent entered, and leave out what is not rated.
func TestRatingRecords(t *testing.T) {
	times := map[int64]metrics.Record{0: {}, 3: {Iteration: 3, EnvSteps: 30, Seconds: 2}, 4: {Iteration: 4, EnvSteps: 40, Seconds: 2.5}}
	pool := hybrid.Pool{Learner: 7, Opponents: []hybrid.Opponent{
		{Number: 1, Rating: -9}, {Number: 2, Entered: 3, Rating: 1}, {Number: 3, Entered: 4, Rating: math.NaN()}, {Number: 4, Entered: 9, Rating: 1},
	}}
	got := ratingRecords(pool, 4, times)
	want := []metrics.Record{
		{Values: map[string]float64{"rating": -9}}, {Iteration: 3, EnvSteps: 30, Seconds: 2, Values: map[string]float64{"rating": 1}},
		{Iteration: 4, EnvSteps: 40, Seconds: 2.5, Values: map[string]float64{"rating": 7}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("records %+v; want %+v", got, want)
	}
}
