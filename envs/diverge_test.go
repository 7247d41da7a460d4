package envs

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// lostGLSL is an environment that counts steps in its state. When it reaches 3, the next state, an observation or the
// reward, as selected by FAULT, is not finite.
const lostGLSL = `// environment: Lost-v0
#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 2
#define DISCRETE 1
#include "engine/rng.glsl"
const uint FAULT = %FAULT%;
void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = floor(rng_uniform(rng, 0.0, 3.0));
    s[1] = 0.0;
}
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] += 1.0;
    bool fault = s[0] == 3.0;
    s[1] = FAULT == 0u && fault ? M_INFINITY * (s[0] - 3.0) : s[1];
    reward = FAULT == 2u && fault ? M_INFINITY : 1.0;
    terminated = s[0] >= 9.0;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0];
    obs[1] = FAULT == 1u && s[0] == 3.0 ? -M_INFINITY : 0.5;
}
`

func lostEnvironment(t *testing.T, fault string) *Environment {
	t.Helper()
	env, err := New(Spec{Name: "Lost-v0", Observation: Symmetric(1, 1), Action: Discrete(2), State: []string{"steps", "lost"}, MaxSteps: 20},
		strings.ReplaceAll(lostGLSL, "%FAULT%", fault))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestDiverges: a state, an observation or a reward that is not finite ends the episode as diverged, with finite
// observation and reward, and the next episode begins as usual.
func TestDiverges(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, fault := range []string{"0u", "1u", "2u"} {
		env := lostEnvironment(t, fault)
		for _, mode := range []AutoReset{Normal, Fast, Disabled} {
			const n, steps = 11, 9
			b, err := NewBatch(t.Context(), dev, env, 1, n, Options{AutoReset: mode})
			if err != nil {
				t.Fatal(err)
			}
			obs, err := b.Reset(t.Context(), 4)
			if err != nil {
				t.Fatal(err)
			}
			state := slices.Clone(obs)
			diverged, over := 0, make([]bool, n)
			for step := range steps {
				got, err := b.Step(t.Context(), make([]uint32, n))
				if err != nil {
					t.Fatal(err)
				}
				for i, d := range got.Done {
					skipped := over[i] && mode == Disabled
					lost := !skipped && state[2*i] == 2
					if want := map[bool]Done{true: Terminated | Diverged}[lost]; !skipped && d != want {
						t.Fatalf("fault %s, mode %v, step %d: flags %d of environment %d in state %g; want %d", fault, mode, step, d, i, state[2*i], want)
					}
					if lost {
						diverged++
						if want := float32(map[string]int{"0u": 1, "1u": 1, "2u": 0}[fault]); got.NextObs[2*i] != 0 || got.NextObs[2*i+1] != 0 || got.Reward[i] != want {
							t.Errorf("fault %s, mode %v: reward %g and next observation %g; want %g and 0", fault, mode, got.Reward[i], got.NextObs[2*i:2*i+2], want)
						}
					}
					over[i] = d.Over() && (mode == Disabled || !over[i])
				}
				copy(state, got.Obs)
				for i, v := range got.Obs {
					if x := float64(v); got.Done[i/2]&Void == 0 && (math.IsNaN(x) || math.IsInf(x, 0)) {
						t.Fatalf("fault %s, mode %v: observation %d to act on is %g", fault, mode, i, v)
					}
				}
			}
			if diverged < n {
				t.Errorf("fault %s, mode %v: %d episodes diverged; want at least one of each of %d environments", fault, mode, diverged, n)
			}
			b.Close()
		}
	}
}

// TestRolloutCountsLost: rollouts count the diverged episodes of an environment given as GLSL.
func TestRolloutCountsLost(t *testing.T) {
	eng := engine.New(vktest.Open(t, vk.Validate(false)), engine.Seed(5))
	s := eng.NewState()
	defer s.Close()
	const members, environments, horizon = 2, 9, 12
	clock, count := engine.NewClock(s), s.Tensor("count", engine.Float32, engine.Members(members))
	ro, err := NewRollout(t.Context(), s, lostEnvironment(t, "0u"), RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Begin: true, Options: Options{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	program, err := eng.Record("lost", func(r *engine.Recorder) {
		ro.Record(r, clock, nil)
		ro.RecordDiverged(r, count)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	done, err := ro.Done.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, members)
	for i, d := range done {
		if Done(d)&Diverged != 0 {
			want[i/environments%members]++
		}
	}
	got, err := count.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || want[0] < environments {
		t.Errorf("%v episodes diverged; the trajectory has %v, want at least %d each", got, want, environments)
	}
	for _, x := range []*engine.Tensor{ro.Obs, ro.NextObs, ro.Reward} {
		values, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if v-v != 0 {
				t.Fatalf("element %d of %v is %g", i, x, v)
			}
		}
	}
}
