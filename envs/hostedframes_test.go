package envs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
)

// film shows frames of bytes that follow from the number of frames that an environment has shown. Episodes of environment i have 3 + i mod 3 steps, and
// end in turn by termination and truncation.
type film struct {
	n, size, stride       int
	shown, episode, ended []int
	split                 int
	steps                 [2]*Step
}

func (f *film) byte(i, shown, element int) byte {
	return byte(31*i + 7*shown*shown + 13*element + shown*element)
}

func (f *film) show(to []byte, i int) {
	f.shown[i]++
	for e := range f.size {
		to[i*f.stride+e] = f.byte(i, f.shown[i], e)
	}
}

func (f *film) Reset(context.Context, []bool, []uint32, []float32) error {
	return fmt.Errorf("Reset of frames; want ResetFrames")
}

func (f *film) ResetFrames(_ context.Context, which []bool, _ []uint32, frames []byte) error {
	for i := range f.n {
		if which == nil || which[i] {
			f.episode[i] = 0
			f.show(frames, i)
		}
	}
	return nil
}

func (f *film) Step(_ context.Context, s *Step) error { return f.step(s, 0, f.n) }

func (f *film) step(s *Step, first, end int) error {
	for i := first; i < end; i++ {
		if s.Idle[i] {
			continue
		}
		f.episode[i]++
		s.Reward[i] = float32(f.episode[i] - 2)
		if f.episode[i] == 3+i%3 {
			s.Terminated[i], s.Truncated[i] = f.ended[i]%2 == 0, f.ended[i]%2 == 1
		}
		if !s.Ended(i) {
			f.show(s.Frames, i)
			continue
		}
		f.ended[i]++
		f.show(s.FinalFrames, i)
		if f.episode[i] = 0; !s.Stay {
			f.show(s.Frames, i)
		}
	}
	return nil
}

func (f *film) Close() error { return nil }

func (f *film) Halve(_ context.Context, split int) error {
	f.split = split
	return nil
}

func (f *film) Begin(_ context.Context, half int, s *Step) error {
	f.steps[half] = s
	return nil
}

func (f *film) Wait(_ context.Context, half int) error {
	if half == 0 {
		return f.step(f.steps[0], 0, f.split)
	}
	return f.step(f.steps[1], f.split, f.n)
}

func newFilm(n int, space Space) *film {
	spec := Spec{Observation: space}
	return &film{n: n, size: space.Size() / max(1, space.Frames), stride: spec.FrameBytes(),
		shown: make([]int, n), episode: make([]int, n), ended: make([]int, n)}
}

func filmSpace(height, width, channels, frames int) Space {
	space := Image(height, width, channels*frames)
	space.Element, space.Frames = nn.Bytes, frames
	return space
}

// TestFrames: transitions and sums of observations are those of a stack in Go, packed and as floats, for pixels of any number of bytes, with
// episodes that end within and between recordings, in halves and at once.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		height, width, channels, frames int
		cfg                             RolloutConfig
		floats, random                  bool // the network takes floats; actions are random
		halves                          Halving
		split                           int
	}{
		{8, 8, 1, 4, RolloutConfig{Members: 2, Environments: 4, Horizon: 5, Packed: true}, false, false, InHalves, 4},
		{9, 7, 1, 4, RolloutConfig{Members: 2, Environments: 3, Horizon: 7}, false, true, AtOnce, 0},
		{5, 5, 3, 2, RolloutConfig{Members: 1, Environments: 4, Horizon: 6}, false, true, AtOnce, 0},
		{5, 3, 1, 3, RolloutConfig{Members: 1, Environments: 5, Horizon: 6, Seen: true}, false, true, AtOnce, 0},
		{3, 3, 1, 1, RolloutConfig{Members: 2, Environments: 2, Horizon: 5}, false, true, AtOnce, 0},
		{3, 1, 2, 4, RolloutConfig{Members: 2, Environments: 2, Horizon: 5, Packed: true, Seen: true}, true, false, AtOnce, 0},
		{7, 5, 1, 4, RolloutConfig{Members: 1, Environments: 5, Horizon: 9, Begin: true, Options: Options{AutoReset: Disabled}}, false, true, AtOnce, 0},
	} {
		t.Run(fmt.Sprintf("%dx%dx%dx%d", c.height, c.width, c.channels, c.frames), func(t *testing.T) {
			space := filmSpace(c.height, c.width, c.channels, c.frames)
			n := c.cfg.Members * c.cfg.Environments
			f := newFilm(n, space)
			env, err := NewOutside(Spec{Name: "Film-v0", Observation: space, Action: Discrete(2), MaxSteps: 5, Framed: true, SignRewards: true, Halves: c.halves},
				func(context.Context, int, uint32) (Stepper, error) { return f, nil })
			if err != nil {
				t.Fatal(err)
			}
			var model nn.Model = nn.Sequential{In: space.Shape(), Hidden: []nn.LayerConfig{{Kind: nn.Convolution, Channels: 2, Kernel: 3}}, Out: 2}
			if c.floats {
				model = nn.MLP{In: space.Size(), Out: 2, Hidden: []int{4}}
			}
			cfg := c.cfg
			cfg.Trajectory = true
			r := newModelRollout(t, env, cfg, c.random, model)
			if r.ro.split != c.split || !c.random && (r.ro.stepped.element == nn.Bytes) == c.floats {
				t.Errorf("the first half has %d environments, and the network takes %v", r.ro.split, r.ro.stepped.element)
			}
			m := &stacks{f: newFilm(n, space), space: space, of: make([][]byte, n), fresh: true}
			for range 3 {
				for _, x := range []*engine.Tensor{r.ro.Obs, r.ro.NextObs} {
					poisonWords(t, x)
				}
				if err := r.program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				m.check(t, r.ro, cfg)
			}
		})
	}
}

// TestFramesResume: stacks begin anew with the episodes of a run that is resumed, since checkpoints do not contain the environments.
func TestFramesResume(t *testing.T) {
	space := filmSpace(5, 3, 1, 4)
	const n = 4
	f := newFilm(n, space)
	env, err := NewOutside(Spec{Name: "Film-v0", Observation: space, Action: Discrete(2), MaxSteps: 5, Framed: true, SignRewards: true},
		func(context.Context, int, uint32) (Stepper, error) { return f, nil })
	if err != nil {
		t.Fatal(err)
	}
	cfg := RolloutConfig{Members: 2, Environments: 2, Horizon: 8, Trajectory: true}
	r := newModelRollout(t, env, cfg, true, nil)
	m := &stacks{f: newFilm(n, space), space: space, of: make([][]byte, n), fresh: true}
	run := func(i int) {
		t.Helper()
		if err := errors.Join(r.s.Advance(t.Context(), i), r.program.Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		m.check(t, r.ro, cfg)
	}
	run(0)
	dir := t.TempDir()
	if _, err := r.s.Save(t.Context(), dir, 1); err != nil {
		t.Fatal(err)
	}
	run(1)
	c, _, err := checkpoint.Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.s.Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	m.fresh = true
	clear(m.f.episode)
	run(1)
	run(2)
}

// poisonWords overwrites a tensor with ones.
func poisonWords(t *testing.T, x *engine.Tensor) {
	t.Helper()
	var err error
	if x.Type() == engine.Uint32 {
		words := make([]uint32, x.Len())
		for i := range words {
			words[i] = ^uint32(0)
		}
		err = x.WriteUint32(t.Context(), words)
	} else {
		nans := make([]float32, x.Len())
		for i := range nans {
			nans[i] = float32(math.NaN())
		}
		err = x.WriteFloat32(t.Context(), nans)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stacks are what rollouts in films observe, in Go.
type stacks struct {
	f     *film
	space Space
	of    [][]byte // of each environment: [pixels, frames, channels]
	fresh bool     // no recording yet
}

// next returns the stack that follows environment i's with its next frame.
func (m *stacks) next(i int, begins bool) []byte {
	frame := make([]byte, m.f.n*m.f.stride)
	m.f.show(frame, i)
	k, channels := max(1, m.space.Frames), m.space.Channels()
	out := make([]byte, m.space.Size())
	for e := range m.f.size {
		newest := frame[i*m.f.stride+e]
		for j := range k {
			at := e/channels*channels*k + j*channels + e%channels
			if out[at] = newest; !begins && j < k-1 {
				out[at] = m.of[i][at+channels]
			}
		}
	}
	return out
}

// check compares a recording's transitions, and the sums of what was acted on.
func (m *stacks) check(t *testing.T, ro *Rollout, cfg RolloutConfig) {
	t.Helper()
	n := len(m.of)
	if m.fresh || cfg.Begin {
		for i := range n {
			m.of[i] = m.next(i, true)
		}
		m.fresh = false
	}
	done, err := ro.Done.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	obs, next, rewards := observed(t, ro.Obs, m.space), observed(t, ro.NextObs, m.space), floats(t, ro.Reward)
	seen := make([]float64, (1+2*m.space.Size())*n)
	ended := 0
	for k, flags := range done {
		i, flags := k%n, Done(flags)
		if flags&Void != 0 {
			if cfg.Options.AutoReset != Disabled {
				t.Fatalf("transition %d is void", k)
			}
			continue
		}
		if string(obs[k]) != string(m.of[i]) {
			t.Fatalf("transition %d acted on\n%v; want\n%v", k, obs[k], m.of[i])
		}
		seen[i]++
		for e, b := range m.of[i] {
			seen[(1+e)*n+i] += float64(b) / 255
			seen[(1+m.space.Size()+e)*n+i] += float64(b) / 255 * float64(b) / 255
		}
		after := m.next(i, false)
		if string(next[k]) != string(after) {
			t.Fatalf("transition %d, flags %v, comes to\n%v; want\n%v", k, flags, next[k], after)
		}
		m.f.episode[i]++
		if want := sign(float32(m.f.episode[i] - 2)); rewards[k] != want {
			t.Fatalf("transition %d has reward %v; want %v", k, rewards[k], want)
		}
		m.of[i] = after
		if flags != 0 {
			m.f.episode[i] = 0
			ended++
			if cfg.Options.AutoReset != Disabled {
				m.of[i] = m.next(i, true)
			}
		}
	}
	if ended < n {
		t.Errorf("%d episodes of %d environments have ended; want more", ended, n)
	}
	if cfg.Seen {
		for k, got := range floats(t, ro.Seen()) {
			if math.Abs(float64(got)-seen[k]) > 1e-5 {
				t.Fatalf("sum %d of observations is %v; want %v", k, got, seen[k])
			}
		}
	}
	returns, counts := floats(t, ro.Finished().Index(1)), floats(t, ro.Finished().Index(0))
	for i := range n { // the rewards themselves, not their signs
		if want := []float32{0, 2, 5}[i%3] * counts[i]; returns[i] != want {
			t.Errorf("%v episodes of environment %d have returns of %v; want %v", counts[i], i, returns[i], want)
		}
	}
}

// observed returns the bytes of observations.
func observed(t *testing.T, x *engine.Tensor, space Space) (rows [][]byte) {
	t.Helper()
	size := space.Size()
	if x.Type() == engine.Uint32 {
		words, err := x.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for k := range len(words) / space.Words() {
			row := make([]byte, size)
			for e := range row {
				row[e] = byte(words[k*space.Words()+e/4] >> (e % 4 * 8))
			}
			rows = append(rows, row)
		}
		return rows
	}
	all := floats(t, x)
	for k := range len(all) / size {
		row := make([]byte, size)
		for e, v := range all[k*size : (k+1)*size] {
			row[e] = byte(math.Round(float64(v) * 255))
			if math.Abs(float64(v)-float64(row[e])/255) > 1e-7 {
				t.Fatalf("element %d of observation %d is %v; want a multiple of 1/255", e, k, v)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestFramesErrors: Specs and Steppers that contradict frames are refused.
func TestFramesErrors(t *testing.T) {
	make := func(context.Context, int, uint32) (Stepper, error) { return newEcho(2), nil }
	spec := Spec{Name: "Film-v0", Observation: filmSpace(3, 3, 1, 4), Action: Discrete(2), MaxSteps: 5, Framed: true}
	saved, floats := spec, spec
	saved.Saved, floats.Observation.Element = 4, nn.Floats
	for _, s := range []Spec{saved, floats} {
		if _, err := NewOutside(s, make); err == nil || !strings.Contains(err.Error(), "want uint8, and 0") {
			t.Errorf("error %v; want one about uint8", err)
		}
	}
	if inside := spec; inside.check() == nil {
		t.Error("no error of a Spec with Framed that the host does not step")
	}
	env, err := NewOutside(spec, make)
	if err != nil {
		t.Fatal(err)
	}
	r := newModelRollout(t, env, RolloutConfig{Members: 1, Environments: 2, Horizon: 2}, true, nil)
	if err := r.program.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "want an envs.Framer") {
		t.Errorf("error %v; want one about an envs.Framer", err)
	}
}
