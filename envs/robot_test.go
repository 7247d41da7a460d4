package envs

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/evorl/evorl/vk"
)

// TestRobotIterations: what a Spec says of loops is what the GLSL has.
func TestRobotIterations(t *testing.T) {
	solver := constantsOf(t, "../shaders/envs/physics/solver.glsl")
	for _, b := range builtIn() {
		if _, ok := robots[b.spec.Name]; !ok {
			continue
		}
		path := "../shaders/envs/" + b.file
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		model := regexp.MustCompile(`#include "(envs/models/.*)"`).FindSubmatch(text)
		if model == nil {
			t.Fatalf("%s includes no model", path)
		}
		passes := constantsOf(t, path)["FRAME_SKIP"]
		if defines := constantsOf(t, "../shaders/"+string(model[1])); defines["RUNGE_KUTTA"] == 1 {
			passes *= 4
		}
		if want := passes * (1 + solver["SOLVER_ITERATIONS"]*(1+solver["SEARCH_ITERATIONS"])); b.spec.Iterations != want {
			t.Errorf("%s: Iterations is %d; the GLSL has %d", b.spec.Name, b.spec.Iterations, want)
		}
	}
}

// constantsOf reads the whole numbers that a GLSL file defines.
func constantsOf(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(?:const uint|#define) (\w+)(?: =)? (\d+)`).FindAllStringSubmatch(string(text), -1) {
		out[m[1]], _ = strconv.Atoi(m[2])
	}
	return out
}

// TestRobotBadActions: an action that is no number, or infinite, moves nothing, and costs what it says; other worlds go on to the same bits.
func TestRobotBadActions(t *testing.T) {
	dev := open(t, vk.Validate(false))
	const n = 9
	for _, name := range []string{"Hopper-v5", "HalfCheetah-v5", "InvertedDoublePendulum-v5"} {
		run := func(change func(actions []float32, width int)) (state []float32, reward []float32) {
			b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled})
			if _, err := b.Reset(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			width := b.Environment().ActionWords()
			for step := range 5 {
				actions := make([]float32, n*width)
				for i := range actions {
					actions[i] = float32(math.Sin(float64(7*i + step)))
				}
				if step == 3 {
					change(actions, width)
				}
				got, err := b.StepContinuous(t.Context(), actions)
				if err != nil {
					t.Fatal(err)
				}
				if step == 3 {
					reward = slices.Clone(got.Reward)
				}
			}
			s, err := b.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s.Env, reward
		}
		still, _ := run(func(a []float32, width int) { clear(a[4*width : 5*width]) })
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 2e10} {
			got, reward := run(func(a []float32, width int) {
				clear(a[4*width : 5*width])
				a[4*width] = bad
			})
			if !slices.Equal(wordsOf(got), wordsOf(still)) {
				t.Errorf("%s: an action of %g does not move as a zero one, or another world differs", name, bad)
			}
			if r := float64(reward[4]); name == "HalfCheetah-v5" && !(math.IsNaN(r) || r < -1e15) {
				t.Errorf("%s: an action of %g is paid %g; want its cost", name, bad, r)
			}
			for i, r := range reward {
				if i != 4 && (math.IsNaN(float64(r)) || math.Abs(float64(r)) > 100) {
					t.Errorf("%s: world %d is paid %g beside an action of %g", name, i, r, bad)
				}
			}
		}
	}
}

// TestRobotDiverges: a world whose motion leaves all bounds ends its episode, begins another, and leaves its neighbours alone.
func TestRobotDiverges(t *testing.T) {
	dev := open(t, vk.Validate(false))
	const n, bad = 9, 4
	for _, name := range []string{"Swimmer-v5", "Hopper-v5", "Reacher-v5"} {
		robot := robots[name]
		run := func(speed float32) (Transition, State) {
			b := newBatch(t, dev, name, 1, n, Options{})
			if _, err := b.Reset(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			s, err := b.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if speed != 0 {
				s.Env[(robot.positions+robot.velocities-1)*n+bad] = speed
			}
			if err := b.SetState(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got, err := b.StepContinuous(t.Context(), make([]float32, n*b.Environment().ActionWords()))
			if err != nil {
				t.Fatal(err)
			}
			if s, err = b.State(t.Context()); err != nil {
				t.Fatal(err)
			}
			return got, s
		}
		_, healthy := run(0)
		for _, speed := range []float32{1e30, float32(math.NaN()), float32(math.Inf(-1))} {
			got, after := run(speed)
			if got.Done[bad]&Terminated == 0 {
				t.Errorf("%s: a world at the speed %g goes on", name, speed)
			}
			if math.IsNaN(float64(got.Reward[bad])) {
				t.Errorf("%s: a world at the speed %g is paid NaN", name, speed)
			}
			for f := range len(after.Env) / n {
				for e := range n {
					v := after.Env[f*n+e]
					if e == bad && !(math.Abs(float64(v)) < 10) {
						t.Errorf("%s: after a world at the speed %g the next episode begins with %s = %g", name, speed, lookup(t, name).State[f], v)
					}
					if e != bad && math.Float32bits(v) != math.Float32bits(healthy.Env[f*n+e]) {
						t.Fatalf("%s: a world at the speed %g changes its neighbour %d", name, speed, e)
					}
				}
			}
		}
	}
}

// TestAntRests: without actions an Ant comes to rest on the ground, and stays.
func TestAntRests(t *testing.T) {
	dev := open(t, vk.Validate(false))
	const n = 8
	b := newBatch(t, dev, "Ant-v5", 1, n, Options{AutoReset: Disabled, TimeLimit: NoTimeLimit})
	if _, err := b.Reset(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	robot := robots["Ant-v5"]
	still := make([]float32, n*8)
	run := func(steps int) State {
		for range steps {
			if _, err := b.StepContinuous(t.Context(), still); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before, after := run(400), run(200)
	speed, moved := 0.0, 0.0
	for f := range robot.positions + robot.velocities {
		for e := range n {
			v := float64(after.Env[f*n+e])
			if f < robot.positions {
				moved = max(moved, math.Abs(v-float64(before.Env[f*n+e])))
			} else {
				speed = max(speed, math.Abs(v))
			}
		}
	}
	t.Logf("at rest: largest speed %.2g, largest change of a position in 1000 time steps %.2g", speed, moved)
	if !(speed < 1e-3) || !(moved < 1e-2) {
		t.Errorf("an Ant at rest moves at %g, by %g in 10 s; want at most 1e-3 and 1e-2", speed, moved)
	}
}
