package bridge

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
)

const filmBytes = 6

// filmFrame is a picture of testdata/worlds.py's Film.
func filmFrame(id, shown int) []byte {
	frame := make([]byte, filmBytes)
	for e := range frame {
		frame[e] = byte(31*id + 7*shown*shown + 13*e + shown*e)
	}
	return frame
}

// framedStep is a step of n environments whose observations are so many bytes.
func framedStep(n, size int) *envs.Step {
	s := newStep(n, 0, 1)
	step := (size + 3) / 4 * 4
	s.Obs, s.Final, s.Frames, s.FinalFrames = nil, nil, make([]byte, n*step), make([]byte, n*step)
	return s
}

// outsideRollout makes a rollout of random actions in an environment of a server, and returns it, what records a recording, and the stepper once it is made.
func outsideRollout(
	t *testing.T, name string, cfg Config, rollout envs.RolloutConfig,
) (ro *envs.Rollout, run func(), st func() *stepper) {
	t.Helper()
	hello, err := Describe(t.Context(), name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	env, err := New(name, &cfg, hello, nil)
	if err != nil {
		t.Fatal(err)
	}
	var made *stepper
	if env, err = envs.NewOutside(env.Spec, func(ctx context.Context, n int, _ uint32) (envs.Stepper, error) {
		made, err = newStepper(ctx, name, cfg, hello, &Failures{}, n, env.Halves != envs.AtOnce)
		return made, err
	}); err != nil {
		t.Fatal(err)
	}
	s := engine.New(vktest.Device(t), engine.Seed(3)).NewState()
	t.Cleanup(func() { s.Close() })
	clock := engine.NewClock(s)
	if ro, err = envs.NewRollout(t.Context(), s.Sub("rollout"), env, rollout); err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	program, err := s.Engine().Record("rollout", func(r *engine.Recorder) {
		ro.Record(r, clock, nil)
		clock.Tick(r, 1, rollout.Horizon)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(program.Free)
	return ro, func() {
		t.Helper()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}, func() *stepper { return made }
}

// bytesOf returns the observations of a trajectory of floats as rows of bytes.
func bytesOf(t *testing.T, x *engine.Tensor, size int) (rows [][]byte) {
	t.Helper()
	all, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for row := range slices.Chunk(all, size) {
		out := make([]byte, size)
		for e, v := range row {
			out[e] = byte(math.Round(float64(v) * 255))
		}
		rows = append(rows, out)
	}
	return rows
}

// pushed returns a stack with its newest frame last, or of a first frame alone; old is [pixels, frames].
func pushed(old, frame []byte, frames int) []byte {
	out := make([]byte, frames*len(frame))
	for p, newest := range frame {
		for k := range frames {
			if at := p*frames + k; old != nil && k < frames-1 {
				out[at] = old[at+1]
			} else {
				out[at] = newest
			}
		}
	}
	return out
}

// TestFrames: bytes that Python writes arrive in the trajectory as stacks, which begin anew with every episode, in any number of processes, at once and in
// halves; learning sees the signs of rewards only where a server wants it.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		environments, processes, halves, stack int
	}{{5, 2, 1, 4}, {6, 2, 2, 3}, {2, 1, 1, 1}} {
		cfg := testConfig(t)
		cfg.Processes, cfg.Halves, cfg.Stack = c.processes, c.halves, c.stack
		const horizon = 8
		ro, run, of := outsideRollout(t, "python:worlds:film", cfg, envs.RolloutConfig{
			Members: 1, Environments: c.environments, Horizon: horizon, Trajectory: true,
		})
		ids, shown, stacks := make([]int, c.environments), make([]int, c.environments), make([][]byte, c.environments)
		next := func(i int, old []byte) []byte {
			shown[i]++
			return pushed(old, filmFrame(ids[i], shown[i]), c.stack)
		}
		ended := 0
		for turn := range 2 {
			run()
			if turn == 0 {
				for _, s := range of().servers {
					for i := range s.n { // films number themselves in the order of their making
						ids[s.number(i)] = s.first[0] + i
					}
				}
				for i := range stacks {
					stacks[i] = next(i, nil)
				}
			}
			done, err := ro.Done.ReadUint32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rewards, err := ro.Reward.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			obs, after := bytesOf(t, ro.Obs, filmBytes*c.stack), bytesOf(t, ro.NextObs, filmBytes*c.stack)
			for k, flags := range done {
				i := k % c.environments
				if !bytes.Equal(obs[k], stacks[i]) {
					t.Fatalf("%+v, transition %d of recording %d acts on %v; want %v", c, k, turn, obs[k], stacks[i])
				}
				if stacks[i] = next(i, stacks[i]); !bytes.Equal(after[k], stacks[i]) {
					t.Fatalf("%+v, transition %d of recording %d comes to %v; want %v", c, k, turn, after[k], stacks[i])
				}
				if r := rewards[k]; r < -7 || r > 3 {
					t.Fatalf("%+v, transition %d has reward %v; want 3, 1, -1, …", c, k, r)
				}
				if flags != 0 {
					ended++
					stacks[i] = next(i, nil)
				}
			}
			if !slices.Contains(rewards, -3) {
				t.Errorf("%+v: rewards %v; want them as they are", c, rewards)
			}
		}
		if ended < 2*c.environments {
			t.Errorf("%+v: %d episodes ended; want more", c, ended)
		}
	}
}

// TestFramesFail: an environment of bytes that fails is cut off at its last picture, and begins anew.
func TestFramesFail(t *testing.T) {
	cfg := testConfig(t)
	cfg.Arguments, cfg.Restarts = `{"fail": 2}`, 100
	fails := &Failures{}
	st := open(t, "python:worlds:film", cfg, fails, 2)
	s := framedStep(2, filmBytes)
	if err := st.ResetFrames(t.Context(), nil, []uint32{2, 3}, s.Frames); err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		before := slices.Clone(s.Frames)
		clear(s.Truncated)
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			id := st.servers[st.at[i]].first[0]
			if k == 0 {
				if got, want := s.Frames[8*i:][:filmBytes], filmFrame(id, 2); s.Truncated[i] || !bytes.Equal(got, want) {
					t.Errorf("environment %d shows %v; want %v", i, got, want)
				}
				continue
			}
			if got, want := s.FinalFrames[8*i:][:filmBytes], before[8*i:][:filmBytes]; !s.Truncated[i] || !bytes.Equal(got, want) {
				t.Errorf("environment %d that failed ends at %v, truncated %t; want %v", i, got, s.Truncated[i], want)
			}
			if got, want := s.Frames[8*i:][:filmBytes], filmFrame(id+1, 1); !bytes.Equal(got, want) {
				t.Errorf("environment %d, made anew, shows %v; want %v", i, got, want)
			}
		}
	}
	if n, err := fails.Count(); n != 2 || !strings.Contains(err.Error(), "the film has torn") {
		t.Errorf("%d failures, the last %v; want 2", n, err)
	}
}

// TestAtariMissing: without their packages, games say how to install them.
func TestAtariMissing(t *testing.T) {
	cfg := testConfig(t)
	python, err := exec.LookPath(cfg.Python)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Python = filepath.Join(cfg.Folder, "python")
	if err := os.WriteFile(cfg.Python, fmt.Appendf(nil, "#!/bin/sh\nexec %s -I -S \"$@\"\n", python), 0o700); err != nil {
		t.Fatal(err)
	}
	const want = "-m pip install gymnasium ale-py opencv-python-headless"
	for _, cfg.Atari = range []Atari{NoAtari, Atari2018} {
		if _, err := Describe(t.Context(), "gymnasium:ALE/Pong-v5", cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v; want %q", cfg.Atari, err, want)
		}
	}
}

// TestStackRefused: stacks are of bytes, and protocols of Atari of Gymnasium's games.
func TestStackRefused(t *testing.T) {
	cfg := testConfig(t)
	cfg.Stack = 4
	hello, err := Describe(t.Context(), "python:worlds:echo", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New("python:worlds:echo", &cfg, hello, nil); err == nil || !strings.Contains(err.Error(), "a stack of 4 observations of float32; want uint8") {
		t.Errorf("error %v; want one about the stack", err)
	}
	cfg.Atari = Atari2015
	const want = `[bridge] atari is "2015" in "python:worlds:echo"; want a game such as gymnasium:ALE/Pong-v5`
	if _, err := Describe(t.Context(), "python:worlds:echo", cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want %q", err, want)
	}
	var a Atari
	if err := a.UnmarshalText([]byte("2014")); err == nil || !strings.Contains(err.Error(), "2015") {
		t.Errorf("error %v; want one that names the protocols", err)
	}
	hello = &Hello{Observation: Space{Type: "uint8", Shape: []int{5, 4}}, Action: Space{N: 2}, Stack: 4, SignRewards: true}
	for stack, shape := range map[int]string{0: "5x4x4", 1: "5x4x1", 2: "5x4x2"} {
		spec, err := hello.spec("game", stack)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(spec.Observation.Shape()); got != shape || !spec.SignRewards || !spec.Framed {
			t.Errorf("a stack of %d: %s, %+v; want %s", stack, got, spec, shape)
		}
	}
}
