package mjcf

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// bare is an environment of only a model: its observation is the state.
const bare = `
#include "engine/rng.glsl"
#define STATE_SIZE %[1]d
#define OBS_SIZE %[1]d
#define ACTION_SIZE %[2]d
#define DISCRETE 0
#include "envs/physics/advance.glsl"
const uint FRAME_SKIP = %[3]du;
void env_reset(out float s[STATE_SIZE], inout Rng rng) { [[unroll]] for (uint i = 0u; i < STATE_SIZE; i++) s[i] = 0.0; }
void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    terminated = !physics_step(s, action, travel, sensed);
    reward = 0.0;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { [[unroll]] for (uint i = 0u; i < OBS_SIZE; i++) obs[i] = s[i]; }
`

// steps are rows recorded by tools/reference/robots.py.
type steps struct {
	skip, rows             int
	before, control, after []float64
}

func readSteps(t *testing.T, name string) steps {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(robotFolder(), name+"_steps.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Meta struct {
			FrameSkip int `json:"frame_skip"`
			Rows      int
		}
		Before, Control, After string
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	decode := func(text string, size int) []float64 {
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(bytes)%size != 0 {
			t.Fatal(name, err, len(bytes))
		}
		out := make([]float64, len(bytes)/size)
		for i := range out {
			if size == 4 {
				out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:])))
			} else {
				out[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
			}
		}
		return out
	}
	return steps{file.Meta.FrameSkip, file.Meta.Rows, decode(file.Before, 4), decode(file.Control, 4), decode(file.After, 8)}
}

// robotBatch puts rows of a robot on the device, one environment each.
func robotBatch(t *testing.T, dev *vk.Device, m *Model, skip, rows int) *envs.Batch {
	t.Helper()
	text, err := Program(m)
	if err != nil {
		t.Fatal(err)
	}
	state := m.NQ + 2*m.NV
	spec := envs.Spec{Name: "Robot-v0", Observation: unbounded(state), Action: unbounded(len(m.Actuators))}
	for i := range state {
		spec.State = append(spec.State, fmt.Sprint("state", i))
	}
	env, err := envs.New(spec, "// environment: Robot-v0\n"+text+fmt.Sprintf(bare, state, len(m.Actuators), skip))
	if err != nil {
		t.Fatal(err)
	}
	b, err := envs.NewBatch(t.Context(), dev, env, 1, rows, envs.Options{AutoReset: envs.Disabled, TimeLimit: envs.NoTimeLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func unbounded(n int) envs.Space {
	limits := make([]float32, n)
	for i := range limits {
		limits[i] = float32(math.Inf(1))
	}
	return envs.Symmetric(limits...)
}

// positionBounds holds the tolerance of robots with positions that deviate by more than 2e-5. Pusher's fingers of 2 cm
// radius penetrate the object by up to 1.6 cm. The remaining 4 mm determine the normal, and rounding of positions of
// the order of a metre turns it by some 1e-5.
var positionBounds = map[string]float64{"pushing": 5e-5}

// TestRobotSteps takes one environment step from each of MuJoCo's recorded states, on the device. docs/physics.md has
// the table.
func TestRobotSteps(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, name := range robots(t) {
		t.Run(name, func(t *testing.T) {
			m, _ := read(t, name)
			s := readSteps(t, name)
			b := robotBatch(t, dev, m, s.skip, s.rows)
			width := m.NQ + 2*m.NV
			state := envs.State{Env: make([]float32, width*s.rows), Episode: make([]envs.EpisodeWord, s.rows), Return: make([]float32, s.rows)}
			for e := range s.rows {
				for f := range width {
					state.Env[f*s.rows+e] = float32(s.before[e*width+f])
				}
			}
			if err := b.SetState(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			control := make([]float32, len(s.control))
			for i, v := range s.control {
				control[i] = float32(v)
			}
			got, err := b.StepContinuous(t.Context(), control)
			if err != nil {
				t.Fatal(err)
			}
			var positions, velocities []float64
			var most, fastest float64
			var where, faster [2]int // row and element of the largest deviations
			for e := range s.rows {
				if got.Done[e] != 0 {
					t.Errorf("row %d ends its episode: %v", e, got.Done[e])
				}
				for f := range m.NQ + m.NV {
					d := math.Abs(float64(got.NextObs[e*width+f]) - s.after[e*(m.NQ+m.NV)+f])
					if math.IsNaN(d) {
						t.Fatalf("row %d: element %d is no number", e, f)
					}
					switch {
					case f < m.NQ:
						positions = append(positions, d)
						if d > most {
							most, where = d, [2]int{e, f}
						}
					default:
						velocities = append(velocities, d)
						if d > fastest {
							fastest, faster = d, [2]int{e, f - m.NQ}
						}
					}
				}
			}
			slices.Sort(positions)
			slices.Sort(velocities)
			last := func(list []float64) float64 { return list[len(list)-1] }
			median := func(list []float64) float64 { return list[len(list)/2] }
			t.Logf("| %s | %d | %d | %.0e (%.0e) | %.0e (%.0e) |", name, s.skip, s.rows,
				last(positions), median(positions), last(velocities), median(velocities))
			bound := 2e-5
			if special, ok := positionBounds[name]; ok {
				bound = special
			}
			if !(last(positions) <= bound) || !(last(velocities) <= 3e-3) {
				t.Errorf("positions deviate by up to %g (row and element %d), velocities by %g (%d); want at most %g and 3e-3",
					last(positions), where, last(velocities), faster, bound)
			}
		})
	}
}
