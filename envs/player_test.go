package envs

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// Rows that stand for players without parameters, as in shaders/envs/rows.glsl.
const rowScript, rowRandom uint32 = 0xFFFFFFFE, 0xFFFFFFFF

// tagGLSL is a game of two seats, whose script counts its steps in the state and acts by that count and what it sees. A seat is paid its own action.
const tagGLSL = `// environment: Tag-v0
#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 3
#define OBS_SIZE 4
#define ACTION_SIZE 3
#define DISCRETE 1
#define ENV_SCRIPT

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = s[1] = 0.0;
    s[2] = floor(8.0 * rng_uniform(rng));
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) reward[a] = float(action[a]);
    s[2] += 1.0;
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { obs = float[](s[2], float(seat), s[seat], s[1u - seat]); }

uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng) {
    s[seat] += 1.0;
    return uint(s[2] + 2.0 * s[seat] + float(seat)) % 3u;
}
`

// slideGLSL is the same with two continuous actions.
const slideGLSL = `// environment: Slide-v0
#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 3
#define OBS_SIZE 4
#define ACTION_SIZE 2
#define DISCRETE 0
#define ENV_SCRIPT

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = s[1] = 0.0;
    s[2] = floor(8.0 * rng_uniform(rng));
}

void env_step(inout float s[STATE_SIZE], const float action[AGENTS][ACTION_SIZE], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) reward[a] = action[a][0] + 8.0 * action[a][1];
    s[2] += 1.0;
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { obs = float[](s[2], float(seat), s[seat], s[1u - seat]); }

void env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng, out float action[ACTION_SIZE]) {
    s[seat] += 1.0;
    action = float[](s[seat] / 8.0, -float(seat) / 4.0);
}
`

func scriptedWorld(t testing.TB, name, glsl string, action Space) *Environment {
	t.Helper()
	env, err := New(Spec{
		Name: name, Agents: 2, State: []string{"steps_0", "steps_1", "time"}, Observation: Symmetric(99, 1, 99, 99), Action: action, MaxSteps: 7,
	}, glsl)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestPlayers: scripts and random players take the seats of their shares of the episodes, act as they should whatever the pool's networks are, and their
// steps are void. A script's memory is the state's.
func TestPlayers(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(8))
	tag := scriptedWorld(t, "Tag-v0", tagGLSL, Discrete(3))
	slide := scriptedWorld(t, "Slide-v0", slideGLSL, Box([]float32{-2, -2}, []float32{4, 2}))
	for _, env := range []*Environment{tag, slide} {
		t.Run(env.Name, func(t *testing.T) {
			const members, each, scripted, random = 2, 2, 0.4, 0.4
			f := pooled(t, eng, env, members, members+members*each+1, Options{AutoReset: Fast}, MatchConfig{
				First: members, Count: each, Apart: true, Seat: AnySeat, Alone: 0.1, Scripted: scripted, Random: random, Results: true,
			}, nil)
			row := f.policy.Row()
			for i := range row { // of the last row, which players without one stand for in products
				f.params[len(f.params)-row+i] = float32(math.NaN())
			}
			if err := f.policy.Params.WriteFloat32(t.Context(), f.params); err != nil {
				t.Fatal(err)
			}
			worlds, dims, facing := members*f.ro.cfg.Environments, f.ro.env.ActionWords(), f.state.Lookup("match_facing")
			plays, uniform, games := map[uint32]int{}, map[float32]int{}, 0
			for range 30 {
				f.advance()
				obs, action, reward, done := f.floats(f.ro.Obs), f.floats(f.ro.Action), f.floats(f.ro.Reward), f.words(f.ro.Done)
				rows, faced := f.words(f.policy.Rows), f.words(facing)
				for i := range worlds {
					games++
					own := slices.Index(rows[2*i:2*i+2], uint32(i/f.ro.cfg.Environments))
					if own < 0 {
						t.Fatalf("world %d: rows %v play; want the member's own among them", i, rows[2*i:2*i+2])
					}
					player := rows[2*i+1-own]
					if plays[player]++; player < rowScript {
						continue
					}
					if faced[i] != 0 {
						t.Errorf("world %d: facing %d in a game against player %x; want 0", i, faced[i], player)
					}
					// The last step, in whose episode these rows play.
					at := ((f.ro.cfg.Horizon-1)*worlds+i)*2 + 1 - own
					if Done(done[at])&Void == 0 || Done(done[at^1])&Void != 0 {
						t.Fatalf("world %d: flags %d of player %x and %d of the member; want the former void only", i, done[at], player, done[at^1])
					}
					seen, did := obs[at*4:at*4+4], action[at*dims:at*dims+dims]
					if player == rowRandom {
						if uniform[float32(math.Floor(float64(did[0])*4))]++; seen[2] != 0 {
							t.Errorf("world %d: the script moved %v times; want a random player", i, seen[2])
						}
						continue
					}
					if want := f.taken()[i]; seen[2] != want {
						t.Errorf("world %d: the script moved %v times before; want %v", i, seen[2], want)
					}
					if dims == 1 {
						if want := int(seen[0]+2*(seen[2]+1)+seen[1]) % 3; int(did[0]) != want || int(reward[at]) != want {
							t.Errorf("world %d: the script acts %v in %v, and is paid %v; want %d", i, did, seen, reward[at], want)
						}
						continue
					}
					want := []float32{(seen[2] + 1) / 8, -seen[1] / 4}
					if did[0] != (want[0]-1)/3 || did[1] != want[1]/2 || reward[at] != want[0]+8*want[1] {
						t.Errorf("world %d: the script acts %v, and is paid %v; want the actions %v", i, did, reward[at], want)
					}
				}
			}
			for player, share := range map[uint32]float64{rowScript: scripted, rowRandom: random} {
				if got := float64(plays[player]) / float64(games); math.Abs(got-share) > 0.09 {
					t.Errorf("player %x has a share %.3f of the games; want %g", player, got, share)
				}
			}
			kinds := map[int]int{1: 3, 2: 8}[dims]
			for value, n := range uniform {
				if len(uniform) != kinds || float64(n) < 0.4*float64(plays[rowRandom]/kinds) {
					t.Errorf("action %v in %d of %d random steps; want %d alike", value, n, plays[rowRandom], kinds)
				}
			}
			returns := f.floats(f.ro.ret)
			for i, sum := range returns {
				if math.IsNaN(float64(sum)) {
					t.Errorf("place %d has return %v", i, sum)
				}
			}
		})
	}
	if tag.Scripted() != true || lookup(t, "SimpleTag-v3").Scripted() || lookup(t, "Pong-v0").Scripted() || !lookup(t, "PongDuel-v0").Scripted() {
		t.Error("want a script in Tag-v0 and PongDuel-v0 only")
	}
}

// taken returns the steps of each world's episode before the last one.
func (f *fixture) taken() []float32 {
	var out []float32
	for _, word := range f.words(f.ro.seated.world) {
		out = append(out, float32(EpisodeWord(word).Steps()-1))
	}
	return out
}

// TestPlayersRefused: a script that a world does not have, and shares that are more than all.
func TestPlayersRefused(t *testing.T) {
	s := engine.New(open(t)).NewState()
	defer s.Close()
	w := sampleWorld(t)
	for _, c := range []struct {
		cfg  MatchConfig
		want string
	}{
		{MatchConfig{Members: 1, Environments: 1, Count: 1, Scripted: 0.5}, "ENV_SCRIPT"},
		{MatchConfig{Members: 1, Environments: 1, Count: 1, Random: 0.5, Alone: 0.75}, "0 to 1 together"},
		{MatchConfig{Members: 1, Environments: 1, Count: 1, Random: -0.5}, "0 to 1 together"},
	} {
		if _, err := NewMatches(s, w.env, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q in it", c.cfg, err, c.want)
		}
	}
}
