package envs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// minAtarReference is what tools/reference/minatar_digests.py recorded of a game.
type minAtarReference struct {
	Environments int
	Random       map[string]string // digests by steps
	Played       struct {
		Environments    int
		Actions, Digest string
	}
}

// TestMinAtar: observations, rewards and ends are those of the package MinAtar with equal random numbers, in random play and where a player makes a
// game hard. EVORL_MINATAR=all plays all steps that were recorded at random, a million of each game.
func TestMinAtar(t *testing.T) {
	text, err := os.ReadFile("testdata/minatar.json")
	if err != nil {
		t.Fatal(err)
	}
	var data map[string]json.RawMessage
	var seed uint32
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data["seed"], &seed); err != nil {
		t.Fatal(err)
	}
	dev := vktest.Device(t)
	for name, game := range data {
		if name == "source" || name == "seed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var want minAtarReference
			if err := json.Unmarshal(game, &want); err != nil {
				t.Fatal(err)
			}
			env := lookup(t, "MinAtar-"+name+"-v1")
			steps, digest := 0, ""
			for text, d := range want.Random {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				if steps == 0 || n > steps == (os.Getenv("EVORL_MINATAR") == "all") {
					steps, digest = n, d
				}
			}
			got := minAtarDigest(t, dev, env, seed, want.Environments, steps, func(e, step int) uint32 {
				word := engine.NewRng(seed, 1, 0, uint32(e), uint32(step)).Uint32()
				return uint32(uint64(word) * uint64(env.Action.N) >> 32)
			})
			if got != digest {
				t.Errorf("random play: digest %s; want %s", got, digest)
			}
			p := want.Played
			each := len(p.Actions) / p.Environments
			if got := minAtarDigest(t, dev, env, seed, p.Environments, each, func(e, step int) uint32 {
				return uint32(strings.IndexByte("0123456789abcdef", p.Actions[e*each+step-1]))
			}); got != p.Digest {
				t.Errorf("played: digest %s; want %s", got, p.Digest)
			}
		})
	}
}

// minAtarDigest returns the digest of the steps of environments with the actions of step 1 on.
func minAtarDigest(t *testing.T, dev *vk.Device, env *Environment, seed uint32, environments, steps int, action func(e, step int) uint32) string {
	t.Helper()
	b, err := NewBatch(t.Context(), dev, env, 1, environments, Options{TimeLimit: NoTimeLimit})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Reset(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	digests := make([]hash.Hash, environments)
	for e := range digests {
		digests[e] = sha256.New()
	}
	actions := make([]uint32, environments)
	for step := range steps {
		for e := range actions {
			actions[e] = action(e, step+1)
		}
		got, err := b.Step(t.Context(), actions)
		if err != nil {
			t.Fatal(err)
		}
		for e, d := range digests {
			over := got.Done[e]&Terminated != 0
			flags := []byte{byte(got.Reward[e]), 0}
			if over {
				flags[1] = 1
			}
			d.Write(append(bitsOf(row(got.NextObs, environments, e)), flags...))
			if over {
				d.Write(bitsOf(row(got.Obs, environments, e)))
			}
		}
	}
	all := sha256.New()
	for _, d := range digests {
		all.Write(d.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil))
}

// bitsOf packs zeros and ones, eight a byte, first in the lowest bit.
func bitsOf(x []float32) []byte {
	out := make([]byte, (len(x)+7)/8)
	for i, v := range x {
		if v != 0 {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// TestMinAtarGeometry: what a viewer shows are the cells of the observation, each in its channel's colour.
func TestMinAtarGeometry(t *testing.T) {
	dev := vktest.Device(t)
	for _, name := range Names() {
		if !strings.HasPrefix(name, "MinAtar-") {
			continue
		}
		b := newBatch(t, dev, name, 1, 8, Options{})
		if _, err := b.Reset(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		env := b.Environment()
		g, channels := env.Geometry, env.Observation.Channels()
		for step := range 60 {
			actions := make([]uint32, 8)
			for e := range actions {
				actions[e] = uint32((step*7 + e*3) % env.Action.N)
			}
			got, err := b.Step(t.Context(), actions)
			if err != nil {
				t.Fatal(err)
			}
			state, err := b.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for e := range actions {
				want, shown := map[string]int{}, map[string]int{}
				for i, v := range row(got.Obs, 8, e) {
					if v != 0 {
						want[fmt.Sprint(i/channels, " ", env.channels[i%channels])]++
					}
				}
				for body, p := range g.Poses(column(state.Env, 8, e)) {
					if body > 0 && p.Pos[1] < 1 {
						shown[fmt.Sprint(10*int(9.5-p.Pos[2])+int(p.Pos[0]), " ", g.Bodies[body])]++
					}
				}
				if !maps.Equal(want, shown) {
					t.Fatalf("%s, step %d: shown are %v; want %v", name, step, shown, want)
				}
			}
		}
	}
}

// TestMinAtarOptions: all actions are there if asked for, and an action sticks.
func TestMinAtarOptions(t *testing.T) {
	env, err := lookup(t, "MinAtar-Breakout-v1").With(MinAtarOptions{StickyActions: 0, FullActions: true})
	if err != nil {
		t.Fatal(err)
	}
	if env.Action.N != 6 || len(env.Geometry.Actions) != 6 {
		t.Fatalf("%v, %v; want six actions", env.Action, env.Geometry.Actions)
	}
	stuck, err := env.With(MinAtarOptions{StickyActions: 1})
	if err != nil {
		t.Fatal(err)
	}
	if stuck.Action.N != 3 {
		t.Fatalf("%v; want three actions", stuck.Action)
	}
	for _, c := range []struct {
		env    *Environment
		action uint32
		paddle float32
	}{{env, 3, 6}, {env, 1, 2}, {env, 5, 4}, {stuck, 2, 4}} {
		b, err := NewBatch(t.Context(), vktest.Device(t), c.env, 1, 1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Reset(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := b.Step(t.Context(), []uint32{c.action}); err != nil {
				t.Fatal(err)
			}
		}
		state, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Env[1] != c.paddle {
			t.Errorf("action %d twice: the paddle is at %g; want %g", c.action, state.Env[1], c.paddle)
		}
	}
}
