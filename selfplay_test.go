package evorl_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

const (
	pongOfTwo    = "workflow = \"self-play\"\nenv = \"PongDuel-v0\"\n"
	leagueOfPong = pongOfTwo + "[ppo]\nmembers = 4\n[self-play]\nleague = true\n"

	pbtOfPong = "workflow = \"pbt\"\nenv = \"PongDuel-v0\"\n[pbt]\nover = \"self-play\"\n"
)

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
		{pongOfTwo + "[self-play]\nlatest = 0.75\npopulation = 0.5\n", []string{"x.toml:5:14", "at most 1 together"}},
		{pongOfTwo + "[self-play]\npopulation = 0.1\n", []string{"x.toml:4:14", "a single member", "ppo.members of at least 2"}},
		{pongOfTwo + "[self-play]\nscripted = 0.5\n", []string{"x.toml:4:12", "latest, population, scripted and random are 1.3"}},
		{"workflow = \"self-play\"\nenv = \"SimpleSpeakerListener-v4\"\n[self-play]\nevaluation = \"scripted\"\n", []string{"x.toml:4:14", "has no script"}},
		{"workflow = \"self-play\"\nenv = \"SimpleSpeakerListener-v4\"\n[self-play]\nscripted = 0.1\n", []string{"x.toml:4:12", "has no script"}},
		{pongOfTwo + "[self-play]\nevaluation = \"script\"\n", []string{"x.toml:4:14", "scripted"}},
		{pongOfTwo + "[self-play]\nleague = true\nmain_exploiters = 1\n", []string{"x.toml:5:19", "without a main agent", "ppo.members of at least 4"}},
		{leagueOfPong + "latest = 0.9\nchecked = 0.2\n", []string{"x.toml:8:11", "0.9 and 0.2; want at most 1 together"}},
		{leagueOfPong + "opponents = \"newest\"\n", []string{"x.toml:7:13", "by their roles", "uniform"}},
		{leagueOfPong + "latest = 0.5\npopulation = 0.1\n", []string{"x.toml:8:14", "by their roles", "want 0"}},
		{leagueOfPong + "latest = 0.5\nscripted = 0.1\n", []string{"x.toml:8:12", "plays among itself"}},
		{leagueOfPong + "append_difference = 0.1\n", []string{"x.toml:7:21", "want 0"}},
		{leagueOfPong + "append_after = 200\nappend_samples = 100\n", []string{"x.toml:7:16", "want at most as many"}},
		{leagueOfPong + "capacity = 512\n", []string{"x.toml:7:12", "2052 players", "at most 2048"}},
		{pbtOfPong + "[self-play]\nleague = true\n", []string{"x.toml:6:10", "have roles", "want false"}},
		{pbtOfPong + "[self-play]\nover = \"sac\"\n", []string{"x.toml:6:8", `does not train "sac"`, "[ppo]"}},
		{pbtOfPong + "[self-play]\nlatst = 0.5\n", []string{"x.toml:6:1", `did you mean "latest"?`}},
		{pbtOfPong + "[ppo]\nmembers = 1\n", []string{"x.toml:6:11", "a population of 1"}},
		{strings.Replace(pbtOfPong, "PongDuel-v0", "CartPole-v1", 1), []string{"x.toml:2:7", "has one agent"}},
	} {
		_, err := evorl.Parse("x.toml", []byte(c.text))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v; want %q in it", c.text, err, want)
			}
		}
	}
}

// trained learns by a configuration, without a last evaluation, and restores the run. It returns its folder, too.
func trained(t *testing.T, dev *vk.Device, text string, set ...string) (*evorl.Restored, string) {
	t.Helper()
	cfg, err := parse(t, text, append([]string{"evaluation.best_episodes=0"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run")
	if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	restored, err := evorl.Restore(t.Context(), dev, cfg, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Close() })
	return restored, path
}

// Policies draw their actions in games that ask for it: before it has learned, a policy of poker plays as random does, 0 on average, and its most likely
// actions do not.
func TestPlayDraw(t *testing.T) {
	dev := openDevice(t)
	run, _ := trained(t, dev, strings.Replace(pongOfTwo, "PongDuel-v0", "KuhnPoker-v0", 1), "iterations=1", "ppo.learning_rate=1e-7", "ppo.environments=2",
		"ppo.rollout_length=8", "network.hidden=[8]", "evaluation.episodes=1")
	play := func(draw bool) evorl.Match {
		m, err := evorl.Play(t.Context(), dev, evorl.Side{Run: run}, evorl.Side{Player: envs.RandomPlayer}, evorl.PlayConfig{Games: 4000, Seed: 5, Draw: draw})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if likely := play(false); math.Abs(float64(likely.Return)) < 0.1 || likely.Draw { // by chance; another seed of the run has other ones
		t.Fatalf("%+v of the most likely actions", likely)
	}
	const limit = 0.1 // five deviations of the mean of 4,000 games with returns of -2 to 2
	if drawn := play(true); math.Abs(float64(drawn.Return)) > limit || !drawn.Draw || play(true) != drawn {
		t.Errorf("%+v of drawn actions, and again %+v; want a return of 0 ± %v", drawn, play(true), limit)
	}
}

// Two runs play each other: a policy against itself wins half of its games, the games of a seed are the same every time, and the sides are opposite.
func TestPlay(t *testing.T) {
	dev := openDevice(t)
	of := func(seed, rounds string, set ...string) *evorl.Restored {
		t.Helper()
		run, _ := trained(t, dev, pongOfTwo, append([]string{"seed=" + seed, "task.rounds=" + rounds, "iterations=2", "evaluation.every=0", "evaluation.episodes=1",
			"environment.time_limit=120", "ppo.environments=2", "ppo.rollout_length=8", "network.hidden=[4]"}, set...)...)
		return run
	}
	a, b := evorl.Side{Run: of("1", "1")}, evorl.Side{Run: of("2", "1")}
	const games = 40
	play := func(a, b evorl.Side) evorl.Match {
		t.Helper()
		m, err := evorl.Play(t.Context(), dev, a, b, evorl.PlayConfig{Games: games, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if m.Won+m.Drew+m.Lost != games || !(m.Low <= m.WinRate && m.WinRate <= m.High) || !(m.High-m.Low < 0.4) {
			t.Errorf("%+v; want %d games, and an interval about the win rate", m, games)
		}
		return m
	}
	first := play(a, b)
	if again := play(a, b); again != first {
		t.Errorf("%+v, and again %+v", first, again)
	}
	if other := play(b, a); !(float64(first.WinRate+other.WinRate) > 0.6 && float64(first.WinRate+other.WinRate) < 1.4) {
		t.Errorf("win rates %v and, with the sides exchanged, %v; want a sum near 1", first.WinRate, other.WinRate)
	}
	if same := play(a, a); !(same.WinRate > 0.2 && same.WinRate < 0.8) {
		t.Errorf("a policy against itself has win rate %v; want about 0.5", same.WinRate)
	}
	for _, player := range []envs.Player{envs.ScriptedPlayer, envs.RandomPlayer} {
		m := play(a, evorl.Side{Player: player})
		if m.Sides[1] != (evorl.Place{Player: player.String()}) || m.Sides[0].Path == "" || math.Abs(float64(m.Return)) > 1 || m.Deviation < 0 {
			t.Errorf("%+v; want games of one point against %v", m, player)
		}
		if difference := float64(m.Won-m.Lost) / games; math.Abs(float64(m.Return)-difference) > 1e-6 {
			t.Errorf("mean return %v in games of one point; want %v", m.Return, difference)
		}
	}
	if _, err := evorl.Play(t.Context(), dev, evorl.Side{Player: envs.RandomPlayer}, a, evorl.PlayConfig{Games: 1}); err == nil ||
		!strings.Contains(err.Error(), "has no run") {
		t.Errorf("a random player first: %v", err)
	}
	var world *evorl.WorldError
	_, err := evorl.Play(t.Context(), dev, a, evorl.Side{Run: of("1", "2")}, evorl.PlayConfig{Games: 1})
	if !errors.As(err, &world) || !strings.Contains(err.Error(), "task.rounds is 1") {
		t.Errorf("worlds of other options: %v", err)
	}
	if _, err := evorl.Play(t.Context(), dev, a, evorl.Side{Run: of("1", "1", "network.hidden=[5]")}, evorl.PlayConfig{Games: 1}); err == nil ||
		!strings.Contains(err.Error(), "networks differ") {
		t.Errorf("other networks: %v", err)
	}
	var member *evorl.MemberError
	if _, err := evorl.Play(t.Context(), dev, a, evorl.Side{Run: b.Run, Member: 1}, evorl.PlayConfig{Games: 1}); !errors.As(err, &member) {
		t.Errorf("a member that there is not: %v", err)
	}
}
