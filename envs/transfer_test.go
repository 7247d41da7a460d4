package envs

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// longGLSL has arrays that loops transfer to and from buffers, of sizes that are no multiples of a chunk.
const longGLSL = `// environment: Long-v0
#include "engine/rng.glsl"
#define STATE_SIZE 150
#define OBS_SIZE 139
#define ACTION_SIZE 2
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    float place = floor(rng_uniform(rng, 0.0, 3.0));
    [[unroll]] for (int i = 0; i < STATE_SIZE; i++) s[i] = place + float(i);
}
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    [[unroll]] for (int i = 0; i < STATE_SIZE; i++) s[i] += action == 1u ? 1.0 : 0.0;
    reward = s[0];
    terminated = s[0] >= 5.0;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (int k = 0; k < OBS_SIZE; k++) obs[k] = (s[k + 11] - 80.0) / 64.0;
}
`

func newLong(t *testing.T) *Environment {
	t.Helper()
	limits := make([]float32, 139)
	for i := range limits {
		limits[i] = 2
	}
	state := make([]string, 150)
	for i := range state {
		state[i] = fmt.Sprint("place", i)
	}
	env, err := New(Spec{Name: "Long-v0", Observation: Symmetric(limits...), Action: Discrete(2), State: state, MaxSteps: 20}, longGLSL)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestLongArrays: states and observations of many elements are transferred completely, by resets and steps.
func TestLongArrays(t *testing.T) {
	b, err := NewBatch(t.Context(), open(t), newLong(t), 2, 19, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	drive(t, b, dynamics{
		name: "Long-v0",
		reset: func(rng *engine.Rng) []float64 {
			s := make([]float64, 150)
			place := float64(int(rng.UniformIn(0, 3)))
			for i := range s {
				s[i] = place + float64(i)
			}
			return s
		},
		step: func(s []float64, action float64) (float64, bool) {
			for i := range s {
				s[i] += action
			}
			return s[0], s[0] >= 5
		},
		observe: func(s []float64) []float64 {
			obs := make([]float64, 139)
			for k := range obs {
				obs[k] = (s[k+11] - 80) / 64
			}
			return obs
		},
	}, 40)
}

// TestLongInputs: networks of many inputs act correctly on the recorded observations.
func TestLongInputs(t *testing.T) {
	checkRollout(t, engine.New(open(t), engine.Seed(5)), newLong(t), nn.MLP{Hidden: []int{16, 8}, Activation: nn.Tanh}, true, PlacementStream, 11)
}
