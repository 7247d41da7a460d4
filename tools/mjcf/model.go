package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Model is what MuJoCo's compiler made of an MJCF file, as dump.py writes it. Units are MuJoCo's: metres, kilograms, seconds, radians;
// quaternions are w x y z.
type Model struct {
	Name        string     `json:"name"`
	Source      string     `json:"source"` // the MJCF file
	MuJoCo      string     `json:"mujoco"` // the compiler's version
	Integrator  string     `json:"integrator"`
	Timestep    float64    `json:"timestep"`
	Gravity     [3]float64 `json:"gravity"`
	Density     float64    `json:"density"` // of the medium
	Viscosity   float64    `json:"viscosity"`
	Wind        [3]float64 `json:"wind"`
	Impratio    float64    `json:"impratio"`
	MeanInertia float64    `json:"meaninertia"`
	NQ          int        `json:"nq"`
	NV          int        `json:"nv"`
	Bodies      []Body     `json:"bodies"` // the first is the world; parents come before children
	Actuators   []Actuator `json:"actuators"`
	Excluded    [][2]int   `json:"excluded"` // pairs of bodies that do not touch
}

// Body is a rigid body in the frame of its parent.
type Body struct {
	Name      string     `json:"name"`
	Parent    int        `json:"parent"`
	Weld      int        `json:"weld"` // the outermost body it is welded to, itself when it moves
	Pos       [3]float64 `json:"pos"`
	Quat      [4]float64 `json:"quat"`
	Mass      float64    `json:"mass"`
	COM       [3]float64 `json:"com"`
	Frame     [4]float64 `json:"frame"` // of the principal axes
	Inertia   [3]float64 `json:"inertia"`
	InvWeight [2]float64 `json:"invweight"` // mean inverse inertia, for translation and rotation
	Joints    []Joint    `json:"joints"`
	Geoms     []Geom     `json:"geoms"`
	Sites     []Site     `json:"sites"`
}

// Joint is a free, hinge or slide joint.
type Joint struct {
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Q         int        `json:"q"`   // first index in qpos
	DOF       int        `json:"dof"` // first index in qvel
	Pos       [3]float64 `json:"pos"`
	Axis      [3]float64 `json:"axis"`
	Reference []float64  `json:"reference"`
	Rest      []float64  `json:"rest"` // of the spring
	Stiffness float64    `json:"stiffness"`
	Damping   float64    `json:"damping"`
	Armature  []float64  `json:"armature"`
	Limited   bool       `json:"limited"`
	Range     [2]float64 `json:"range"`
	Margin    float64    `json:"margin"`
	SolRef    [2]float64 `json:"solref"`
	SolImp    [5]float64 `json:"solimp"`
	InvWeight []float64  `json:"invweight"`
}

// Geom is a shape that touches others or is only seen.
type Geom struct {
	Name        string     `json:"name"`
	Type        string     `json:"type"`
	Pos         [3]float64 `json:"pos"`
	Quat        [4]float64 `json:"quat"`
	Size        [3]float64 `json:"size"` // sphere: radius; capsule: radius, half length
	ConType     int        `json:"contype"`
	ConAffinity int        `json:"conaffinity"`
	ConDim      int        `json:"condim"`
	Priority    int        `json:"priority"`
	SolMix      float64    `json:"solmix"`
	Friction    [3]float64 `json:"friction"`
	Margin      float64    `json:"margin"`
	SolRef      [2]float64 `json:"solref"`
	SolImp      [5]float64 `json:"solimp"`
	RGBA        [4]float64 `json:"rgba"`
}

// Site is a point of a body.
type Site struct {
	Name string     `json:"name"`
	Pos  [3]float64 `json:"pos"`
}

// Actuator is a motor: its force is gear · control, the control within Range where it is limited.
type Actuator struct {
	Name    string     `json:"name"`
	DOF     int        `json:"dof"`
	Gear    float64    `json:"gear"`
	Limited bool       `json:"limited"`
	Range   [2]float64 `json:"range"`
}

// ReadModel reads a file that dump.py wrote. The error says what in it does not fit together.
func ReadModel(path string) (*Model, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := new(Model)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w; want what tools/mjcf/dump.py writes", path, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m *Model) check() error {
	if len(m.Bodies) < 2 || m.NV < 1 || m.Timestep <= 0 || m.Impratio != 1 {
		return fmt.Errorf("%d bodies, %d degrees of freedom, time step %g, impratio %g; want a body that moves, a positive step, and impratio 1", len(m.Bodies), m.NV, m.Timestep, m.Impratio)
	}
	if m.Integrator != "Euler" && m.Integrator != "RK4" {
		return fmt.Errorf("integrator %q; want Euler or RK4", m.Integrator)
	}
	q, dof := 0, 0
	for i, b := range m.Bodies {
		if i > 0 && (b.Parent < 0 || b.Parent >= i) {
			return fmt.Errorf("body %q: parent %d; want a body before it", b.Name, b.Parent)
		}
		for _, j := range b.Joints {
			width, size := 1, 1
			if j.Type == "free" {
				width, size = 7, 6
			}
			if j.Q != q || j.DOF != dof || len(j.Reference) != width || len(j.Rest) != width || len(j.Armature) != size || len(j.InvWeight) != size {
				return fmt.Errorf("joint %q: it is not at position %d and degree of freedom %d with %d positions and %d degrees", j.Name, q, dof, width, size)
			}
			if j.Type == "free" && (b.Parent != 0 || len(b.Joints) != 1 || j.Stiffness != 0) {
				return fmt.Errorf("joint %q: a free joint; want it alone in a body of the world, without a spring", j.Name)
			}
			if j.Type != "free" && j.Type != "hinge" && j.Type != "slide" {
				return fmt.Errorf("joint %q: type %q; want free, hinge or slide", j.Name, j.Type)
			}
			if j.Limited && (j.Type == "free" || j.Range[1]-j.Range[0] <= 2*j.Margin) {
				return fmt.Errorf("joint %q: range %v; want more than twice the margin, %g", j.Name, j.Range, j.Margin)
			}
			q, dof = q+width, dof+size
		}
	}
	if q != m.NQ || dof != m.NV {
		return fmt.Errorf("the joints have %d positions and %d degrees of freedom; nq is %d and nv %d", q, dof, m.NQ, m.NV)
	}
	for _, a := range m.Actuators {
		if a.DOF < 0 || a.DOF >= m.NV {
			return fmt.Errorf("actuator %q: degree of freedom %d; want 0 to %d", a.Name, a.DOF, m.NV-1)
		}
	}
	return nil
}

// rotation is the matrix of a quaternion. What rounding leaves where a zero or one should be is taken off, so that it can be folded.
func rotation(q [4]float64) [3][3]float64 {
	n := 1 / math.Sqrt(q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3])
	w, x, y, z := q[0]*n, q[1]*n, q[2]*n, q[3]*n
	m := [3][3]float64{
		{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)},
		{2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)},
	}
	for i := range m {
		for j := range m[i] {
			m[i][j] = snap(m[i][j])
		}
	}
	return m
}

// snap rounds to twelve digits behind the point, and −0 to 0.
func snap(v float64) float64 { return math.Round(v*1e12)/1e12 + 0 }

func snap3(v [3]float64) [3]float64 { return [3]float64{snap(v[0]), snap(v[1]), snap(v[2])} }
