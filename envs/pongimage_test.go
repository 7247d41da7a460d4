package envs

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

const pongRows, pongColumns = 40, 32

// pongPicture returns which share of each cell of the arena bats and ball cover: the sum over the parts into which their edges cut it.
func pongPicture(bat0, bat1, x, y float64) []float64 {
	type rectangle struct{ left, top, right, bottom float64 }
	things := []rectangle{{16, bat0, 21, bat0 + 15}, {139, bat1, 144, bat1 + 15}, {x, y, x + 4, y + 4}}
	picture := make([]float64, pongRows*pongColumns)
	for i := range picture {
		left, top := 5*float64(i%pongColumns), 34+4*float64(i/pongColumns)
		across, down := []float64{left, left + 5}, []float64{top, top + 4}
		for _, r := range things {
			across = append(across, min(max(r.left, left), left+5), min(max(r.right, left), left+5))
			down = append(down, min(max(r.top, top), top+4), min(max(r.bottom, top), top+4))
		}
		slices.Sort(across)
		slices.Sort(down)
		for a := range len(across) - 1 {
			for d := range len(down) - 1 {
				middleX, middleY := (across[a]+across[a+1])/2, (down[d]+down[d+1])/2
				if slices.ContainsFunc(things, func(r rectangle) bool {
					return r.left < middleX && middleX < r.right && r.top < middleY && middleY < r.bottom
				}) {
					picture[i] += (across[a+1] - across[a]) * (down[d+1] - down[d]) / 20
				}
			}
		}
	}
	return picture
}

// pongFrames returns the four pictures that a state of PongImage-v0 shows, oldest first.
func pongFrames(s []float32) [4][]float64 {
	var frames [4][]float64
	for i := range frames {
		bat0, bat1 := s[0], s[1]
		if i < 3 {
			bat0, bat1 = s[16+i], s[19+i]
		}
		frames[i] = pongPicture(float64(bat0), float64(bat1), float64(s[2+i]), float64(s[6+i]))
	}
	return frames
}

// comparePong compares an observation of bytes, as floats, with four pictures.
func comparePong(t *testing.T, what string, obs []float32, want [4][]float64) {
	t.Helper()
	for i, v := range obs {
		level := float64(v) * 255
		if d := math.Abs(level - 255*want[i%4][i/4]); math.Abs(level-math.Round(level)) > 1e-3 || !(d < 0.501) {
			t.Fatalf("%s: frame %d shows %v/255 in row %d, column %d; want the level nearest to %v",
				what, i%4, level, i/4/pongColumns, i/4%pongColumns, 255*want[i%4][i/4])
		}
	}
}

// TestPongNetwork: the network of configs/pong-image-ppo.toml has as many parameters as that of Lamarckian's code.
func TestPongNetwork(t *testing.T) {
	text, err := os.ReadFile("../configs/pong-image-ppo.toml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := config.Parse("pong-image-ppo.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	var network struct{ Layers []nn.LayerConfig }
	if err := d.Peek("network", &network); err != nil {
		t.Fatal(err)
	}
	env := lookup(t, "PongImage-v0")
	model := nn.Config{Layers: network.Layers, Activation: nn.ReLU}.Model(env.Observation.Shape(), env.Action.Size(), nn.Float32)
	if n := model.Size(); n != 79107 {
		t.Errorf("%v has %d parameters; want 79107", model, n)
	}
}

// TestPongPicture: what given states show, among them a ball in a bat, in corners and partly in cells.
func TestPongPicture(t *testing.T) {
	states := [][]float32{
		{107, 107, 75, 76, 77, 78, 109, 110, 111, 112, 4, 1.5, 0, 0, 3, 0, 95, 99, 103, 119, 115, 111},
		{34, 179, 12, 13, 14, 14, 35, 36, 37, 38.25, 4, 1.3, 0, 0, 3, 0, 34, 36, 35, 179, 178.5, 177},                 // moves into the left bat
		{36.5, 121.7, 142, 142.5, 143, 145, 118, 119, 120, 123.9, -4, -1.7, 0, 0, 3, 0, 35.25, 36, 37, 120, 121, 122}, // and into the right one
		{179, 34, 0, 0.25, 2.5, 4, 34, 34.5, 40, 188.8, -4, 1.9, 0, 0, 3, 0, 179, 179, 179, 34, 34, 34},
		{60, 61, 152, 153, 155.5, 151.9, 190, 189.5, 188, 187, 4, -3.9, 0, 0, 3, 0, 61, 62, 63, 64, 65, 66},
	}
	n := len(states)
	b := newBatch(t, open(t), "PongImage-v0", 1, n, Options{})
	state := State{make([]float32, n*22), make([]EpisodeWord, n), make([]float32, n)}
	for e, s := range states {
		for f, v := range s {
			state.Env[f*n+e] = v
		}
	}
	if err := b.SetState(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	both := map[int]bool{}
	for step := range 3 {
		got, err := b.Step(t.Context(), slices.Repeat([]uint32{pongStay}, n))
		if err != nil {
			t.Fatal(err)
		}
		after, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for e, before := range states {
			s := column(after.Env, n, e)
			what := fmt.Sprintf("state %d after %d steps", e, step+1)
			comparePong(t, what, row(got.Obs, n, e), pongFrames(s))
			comparePong(t, what, row(got.NextObs, n, e), pongFrames(s))
			for _, f := range []int{2, 6, 16, 19} { // the earlier places move on
				now := map[int]int{2: 5, 6: 9, 16: 0, 19: 1}[f]
				want := append(slices.Clone(before[f+1:f+3]), before[now])
				if !slices.Equal(s[f:f+3], want) {
					t.Errorf("%s: %v from %s on; want %v", what, s[f:f+3], b.Environment().State[f], want)
				}
			}
			for bat, left := range []float32{16, 139} {
				if s[5] < left+5 && s[5]+4 > left && s[9] < s[bat]+15 && s[9]+4 > s[bat] {
					both[bat] = true
				}
			}
			states[e] = s
		}
	}
	if len(both) != 2 {
		t.Errorf("the ball was in bats %v; want both", both)
	}
}

// TestPongImage: the same actions have the same results as in Pong-v0, and the observations are the last four pictures of the episode, also after a serve;
// before the first they are the first. Where an episode ends, or is truncated, the true next observation is the picture after its last step.
func TestPongImage(t *testing.T) {
	const n, steps, seed = 7, 160, 5
	for name, c := range map[string]struct {
		options Options
		task    PongScriptOptions
	}{
		"ends":                 {Options{}, PongScriptOptions{Rounds: 2, Random: 0.5}},
		"truncated":            {Options{TimeLimit: 11}, PongScriptOptions{Rounds: 20}},
		"actions are repeated": {Options{TimeLimit: 50, ActionRepeat: 3, RewardScale: 0.5}, PongScriptOptions{Rounds: 1, Random: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var batches [2]*Batch
			for i, name := range []string{"Pong-v0", "PongImage-v0"} {
				env, err := lookup(t, name).With(c.task)
				if err != nil {
					t.Fatal(err)
				}
				if batches[i], err = NewBatch(t.Context(), open(t), env, 1, n, c.options); err != nil {
					t.Fatal(err)
				}
				defer batches[i].Close()
			}
			vector, image := batches[0], batches[1]
			states := func() (v, i State) {
				t.Helper()
				v, err := vector.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if i, err = image.State(t.Context()); err != nil {
					t.Fatal(err)
				}
				return v, i
			}
			if _, err := vector.Reset(t.Context(), seed); err != nil {
				t.Fatal(err)
			}
			obs, err := image.Reset(t.Context(), seed)
			if err != nil {
				t.Fatal(err)
			}
			picture := func(s []float32) []float64 {
				return pongPicture(float64(s[0]), float64(s[1]), float64(s[5]), float64(s[9]))
			}
			repeated := func(p []float64) [4][]float64 { return [4][]float64{p, p, p, p} }
			var frames [n][4][]float64
			v, _ := states()
			for e := range frames {
				frames[e] = repeated(picture(column(v.Env, n, e)))
				comparePong(t, "reset", row(obs, n, e), frames[e])
			}
			flags, serves := map[Done]int{}, 0
			dice := engine.NewRng(1, 2, 3, 4, 5)
			for step := range steps {
				actions := make([]uint32, n)
				for e := range actions {
					actions[e] = dice.Uint32() % 3
				}
				a, err := vector.Step(t.Context(), actions)
				if err != nil {
					t.Fatal(err)
				}
				b, err := image.Step(t.Context(), actions)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.Reward, b.Reward) || !slices.Equal(a.Done, b.Done) {
					t.Fatalf("step %d: rewards %v, flags %v; want %v, %v", step, b.Reward, b.Done, a.Reward, a.Done)
				}
				v, i := states()
				for e := range actions {
					what := fmt.Sprintf("environment %d, step %d", e, step)
					s, numbers := column(v.Env, n, e), row(a.NextObs, n, e)
					for f := range s {
						if earlier := f >= 2 && f < 5 || f >= 6 && f < 9; !earlier && s[f] != i.Env[f*n+e] {
							t.Fatalf("%s: %s is %v; want %v", what, image.Environment().State[f], i.Env[f*n+e], s[f])
						}
					}
					// What Pong-v0 shows after the step and before a reset: bats, and the newest of the ball's places.
					next := pongPicture(float64(numbers[0])*160+34, float64(numbers[1])*160+34, float64(numbers[8])*160, float64(numbers[9])*160+34)
					if c.options.ActionRepeat > 1 {
						if flags[b.Done[e]]++; b.Done[e] != 0 {
							comparePong(t, what+", reset", row(b.Obs, n, e), repeated(picture(s)))
						} else {
							comparePong(t, what, row(b.Obs, n, e), pongFrames(column(i.Env, n, e)))
						}
						continue
					}
					frames[e] = [4][]float64{frames[e][1], frames[e][2], frames[e][3], next}
					comparePong(t, what+", next", row(b.NextObs, n, e), frames[e])
					if flags[b.Done[e]]++; b.Done[e] != 0 {
						frames[e] = repeated(picture(s))
					} else if b.Reward[e] != 0 {
						serves++
					}
					comparePong(t, what, row(b.Obs, n, e), frames[e])
				}
			}
			t.Logf("flags %v, %d serves in episodes", flags, serves)
			ends, cut := c.options.TimeLimit != 11, c.options.TimeLimit > 0
			if (flags[Terminated] > 0) != ends || (flags[Truncated] > 0) != cut || name == "ends" && serves == 0 {
				t.Errorf("flags %v, %d serves in episodes", flags, serves)
			}
		})
	}
}

// TestPongImageRollouts: many steps in one dispatch, of a rollout without a trajectory, lead to the states of single steps; observations of a trajectory are
// stacks of frames, and each is the true next observation of the step before.
func TestPongImageRollouts(t *testing.T) {
	const members, environments, horizon, seed = 2, 3, 45, 3
	run := func(t *testing.T, trajectory, pack bool) *Rollout {
		t.Helper()
		env, err := lookup(t, "PongImage-v0").With(PongScriptOptions{Rounds: 1, Random: 1})
		if err != nil {
			t.Fatal(err)
		}
		eng := engine.New(open(t), engine.Seed(seed))
		s := eng.NewState()
		t.Cleanup(func() { _ = s.Close() })
		ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Trajectory: trajectory, Packed: pack,
			Options: Options{TimeLimit: 20}, // the step in which a ball that nobody meets scores
		})
		if err != nil {
			t.Fatal(err)
		}
		clock := engine.NewClock(s)
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Poison(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			p, err := eng.Record("pong", func(r *engine.Recorder) {
				if i == 0 {
					ro.RecordReset(r)
					return
				}
				ro.Record(r, clock, nil)
				clock.Tick(r, 1, horizon)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Free()
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return ro
	}
	read := func(x *engine.Tensor) []byte {
		t.Helper()
		values, err := x.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	single, many, floats := run(t, true, true), run(t, false, false), run(t, true, false)
	for _, x := range [][2]*engine.Tensor{{single.state, many.state}, {single.step, many.step}, {single.ret, many.ret}, {single.finished, many.finished}} {
		if a, b := read(x[0]), read(x[1]); !bytes.Equal(a, b) {
			t.Errorf("%v is %x after many steps in a dispatch; want %x", x[1], b, a)
		}
	}
	comparePacked(t, single.env.Observation.Element, floats, single)
	const all, words = members * environments, pongRows * pongColumns
	obs, next := read(single.Obs), read(single.NextObs)
	done, err := single.Done.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range all * (horizon - 1) {
		for p := range words {
			at := 4 * (i*words + p)
			then, after, follow := obs[at:at+4], next[at:at+4], obs[at+4*all*words:at+4*all*words+4]
			first := bytes.Equal(follow, bytes.Repeat(follow[3:], 4))
			if !bytes.Equal(then[1:], after[:3]) || done[i] == 0 && !bytes.Equal(after, follow) || done[i] != 0 && !first {
				t.Fatalf("step %d, environment %d, pixel %d: %d, then %d, flags %d, acted on %d", i/all, i%all, p, then, after, done[i], follow)
			}
		}
	}
}
