package envs

// Model is what a viewer needs of a model of MuJoCo, as tools/mjcf writes it: a tree of bodies moved by joints, and the
// shapes on them.
type Model struct {
	Timestep  float64 // seconds
	Bodies    []Body  // the first is the world; parents come before children
	Shapes    []Shape
	Actuators []string // the joints that they drive
}

// Body is a body of a model.
type Body struct {
	Name   string
	Parent int
	Pose           // in the frame of the parent, before the joints move it
	Joints []Joint // in the order in which they move it
}

// Joint moves a body.
type Joint struct {
	Name      string
	Kind      JointKind
	Q         int        // its first index in the positions
	Axis, Pos [3]float64 // in the frame of the body; Pos is a point that a hinge leaves where it is
	Reference float64    // the position at which it does not move the body
}

// JointKind is what positions of a joint are.
type JointKind uint8

const (
	FreeJoint  JointKind = iota // x, y, z and a quaternion of any length: the pose in the world
	HingeJoint                  // an angle about Axis through Pos
	SlideJoint                  // a way along Axis
)

// Poses places the bodies at given positions of the joints; what follows the positions in q is not looked at. It is
// what MuJoCo calls forward kinematics, in float64.
func (m *Model) Poses(q []float32) []Pose {
	poses := make([]Pose, len(m.Bodies))
	for i, b := range m.Bodies {
		pose := Pose{b.Pos, unit(b.Rot)}
		if i > 0 {
			pose = pose.On(poses[b.Parent])
		}
		for _, j := range b.Joints {
			j.move(&pose, q)
		}
		poses[i] = pose
	}
	return poses
}

func (j *Joint) move(p *Pose, q []float32) {
	at := func(i int) float64 { return float64(q[j.Q+i]) }
	switch j.Kind {
	case FreeJoint:
		*p = Pose{[3]float64{at(0), at(1), at(2)}, unit([4]float64{at(3), at(4), at(5), at(6)})}
	case SlideJoint:
		way := at(0) - j.Reference
		p.Pos = p.Point([3]float64{way * j.Axis[0], way * j.Axis[1], way * j.Axis[2]})
	case HingeJoint:
		anchor := p.Point(j.Pos)
		p.Rot = times(p.Rot, about(j.Axis, at(0)-j.Reference))
		moved := p.Point(j.Pos)
		for k := range p.Pos {
			p.Pos[k] += anchor[k] - moved[k]
		}
	}
}

// Geometry is what a viewer shows of a model, for Spec.Geometry, in an environment whose state begins with the
// positions. An environment step is so many time steps of the model.
func (m *Model) Geometry(timeSteps int, camera Camera) *Geometry {
	g := &Geometry{Shapes: m.Shapes, Poses: m.Poses, Camera: camera, Time: float64(timeSteps) * m.Timestep, Actions: m.Actuators}
	for _, b := range m.Bodies {
		g.Bodies = append(g.Bodies, b.Name)
	}
	return g
}

// seen gives a Spec what a viewer shows of a model.
func (s Spec) seen(m *Model, timeSteps int, camera Camera) Spec {
	s.Geometry = m.Geometry(timeSteps, camera)
	return s
}
