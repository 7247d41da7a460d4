package envs

import (
	"errors"
	"fmt"
	"math"
)

// Geometry is what a viewer shows of an environment: shapes fixed to bodies, and the poses of the bodies in a state.
// Lengths are in the environment's unit; z is up, and planar motion is in the plane of x (to the right) and z.
type Geometry struct {
	Bodies []string // names; the first is the world, which does not move
	Shapes []Shape
	// Poses returns the poses of all bodies, including the world. It must not keep or change the state.
	Poses  func(state []float32) []Pose
	Camera Camera
	Time   float64 // duration of an environment step in seconds
	// Actions names the actions of a discrete space, or the dimensions of a box; nil: no names.
	Actions []string
}

// check validates what a viewer relies on, for a state of the given size.
func (g *Geometry) check(state int) error {
	switch {
	case g == nil:
		return nil
	case state == 0:
		return errors.New("the Spec has a Geometry and no State; want the names of the state's elements, whose poses it shows")
	case len(g.Bodies) == 0 || g.Poses == nil:
		return errors.New("the Geometry has no Bodies or no Poses; want the world as the first body, and a function that places all of them")
	case !(g.Time > 0) || math.IsInf(g.Time, 0) || !(g.Camera.Distance > 0) || math.IsInf(g.Camera.Distance, 0):
		return fmt.Errorf("the Geometry has a Time of %g and a camera at the Distance %g; want more than 0 of each", g.Time, g.Camera.Distance)
	case g.Camera.Body < 0 || g.Camera.Body >= len(g.Bodies):
		return fmt.Errorf("the Geometry's camera follows body %d; want 0 to %d", g.Camera.Body, len(g.Bodies)-1)
	}
	for i, s := range g.Shapes {
		if s.Body < 0 || s.Body >= len(g.Bodies) || int(s.Form) >= len(formNames) {
			return fmt.Errorf("shape %d of the Geometry is a %v of body %d; want a form that there is, and body 0 to %d", i, s.Form, s.Body, len(g.Bodies)-1)
		}
	}
	return nil
}

// Shape is a solid fixed to a body.
type Shape struct {
	Name  string
	Body  int // index of the body
	Form  Form
	Size  [3]float64 // see Form
	Pose             // in the frame of the body
	Color [4]float64 // red, green, blue, opacity: 0 to 1
}

// Form is a kind of solid, centred at the origin with its axis along z. The meaning of Size is given in brackets.
type Form uint8

const (
	PlaneShape     Form = iota // the ground, unbounded: [-, -, -]
	SphereShape                // [radius, -, -]
	CapsuleShape               // a cylinder with hemispherical ends: [radius, half length of the cylinder, -]
	CylinderShape              // [radius, half length, -]
	BoxShape                   // [half lengths]
	EllipsoidShape             // [half axes]
)

var formNames = [...]string{"plane", "sphere", "capsule", "cylinder", "box", "ellipsoid"}

// String returns the name of a form, in lower case.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "no form"
}

// Camera is a view of an environment, in MuJoCo's terms.
type Camera struct {
	Body      int        // body that the camera follows horizontally; 0: the camera stays
	LookAt    [3]float64 // in the world; with a body, the point looked at when the body is above the origin
	Distance  float64    // from LookAt
	Azimuth   float64    // degrees; 90 looks along y, with x to the right
	Elevation float64    // degrees; -90 looks straight down
}

// Colours of shapes.
var (
	wood   = [4]float64{0.79, 0.60, 0.40, 1}
	red    = [4]float64{0.80, 0.30, 0.28, 1}
	blue   = [4]float64{0.25, 0.44, 0.72, 1}
	dark   = [4]float64{0.22, 0.24, 0.28, 1}
	grey   = [4]float64{0.55, 0.57, 0.60, 1}
	green  = [4]float64{0.27, 0.62, 0.38, 1}
	gold   = [4]float64{0.90, 0.74, 0.28, 1}
	ground = [4]float64{0.80, 0.85, 0.90, 1}
)

// floor returns a ground at height z, below objects in the air.
func floor(z float64) Shape {
	return Shape{Name: "floor", Form: PlaneShape, Pose: Pose{Pos: [3]float64{0, 0, z}}, Color: ground}
}

// box returns a box about a point of a body.
func box(name string, body int, pos, size [3]float64, color [4]float64) Shape {
	return Shape{Name: name, Body: body, Form: BoxShape, Size: [3]float64{size[0] / 2, size[1] / 2, size[2] / 2}, Pose: Pose{Pos: pos}, Color: color}
}

// rod returns a capsule between two points of a body in the plane y = from's y.
func rod(name string, body int, from, to [3]float64, radius float64, color [4]float64) Shape {
	pose, length := between(from, to)
	return Shape{Name: name, Body: body, Form: CapsuleShape, Size: [3]float64{radius, length / 2}, Pose: pose, Color: color}
}

// axle returns a cylinder along y.
func axle(name string, body int, pos [3]float64, radius, length float64, color [4]float64) Shape {
	return Shape{
		Name: name, Body: body, Form: CylinderShape, Size: [3]float64{radius, length / 2},
		Pose: Pose{pos, about([3]float64{1, 0, 0}, quarter)}, Color: color,
	}
}
