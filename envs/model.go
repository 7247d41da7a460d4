package envs

import "fmt"

// Model is a MuJoCo model reduced to what a viewer needs, as written by tools/mjcf: a tree of bodies moved by joints,
// and their shapes.
type Model struct {
	Timestep  float64 // seconds
	Bodies    []Body  // the first is the world; parents come before children
	Shapes    []Shape
	Actuators []string // the joints that the actuators drive
}

// Body is a body of a model.
type Body struct {
	Name   string
	Parent int
	Pose           // in the frame of the parent, in the reference position of the joints
	Joints []Joint // in the order of application
}

// Joint moves a body.
type Joint struct {
	Name      string
	Kind      JointKind
	Q         int        // index of its first position
	Axis, Pos [3]float64 // in the frame of the body; Pos is a point on a hinge's axis
	Reference float64    // the position in which the joint does not move the body
}

// JointKind defines the positions of a joint.
type JointKind uint8

const (
	FreeJoint  JointKind = iota // x, y, z and a quaternion of any length: the pose in the world
	HingeJoint                  // an angle about Axis through Pos
	SlideJoint                  // a distance along Axis
	BallJoint                   // a quaternion of any length: a rotation about Pos
)

// check validates a model that was read, for a state of the given size.
func (m *Model) check(state int) error {
	if len(m.Bodies) < 2 || !(m.Timestep > 0) {
		return fmt.Errorf("%d bodies, time step %g; want the world and another, and a positive step", len(m.Bodies), m.Timestep)
	}
	for i, b := range m.Bodies {
		if i > 0 && (b.Parent < 0 || b.Parent >= i) {
			return fmt.Errorf("body %q: parent %d; want a body before it", b.Name, b.Parent)
		}
		for _, j := range b.Joints {
			width := 1
			switch j.Kind {
			case FreeJoint:
				width = 7
			case BallJoint:
				width = 4
			}
			if j.Kind > BallJoint || j.Q < 0 || j.Q+width > state {
				return fmt.Errorf("joint %q: kind %d at position %d of a state of %d", j.Name, j.Kind, j.Q, state)
			}
		}
	}
	for _, s := range m.Shapes {
		if s.Body < 0 || s.Body >= len(m.Bodies) {
			return fmt.Errorf("shape %q: body %d; want 0 to %d", s.Name, s.Body, len(m.Bodies)-1)
		}
	}
	return nil
}

// Poses computes the forward kinematics of joint positions q in float64; further elements of q are ignored.
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
	case HingeJoint, BallJoint:
		anchor := p.Point(j.Pos)
		turn := [4]float64{}
		if j.Kind == BallJoint {
			turn = unit([4]float64{at(0), at(1), at(2), at(3)})
		} else {
			turn = about(j.Axis, at(0)-j.Reference)
		}
		p.Rot = times(p.Rot, turn)
		moved := p.Point(j.Pos)
		for k := range p.Pos {
			p.Pos[k] += anchor[k] - moved[k]
		}
	}
}

// Geometry returns the Spec.Geometry of a model, for an environment with the positions first in its state. An
// environment step is timeSteps time steps of the model.
func (m *Model) Geometry(timeSteps int, camera Camera) *Geometry {
	g := &Geometry{Shapes: m.Shapes, Poses: m.Poses, Camera: camera, Time: float64(timeSteps) * m.Timestep, Actions: m.Actuators}
	for _, b := range m.Bodies {
		g.Bodies = append(g.Bodies, b.Name)
	}
	return g
}

// seen adds the geometry of a model to a Spec.
func (s Spec) seen(m *Model, timeSteps int, camera Camera) Spec {
	s.Geometry = m.Geometry(timeSteps, camera)
	return s
}
