package envs

import (
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// catch returns a small game whose observations are images of bits, or of bytes.
func catch(t *testing.T, element nn.Element) *Environment {
	t.Helper()
	source, err := os.ReadFile("testdata/catch.glsl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	if element == nn.Bytes {
		text = strings.Replace(text, `"bit"`, `"uint8"`, 1)
		text = strings.Replace(text, "#ifndef BRIGHT", "#define BRIGHT(row) (float(255 - 30 * (row)) * (1.0 / 255.0))\n#ifndef BRIGHT", 1)
	}
	env, err := FromGLSL("catch.glsl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestPackedTrajectory: the trajectories of stepped rollouts with packed observations have the same steps as those with floats, after a recording
// of random actions and two of a policy's, and the words of their observations are the floats'.
func TestPackedTrajectory(t *testing.T) {
	const members, environments, horizon = 2, 3, 7
	for _, element := range []nn.Element{nn.Bits, nn.Bytes} {
		env := catch(t, element)
		eng := engine.New(open(t), engine.Seed(3))
		model := nn.Config{Activation: nn.Tanh, Layers: []nn.LayerConfig{{Kind: nn.Convolution, Channels: 2, Kernel: 3}}}.Model(env.Observation.Shape(), 3, nn.Float32)
		var got [2]*Rollout
		for i, packed := range []bool{false, true} {
			s := eng.NewState()
			t.Cleanup(func() { _ = s.Close() })
			params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", nn.Align(model.Size())))
			policy := &Policy{Weights: nn.Weights{Params: params}, Network: model, Head: env.Action.Head()}
			ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
				Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true, Packed: packed,
				Options: Options{TimeLimit: 3}, // truncates half of the episodes
			})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = ro
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			row := make([]float32, params.Len())
			for m := range members {
				model.Init(row[m*nn.Align(model.Size()):], nn.Orthogonal, 1, 1, engine.NewRng(1, 2, uint32(m), 0, 0))
			}
			if err := params.WriteFloat32(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			clock := engine.NewClock(s)
			record := func(f func(r *engine.Recorder)) {
				t.Helper()
				p, err := eng.Record("packed", f)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Free()
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			record(ro.RecordReset)
			for _, x := range []*engine.Tensor{ro.Obs, ro.NextObs} {
				if err := x.WriteBytes(t.Context(), []byte(strings.Repeat("\xee", 4*x.Len()))); err != nil {
					t.Fatal(err)
				}
			}
			record(func(r *engine.Recorder) {
				for _, acts := range []*Policy{nil, policy, policy} {
					ro.Record(r, clock, acts)
					clock.Tick(r, 1, horizon)
				}
			})
		}
		comparePacked(t, element, got)
		for i, ro := range got {
			if want := []nn.Element{nn.Floats, element}[i]; ro.Trajectory.Element() != want {
				t.Errorf("observations are %v; want %v", ro.Trajectory.Element(), want)
			}
		}
	}
}

// comparePacked compares a rollout that packs its observations with one that does not.
func comparePacked(t *testing.T, element nn.Element, got [2]*Rollout) {
	t.Helper()
	floats := func(x *engine.Tensor) []float32 {
		v, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	words := func(x *engine.Tensor) []uint32 {
		v, err := x.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	a, b := &got[0].Trajectory, &got[1].Trajectory
	for _, x := range [][2]*engine.Tensor{{a.Action, b.Action}, {a.LogProb, b.LogProb}, {a.Reward, b.Reward}, {got[0].finished, got[1].finished}} {
		want := floats(x[0])
		for i, v := range floats(x[1]) {
			if v != want[i] {
				t.Fatalf("%v: element %d of %v is %v; want %v", element, i, x[1], v, want[i])
			}
		}
	}
	ends := map[uint32]int{}
	want := words(a.Done)
	for i, v := range words(b.Done) {
		if ends[v]++; v != want[i] {
			t.Fatalf("%v: step %d has the flags %d; want %d", element, i, v, want[i])
		}
	}
	if ends[uint32(Terminated|Truncated)] == 0 || ends[uint32(Truncated)] == 0 {
		t.Errorf("%v: ends %v; want terminations and truncations", element, ends)
	}
	size := got[0].env.ObsSize()
	each, most := 4, float32(255)
	if element == nn.Bits {
		each, most = 32, 1
	}
	for _, x := range [][2]*engine.Tensor{{a.Obs, b.Obs}, {a.NextObs, b.NextObs}} {
		values, stored := floats(x[0]), words(x[1])
		for i := range len(values) / size {
			for w := range element.Words(size) {
				word := uint32(0)
				for k := range min(each, size-w*each) {
					word |= uint32(values[i*size+w*each+k]*most+0.5) << (k * 32 / each)
				}
				if v := stored[i*element.Words(size)+w]; v != word {
					t.Fatalf("%v: word %d of step %d of %v is %#x; want %#x", element, w, i, x[1], v, word)
				}
			}
		}
	}
}
