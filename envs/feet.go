package envs

import "fmt"

// feet are the shapes on which a robot stands, and what is needed to detect their ground contact from an observation.
type feet struct {
	model  *Model
	shapes []string // capsules and spheres
	margin float64  // the model's: the distance from the ground at which contact forces begin
	hidden int      // number of first positions that are not observed by default; the height does not depend on them
}

// standing adds feet to a Spec.
func (s Spec) standing(f feet) Spec {
	s.feet = &f
	return s
}

// maxFeet is FEET of shaders/envs/contacts.comp.
const maxFeet = 4

// Feet returns the names of the robot's feet; nil if the environment has none.
func (e *Environment) Feet() []string {
	if e.feet == nil {
		return nil
	}
	return e.feet.shapes
}

// Kinds of links, as in shaders/envs/contacts.comp.
const (
	linkHinge = iota
	linkSlide
	linkBody
	linkFree
)

// Sizes of a link and of a point, in floats.
const (
	linkFloats  = 12
	pointFloats = 8
)

// footTables returns, for the ends of every foot, the transforms of a point from the foot's frame to the world: links
// [12] of kind, observation, reference and 0, axis or quaternion, point and 0; and points [8] of first link, links,
// foot, contact distance, and the position in the foot's frame and 0.
func (e *Environment) footTables() (links, points []float32, err error) {
	f := e.feet
	hidden := f.hidden
	if e.base != nil {
		hidden -= e.ObsSize() - e.base.ObsSize() // with an option, all positions are observed
	}
	for foot, name := range f.shapes {
		shape, err := f.model.shape(name)
		if err != nil {
			return nil, nil, err
		}
		first := len(links) / linkFloats
		for body := shape.Body; body != 0; body = f.model.Bodies[body].Parent {
			links = appendLinks(links, f.model.Bodies[body], hidden)
		}
		count := len(links)/linkFloats - first
		ends := []float64{0}
		if shape.Form == CapsuleShape {
			ends = []float64{-shape.Size[1], shape.Size[1]}
		}
		for _, z := range ends {
			at := shape.Pose.Point([3]float64{0, 0, z})
			points = append(points, float32(first), float32(count), float32(foot), float32(shape.Size[0]+f.margin), float32(at[0]), float32(at[1]), float32(at[2]), 0)
		}
	}
	return links, points, nil
}

// appendLinks appends a body's joints, in reverse order of application, and its pose.
func appendLinks(links []float32, b Body, hidden int) []float32 {
	pose := Pose{b.Pos, unit(b.Rot)}
	for i := len(b.Joints) - 1; i >= 0; i-- {
		j := b.Joints[i]
		kind := map[JointKind]float32{HingeJoint: linkHinge, SlideJoint: linkSlide, FreeJoint: linkFree}[j.Kind]
		links = append(links, kind, float32(j.Q-hidden), float32(j.Reference), 0)
		links = append(links, float32(j.Axis[0]), float32(j.Axis[1]), float32(j.Axis[2]), 0, float32(j.Pos[0]), float32(j.Pos[1]), float32(j.Pos[2]), 0)
		if j.Kind == FreeJoint {
			return links // the pose in the world, independent of the body's
		}
	}
	links = append(links, linkBody, 0, 0, 0)
	for _, v := range pose.Rot {
		links = append(links, float32(v))
	}
	return append(links, float32(pose.Pos[0]), float32(pose.Pos[1]), float32(pose.Pos[2]), 0)
}

// shape returns the sphere or capsule with the given name.
func (m *Model) shape(name string) (Shape, error) {
	for _, s := range m.Shapes {
		if s.Name == name && (s.Form == SphereShape || s.Form == CapsuleShape) {
			return s, nil
		}
	}
	return Shape{}, fmt.Errorf("envs: no sphere or capsule %q in the model", name)
}
