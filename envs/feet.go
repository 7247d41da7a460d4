package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

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

// Kinds of links, those of shaders/envs/contacts.comp.
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

// Contacts describes trajectories by the ground contacts of the feet, as in A. Cully et al., "Robots that can adapt
// like animals", 2015. A foot touches the ground if a part of it is within the model's margin of the plane z = 0.
// Feet are located by forward kinematics from the observation after each step.
type Contacts struct {
	env           *Environment
	links, points *engine.Tensor // see footTables
	counts        *engine.Tensor // [1 + F, P, E]: number of transitions, and of those after which each foot touches the ground
	each          int            // loop iterations per step
}

// NewContacts makes the descriptors of trajectories [T, P, E] with the given numbers of members and environments.
//
// Errors: an environment without feet.
func NewContacts(s *engine.State, env *Environment, members, environments int) (*Contacts, error) {
	if env.feet == nil {
		return nil, fmt.Errorf("envs: %q has no feet", env.Name)
	}
	links, points, err := env.footTables()
	if err != nil {
		return nil, err
	}
	constant := func(name string, values []float32, size int) *engine.Tensor {
		return engine.Constant(s, name, func() []float32 { return values }, engine.Axis(name, len(values)/size), engine.Axis("number", size))
	}
	c := &Contacts{env: env, links: constant("foot_link", links, linkFloats), points: constant("foot_point", points, pointFloats)}
	for i := 0; i < len(points); i += pointFloats {
		c.each += 2 + int(points[i+1])
	}
	c.counts = s.Scratch("foot_contact", engine.Float32, engine.Axis("count", 1+len(env.feet.shapes)), engine.Members(members), engine.Environments(environments))
	return c, s.Err()
}

// Record records, for every member of a trajectory, the fractions of its transitions after which each foot touches
// the ground, over all its environments; NaN without transitions. Steps that diverged are excluded. The fractions of
// member m are those of candidate first + m % window of its population m / window, in shares [populations,
// candidates, F]; other elements are not written.
func (c *Contacts) Record(r *engine.Recorder, t Trajectory, window, first int, shares *engine.Tensor) {
	horizon, members, environments, ok := t.Done.Split(engine.MemberAxis)
	size, feet := r.Workgroup(), len(c.env.feet.shapes)
	if !ok || c.counts.Len() != (1+feet)*members*environments || shares.Len()%(members/window*feet) != 0 {
		r.Fail(fmt.Errorf("envs: contacts %v of a trajectory %v into %v; want those of its members", c.counts, t.Done, shares))
		return
	}
	if most := int(r.Engine().Device().Info().Limits.MaxLoopIterations); most > 0 && (horizon/int(size)+1)*c.each > most {
		r.Fail(fmt.Errorf("envs: contacts in %d steps of %q; this device can describe at most %d", horizon, c.env.Name, (most/c.each-1)*int(size)))
		return
	}
	r.Dispatch(contactsKernel{
		Obs: t.NextObs.Range(), Done: t.Done.Range(), Link: c.links.Range(), Point: c.points.Range(), Counts: c.counts.Range(),
		Steps: uint32(horizon), Members: uint32(members), Environments: uint32(environments), Features: uint32(c.env.ObsSize()),
		Points: uint32(c.points.Len() / pointFloats), Feet: uint32(feet), Workgroup: size,
	}.call(uint32(members), uint32(environments), 1))
	local, groups := r.Invocations(members)
	r.Dispatch(contactSharesKernel{
		Counts: c.counts.Range(), Shares: shares.Range(), Members: uint32(members), Environments: uint32(environments), Feet: uint32(feet),
		Window: uint32(window), Population: uint32(shares.Len() / (members / window) / feet), First: uint32(first), LocalSizeX: local,
	}.call(groups, 1, 1))
}
