package envs

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// wordsCatch is an environment that observes words, and the same one with floats.
type wordsCatch struct {
	name          string
	floats, words *Environment
}

// wordsCatches returns testdata/catch.glsl in all forms of words: of bits that env_observe writes, and of bits and bytes that are painted.
func wordsCatches(t *testing.T) []wordsCatch {
	t.Helper()
	source, err := os.ReadFile("testdata/catch.glsl")
	if err != nil {
		t.Fatal(err)
	}
	bright := string(source)
	lit := strings.Replace(bright, "#define OBS_SIZE 12", "#define OBS_SIZE 12\n#define BRIGHT(row) 1.0", 1)
	bits := strings.NewReplacer(`"uint8"`, `"bit"`, "#define OBS_SIZE 12", "#define OBS_SIZE 12\n#define OBS_WORDS 1", "env_reset(out ", "env_reset(inout ",
		"out float obs[OBS_SIZE]) {", "out uint obs[OBS_WORDS]) {\n    obs[0] = 0u;",
		"obs[k] = ball || paddle ? BRIGHT(k / 3) : 0.0;", "obs[0] |= ball || paddle ? 1u << k : 0u;").Replace(lit)
	// paint has words of so many elements, in each of which a ball or paddle is a value.
	paint := func(text string, words, each, value string) string {
		return strings.NewReplacer(
			"#define OBS_SIZE 12", "#define OBS_SIZE 12\n#define ENV_WORD\n#define OBS_WORDS "+words, "env_reset(out ", "env_reset(inout ",
			"void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {", "uint env_word(const float s[STATE_SIZE], uint w) {\n    uint word = 0u;",
			"for (int k = 0; k < OBS_SIZE; k++) {", "for (int k = int(w) * "+each+"; k < min(int(w) * "+each+" + "+each+", OBS_SIZE); k++) {",
			"obs[k] = ball || paddle ? BRIGHT(k / 3) : 0.0;\n    }",
			"if (ball || paddle) word |= "+value+" << (k % "+each+" * (32 / "+each+"));\n    }\n    return word;",
		).Replace(text)
	}
	var all []wordsCatch
	for _, c := range []struct{ name, floats, words string }{
		{"bits", lit, bits},
		{"painted bits", lit, paint(strings.Replace(lit, `"uint8"`, `"bit"`, 1), "1", "32", "1u")},
		{"painted bytes", bright, paint(bright, "3", "4", "uint(255 - 30 * (k / 3))")},
	} {
		of := wordsCatch{name: c.name}
		if of.floats, err = FromGLSL("catch.glsl", []byte(strings.Replace(c.floats, `"uint8"`, `"float32"`, 1))); err != nil {
			t.Fatal(err)
		}
		if of.words, err = FromGLSL("catch.glsl", []byte(c.words)); err != nil {
			t.Fatal(err)
		}
		if of.floats.bits() || !of.words.bits() || of.words.paints != strings.HasPrefix(c.name, "painted") {
			t.Fatalf("%s: observations of words: %t, %t, painted: %t", c.name, of.floats.bits(), of.words.bits(), of.words.paints)
		}
		all = append(all, of)
	}
	return all
}

// TestBitsAsFloats: rollouts in an environment that observes words of bits take the steps of stepped rollouts in the same one with floats, and sum up
// the same observations and episodes, whether observations are written or painted: of populations with a cap and a normalizer each, with members that are
// skipped, and of members that go on from one recording to the next.
func TestBitsAsFloats(t *testing.T) {
	const populations, count, environments, horizon = 2, 3, 5, 7
	const members = populations * count
	catches := wordsCatches(t)
	floats := catches[0].floats
	layers := []nn.LayerConfig{{Kind: nn.Convolution, Channels: 2, Kernel: 3}}
	model := nn.Config{Activation: nn.Tanh, Layers: layers}.Model(floats.Observation.Shape(), 3, nn.Float32)
	row := make([]float32, members*nn.Align(model.Size()))
	for m := range members {
		model.Init(row[m*nn.Align(model.Size()):], nn.Orthogonal, 1, 3, engine.NewRng(1, 2, uint32(m), 0, 0))
	}
	skipped := [members]uint32{1: 1, 5: 1}
	dice := engine.NewRng(3, 4, 0, 0, 0)
	normalizer := make([]float32, members*2*floats.ObsSize())
	for i := range normalizer {
		normalizer[i] = 0.2 + float32(dice.Uint32()>>8)/(1<<24)
	}
	// Episodes of the first half of all members are cut off at one step.
	capped := func(share int) []uint32 {
		return slices.Concat(slices.Repeat([]uint32{1}, count/share), make([]uint32, count/share))
	}
	run := func(t *testing.T, env *Environment, pack, skips bool) *Rollout {
		t.Helper()
		eng := engine.New(open(t), engine.Seed(3))
		s := eng.NewState()
		t.Cleanup(func() { _ = s.Close() })
		params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", nn.Align(model.Size())))
		share := 1 // members with the same cap and normalizer
		if skips {
			share = count
		}
		norm := s.Tensor("normalizer", engine.Float32, engine.Members(members/share), engine.Axis("part", 2), engine.Axis("feature", env.ObsSize()))
		policy := &Policy{Weights: nn.Weights{Params: params}, Network: model, Head: env.Action.Head(), Placement: PlacementStepped, Normalizer: norm, ObsLimit: 5}
		cfg := RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true, Packed: pack, Cap: true, Seen: true,
			Options: Options{TimeLimit: 2}, // truncates half of the episodes
		}
		if skips {
			cfg.Begin, cfg.Options.AutoReset, cfg.Window = true, Disabled, &Window{Population: count, Count: count}
		}
		ro, err := NewRollout(t.Context(), s, env, cfg)
		if err != nil {
			t.Fatal(err)
		}
		clock := engine.NewClock(s)
		skip := s.Tensor("skip", engine.Uint32, engine.Members(members))
		if skips {
			if err := ro.Skip(skip); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range []error{
			s.Zero(t.Context()), s.Poison(t.Context()), params.WriteFloat32(t.Context(), row), norm.WriteFloat32(t.Context(), normalizer[:norm.Len()]),
			ro.Cap().WriteUint32(t.Context(), capped(share)), skip.WriteUint32(t.Context(), skipped[:]),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		fill := "\xee"
		if skips {
			fill = "\x00" // steps after the end are not written
		}
		for _, x := range []*engine.Tensor{ro.Obs, ro.NextObs, ro.Action, ro.LogProb, ro.Reward} {
			if err := x.WriteBytes(t.Context(), []byte(strings.Repeat(fill, 4*x.Len()))); err != nil {
				t.Fatal(err)
			}
		}
		act := (*Rollout).Record
		if skips {
			act = func(ro *Rollout, r *engine.Recorder, clock engine.Clock, policy *Policy) {
				ro.RecordWindow(r, clock, policy, 0)
			}
		}
		record := func(f func(r *engine.Recorder)) {
			t.Helper()
			p, err := eng.Record("bits", f)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Free()
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !skips {
			record(ro.RecordReset)
		}
		for range 2 {
			record(func(r *engine.Recorder) { act(ro, r, clock, policy); clock.Tick(r, 1, horizon) })
		}
		return ro
	}
	bytesOf := func(t *testing.T, x *engine.Tensor) []byte {
		t.Helper()
		values, err := x.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	read := func(t *testing.T, x *engine.Tensor) []float32 {
		t.Helper()
		values, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	const all = members * environments
	for _, c := range catches {
		for name, skips := range map[string]bool{"skipped members": true, "continued": false} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				want := run(t, c.floats, false, skips)
				wantSeen, finished := read(t, want.Seen()), read(t, want.Finished())
				for i := range all {
					m := i / environments
					if void := skips && skipped[m] != 0; void != (finished[i] == 0) || void != (wantSeen[i] == 0) {
						t.Errorf("environment %d of member %d: %g episodes ended, %g observations; want none only of members that are skipped",
							i%environments, m, finished[i], wantSeen[i])
					}
					if m < count && finished[2*all+i] != finished[i] {
						t.Errorf("environment %d of member %d: %g episodes of %g steps; want one step each", i%environments, m, finished[i], finished[2*all+i])
					}
				}
				for _, pack := range []bool{true, false} {
					got := run(t, c.words, pack, skips)
					if pack {
						comparePacked(t, c.words.Observation.Element, want, got)
					} else {
						a, b := &want.Trajectory, &got.Trajectory
						for _, x := range [][2]*engine.Tensor{
							{a.Obs, b.Obs}, {a.NextObs, b.NextObs}, {a.Action, b.Action}, {a.LogProb, b.LogProb}, {a.Reward, b.Reward}, {a.Done, b.Done},
							{want.Finished(), got.Finished()},
						} {
							if a, b := bytesOf(t, x[0]), bytesOf(t, x[1]); !bytes.Equal(a, b) {
								t.Errorf("%v is %x; want %x", x[1], b, a)
							}
						}
					}
					for i, v := range read(t, got.Seen()) {
						if math.Abs(float64(v-wantSeen[i])) > 1e-5 {
							t.Errorf("packed %t: sum %d is %g; want %g", pack, i, v, wantSeen[i])
						}
					}
				}
			})
		}
	}
}
