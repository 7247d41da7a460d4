package envs

// Geometry is what a viewer shows of an environment: shapes that are fixed to bodies, and where the bodies are in a state. Lengths are in the
// environment's unit; z is up, and what moves in a plane moves in that of x (to the right) and z.
type Geometry struct {
	Bodies []string // names; the first is the world, which stays
	Shapes []Shape
	// Poses places the bodies in a state, the world too. It must not keep or change the state.
	Poses  func(state []float32) []Pose
	Camera Camera
	Time   float64 // seconds that an environment step stands for
	// Actions are names of the actions: of a discrete space's, or of a box's dimensions; nil: they have none.
	Actions []string
}

// Shape is a solid that is fixed to a body.
type Shape struct {
	Name  string
	Body  int // index of the body
	Form  Form
	Size  [3]float64 // see Form
	Pose             // in the frame of the body
	Color [4]float64 // red, green, blue, opacity: 0 to 1
}

// Form is a kind of solid, each with its middle at the origin and its axis along z. What Size says of it is in brackets.
type Form uint8

const (
	PlaneShape     Form = iota // the ground, without end, as far as one can see: [-, -, -]
	SphereShape                // [radius, -, -]
	CapsuleShape               // a cylinder with half spheres on its ends: [radius, half the cylinder's length, -]
	CylinderShape              // [radius, half length, -]
	BoxShape                   // [half the lengths]
	EllipsoidShape             // [half the axes]
)

var formNames = [...]string{"plane", "sphere", "capsule", "cylinder", "box", "ellipsoid"}

// String is the name of a form, in lower case.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "no form"
}

// Camera is where to look at an environment from, in the terms of MuJoCo's.
type Camera struct {
	Body      int        // its horizontal motion is followed; 0: the camera stays
	LookAt    [3]float64 // in the world; with a body: where it looks when the body is above the origin
	Distance  float64    // from there
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
	ground = [4]float64{0.80, 0.85, 0.90, 1}
)

// floor is a ground at a height, below what hangs in the air.
func floor(z float64) Shape {
	return Shape{Name: "floor", Form: PlaneShape, Pose: Pose{Pos: [3]float64{0, 0, z}}, Color: ground}
}

// box is a box about a point of a body.
func box(name string, body int, pos, size [3]float64, color [4]float64) Shape {
	return Shape{Name: name, Body: body, Form: BoxShape, Size: [3]float64{size[0] / 2, size[1] / 2, size[2] / 2}, Pose: Pose{Pos: pos}, Color: color}
}

// rod is a capsule from one point of a body to another of the plane y = from's.
func rod(name string, body int, from, to [3]float64, radius float64, color [4]float64) Shape {
	pose, length := between(from, to)
	return Shape{Name: name, Body: body, Form: CapsuleShape, Size: [3]float64{radius, length / 2}, Pose: pose, Color: color}
}

// axle is a cylinder along y.
func axle(name string, body int, pos [3]float64, radius, length float64, color [4]float64) Shape {
	return Shape{
		Name: name, Body: body, Form: CylinderShape, Size: [3]float64{radius, length / 2},
		Pose: Pose{pos, about([3]float64{1, 0, 0}, quarter)}, Color: color,
	}
}
