package envs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// recallGLSL shows a cue at the first step of an episode only. Episodes end after 3 or 5 steps, by the cue.
const recallGLSL = `// environment: Recall-v0
#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 1
#define DISCRETE 0
#include "engine/rng.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -1.0, 1.0);
    s[1] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    reward = action[0] * s[0];
    s[1] += 1.0;
    terminated = s[1] >= (s[0] > 0.0 ? 5.0 : 3.0);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[1] == 0.0 ? s[0] : 0.0;
    obs[1] = 1.0;
}
`

// gru is a network of a GRU and a linear output in float64, with its parameters.
type gru struct {
	cell, out nn.Layer
	row       []float32
}

// step returns the output, and the state that follows h.
func (g gru) step(x, h []float64) (y float64, next []float64) {
	units := g.cell.Out
	sum := func(at, in int, values []float64, j int) (s float64) {
		for i := range in {
			s += values[i] * float64(g.row[at+i*3*units+j])
		}
		return s
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	y = float64(g.row[g.out.Bias])
	for u := range units {
		gate := func(k int) (input, state float64) {
			j := k*units + u
			return sum(g.cell.Weight, g.cell.In, x, j) + float64(g.row[g.cell.Bias+j]), sum(g.cell.Recurrent, units, h, j)
		}
		ri, rs := gate(0)
		zi, zs := gate(1)
		ni, ns := gate(2)
		z := sigmoid(zi + zs)
		n := math.Tanh(ni + sigmoid(ri+rs)*(ns+float64(g.row[g.cell.RecurrentBias+u])))
		next = append(next, (1-z)*n+z*h[u])
		y += next[u] * float64(g.row[g.out.Weight+u])
	}
	return y, next
}

// A policy with memory acts as in float64 over several recordings with ends of episodes: memory is carried from step to step and from recording
// to recording, and begins with zeros in every episode. A trajectory has it as it was before the first step.
func TestMemory(t *testing.T) {
	const members, environments, horizon, units, recordings = 2, 5, 7, 6, 3
	env, err := New(Spec{
		Name: "Recall-v0", Observation: Symmetric(1, 1), Action: Symmetric(1), State: []string{"cue", "steps"}, MaxSteps: 4,
	}, recallGLSL)
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(3))
	s := eng.NewState()
	t.Cleanup(func() { _ = s.Close() })
	clock := engine.NewClock(s)
	model := nn.Recurrent{In: 2, Out: 1, Cell: nn.GRU, Units: units}
	row := nn.Align(model.Size())
	policy := &Policy{Network: model, Head: nn.Head{Kind: nn.Deterministic, Size: 1}}
	policy.Params = s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", row))
	ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true, Mode: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	params, dice := make([]float32, members*row), rand.New(rand.NewPCG(1, 2))
	for i := range params {
		params[i] = float32(dice.NormFloat64() / 2)
	}
	if err := policy.Params.WriteFloat32(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	run := func(record func(r *engine.Recorder)) {
		t.Helper()
		p, err := eng.Record("test", record)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	floats := func(tensor *engine.Tensor) []float32 {
		t.Helper()
		v, err := tensor.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	run(func(r *engine.Recorder) { ro.RecordFirst(r, clock) })
	if err := ro.Trajectory.Memory.Fill(t.Context(), float32(math.NaN())); err != nil {
		t.Fatal(err)
	}
	layers := model.Layers()
	states, ends, worst := make([][]float64, members*environments), 0, 0.0
	for i := range states {
		states[i] = make([]float64, units)
	}
	for range recordings {
		run(func(r *engine.Recorder) {
			ro.Record(r, clock, policy)
			clock.Tick(r, 1, horizon)
		})
		obs, actions, memory := floats(ro.Obs), floats(ro.Action), floats(ro.Trajectory.Memory)
		done, err := ro.Done.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range states {
			for u := range units {
				worst = max(worst, math.Abs(float64(memory[i*units+u])-h[u]))
			}
		}
		for step := range horizon {
			for i := range states {
				at := step*len(states) + i
				g := gru{layers[0], layers[1], params[i/environments*row:]}
				y, next := g.step([]float64{float64(obs[2*at]), float64(obs[2*at+1])}, states[i])
				if worst = max(worst, math.Abs(float64(actions[at])-y)); !(worst <= 1e-5) {
					t.Fatalf("step %d of environment %d: action %v; want %v. Largest deviation %g", step, i, actions[at], y, worst)
				}
				if states[i] = next; done[at] != 0 {
					states[i] = make([]float64, units)
					ends++
				}
			}
		}
	}
	if ends < 2*members*environments {
		t.Errorf("only %d episodes ended", ends)
	}
	t.Logf("largest deviation %.1e, %d episodes", worst, ends)
}
