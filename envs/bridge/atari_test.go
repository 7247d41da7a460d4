package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs"
)

// atariConfig returns a configuration with a Python that has games of Atari. Tests that need it are skipped without one.
func atariConfig(t testing.TB) Config {
	t.Helper()
	cfg := pythonConfig(t)
	if out, err := exec.Command(cfg.Python, "-c", "import ale_py, cv2, gymnasium").CombinedOutput(); err != nil {
		t.Skipf("%s has no games: %v: %s; EVORL_BRIDGE_PYTHON names another", cfg.Python, err, out)
	}
	cfg.Folder, cfg.Processes, cfg.Restarts = t.TempDir(), 2, 0
	return cfg
}

const stackBytes = 84 * 84 * 4

// TestAtari: what agents observe, learn from and where episodes end is what Gymnasium's wrappers have after the same actions, every byte.
func TestAtari(t *testing.T) {
	for _, c := range []struct {
		id      string
		atari   Atari
		ask     map[string]any // of testdata/reference.py
		whole   bool           // episodes of an evaluation, which are whole games
		actions int
		ends    int // at least
	}{
		{"ALE/Breakout-v5", Atari2015, map[string]any{"noops": 30, "sticky": 0, "all_actions": false, "lives": true, "fire": false}, false, 4, 2},
		{"ALE/Breakout-v5", AtariBaselines, map[string]any{"noops": 30, "sticky": 0, "all_actions": false, "lives": true, "fire": true}, false, 4, 2},
		{"ALE/Pong-v5", Atari2018, map[string]any{"noops": 0, "sticky": 0.25, "all_actions": true, "lives": false, "fire": false}, false, 18, 0},
		{"ALE/Breakout-v5", Atari2015, map[string]any{"noops": 30, "sticky": 0, "all_actions": false, "lives": false, "fire": false}, true, 4, 1},
	} {
		t.Run(fmt.Sprint(c.id, " ", c.atari, " ", c.whole), func(t *testing.T) {
			cfg := atariConfig(t)
			cfg.Atari, cfg.Halves = c.atari, 1
			const environments = 2
			rollout := envs.RolloutConfig{Members: 1, Environments: environments, Horizon: 200, Trajectory: true}
			if c.whole {
				rollout.Begin, rollout.Options.AutoReset = true, envs.Disabled
			}
			ro, run, of := outsideRollout(t, "gymnasium:"+c.id, cfg, rollout)
			run()
			actions, err := ro.Action.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rewards, err := ro.Reward.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done, err := ro.Done.ReadUint32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			obs, next := bytesOf(t, ro.Obs, stackBytes), bytesOf(t, ro.NextObs, stackBytes)
			ended := 0
			for i := range environments {
				var taken []int
				for k := i; k < len(actions); k += environments {
					if envs.Done(done[k])&envs.Void == 0 {
						taken = append(taken, int(actions[k]))
					}
				}
				c.ask["id"], c.ask["seed"], c.ask["actions"] = c.id, of().seed(i), taken
				ref := newReference(t, cfg, c.ask)
				flags, _, want := ref.next()
				for k := i; len(taken) > 0; k, taken = k+environments, taken[1:] {
					if flags != 2 && flags != 0 || !bytes.Equal(obs[k], want) {
						t.Fatalf("step %d of environment %d acts on another picture than the reference (flags %d)", k/environments, i, flags)
					}
					var reward float64
					flags, reward, want = ref.next()
					if sign := math.Copysign(min(math.Abs(reward), 1), reward); float64(rewards[k]) != sign {
						t.Fatalf("step %d of environment %d: reward %v; want %v", k/environments, i, rewards[k], sign)
					}
					if !bytes.Equal(next[k], want) || (flags == 1) != (done[k] != 0) {
						t.Fatalf("step %d of environment %d comes to another picture than the reference, or flags %d; want flags %d",
							k/environments, i, done[k], flags)
					}
					if flags == 1 {
						ended++
						flags, _, want = ref.next()
					}
				}
			}
			t.Logf("%d steps, %d ends", len(obs), ended)
			if ended < c.ends*environments {
				t.Errorf("%d episodes have ended; want at least %d", ended, c.ends*environments)
			}
			if low, most := actions[0], actions[0]; true {
				for _, a := range actions {
					low, most = min(low, a), max(most, a)
				}
				if low != 0 || int(most) != c.actions-1 {
					t.Errorf("actions from %v to %v; want 0 to %d", low, most, c.actions-1)
				}
			}
		})
	}
}

// reference reads what testdata/reference.py writes.
type reference struct {
	t    *testing.T
	data []byte
}

func newReference(t *testing.T, cfg Config, ask map[string]any) *reference {
	t.Helper()
	asked, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), cfg.Python, "testdata/reference.py")
	command.Stdin = bytes.NewReader(asked)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return &reference{t, out}
}

func (r *reference) next() (flags byte, reward float64, obs []byte) {
	r.t.Helper()
	if len(r.data) < 9+stackBytes {
		r.t.Fatal("the reference has ended")
	}
	flags, reward, obs = r.data[0], math.Float64frombits(binary.LittleEndian.Uint64(r.data[1:])), r.data[9:9+stackBytes]
	r.data = r.data[9+stackBytes:]
	return flags, reward, obs
}

// TestAtariSpec: games describe themselves by their protocols, which arguments may change but for the frames that are skipped.
func TestAtariSpec(t *testing.T) {
	for _, c := range []struct {
		atari     Atari
		arguments string
		want      string // spaces and time limit, or an error
	}{
		{Atari2013, "", "84x84x4 uint8 Discrete(6) 4500 true"},
		{Atari2018, "", "84x84x4 uint8 Discrete(18) 4500 true"},
		{AtariBaselines, `{"full_action_space": true}`, "84x84x4 uint8 Discrete(18) 27000 true"},
		{NoAtari, `{"obs_type": "grayscale"}`, "210x160x1 uint8 Discrete(6) 0 false"},
		{Atari2015, `{"frameskip": 4}`, "want none"},
	} {
		cfg := atariConfig(t)
		cfg.Atari, cfg.Arguments = c.atari, c.arguments
		hello, err := Describe(t.Context(), "gymnasium:ALE/Pong-v5", cfg)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v %s: %v; want %q", c.atari, c.arguments, err, c.want)
			}
			continue
		}
		env, err := New("gymnasium:ALE/Pong-v5", &cfg, hello, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(env.Observation.Shape(), env.Observation.Element, env.Action, env.MaxSteps, env.SignRewards)
		if got != c.want {
			t.Errorf("%v %s: %s; want %s", c.atari, c.arguments, got, c.want)
		}
	}
	cfg := atariConfig(t)
	cfg.Atari = Atari2015
	if _, err := Describe(t.Context(), "gymnasium:CartPole-v1", cfg); err == nil {
		t.Error("no error of CartPole as a game of Atari")
	}
}
