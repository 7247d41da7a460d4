package mjcf

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestExpressions: expressions become GLSL; a mistake names the expression and the column.
func TestExpressions(t *testing.T) {
	of := func(name string) (string, kind, error) {
		v, err := newVocabulary(modelOf(t, "hopper"))
		if err != nil {
			t.Fatal(err)
		}
		return v.lookup(name)
	}
	for _, c := range []struct {
		text string
		want kind
		glsl string // or the beginning of the error
	}{
		{"rootx_rate - 0.001*effort", scalar, "(RATE(0) - (0.001 * effort))"},
		{"1 - square(rootz) / 2e3", scalar, "(1.0 - (task_square(s[1]) / 2000.0))"},
		{"where(rootz < .7 || !(rooty >= -0.2), -1, sin(foot_joint_velocity))", scalar,
			"(((s[1] < 0.7) || (!(s[2] >= (-0.2)))) ? (-1.0) : m_sin(s[11]))"},
		{"rootz < 0.7 && min(1, 2) > 0", condition, "((s[1] < 0.7) && (min(1.0, 2.0) > 0.0))"},
		{"body_foot_z", scalar, "s[18]"},
		{"", scalar, `"", column 1: expected operand`},
		{"rootz 0.7", condition, `"rootz 0.7", column 7: `},
		{"rootz", condition, `"rootz", column 1: a number; want a condition`},
		{"1 + (rootz < 2)", scalar, `"1 + (rootz < 2)", column 5: a condition; want a number`},
		{"roots", scalar, `"roots", column 1: there is no "roots"; did you mean "rootx"?`},
		{"2 * sine(rootz)", scalar, `"2 * sine(rootz)", column 5: there is no function "sine"; did you mean "sin"?`},
		{"min(rootz)", scalar, `"min(rootz)", column 1: min has 1 arguments; want 2`},
		{"where(1, 2, 3)", scalar, `"where(1, 2, 3)", column 7: a number; want a condition`},
		{"where(rootz > 1)", scalar, `"where(rootz > 1)", column 1: where has 1 arguments`},
		{"rootz ^ 2", scalar, `"rootz ^ 2", column 1: no operator ^`},
		{"rootz == 2", condition, `"rootz == 2", column 1: no operator ==`},
		{"&rootz", scalar, `"&rootz", column 1: no operator &`},
		{"s[0]", scalar, `"s[0]", column 1: want numbers, names`},
		{"1e99", scalar, `"1e99", column 1: 1e99 is not a decimal number`},
		{"\"a\"", scalar, `"\"a\"", column 1: "a" is not a decimal number`},
		{"func() {}()", scalar, `"func() {}()", column 1: want the name of a function`},
		{"mass_w", scalar, `"mass_w", column 1: there is no "mass_w"`},
	} {
		got, err := translate(c.text, c.want, of)
		if err != nil {
			got = err.Error()
		}
		if got != c.glsl && (err == nil || !strings.HasPrefix(got, c.glsl)) {
			t.Errorf("%q: %s; want %s", c.text, got, c.glsl)
		}
	}
}

// TestTask: reward, observations, reset and time of a task on the device are those computed here from its states.
func TestTask(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	m := modelOf(t, "hopper")
	task := DefaultTask()
	task.Reward = "rootx_rate + 2*rootz - 0.1*effort + where(terminated, 100, 0) + 0.01*leg_joint_velocity"
	task.Terminate = "rootz < 1.25"
	task.Observe = []string{"rootx", "rootz", "leg_joint_velocity", "body_foot_x", "body_foot_z", "cos(rooty)", "positions", "velocities"}
	task.ResetNoise, task.FrameSkip, task.MaxSteps = 0.05, 3, 77
	text, err := task.Environment(m)
	if err != nil {
		t.Fatal(err)
	}
	env, err := envs.FromGLSL("hopper.glsl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if env.MaxSteps != 77 || env.Geometry == nil || math.Abs(env.Geometry.Time-3*m.Timestep) > 1e-12 || env.Action.String() != "Box(-1, 1, (3))" {
		t.Errorf("%d steps, action %v, geometry %v", env.MaxSteps, env.Action, env.Geometry)
	}
	const rows = 37
	b, err := envs.NewBatch(t.Context(), dev, env, 1, rows, envs.Options{AutoReset: envs.Disabled})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	before, err := b.Reset(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	before = slices.Clone(before) // the next step overwrites it
	width := env.ObsSize()
	if width != 6+5+6 { // the position of the root along x moves nothing
		t.Fatalf("%d observations", width)
	}
	state, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	view, err := View(m)
	if err != nil {
		t.Fatal(err)
	}
	foot := len(view.Bodies) - 1
	for e := range rows {
		q := make([]float32, m.NQ)
		for i := range q {
			q[i] = state.Env[i*rows+e]
			if reference := []float64{0, 1.25, 0, 0, 0, 0}[i]; math.Abs(float64(q[i])-reference) > 0.05+1e-6 {
				t.Errorf("row %d begins at position %d = %g", e, i, q[i])
			}
		}
		pose := view.Poses(q)[foot]
		for k, want := range map[int]float64{3: pose.Pos[0], 4: pose.Pos[2], 5: math.Cos(float64(q[2])), 6: float64(q[1])} {
			if got := float64(before[e*width+k]); math.Abs(got-want) > 1e-5 {
				t.Errorf("row %d: observation %d is %g at a reset; want %g", e, k, got, want)
			}
		}
	}
	control := make([]float32, 3*rows)
	for i := range control {
		control[i] = float32(i%7)/4 - 0.75
	}
	got, err := b.StepContinuous(t.Context(), control)
	if err != nil {
		t.Fatal(err)
	}
	if state, err = b.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	const far = 5 // along x, where the next step begins
	for e := range rows {
		state.Env[e] = far
	}
	ended := 0
	for e := range rows {
		at := func(k int) float64 { return float64(got.NextObs[e*width+k]) }
		effort := 0.0
		for _, a := range control[3*e : 3*e+3] {
			effort += float64(a) * float64(a)
		}
		want := (at(0)-float64(before[e*width]))/(3*m.Timestep) + 2*at(1) - 0.1*effort + 0.01*at(2)
		if at(1) < 1.25 {
			want += 100
			ended++
		}
		if math.Abs(float64(got.Reward[e])-want) > 2e-3 { // the difference of positions divided by 6 ms
			t.Errorf("row %d: reward %g; want %g", e, got.Reward[e], want)
		}
		if (at(1) < 1.25) != (got.Done[e] != 0) {
			t.Errorf("row %d: height %g, done %v", e, at(1), got.Done[e])
		}
	}
	if ended == 0 || ended == rows {
		t.Errorf("%d of %d episodes ended; want some", ended, rows)
	}
	if err := b.SetState(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	if got, err = b.StepContinuous(t.Context(), control); err != nil {
		t.Fatal(err)
	}
	if state, err = b.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e := range rows { // places are those in the world, not relative to where the step began
		if got.Done[e] != 0 {
			continue
		}
		q := make([]float32, m.NQ)
		for i := range q {
			q[i] = state.Env[i*rows+e]
		}
		if x, want := float64(got.NextObs[e*width+3]), view.Poses(q)[foot].Pos[0]; math.Abs(x-want) > 0.1 || math.Abs(want-far) > 1 {
			t.Errorf("row %d: the foot is observed at %g; it is at %g", e, x, want)
		}
	}
}

// TestTasksOfAllModels: every model makes an environment, with all of its names observed that a state has.
func TestTasksOfAllModels(t *testing.T) {
	for _, name := range models(t) {
		m := modelOf(t, name)
		names, err := m.Names()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		task := DefaultTask()
		task.Reward, task.Observe = "1", nil
		for _, n := range names {
			if !strings.HasSuffix(n, "_rate") && !strings.HasSuffix(n, "_action") && n != "effort" && n != "terminated" {
				task.Observe = append(task.Observe, n)
			}
		}
		text, err := task.Environment(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if env, err := envs.FromGLSL(name+".glsl", []byte(text)); err != nil || env.ObsSize() != len(task.Observe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTaskMistakes: what a task lacks is told by its key.
func TestTaskMistakes(t *testing.T) {
	for _, c := range []struct {
		change func(*Task)
		want   string
	}{
		{func(x *Task) { x.Reward = "" }, `"", column 1`},
		{func(x *Task) { x.Terminate = "1" }, "want a condition"},
		{func(x *Task) { x.Observe = nil }, "nothing is observed"},
		{func(x *Task) { x.Observe = []string{"effort"} }, `"effort" belongs to a step`},
		{func(x *Task) { x.Observe = []string{"rootx_rate"} }, `"rootx_rate" belongs to a step`},
		{func(x *Task) { x.Observe = []string{"terminated"} }, `there is no "terminated"`},
	} {
		task := DefaultTask()
		task.Reward = "1"
		c.change(&task)
		if _, err := task.Environment(modelOf(t, "hopper")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
	m := modelOf(t, "hopper")
	m.Bodies[1].Joints[0].Name = "effort"
	if _, err := m.Names(); err == nil || !strings.Contains(err.Error(), `"effort", which has another meaning`) {
		t.Error(err)
	}
}

// TestLoad: a file is compiled once, and again when it, a file that it includes, or its name changes.
func TestLoad(t *testing.T) {
	folder := t.TempDir()
	model, err := filepath.Abs("models/hopper.json")
	if err != nil {
		t.Fatal(err)
	}
	python, calls := filepath.Join(folder, "python"), filepath.Join(folder, "calls")
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("python", "#!/bin/sh\necho call >> "+calls+"\necho 'dump.py: warning: robot.xml:1: <option>: limited' >&2\n"+
		"stem=$(basename \"$4\" .xml)\ncp "+model+" \"$3/$stem.json\"\n", 0o755)
	t.Setenv("MUJOCO_PYTHON", python)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
	t.Setenv("HOME", folder)
	load := func(path string, want int) {
		t.Helper()
		m, warnings, err := Load(t.Context(), path)
		if want := []string{"robot.xml:1: <option>: limited"}; !slices.Equal(warnings, want) {
			t.Errorf("warnings %q; want %q", warnings, want)
		}
		text, _ := os.ReadFile(calls)
		if err != nil || m.NV != 6 || strings.Count(string(text), "call") != want {
			t.Errorf("%v, %d calls; want %d", err, strings.Count(string(text), "call"), want)
		}
	}
	robot := write("robot.xml", `<mujoco><include file="part.xml"/></mujoco>`, 0o644)
	if _, _, err := Load(t.Context(), robot); err == nil || !strings.HasSuffix(err.Error(), "part.xml: no such file") {
		t.Error(err)
	}
	write("part.xml", "<mujoco/>", 0o644)
	load(robot, 1)
	load(robot, 1)
	write("part.xml", "<mujoco><!-- other --></mujoco>", 0o644)
	load(robot, 2)
	mesh := write("mesh.xml", `<mujoco><asset><mesh file="a.stl"/></asset></mujoco>`, 0o644)
	load(mesh, 3)
	load(mesh, 4) // the mesh may have changed
	write("part.xml", `<mujoco><include file="robot.xml"/></mujoco>`, 0o644)
	if _, _, err := Load(t.Context(), robot); err == nil || !strings.Contains(err.Error(), "want files that do not include themselves") {
		t.Error(err)
	}
	write("part.xml", "<mujoco>\n<body>\n</mujoco>", 0o644)
	if _, _, err := Load(t.Context(), robot); err == nil || !strings.Contains(err.Error(), "part.xml:3: no XML") {
		t.Error(err)
	}
	write("part.xml", "<mujoco></mujoco><!-- new -->", 0o644)
	t.Setenv("MUJOCO_PYTHON", filepath.Join(folder, "none"))
	if _, _, err := Load(t.Context(), robot); err == nil || !strings.Contains(err.Error(), "pip install mujoco==") || !strings.HasPrefix(err.Error(), robot) {
		t.Error(err)
	}
}

// TestLargeModel: a model with too many degrees of freedom is refused before Python begins, which takes minutes for thousands.
func TestLargeModel(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("MUJOCO_PYTHON", filepath.Join(folder, "none"))
	t.Setenv("XDG_CACHE_HOME", folder)
	load := func(bodies int) error {
		parts := strings.Repeat("<body><joint/><joint/></body>\n", bodies)
		for name, text := range map[string]string{
			"parts.xml": "<mujoco><frame>" + parts + "</frame></mujoco>",
			"robot.xml": "<mujoco><default><joint/></default><worldbody><body><freejoint/><include file=\"parts.xml\"/></body></worldbody>" +
				"<tendon><fixed><joint/></fixed></tendon></mujoco>",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := Load(t.Context(), filepath.Join(folder, "robot.xml"))
		return err
	}
	if err := load(61); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("128 degrees of freedom: %v; want Python to be asked", err)
	}
	if err := load(62); err == nil || !strings.HasSuffix(err.Error(), "robot.xml: 130 degrees of freedom; want at most 128") {
		t.Errorf("130 degrees of freedom: %v", err)
	}
}
