package mjcf

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// Task is what a robot is to do: section [task] of a configuration with an MJCF file as env. Expressions are
// arithmetic over the names that Model.Names lists; docs/own.md explains them.
type Task struct {
	Reward     string   `required:"true" doc:"Reward of a step, an expression, such as \"rootx_rate - 0.001 * effort\"."`
	Terminate  string   `doc:"Condition that ends an episode, such as \"rootz < 0.7\"; empty: none. A motion that leaves all bounds always ends it."`
	Observe    []string `doc:"Observations: expressions, and the groups positions (without those that no force depends on) and velocities."`
	FrameSkip  int      `min:"1" max:"1000" doc:"Time steps of the model in a step of the environment."`
	MaxSteps   int      `min:"1" max:"1073741823" doc:"Steps after which an episode is truncated."`
	ResetNoise float64  `min:"0" doc:"An episode begins with positions and velocities within this of the model's."`
	Contacts   string   `doc:"all, or ground: only those of shapes other than meshes with planes; links then pass through each other."`
	ViewSize   float64  `above:"0" unit:"m" doc:"Distance of the camera of evorl view, which follows the first body."`
}

// DefaultTask returns the settings that a configuration may leave out.
func DefaultTask() Task {
	return Task{Observe: []string{"positions", "velocities"}, FrameSkip: 4, MaxSteps: 1000, ResetNoise: 0.01, Contacts: "all", ViewSize: 4}
}

// Environment returns the text of an environment of a model and a task, for envs.FromGLSL: header, dynamics and task
// in one file, which needs neither MuJoCo nor the model's file. An error in an expression is as of config.Invalid,
// by its key in [task].
func (t Task) Environment(m *Model) (string, error) {
	restricted := *m
	if err := restricted.Restrict(t.Contacts); err != nil {
		return "", config.Invalid("task.contacts", "%v", err)
	}
	m = &restricted
	names, err := newVocabulary(m)
	if err != nil {
		return "", err
	}
	if len(m.Actuators) == 0 {
		return "", fmt.Errorf("%s: no actuators; want one at least", m.Source)
	}
	reward, terminated, err := t.outcome(names)
	if err != nil {
		return "", err
	}
	leading, err := m.travel()
	if err != nil {
		return "", err
	}
	observations, err := t.observations(m, names, leading)
	if err != nil {
		return "", err
	}
	sensing := *m // the model's own senses are the task's
	sensing.Senses, sensing.SensedAtReset, sensing.AbsoluteSenses = names.senses, len(names.senses) > 0, true
	dynamics, err := Embedded(&sensing)
	if err != nil {
		return "", err
	}
	w := &writer{}
	t.header(w, m, names.senses)
	w.WriteString(dynamics)
	t.sizes(w, m, len(names.senses), len(observations))
	t.functions(w, m, names.senses, reward, terminated, observations)
	return w.String(), nil
}

// outcome translates reward and condition of termination.
func (t Task) outcome(names *vocabulary) (reward, terminated string, err error) {
	terminated = "false"
	if t.Terminate != "" {
		if terminated, err = translate(t.Terminate, condition, names.lookup); err != nil {
			return "", "", config.Invalid("task.terminate", "%v", err)
		}
	}
	reward, err = translate(t.Reward, scalar, func(name string) (string, kind, error) {
		if name == "terminated" {
			return name, condition, nil
		}
		return names.lookup(name)
	})
	if err != nil {
		return "", "", config.Invalid("task.reward", "%v", err)
	}
	return reward, terminated, nil
}

// observations translates what an agent observes; leading is the number of positions that no force depends on.
func (t Task) observations(m *Model, names *vocabulary, leading int) ([]string, error) {
	var out []string
	for _, text := range t.Observe {
		switch text {
		case "positions":
			for i := leading; i < m.NQ; i++ {
				out = append(out, fmt.Sprintf("s[%d]", i))
			}
			continue
		case "velocities":
			for i := range m.NV {
				out = append(out, fmt.Sprintf("s[%d]", m.NQ+i))
			}
			continue
		}
		glsl, err := translate(text, scalar, func(name string) (string, kind, error) {
			glsl, of, err := names.lookup(name)
			if err == nil && (strings.HasPrefix(glsl, "RATE") || strings.HasPrefix(glsl, "action") || glsl == "effort") {
				err = fmt.Errorf("%q belongs to a step, and observations to a state; want positions, velocities, or places of bodies and sites", name)
			}
			return glsl, of, err
		})
		if err != nil {
			return nil, config.Invalid("task.observe", "%v", err)
		}
		out = append(out, glsl)
	}
	if len(out) == 0 {
		return nil, config.Invalid("task.observe", "nothing is observed: want [\"positions\", \"velocities\"], or expressions")
	}
	return out, nil
}

var travelLine = regexp.MustCompile(`(?m)^#define TRAVEL ([0-9]+)`)

// travel returns the number of leading positions that no force depends on.
func (m *Model) travel() (int, error) {
	program, err := Program(m)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(travelLine.FindStringSubmatch(program)[1])
}

// Embedded returns the GLSL of a model with a line of header, model = '…', from which envs.FromGLSL knows what a viewer
// shows.
func Embedded(m *Model) (string, error) {
	program, err := Program(m)
	if err != nil {
		return "", err
	}
	view, err := View(m)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(view)
	if err != nil {
		return "", err
	}
	return "//! model = '" + strings.ReplaceAll(string(text), "'", `\u0027`) + "'\n" + program, nil
}

// writer collects lines.
type writer struct{ strings.Builder }

func (w *writer) say(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// header writes what envs.FromGLSL reads.
func (t Task) header(w *writer, m *Model, senses []string) {
	w.say("// environment: %s", m.Name)
	w.say("//! summary = %q", "a task for the robot of "+m.Source)
	var state []string
	for _, list := range []struct {
		letter string
		n      int
	}{{"q", m.NQ}, {"v", m.NV}, {"a", m.NV}} {
		for i := range list.n {
			state = append(state, fmt.Sprintf("%q", fmt.Sprint(list.letter, i)))
		}
	}
	for _, sense := range senses {
		state = append(state, fmt.Sprintf("%q", sense))
	}
	w.say("//! state = [%s]", strings.Join(state, ", "))
	var low, high []string
	for i := range m.Actuators {
		a := &m.Actuators[i]
		within := [2]float64{-1, 1}
		if a.Limited {
			within = a.Range
		}
		low, high = append(low, symbolic.Literal(within[0])), append(high, symbolic.Literal(within[1]))
	}
	w.say("//! action_low = [%s]", strings.Join(low, ", "))
	w.say("//! action_high = [%s]", strings.Join(high, ", "))
	w.say("//! max_steps = %d", t.MaxSteps)
	w.say("//! view_size = %s\n", symbolic.Literal(t.ViewSize))
	w.say("// Made by evorl of %s and [task] of a configuration:", m.Source)
	w.say("// reward = %q", t.Reward)
	w.say("// terminate = %q", t.Terminate)
	w.say("// observe = %q", t.Observe)
	w.say("// contacts = %q\n", t.Contacts)
}

// sizes writes the sizes of state and spaces and the constants of the task.
func (t Task) sizes(w *writer, m *Model, senses, observations int) {
	w.say("\n#include \"engine/rng.glsl\"")
	w.say("#include \"engine/math.glsl\"")
	w.say("#define STATE_SIZE %d // positions, velocities, accelerations, places", m.NQ+2*m.NV+senses)
	w.say("#define OBS_SIZE %d", observations)
	w.say("#define ACTION_SIZE %d", len(m.Actuators))
	w.say("#define DISCRETE 0")
	w.say("#include \"envs/physics/advance.glsl\"")
	w.say("const uint FRAME_SKIP = %du;", t.FrameSkip)
	w.say("const float DT = %s;", symbolic.Literal(float64(t.FrameSkip)*m.Timestep))
	w.say("const float RESET_NOISE = %s;", symbolic.Literal(t.ResetNoise))
	w.say("float task_square(float x) { return x * x; }")
	w.say("// The mean rate of a position over a step: relative to the step's beginning where nothing depends on the position.")
	w.say("#define RATE(i) ((i < TRAVEL ? travel[i < TRAVEL ? i : 0] : s[i] - before[i]) / DT)\n")
}

// functions writes reset, step and observation.
func (t Task) functions(w *writer, m *Model, senses []string, reward, terminated string, observations []string) {
	at := m.NQ + 2*m.NV
	w.say("void env_reset(out float s[STATE_SIZE], inout Rng rng) {")
	w.say("    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);")
	w.say("    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;")
	for _, b := range m.Bodies {
		for _, j := range b.Joints {
			for i, x := range j.Reference {
				if x = snap(x); x != 0 {
					w.say("    s[%d] += %s;", j.Q+i, symbolic.Literal(x))
				}
			}
		}
	}
	if len(senses) > 0 {
		w.say("    float q[NQ], v[NV], sensed[SENSES];")
		w.say("    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = s[i];")
		w.say("    [[unroll]] for (uint i = 0u; i < NV; i++) v[i] = s[NQ + i];")
		w.say("    physics_sense(q, v, sensed);")
		w.say("    [[unroll]] for (uint i = 0u; i < SENSES; i++) s[%d + i] = sensed[i];", at)
	}
	w.say("}\n")
	w.say("void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {")
	w.say("    float travel[TRAVELLED], sensed[SENSES], before[STATE_SIZE] = s;")
	w.say("    bool bounded = physics_step(s, action, travel, sensed);")
	if len(senses) > 0 {
		w.say("    [[unroll]] for (uint i = 0u; i < SENSES; i++) s[%[1]d + i] = bounded ? sensed[i] : s[%[1]d + i];", at)
	}
	w.say("    float effort = 0.0;")
	w.say("    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) effort += action[i] * action[i];")
	w.say("    terminated = !bounded || %s;", terminated)
	w.say("    reward = %s;", reward)
	w.say("}\n")
	w.say("void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {")
	for i, o := range observations {
		w.say("    obs[%d] = %s;", i, o)
	}
	w.say("}")
}
