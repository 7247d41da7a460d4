package envs

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestModelPoses: poses of bodies and shapes agree with MuJoCo's forward kinematics (tools/reference/geometry.py).
func TestModelPoses(t *testing.T) {
	data, err := os.ReadFile("testdata/geometry.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Meta         map[string]any
		Environments map[string][]struct {
			Q             []float32
			Bodies, Geoms [][]float64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lookup(t, "Hopper-v5").Source, file.Meta["mujoco"].(string)) {
		t.Fatalf("the poses are of MuJoCo %v", file.Meta["mujoco"])
	}
	for name, m := range map[string]*Model{
		"Ant-v5": &antModel, "HalfCheetah-v5": &halfCheetahModel, "Hopper-v5": &hopperModel, "Humanoid-v5": &humanoidModel,
		"HumanoidStandup-v5": &humanoidstandupModel, "Pusher-v5": &pusherModel,
		"InvertedDoublePendulum-v5": &invertedDoublePendulumModel, "InvertedPendulum-v5": &invertedPendulumModel, "Reacher-v5": &reacherModel,
		"Swimmer-v5": &swimmerModel, "Walker2d-v5": &walker2dModel,
	} {
		g := Spec{}.seen(m, 1, Camera{}).Geometry
		states := file.Environments[name]
		if len(states) == 0 {
			t.Errorf("no poses of %s", name)
		}
		worst := 0.0
		note := func(got, want float64) {
			if d := math.Abs(got - want); !(d <= worst) {
				worst = d
			}
		}
		for _, s := range states {
			poses := g.Poses(s.Q)
			if len(poses) != len(s.Bodies) || len(g.Bodies) != len(s.Bodies) || len(g.Shapes) != len(s.Geoms) {
				t.Fatalf("%s: %d poses, %d bodies, %d shapes; MuJoCo has %d bodies, %d geoms", name, len(poses), len(g.Bodies), len(g.Shapes), len(s.Bodies), len(s.Geoms))
			}
			for b, want := range s.Bodies {
				sign := 1.0 // a quaternion and its negative are the same rotation
				if dot := poses[b].Rot[0]*want[3] + poses[b].Rot[1]*want[4] + poses[b].Rot[2]*want[5] + poses[b].Rot[3]*want[6]; dot < 0 {
					sign = -1
				}
				for k := range 3 {
					note(poses[b].Pos[k], want[k])
				}
				for k := range 4 {
					note(sign*poses[b].Rot[k], want[3+k])
				}
			}
			for i, want := range s.Geoms {
				at := g.Shapes[i].On(poses[g.Shapes[i].Body])
				for k := range 3 {
					note(at.Pos[k], want[k])
					axis := [3]float64{}
					axis[k] = 1
					for row, v := range turned(at.Rot, axis) {
						note(v, want[3+3*row+k])
					}
				}
			}
		}
		t.Logf("%-25s %d states: largest deviation of positions and rotations %.1g", name, len(states), worst)
		if !(worst <= 1e-8) {
			t.Errorf("%s: poses deviate by %g; want at most 1e-8", name, worst)
		}
	}
}

// TestGeometry: every environment can be drawn in every state.
func TestGeometry(t *testing.T) {
	for _, name := range Names() {
		e := lookup(t, name)
		g := e.Geometry
		if g == nil {
			t.Errorf("%s has no geometry", name)
			continue
		}
		if !(g.Time > 0) || !(g.Camera.Distance > 0) || g.Camera.Body >= len(g.Bodies) || g.Bodies[0] != "world" {
			t.Errorf("%s: %+v", name, g)
		}
		for _, s := range g.Shapes {
			size := map[Form]int{PlaneShape: 0, SphereShape: 1, CapsuleShape: 2, CylinderShape: 2, BoxShape: 3, EllipsoidShape: 3}[s.Form]
			for _, v := range s.Size[:size] {
				if !(v > 0) {
					t.Errorf("%s: %+v; want positive sizes", name, s)
				}
			}
			if s.Name == "" || s.Body < 0 || s.Body >= len(g.Bodies) || s.Form > EllipsoidShape || !(s.Color[3] > 0) {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if strings.HasPrefix(name, "MinAtar-") {
			continue // TestMinAtarGeometry
		}
		states := [][]float64{{0, 0, 1, 0}, {tMazeLength, -1, 1, 11}}
		if name == "RepeatPrevious-v0" {
			states = [][]float64{{2, -1, -1, -1, 13, 13, 12, 13, 1, -1}, {3, 2, 1, 0, 0, 0, 0, 0, 52, 3}}
		}
		if name == "FaultMaze-v0" {
			states = [][]float64{{1, 1}, {9, 7, 1, 1, 0, 1}}
		}
		if _, game := games[name]; game {
			states = gameStates(t, name)
		} else if of, masked := memoryTasks[name]; !masked {
			states = readTrajectory(t, name).state
		} else if of != "" {
			states = readTrajectory(t, of).state
		}
		state := make([]float32, e.StateSize())
		for row := 0; row < len(states); row += min(97, len(states)-1) {
			for i, v := range states[row] {
				state[i] = float32(v)
			}
			poses := g.Poses(state)
			if len(poses) != len(g.Bodies) || poses[0].Pos != [3]float64{} {
				t.Fatalf("%s: %d poses of %d bodies, the world at %v", name, len(poses), len(g.Bodies), poses[0].Pos)
			}
			for b, p := range poses {
				q := unit(p.Rot)
				if n := q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3] + 0*(p.Pos[0]+p.Pos[1]+p.Pos[2]); !(math.Abs(n-1) < 1e-9) {
					t.Errorf("%s: body %d is at %+v", name, b, p)
				}
			}
		}
	}
	// The ends of the moving parts are where Gymnasium and EvoJAX draw them.
	for _, c := range []struct {
		name, shape string
		state       []float32
		x, z        float64
	}{
		{"CartPole-v1", "pole", []float32{1, 0, math.Pi / 2, 0}, 2, 0.06},
		{"Pendulum-v1", "rod", []float32{math.Pi / 2, 0}, -1, 0},
		{"Acrobot-v1", "link 2", []float32{math.Pi / 2, math.Pi / 2, 0, 0}, 1, 1},
		{"CartPoleSwingUp-easy", "pole", []float32{1, 0, math.Pi / 2, 0}, 1.6, 0},
		{"MountainCar-v0", "car", []float32{-math.Pi / 6, 0}, -math.Pi / 6, 0.16}, // at the bottom of the valley
	} {
		g := lookup(t, c.name).Geometry
		found := false
		for _, s := range g.Shapes {
			if s.Name != c.shape {
				continue
			}
			found = true
			end := s.On(g.Poses(c.state)[s.Body]).Point([3]float64{0, 0, 0})
			if s.Form == CapsuleShape {
				end = s.On(g.Poses(c.state)[s.Body]).Point([3]float64{0, 0, s.Size[1]})
				other := s.On(g.Poses(c.state)[s.Body]).Point([3]float64{0, 0, -s.Size[1]})
				if math.Hypot(other[0]-c.x, other[2]-c.z) < math.Hypot(end[0]-c.x, end[2]-c.z) {
					end = other
				}
			}
			if math.Hypot(end[0]-c.x, end[2]-c.z) > 1e-6 {
				t.Errorf("%s in %v: the end of %q is at %v; want x %g, z %g", c.name, c.state, c.shape, end, c.x, c.z)
			}
		}
		if !found {
			t.Errorf("%s has no %q", c.name, c.shape)
		}
	}
}

// TestGeometryTime: the duration of a step agrees with the GLSL.
func TestGeometryTime(t *testing.T) {
	steps := map[string]float64{ // these define no time
		"MountainCar-v0": 1. / 30, "MountainCarContinuous-v0": 1. / 30, "TMaze-v0": 0.2, "RepeatPrevious-v0": 0.5, "FaultMaze-v0": 0.1,
	}
	for _, b := range builtIn() {
		if strings.HasPrefix(b.spec.Name, "MinAtar-") { // these have no time
			continue
		}
		want := steps[b.spec.Name] + games[b.spec.Name]
		for _, file := range []string{b.file, strings.NewReplacer("_easy", "", "_hard", "", "_masked", "").Replace(b.file)} {
			path := "../shaders/envs/" + file
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if m := regexp.MustCompile(`const float TIME_STEP = ([\d.]+);`).FindSubmatch(text); m != nil {
				want, _ = strconv.ParseFloat(string(m[1]), 64)
			}
			if m := regexp.MustCompile(`#include "(envs/models/.*)"`).FindSubmatch(text); m != nil {
				model, err := os.ReadFile("../shaders/" + string(m[1]))
				if err != nil {
					t.Fatal(err)
				}
				step := regexp.MustCompile(`const float TIMESTEP = ([\d.e-]+);`).FindSubmatch(model)
				h, _ := strconv.ParseFloat(string(step[1]), 64)
				want = h * float64(constantsOf(t, path)["FRAME_SKIP"])
			}
		}
		if got := b.spec.Geometry.Time; !(math.Abs(got-want) < 1e-9) {
			t.Errorf("%s: a step takes %g s to see; the GLSL's takes %g s", b.spec.Name, got, want)
		}
	}
}

// TestGeometryRefused: a Geometry that no viewer can show is refused with the Spec.
func TestGeometryRefused(t *testing.T) {
	maker := Worlds(func() (World, error) { return nil, nil })
	for want, spoil := range map[string]func(*Spec){
		"":                    func(*Spec) {},
		"no State":            func(s *Spec) { s.State = nil },
		"no Bodies":           func(s *Spec) { s.Geometry.Bodies = nil },
		"no Poses":            func(s *Spec) { s.Geometry.Poses = nil },
		"a Time of 0":         func(s *Spec) { s.Geometry.Time = 0 },
		"the Distance NaN":    func(s *Spec) { s.Geometry.Camera.Distance = math.NaN() },
		"camera follows body": func(s *Spec) { s.Geometry.Camera.Body = 2 },
		"sphere of body 2":    func(s *Spec) { s.Geometry.Shapes[0].Body = 2 },
		"no form of body 1":   func(s *Spec) { s.Geometry.Shapes[0].Form = 17 },
	} {
		s := Spec{
			Name: "Seen-v0", Observation: Image(2, 3, 1), Action: Discrete(2), State: []string{"x"}, Geometry: &Geometry{
				Bodies: []string{"world", "ball"}, Shapes: []Shape{{Body: 1, Form: SphereShape}}, Poses: func([]float32) []Pose { return make([]Pose, 2) },
				Camera: Camera{Distance: 3}, Time: 0.1,
			},
		}
		spoil(&s)
		if _, err := NewOutside(s, maker); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
