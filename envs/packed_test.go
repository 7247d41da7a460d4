package envs

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestPackedTrajectory: the trajectories of stepped rollouts with packed observations have the same steps as those with floats, after a recording
// of random actions and two of a policy's, and the words of their observations are the floats'.
func TestPackedTrajectory(t *testing.T) {
	const members, environments, horizon = 2, 3, 7
	source, err := os.ReadFile("testdata/catch.glsl")
	if err != nil {
		t.Fatal(err)
	}
	env, err := FromGLSL("catch.glsl", source)
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(3))
	layers := []nn.LayerConfig{{Kind: nn.Convolution, Channels: 2, Kernel: 3}}
	model := nn.Config{Activation: nn.Tanh, Layers: layers}.Model(env.Observation.Shape(), 3, nn.Float32)
	row := make([]float32, members*nn.Align(model.Size()))
	for m := range members {
		model.Init(row[m*nn.Align(model.Size()):], nn.Orthogonal, 1, 1, engine.NewRng(1, 2, uint32(m), 0, 0))
	}
	run := func(element nn.Element) *Rollout {
		t.Helper()
		env.Observation.Element = element // one environment: its kernels are compiled once
		s := eng.NewState()
		t.Cleanup(func() { _ = s.Close() })
		params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", nn.Align(model.Size())))
		policy := &Policy{Weights: nn.Weights{Params: params}, Network: model, Head: env.Action.Head()}
		ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true, Packed: true,
			Options: Options{TimeLimit: 2}, // truncates half of the episodes
		})
		if err != nil {
			t.Fatal(err)
		}
		if ro.Trajectory.Element() != element {
			t.Errorf("observations are %v; want %v", ro.Trajectory.Element(), element)
		}
		clock := engine.NewClock(s)
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := params.WriteFloat32(t.Context(), row); err != nil {
			t.Fatal(err)
		}
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
		return ro
	}
	want := run(nn.Floats)
	for _, element := range []nn.Element{nn.Bits, nn.Bytes} {
		t.Run(element.String(), func(t *testing.T) { comparePacked(t, element, want, run(element)) })
	}
}

// TestPackingSteps: steps are kept in their place of the trajectory, with the words of their observations, and nothing else is written.
func TestPackingSteps(t *testing.T) {
	const members, environments, horizon, actions = 2, 7, 3, 2
	for _, c := range []struct {
		element  nn.Element
		features int
	}{{nn.Bits, 67}, {nn.Bits, 5}, {nn.Bytes, 9}} {
		eng := engine.New(open(t), engine.Seed(3))
		s := eng.NewState()
		defer s.Close()
		env := &Environment{Spec: Spec{Observation: Symmetric(make([]float32, c.features)...)}}
		env.Observation.Element = c.element
		words := c.element.Words(c.features)
		tensor := func(name string, typ engine.DType, last ...engine.Dim) *engine.Tensor {
			dims := []engine.Dim{engine.Time(horizon), engine.Members(members), engine.Environments(environments)}
			return s.Tensor(name, typ, append(dims, last...)...)
		}
		ro := &Rollout{env: env, Trajectory: Trajectory{
			Obs: tensor("obs", engine.Uint32, engine.Axis("word", words)), NextObs: tensor("next_obs", engine.Uint32, engine.Axis("word", words)),
			Action: tensor("action", engine.Float32, engine.Axis("action", actions)), LogProb: tensor("log_prob", engine.Float32),
			Reward: tensor("reward", engine.Float32), Done: tensor("done", engine.Uint32),
		}}
		p := newPacking(s, ro)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		parts := func(t *Trajectory) []*engine.Tensor {
			return []*engine.Tensor{t.Obs, t.NextObs, t.Action, t.LogProb, t.Reward, t.Done}
		}
		const poison = 0xeeeeeeee
		var want, given [][]uint32 // of parts
		for i, from := range parts(&p.step) {
			values := make([]uint32, from.Len())
			for k := range values {
				switch level := rand.Uint32N(uint32(c.element.Levels())); {
				case i > 1:
					values[k] = rand.Uint32N(1 << 30)
				case c.element == nn.Bits:
					values[k] = math.Float32bits(float32(level) * -0.3) // 1 is what is not 0
				default:
					values[k] = math.Float32bits((float32(level) + rand.Float32()*0.8 - 0.4) / 255)
				}
			}
			if err := from.WriteBytes(t.Context(), bytesOf(values)); err != nil {
				t.Fatal(err)
			}
			to := parts(&ro.Trajectory)[i]
			given, want = append(given, values), append(want, slices.Repeat([]uint32{poison}, to.Len()))
			if err := to.WriteBytes(t.Context(), bytesOf(want[i])); err != nil {
				t.Fatal(err)
			}
		}
		// Step 0 is the former of the two that the environments' kernel writes, step 2 the latter.
		const count = members * environments
		for half, step := range []int{0, 2} {
			for i := range want {
				size, each := len(given[i])/(2*count), len(want[i])/(horizon*count)
				for e := range count {
					row, to := given[i][(half*count+e)*size:][:size], want[i][(step*count+e)*each:][:each]
					if copy(to, row); i > 1 {
						continue
					}
					clear(to)
					for k, word := range row {
						switch v := math.Float32frombits(word); {
						case c.element == nn.Bytes:
							to[k/4] |= uint32(math.Round(float64(min(max(v, 0), 1))*255)) << (k % 4 * 8)
						case v != 0:
							to[k/32] |= 1 << (k % 32)
						}
					}
				}
			}
		}
		program, err := eng.Record("keep", func(r *engine.Recorder) {
			p.keep(r, &ro.Trajectory, 0)
			p.keep(r, &ro.Trajectory, 2)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, to := range parts(&ro.Trajectory) {
			got, err := to.ReadBytes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range want[i] {
				if word := binary.LittleEndian.Uint32(got[4*k:]); word != v {
					t.Fatalf("%v of %d: word %d of %v is %#x; want %#x", c.element, c.features, k, to, word, v)
				}
			}
		}
	}
}

// comparePacked compares a rollout that packs its observations with one that does not.
func comparePacked(t *testing.T, element nn.Element, plain, packed *Rollout) {
	t.Helper()
	a, b := &plain.Trajectory, &packed.Trajectory
	for _, x := range [][2]*engine.Tensor{
		{a.Action, b.Action}, {a.LogProb, b.LogProb}, {a.Reward, b.Reward}, {a.Done, b.Done}, {plain.finished, packed.finished},
	} {
		want, err := x[0].ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x[1].ReadBytes(t.Context()); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v is %x, error %v; want %x", x[1], got, err, want)
		}
	}
	done, err := b.Done.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(done, uint32(Terminated|Truncated)) || !slices.Contains(done, uint32(Truncated)) {
		t.Errorf("flags of ends %v; want terminations and truncations", done)
	}
	size, each := plain.env.ObsSize(), 4
	if element == nn.Bits {
		each = 32
	}
	for _, x := range [][2]*engine.Tensor{{a.Obs, b.Obs}, {a.NextObs, b.NextObs}} {
		values, err := x[0].ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stored, err := x[1].ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(values) / size {
			for w := range element.Words(size) {
				word := uint32(0)
				for k := range min(each, size-w*each) {
					switch v := values[i*size+w*each+k]; {
					case element == nn.Bytes:
						word |= uint32(v*255+0.5) << (8 * k)
					case v != 0:
						word |= 1 << k
					}
				}
				if v := stored[i*element.Words(size)+w]; v != word {
					t.Fatalf("word %d of step %d of %v is %#x; want %#x", w, i, x[1], v, word)
				}
			}
		}
	}
}
