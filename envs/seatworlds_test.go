package envs

import (
	"io/fs"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// seatWorld is an environment of several agents, as GLSL and in Go.
type seatWorld struct {
	env     *Environment
	reset   func(rng *engine.Rng) []float32
	step    func(s []float32, action [][]float32, rng *engine.Rng) (reward []float32, terminated bool) // changes s
	observe func(s []float32, seat int) []float32
	alive   func(s []float32, seat int) bool
	global  func(s []float32) []float32
}

// sampleWorld is the embedded sample of two agents that leave.
func sampleWorld(t testing.TB) seatWorld {
	t.Helper()
	glsl, err := fs.ReadFile(shaders.Files(), "envs/seats_sample.glsl")
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		Name: seatsSample, Agents: 2, Global: 3, State: []string{"x0", "x1", "flag", "left0", "left1"}, Iterations: 5,
		Observation: Symmetric(4, 4, 4, 1), Action: Discrete(3), MaxSteps: 40,
	}
	env, err := New(spec, string(glsl))
	if err != nil {
		t.Fatal(err)
	}
	return seatWorld{
		env: env,
		reset: func(rng *engine.Rng) []float32 {
			s := make([]float32, 5)
			for i := range 3 {
				s[i] = rng.UniformIn(-1.5, 1.5)
			}
			return s
		},
		step: func(s []float32, action [][]float32, rng *engine.Rng) ([]float32, bool) {
			prize, terminated := float32(1), false
			if s[3]+s[4] > 0 {
				prize = 0.5
			}
			reward := []float32{-0.05, -0.05}
			for a := range 2 {
				if s[3+a] > 0 {
					continue
				}
				s[a] += float32(0.25*(action[a][0]-1)) + rng.UniformIn(-0.05, 0.05)
				if d := s[a] - s[2]; -0.2 < d && d < 0.2 {
					reward[a] += prize
					s[3+a] = 1
				}
				terminated = terminated || s[a] > 2 || s[a] < -2
			}
			return reward, terminated
		},
		observe: func(s []float32, seat int) []float32 {
			return []float32{s[seat], s[2] - s[seat], s[1-seat] - s[seat], s[4-seat]}
		},
		alive:  func(s []float32, seat int) bool { return s[3+seat] == 0 },
		global: func(s []float32) []float32 { return s[:3] },
	}
}

// driftGLSL is a world of three agents, continuous actions, and sizes of arrays that are odd and larger than what is unrolled.
const driftGLSL = `// environment: Drift-v0
#include "engine/rng.glsl"

#define AGENTS 3
#define STATE_SIZE 4
#define OBS_SIZE 43
#define ACTION_SIZE 2
#define DISCRETE 0

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < STATE_SIZE; i++) s[i] = rng_uniform(rng);
}

void env_step(inout float s[STATE_SIZE], const float action[AGENTS][ACTION_SIZE], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    float sum = 0.0;
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        reward[a] = clamp(action[a][0], -2.0, 4.0) - 0.25 * s[a];
        s[a] += 0.125 * clamp(action[a][1], -2.0, 4.0);
        sum += s[a];
    }
    s[3] = rng_uniform(rng);
    terminated = sum > 6.0;
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    [[unroll]] for (uint k = 0u; k < OBS_SIZE; k++) obs[k] = s[(k + seat) % STATE_SIZE] + 0.125 * float(k);
}
`

func driftWorld(t testing.TB) seatWorld {
	t.Helper()
	spec := Spec{
		Name: "Drift-v0", Agents: 3, State: []string{"a", "b", "c", "noise"}, Observation: Symmetric(repeated(43, 100)...),
		Action: Box([]float32{-2, -2}, []float32{4, 4}), MaxSteps: 11,
	}
	env, err := New(spec, driftGLSL)
	if err != nil {
		t.Fatal(err)
	}
	return seatWorld{
		env: env,
		reset: func(rng *engine.Rng) []float32 {
			return []float32{rng.Uniform(), rng.Uniform(), rng.Uniform(), rng.Uniform()}
		},
		step: func(s []float32, action [][]float32, rng *engine.Rng) ([]float32, bool) {
			reward, sum := make([]float32, 3), float32(0)
			for a := range 3 {
				reward[a] = min(max(action[a][0], -2), 4) - 0.25*s[a]
				s[a] += 0.125 * min(max(action[a][1], -2), 4)
				sum += s[a]
			}
			s[3] = rng.Uniform()
			return reward, sum > 6
		},
		observe: func(s []float32, seat int) []float32 {
			obs := make([]float32, 43)
			for k := range obs {
				obs[k] = s[(k+seat)%4] + 0.125*float32(k)
			}
			return obs
		},
		alive: func([]float32, int) bool { return true },
	}
}

// crowdGLSL is a world of more agents than a word has bits, who leave one after the other. Its state stays in the buffer.
const crowdGLSL = `// environment: Crowd-v0
#define AGENTS 40
#define STATE_IN_BUFFER
#define STATE_SIZE 41
#define OBS_SIZE 2
#define ACTION_SIZE 3
#define DISCRETE 1
#define ENV_ALIVE

#include "engine/rng.glsl"
#include "envs/stored.glsl"

const uint NOISE = 40u; // after each agent's patience

void env_reset(inout Rng rng) {
    [[dont_unroll]] for (uint a = 0u; a < AGENTS; a++) set_state(a, floor(8.0 * rng_uniform(rng)) + 1.0);
    set_state(NOISE, rng_uniform(rng));
}

void env_step(const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    [[dont_unroll]] for (uint a = 0u; a < AGENTS; a++) {
        reward[a] = 0.25 * float(action[a]) - 0.125 * float(a % 3u);
        set_state(a, max(state(a) - 0.5 * float(1u + action[a]), 0.0));
    }
    float noise = rng_uniform(rng);
    set_state(NOISE, noise);
    terminated = noise > 0.9;
}

void env_observe(uint seat) {
    show(0u, state(seat));
    show(1u, state(NOISE) + float(seat));
}

bool env_alive(uint seat) { return state(seat) > 0.0; }
`

func crowdWorld(t testing.TB) seatWorld {
	t.Helper()
	const agents = 40
	spec := Spec{
		Name: "Crowd-v0", Agents: agents, Iterations: agents, State: append(numbered("patience", agents), "noise"),
		Observation: Symmetric(10, 100), Action: Discrete(3), MaxSteps: 30,
	}
	env, err := New(spec, crowdGLSL)
	if err != nil {
		t.Fatal(err)
	}
	return seatWorld{
		env: env,
		reset: func(rng *engine.Rng) []float32 {
			var s []float32
			for range agents {
				s = append(s, float32(math.Floor(float64(8*rng.Uniform())))+1)
			}
			return append(s, rng.Uniform())
		},
		step: func(s []float32, action [][]float32, rng *engine.Rng) ([]float32, bool) {
			reward := make([]float32, agents)
			for a := range agents {
				reward[a] = 0.25*action[a][0] - 0.125*float32(a%3)
				s[a] = max(s[a]-0.5*(1+action[a][0]), 0)
			}
			s[agents] = rng.Uniform()
			return reward, s[agents] > 0.9
		},
		observe: func(s []float32, seat int) []float32 { return []float32{s[seat], s[agents] + float32(seat)} },
		alive:   func(s []float32, seat int) bool { return s[seat] > 0 },
	}
}
