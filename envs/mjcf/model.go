package mjcf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/evorl/evorl/internal/regular"
)

// Model is a model compiled by MuJoCo from an MJCF file, as written by dump.py. Units are MuJoCo's: metres,
// kilograms, seconds, radians; quaternions are w x y z.
type Model struct {
	Name        string     `json:"name"`
	Source      string     `json:"source"` // the MJCF file
	MuJoCo      string     `json:"mujoco"` // the compiler's version
	Integrator  string     `json:"integrator"`
	Cone        string     `json:"cone,omitempty"`     // of friction: elliptic; else pyramidal
	ImpRatio    float64    `json:"impratio,omitempty"` // stiffness of friction relative to the normal force's; 0: 1
	EulerDamp   bool       `json:"eulerdamp"`          // Euler's method treats joint damping implicitly
	MultiCCD    bool       `json:"multiccd"`           // several contacts of a capsule with a cylinder
	Timestep    float64    `json:"timestep"`
	Gravity     [3]float64 `json:"gravity"`
	Density     float64    `json:"density"` // of the medium
	Viscosity   float64    `json:"viscosity"`
	Wind        [3]float64 `json:"wind"`
	MeanInertia float64    `json:"meaninertia"`
	NQ          int        `json:"nq"`
	NV          int        `json:"nv"`
	Bodies      []Body     `json:"bodies"` // the first is the world; parents come before children
	Tendons     []Tendon   `json:"tendons"`
	Equalities  []Equality `json:"equalities"`
	Actuators   []Actuator `json:"actuators"`
	Excluded    [][2]int   `json:"excluded"` // pairs of bodies that cannot touch

	Senses        []string `json:"-"` // outputs of a forward pass: see builtInSenses
	SensedAtReset bool     `json:"-"` // also at a reset
	// AbsoluteSenses: no position that senses depend on is relative to the beginning of an environment step (TRAVEL). Far from the origin rewards lose digits.
	AbsoluteSenses bool `json:"-"`
	GroundOnly     bool `json:"-"` // see Restrict
}

// Restrict sets which contacts of a model are computed: all (the default, also ""), or ground: only contacts of
// spheres, capsules, boxes, cylinders and ellipsoids with planes. Then links pass through each other, and meshes through everything.
func (m *Model) Restrict(contacts string) error {
	if !slices.Contains([]string{"", "all", "ground"}, contacts) {
		return fmt.Errorf("contacts %q; want all, or ground: only those of spheres, capsules, boxes, cylinders and ellipsoids with planes", contacts)
	}
	m.GroundOnly = contacts == "ground"
	return nil
}

// Body is a rigid body in the frame of its parent.
type Body struct {
	Name      string     `json:"name"`
	Parent    int        `json:"parent"`
	Weld      int        `json:"weld"` // the outermost body it is welded to; itself if it moves
	Pos       [3]float64 `json:"pos"`
	Quat      [4]float64 `json:"quat"`
	Mass      float64    `json:"mass"`
	COM       [3]float64 `json:"com"`
	Frame     [4]float64 `json:"frame"` // of the principal axes
	Inertia   [3]float64 `json:"inertia"`
	InvWeight [2]float64 `json:"invweight"`          // mean inverse inertia, for translation and rotation
	GravComp  float64    `json:"gravcomp,omitempty"` // part of its weight that is compensated
	Joints    []Joint    `json:"joints"`
	Geoms     []Geom     `json:"geoms"`
	Sites     []Site     `json:"sites"`
}

// Joint is a free, ball, hinge or slide joint.
type Joint struct {
	Name         string     `json:"name"`
	At           string     `json:"at"` // the file and line
	Type         string     `json:"type"`
	Q            int        `json:"q"`   // its first position
	DOF          int        `json:"dof"` // its first degree of freedom
	Pos          [3]float64 `json:"pos"`
	Axis         [3]float64 `json:"axis"`
	Reference    []float64  `json:"reference"` // position in which the body has its place in the model
	Rest         []float64  `json:"rest"`      // rest position of the spring
	Stiffness    float64    `json:"stiffness"`
	Damping      float64    `json:"damping"`
	Armature     []float64  `json:"armature"`
	Limited      bool       `json:"limited"`
	Range        [2]float64 `json:"range"`
	Margin       float64    `json:"margin"`
	SolRef       [2]float64 `json:"solref"`
	SolImp       [5]float64 `json:"solimp"`
	InvWeight    []float64  `json:"invweight"`
	ForceLimited bool       `json:"forcelimited"`
	ForceRange   [2]float64 `json:"forcerange"` // of the total force of the actuators on it
	Friction     *Friction  `json:"friction,omitempty"`
}

// Friction is dry friction: a constraint that holds a joint or tendon in place by at most Loss, in N or N m.
type Friction struct {
	Loss   float64    `json:"loss"`
	SolRef [2]float64 `json:"solref"`
	SolImp [5]float64 `json:"solimp"`
}

// Geom is a shape that collides or is only visible.
type Geom struct {
	Name        string     `json:"name"`
	At          string     `json:"at"`
	Type        string     `json:"type"`
	Pos         [3]float64 `json:"pos"`
	Quat        [4]float64 `json:"quat"`
	Size        [3]float64 `json:"size"` // sphere: radius; capsule, cylinder: radius, half length; box: half lengths
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

// Tendon is a fixed tendon: its length is a linear combination of joint positions.
type Tendon struct {
	Name      string       `json:"name"`
	At        string       `json:"at"`
	Joints    [][2]float64 `json:"joints"`    // degree of freedom, factor
	Reference float64      `json:"reference"` // length in the joints' reference position
	Rest      [2]float64   `json:"rest"`      // range of lengths in which the spring has no force
	Stiffness float64      `json:"stiffness"`
	Damping   float64      `json:"damping"`
	Armature  float64      `json:"armature"`
	Limited   bool         `json:"limited"`
	Range     [2]float64   `json:"range"`
	Margin    float64      `json:"margin"`
	SolRef    [2]float64   `json:"solref"`
	SolImp    [5]float64   `json:"solimp"`
	InvWeight float64      `json:"invweight"`
	Friction  *Friction    `json:"friction,omitempty"`
}

// End is what an actuator or an equality acts on: a joint, by its degree of freedom, or a tendon, by its index.
type End struct {
	DOF    *int `json:"dof,omitempty"`
	Tendon *int `json:"tendon,omitempty"`
}

// Equality constrains the first end's position, relative to its reference, to a polynomial of the second's, or to a
// constant without a second end, or connects two bodies in a point.
type Equality struct {
	Name   string     `json:"name"`
	At     string     `json:"at"`
	Ends   []End      `json:"ends"`
	Poly   [5]float64 `json:"poly"`
	Points []Point    `json:"points,omitempty"` // instead of both: two points that are one
	SolRef [2]float64 `json:"solref"`
	SolImp [5]float64 `json:"solimp"`
}

// Point is a point of a body, in its frame.
type Point struct {
	Body int        `json:"body"`
	Pos  [3]float64 `json:"pos"`
}

// Actuator drives a joint or a tendon by gear · (gain · control + bias · (1, length, velocity)), where length and
// velocity are gear times the end's. If limited, the control is within Range, and the factor of the gear within
// ForceRange.
type Actuator struct {
	Name string `json:"name"`
	At   string `json:"at"`
	End
	Gear         float64    `json:"gear"`
	Gain         float64    `json:"gain"`
	Bias         [3]float64 `json:"bias"`
	Limited      bool       `json:"limited"`
	Range        [2]float64 `json:"range"`
	ForceLimited bool       `json:"forcelimited"`
	ForceRange   [2]float64 `json:"forcerange"`
}

// maxModel is far above the size of any robot's file, in bytes.
const maxModel = 64 << 20

// ReadModel reads a file written by dump.py. The error describes inconsistencies in it.
func ReadModel(path string) (*Model, error) {
	data, err := regular.ReadLinked(path, maxModel)
	if err != nil {
		return nil, err
	}
	return ParseModel(path, data)
}

// ParseModel is ReadModel of a text; path names it in errors.
func ParseModel(path string, data []byte) (*Model, error) {
	m := new(Model)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w; want what envs/mjcf/dump.py writes", path, err)
	}
	if err := m.check(); err != nil {
		return nil, m.blame(err)
	}
	return m, nil
}

// blame adds the MJCF file to an error that does not begin with a location in it or in an included file.
func (m *Model) blame(err error) error {
	if place.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("%s: %w", m.Source, err)
}

var place = regexp.MustCompile(`^[^ :]+(:[0-9]+)?: `)

// mostDOFs bounds the time to write a program, since its matrices are written element by element.
const mostDOFs = 128

func tooLarge(dofs int) error {
	return fmt.Errorf("%d degrees of freedom; want at most %d", dofs, mostDOFs)
}

func (m *Model) check() error {
	if len(m.Bodies) < 2 || m.NV < 1 || m.Timestep <= 0 {
		return fmt.Errorf("%d bodies, %d degrees of freedom, time step %g; want a body that moves, and a positive step",
			len(m.Bodies), m.NV, m.Timestep)
	}
	if m.NV > mostDOFs {
		return tooLarge(m.NV)
	}
	if !slices.Contains([]string{"Euler", "RK4", "implicitfast"}, m.Integrator) {
		return fmt.Errorf("integrator %q; want Euler, RK4 or implicitfast", m.Integrator)
	}
	if m.Cone != "" && m.Cone != "elliptic" || m.ImpRatio < 0 {
		return fmt.Errorf("cone %q with impratio %g; want elliptic or none, and a positive ratio", m.Cone, m.ImpRatio)
	}
	q, dof := 0, 0
	var errs []error
	for i, b := range m.Bodies {
		if i > 0 && (b.Parent < 0 || b.Parent >= i) {
			return fmt.Errorf("body %q: parent %d; want a body before it", b.Name, b.Parent)
		}
		for k := range b.Joints {
			j := &b.Joints[k]
			if err := j.check(q, dof); err != nil {
				errs = append(errs, fmt.Errorf("%s: joint %q: %w", j.At, j.Name, err))
			}
			if j.Type == "free" && (b.Parent != 0 || len(b.Joints) != 1) {
				errs = append(errs, fmt.Errorf("%s: joint %q: a free joint; want it alone in a body of the world", j.At, j.Name))
			}
			q, dof = q+len(j.Reference), dof+len(j.Armature)
		}
	}
	if q != m.NQ || dof != m.NV {
		errs = append(errs, fmt.Errorf("the joints have %d positions and %d degrees of freedom; nq is %d and nv %d", q, dof, m.NQ, m.NV))
	}
	return few(errors.Join(append(errs, m.checkEnds())...))
}

// check validates a joint; q and dof are the expected first position and degree of freedom.
func (j *Joint) check(q, dof int) error {
	width, size := 1, 1
	switch j.Type {
	case "free":
		width, size = 7, 6
	case "ball":
		width, size = 4, 3
	}
	switch {
	case !slices.Contains([]string{"free", "ball", "hinge", "slide"}, j.Type):
		return fmt.Errorf("type %q; want free, ball, hinge or slide", j.Type)
	case j.Q != q || j.DOF != dof || len(j.Reference) != width || len(j.Rest) != width || len(j.Armature) != size || len(j.InvWeight) != size:
		return fmt.Errorf("it is not at position %d and degree of freedom %d with %d positions and %d degrees", q, dof, width, size)
	case j.Type == "free" && (j.Stiffness != 0 || j.ForceLimited):
		return fmt.Errorf("a free joint with a spring or a force range; want neither")
	case j.Type == "ball" && j.ForceLimited:
		return fmt.Errorf("a ball joint with a force range; want none")
	case j.Type == "ball" && j.Limited: // its range is 0 and the largest angle
	case j.Limited && (j.Type == "free" || j.Range[1]-j.Range[0] <= 2*j.Margin):
		return fmt.Errorf("range %v; want more than twice the margin, %g", j.Range, j.Margin)
	}
	return nil
}

// checkEnds validates tendons, equalities and actuators.
func (m *Model) checkEnds() error {
	var errs []error
	for i := range m.Tendons {
		t := &m.Tendons[i]
		if t.Limited && t.Range[1]-t.Range[0] <= 2*t.Margin {
			errs = append(errs, fmt.Errorf("%s: tendon %q: range %v; want more than twice the margin, %g", t.At, t.Name, t.Range, t.Margin))
		}
		for _, j := range t.Joints {
			if dof := int(j[0]); float64(dof) != j[0] || dof < 0 || dof >= m.NV {
				errs = append(errs, fmt.Errorf("%s: tendon %q: degree of freedom %g; want 0 to %d", t.At, t.Name, j[0], m.NV-1))
			}
		}
	}
	for i := range m.Equalities {
		e := &m.Equalities[i]
		if e.Points != nil {
			errs = append(errs, m.checkPoints(e))
		} else if len(e.Ends) < 1 || len(e.Ends) > 2 {
			errs = append(errs, fmt.Errorf("%s: equality %q: %d ends; want 1 or 2", e.At, e.Name, len(e.Ends)))
		}
		for _, end := range e.Ends {
			if err := m.checkEnd(end); err != nil {
				errs = append(errs, fmt.Errorf("%s: equality %q: %w", e.At, e.Name, err))
			}
		}
	}
	for i := range m.Actuators {
		if a := &m.Actuators[i]; m.checkEnd(a.End) != nil {
			errs = append(errs, fmt.Errorf("%s: actuator %q: %w", a.At, a.Name, m.checkEnd(a.End)))
		}
	}
	return errors.Join(errs...)
}

// checkPoints validates the points of an equality.
func (m *Model) checkPoints(e *Equality) error {
	if len(e.Points) != 2 || len(e.Ends) != 0 {
		return fmt.Errorf("%s: equality %q: %d points, %d ends; want two points alone", e.At, e.Name, len(e.Points), len(e.Ends))
	}
	for _, p := range e.Points {
		if p.Body < 0 || p.Body >= len(m.Bodies) {
			return fmt.Errorf("%s: equality %q: body %d; want 0 to %d", e.At, e.Name, p.Body, len(m.Bodies)-1)
		}
	}
	return nil
}

// turns reports whether a degree of freedom is one of several of a joint.
func (m *Model) turns(dof int) bool {
	for i := range m.Bodies {
		for _, j := range m.Bodies[i].Joints {
			if n := len(j.Armature); n > 1 && j.DOF <= dof && dof < j.DOF+n {
				return true
			}
		}
	}
	return false
}

func (m *Model) checkEnd(e End) error {
	switch {
	case (e.DOF == nil) == (e.Tendon == nil):
		return fmt.Errorf("want a degree of freedom or a tendon to act on")
	case e.DOF != nil && (*e.DOF < 0 || *e.DOF >= m.NV):
		return fmt.Errorf("degree of freedom %d; want 0 to %d", *e.DOF, m.NV-1)
	case e.DOF != nil && m.turns(*e.DOF):
		return fmt.Errorf("degree of freedom %d is of a free or ball joint; want a hinge or slide", *e.DOF)
	case e.Tendon != nil && (*e.Tendon < 0 || *e.Tendon >= len(m.Tendons)):
		return fmt.Errorf("tendon %d; want 0 to %d", *e.Tendon, len(m.Tendons)-1)
	}
	return nil
}

// rotation returns the matrix of a quaternion. Entries within rounding of zero or one are snapped to it, so that they
// can be folded.
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

// snap rounds to twelve decimals, and −0 to 0.
func snap(v float64) float64 { return math.Round(v*1e12)/1e12 + 0 }

func snap3(v [3]float64) [3]float64 { return [3]float64{snap(v[0]), snap(v[1]), snap(v[2])} }
