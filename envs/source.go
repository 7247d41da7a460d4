package envs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// sourceHeader holds the settings of a file's header; see FromGLSL.
type sourceHeader struct {
	Summary           string     `doc:"Description of the task, in one line."`
	State             []string   `doc:"Names of the elements of the state; default s0, s1 …"`
	Agents            int        `min:"0" max:"64" doc:"Number of agents, as the GLSL defines AGENTS; 0: what it defines, or 1."`
	ObservationLow    []float32  `doc:"Lower bounds of observations, one, or one per dimension; default none."`
	ObservationHigh   []float32  `doc:"Upper bounds of observations."`
	ObservationShape  []int      `min:"1" max:"4096" doc:"Shape of observations, such as [10, 10, 4]: height, width and channels; default a vector."`
	ObservationType   nn.Element `doc:"How replays store observations: float32 (default), uint8 (multiples of 1/255 up to 1) or bit (0 and 1)."`
	ObservationFrames int        `min:"0" max:"16" doc:"Frames stacked along the last axis of observations, oldest first; 0: none."`
	ActionLow         []float32  `doc:"Lower bounds of continuous actions, one, or one per dimension; default -1."`
	ActionHigh        []float32  `doc:"Upper bounds of continuous actions; default 1."`
	MaxSteps          int        `min:"0" max:"1073741823" doc:"Steps until an episode is truncated; 0: set by the configuration's [environment] time_limit."`
	Iterations        int        `min:"0" max:"60000" doc:"Maximum iterations of all loops in a step, except those with [[unroll]]."`
	Position          []string   `doc:"One to three elements of the state that are the position of a ball, for evorl view: x, or x and z, or x, y, z."`
	ViewSize          float64    `doc:"Width of the view of evorl view, in the unit of position; of a robot the distance of the camera."`
	Sense             []string   `doc:"What a robot's dynamics give besides positions and velocities, such as site tip xz, if the file includes an MJCF file."`
	Contacts          string     `doc:"Contacts of an included MJCF file: all (default), or ground: only those of shapes other than meshes with planes."`
	Model             string     `doc:"What a viewer shows of a robot, as JSON of a Model; written by evorl where a file includes an MJCF file."`
}

// headerMark is the beginning of a header line.
const headerMark = "//!"

// FromGLSL makes an environment from a file's text that also contains its Spec: its first line is "// environment:
// NAME", and lines that begin with //! are TOML, with these keys:
//
//	//! summary = "reach the middle"
//	//! state = ["x", "v"]          # default s0, s1 …
//	//! agents = 2                  # default what the GLSL defines as AGENTS, or 1
//	//! observation_low = [-10]     # one for all or one per dimension; default none
//	//! observation_high = [10]
//	//! observation_shape = [10, 10, 4] # height, width, channels; default a vector
//	//! observation_type = "bit"    # how replays store them: float32 (default), uint8 (multiples of 1/255 up to 1) or bit (0 and 1)
//	//! observation_frames = 4      # stacked along the last axis, oldest first; an episode's first frame is repeated before it
//	//! action_low = [-1]           # of continuous actions; default -1
//	//! action_high = [1]
//	//! max_steps = 200             # default: the configuration must have a time limit
//	//! iterations = 0              # of all loops in a step
//	//! position = ["x"]            # what evorl view shows: a ball at one to three elements of the state
//	//! view_size = 4.0             # width of the view
//	//! sense = ["site tip xz"]     # what the dynamics of an included MJCF file give besides positions and velocities
//	//! contacts = "ground"         # of that file: only contacts of planes with shapes other than meshes; default all
//	//! model = '{…}'               # instead of position: a robot, the JSON of a Model; the state begins with its positions
//
// The GLSL defines the sizes of spaces and state; see New for what else it must define. file names the file in errors.
//
// Errors: a mistake in the header is a *config.Error with line and column; others as New.
func FromGLSL(file string, text []byte) (*Environment, error) {
	glsl := string(text)
	first, _, _ := strings.Cut(glsl, "\n")
	name, ok := strings.CutPrefix(strings.TrimRight(first, " \r"), "// environment: ")
	if !ok {
		return nil, fmt.Errorf("%s:1: the file begins with %.60q; want // environment: NAME", file, first)
	}
	d, err := config.ParseHeader(file, text, headerMark)
	if err != nil {
		return nil, err
	}
	h := sourceHeader{ViewSize: 4}
	if err := d.Decode(config.Sections{{Name: "", Value: &h}}); err != nil {
		return nil, err
	}
	spec := Spec{Name: name, Summary: h.Summary, Source: file, MaxSteps: h.MaxSteps, Iterations: h.Iterations}
	if err := h.spaces(d, &spec, glsl); err != nil {
		return nil, err
	}
	if err := h.robot(d, &spec, glsl); err != nil {
		return nil, err
	}
	if err := h.view(d, &spec); err != nil {
		return nil, err
	}
	e, err := newEnvironment(spec, glsl, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	e.source = file
	return e, nil
}

// Senses returns what the header of a file asks of a robot's dynamics, keys sense and contacts; file names it in errors.
func Senses(file string, text []byte) (sense []string, contacts string, err error) {
	d, err := config.ParseHeader(file, text, headerMark)
	if err != nil {
		return nil, "", err
	}
	var h struct {
		Sense    []string `doc:"As in FromGLSL."`
		Contacts string   `doc:"As in FromGLSL."`
	}
	err = d.Peek("", &h)
	return h.Sense, h.Contacts, err
}

// spaces sets the spaces and the state of a Spec, by the sizes that the GLSL defines.
func (h *sourceHeader) spaces(d *config.Document, spec *Spec, glsl string) error {
	found, err := definesOf(glsl)
	if err != nil {
		return fmt.Errorf("%s: %w", spec.Source, err)
	}
	sizes := map[string]int{}
	for _, name := range []string{"STATE_SIZE", "OBS_SIZE", "ACTION_SIZE", "DISCRETE"} {
		n, err := strconv.Atoi(found[name])
		most := maxSourceSize
		if _, paints := found["ENV_WORD"]; paints && name == "OBS_SIZE" {
			most = maxPainted
		}
		if err != nil || n < 0 || n == 0 && name != "DISCRETE" || n > most {
			return fmt.Errorf("%s: #define %s %s; want a whole number from 1 to %d (of DISCRETE 0 or 1)", spec.Source, name, found[name], most)
		}
		sizes[name] = n
	}
	for _, name := range []string{"AGENTS", "GLOBAL_SIZE"} {
		text, ok := found[name]
		n, err := strconv.Atoi(text)
		if ok && (err != nil || n < 1 || n > maxSourceSize) {
			return fmt.Errorf("%s: #define %s %s; want a whole number from 1 to %d", spec.Source, name, text, maxSourceSize)
		}
		sizes[name] = n
	}
	if n := max(1, sizes["AGENTS"]); h.Agents != 0 && h.Agents != n {
		return d.Errorf("agents", "%d agents of GLSL that has %d: want #define AGENTS %d there, or another number here", h.Agents, n, h.Agents)
	}
	spec.Agents, spec.Global = sizes["AGENTS"], sizes["GLOBAL_SIZE"]
	if spec.State = h.State; h.State == nil {
		for i := range sizes["STATE_SIZE"] {
			spec.State = append(spec.State, fmt.Sprintf("s%d", i))
		}
	}
	low, high := float32(math.Inf(-1)), float32(math.Inf(1))
	if h.ObservationType.Packed() {
		low, high = 0, 1
	}
	if spec.Observation, err = boxOf(d, "observation", h.ObservationLow, h.ObservationHigh, low, high, sizes["OBS_SIZE"]); err != nil {
		return err
	}
	spec.Observation.Element, spec.Observation.Frames = h.ObservationType, h.ObservationFrames
	if axes := nn.Shape(h.ObservationShape); axes != nil {
		if axes.Size() != sizes["OBS_SIZE"] {
			return d.Errorf("observation_shape", "%v has %d elements: want OBS_SIZE, %d", h.ObservationShape, axes.Size(), sizes["OBS_SIZE"])
		}
		spec.Observation.Axes = axes
	}
	if sizes["DISCRETE"] == 0 {
		spec.Action, err = boxOf(d, "action", h.ActionLow, h.ActionHigh, -1, 1, sizes["ACTION_SIZE"])
		return err
	}
	spec.Action = Discrete(sizes["ACTION_SIZE"])
	if h.ActionLow != nil || h.ActionHigh != nil {
		return d.Errorf("action_low", "bounds of actions that are discrete (#define DISCRETE 1): want none")
	}
	return nil
}

// maxSourceSize is larger than any state that a kernel can hold.
const maxSourceSize = 4096

// maxPainted is the largest observation that an environment paints word by word.
const maxPainted = 1 << 19

// boxOf returns a box of n dimensions with bounds given once, per dimension, or not at all.
func boxOf(d *config.Document, name string, low, high []float32, least, most float32, n int) (Space, error) {
	expand := func(key string, bounds []float32, otherwise float32) ([]float32, error) {
		switch len(bounds) {
		case 0:
			return slices.Repeat([]float32{otherwise}, n), nil
		case 1:
			return slices.Repeat(bounds, n), nil
		case n:
			return bounds, nil
		}
		return nil, d.Errorf(key, "%d bounds of %d dimensions: want one, or one per dimension", len(bounds), n)
	}
	l, err := expand(name+"_low", low, least)
	if err != nil {
		return Space{}, err
	}
	h, err := expand(name+"_high", high, most)
	if err != nil {
		return Space{}, err
	}
	for i := range l {
		if !(l[i] < h[i]) {
			return Space{}, d.Errorf(name+"_low", "%g is not below %g, the upper bound of dimension %d", l[i], h[i], i)
		}
	}
	return Box(l, h), nil
}

// robot makes the geometry of a robot if the header has a model.
func (h *sourceHeader) robot(d *config.Document, spec *Spec, glsl string) error {
	if h.Model == "" {
		return nil
	}
	if h.Position != nil {
		return d.Errorf("position", "the file has a robot, which is shown instead: want no position")
	}
	m := new(Model)
	if err := json.Unmarshal([]byte(h.Model), m); err != nil {
		return d.Errorf("model", "no model of a robot (%v): want what evorl writes of an MJCF file", err)
	}
	if err := m.check(len(spec.State)); err != nil {
		return d.Errorf("model", "%v: want what evorl writes of an MJCF file", err)
	}
	defines, err := definesOf(glsl)
	if err != nil {
		return fmt.Errorf("%s: %w", spec.Source, err)
	}
	skip, err := strconv.Atoi(defines["FRAME_SKIP"])
	if err != nil || skip < 1 {
		return fmt.Errorf("%s: the dynamics need const uint FRAME_SKIP = 4u; or another number of time steps in a step", spec.Source)
	}
	camera := Camera{Body: 1, Distance: h.ViewSize, Azimuth: 80, Elevation: -15}
	camera.LookAt[2] = m.Bodies[1].Pos[2]
	spec.Geometry = m.Geometry(skip, camera)
	return nil
}

// view makes a geometry of a ball if the header has a position.
func (h *sourceHeader) view(d *config.Document, spec *Spec) error {
	if h.Position == nil {
		return nil
	}
	if len(h.Position) > 3 {
		return d.Errorf("position", "%d elements of the state: want one to three", len(h.Position))
	}
	if !(h.ViewSize > 0 && h.ViewSize < 1e9) {
		return d.Errorf("view_size", "%g: want more than 0", h.ViewSize)
	}
	axes := [][]int{{0}, {0, 2}, {0, 1, 2}}[len(h.Position)-1]
	var at []int
	for _, name := range h.Position {
		i := slices.Index(spec.State, name)
		if i < 0 {
			return d.Errorf("position", "there is no %q in the state, which has %s", name, strings.Join(spec.State, ", "))
		}
		at = append(at, i)
	}
	radius := h.ViewSize / 40
	spec.Geometry = &Geometry{
		Bodies: []string{"world", "ball"},
		Shapes: []Shape{floor(-h.ViewSize / 4), {Name: "ball", Body: 1, Form: SphereShape, Size: [3]float64{radius}, Color: red},
			{Name: "middle", Form: SphereShape, Size: [3]float64{radius / 2}, Color: dark}},
		Poses: func(state []float32) []Pose {
			var ball Pose
			for k, i := range at {
				ball.Pos[axes[k]] = float64(state[i])
			}
			return []Pose{{}, ball}
		},
		Camera: Camera{Distance: h.ViewSize, Azimuth: 90, Elevation: -15},
		Time:   0.05,
	}
	return nil
}
