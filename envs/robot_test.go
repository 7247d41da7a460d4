package envs

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestRobotIterations: an environment counts the loops of its dynamics by the solver's bounds in GLSL.
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
		defines := constantsOf(t, "../shaders/"+string(model[1]))
		if defines["RUNGE_KUTTA"] == 1 {
			passes *= 4
		}
		loops, once, often := 0, 0, 0
		if searches, o, i := modelLoops(t, string(model[1])); searches {
			loops, once, often = solver["SOLVER_ITERATIONS"]*(1+solver["SEARCH_ITERATIONS"]), o, i
		}
		if slots := defines["TOUCHES"]; slots > 0 { // loops that fill the slots and sum their forces; two per iteration
			loops += once*slots + solver["SOLVER_ITERATIONS"]*often*slots
		}
		tries := constantsOf(t, path)["TRIES"] // of a reset, to place what is to be pushed
		if got, want := lookup(t, b.spec.Name).Iterations, passes*(1+loops)+tries; got != want {
			t.Errorf("%s: Iterations is %d; the GLSL has %d", b.spec.Name, got, want)
		}
	}
}

// modelLoops reports whether a model's solver iterates, and counts its loops over slots outside and inside the
// solver's iterations.
func modelLoops(t *testing.T, path string) (searches bool, once, often int) {
	t.Helper()
	text, err := os.ReadFile("../shaders/" + path)
	if err != nil {
		t.Fatal(err)
	}
	iterates := false
	for line := range strings.SplitSeq(string(text), "\n") {
		switch loops := strings.Contains(line, "while (++slot < touches)") || strings.Contains(line, "touches < TOUCHES);"); {
		case strings.HasPrefix(line, "    for (uint iteration"):
			iterates, searches = true, true
		case line == "    }":
			iterates = false
		case loops && iterates:
			often++
		case loops:
			once++
		}
	}
	return searches, once, often
}

// constantsOf reads the integers that a GLSL file defines.
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

// TestRobotBadActions: an action that is not finite, or too large, has no effect. If its cost is not finite the
// episode ends as diverged, without a reward; a finite cost is charged. Other environments are bit-identical to a run
// without it.
func TestRobotBadActions(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	const n = 9
	for _, name := range []string{"Hopper-v5", "HalfCheetah-v5", "InvertedDoublePendulum-v5"} {
		run := func(change func(actions []float32, width int)) (state, reward []float32, done []Done) {
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
					reward, done = slices.Clone(got.Reward), slices.Clone(got.Done)
				}
			}
			s, err := b.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s.Env, reward, done
		}
		still, _, _ := run(func(a []float32, width int) { clear(a[4*width : 5*width]) })
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 2e10} {
			got, reward, done := run(func(a []float32, width int) {
				clear(a[4*width : 5*width])
				a[4*width] = bad
			})
			finite := !math.IsNaN(float64(bad)) && !math.IsInf(float64(bad), 0)
			costs := name != "InvertedDoublePendulum-v5"
			ends := costs && !finite
			for i, v := range got {
				if !(ends && i%n == 4) && math.Float32bits(v) != math.Float32bits(still[i]) {
					t.Errorf("%s: beside an action of %g element %d of environment %d is %g; want %g", name, bad, i/n, i%n, v, still[i])
				}
			}
			if ended := done[4]&Diverged != 0; ended != ends || ended && reward[4] != 0 {
				t.Errorf("%s: an action of %g is done %d and paid %g; want it to end as diverged without a reward: %v", name, bad, done[4], reward[4], ends)
			}
			if name == "HalfCheetah-v5" && finite && !(reward[4] < -1e15) {
				t.Errorf("%s: an action of %g is paid %g; want its cost", name, bad, reward[4])
			}
			for i, r := range reward {
				if i != 4 && (math.IsNaN(float64(r)) || math.Abs(float64(r)) > 100) {
					t.Errorf("%s: environment %d is paid %g beside an action of %g", name, i, r, bad)
				}
			}
		}
	}
}

// TestRobotDiverges: an environment that diverges ends its episode and begins another; its neighbours are not
// affected.
func TestRobotDiverges(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
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
			for e, done := range got.Done {
				if want := map[bool]Done{true: Terminated | Diverged}[e == bad]; done != want {
					t.Errorf("%s: beside or at an environment of the speed %g, environment %d is done %d; want %d", name, speed, e, done, want)
				}
			}
			if math.IsNaN(float64(got.Reward[bad])) {
				t.Errorf("%s: an environment at the speed %g is paid NaN", name, speed)
			}
			for f := range len(after.Env) / n {
				for e := range n {
					v := after.Env[f*n+e]
					if e == bad && !(math.Abs(float64(v)) < 10) {
						t.Errorf("%s: after an environment at the speed %g the next episode begins with %s = %g", name, speed, lookup(t, name).State[f], v)
					}
					if e != bad && math.Float32bits(v) != math.Float32bits(healthy.Env[f*n+e]) {
						t.Fatalf("%s: an environment at the speed %g changes its neighbour %d", name, speed, e)
					}
				}
			}
		}
	}
}

// TestRolloutCountsDiverged: diverged episodes are counted once each, and the other environments are bit-identical to
// a run without them; a second run gives the same bits.
func TestRolloutCountsDiverged(t *testing.T) {
	eng := engine.New(vktest.Open(t, vk.Validate(false)), engine.Seed(31))
	const members, environments = 2, 9
	results := eng.NewState()
	defer results.Close()
	count := results.Tensor("count", engine.Float32, engine.Members(members))
	if err := results.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Swimmer-v5", "Hopper-v5"} {
		f := newFixture(t, eng, name, RolloutConfig{Members: members, Environments: environments, Horizon: 4}, nil)
		robot := robots[name]
		run := func(speeds map[int]float32) (env []float32, diverged []float32) {
			f.begin()
			state := f.floats(f.ro.state)
			for i, speed := range speeds {
				state[(robot.positions+robot.velocities-1)*members*environments+i] = speed
			}
			if err := f.ro.state.WriteFloat32(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			f.run(func(r *engine.Recorder) {
				f.ro.Record(r, f.clock, nil)
				f.ro.RecordDiverged(r, count)
			})
			return f.floats(f.ro.state), f.floats(count)
		}
		healthy, none := run(nil)
		again, _ := run(nil)
		if !slices.Equal(wordsOf(healthy), wordsOf(again)) {
			t.Errorf("%s: the same run gives other bits", name)
		}
		bad := map[int]float32{3: float32(math.NaN()), environments: 1e30, environments + 5: float32(math.Inf(1))}
		got, counted := run(bad)
		if !slices.Equal(none, []float32{0, 0}) || !slices.Equal(counted, []float32{1, 2}) {
			t.Errorf("%s: %v environments diverge where none should, %v of [1 2]", name, none, counted)
		}
		for i, v := range got {
			if _, is := bad[i%(members*environments)]; is {
				if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 1e4 {
					t.Errorf("%s: element %d is %g after the reset", name, i, v)
				}
			} else if math.Float32bits(v) != math.Float32bits(healthy[i]) {
				t.Fatalf("%s: environment %d is touched by others that diverge", name, i%(members*environments))
			}
		}
	}
}

// TestAntRests: without actions an Ant comes to rest on the ground and stays.
func TestAntRests(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
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
