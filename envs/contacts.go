package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// footing holds the tables of an environment's feet on the device.
type footing struct {
	env           *Environment
	links, points *engine.Tensor // see footTables
	each          int            // loop iterations per observation
}

func newFooting(s *engine.State, env *Environment) (*footing, error) {
	if err := engine.Require(map[string]any{"state": s, "environment": env}); err != nil {
		return nil, fmt.Errorf("envs: %w", err)
	}
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
	f := &footing{env: env, links: constant("foot_link", links, linkFloats), points: constant("foot_point", points, pointFloats)}
	for i := 0; i < len(points); i += pointFloats {
		f.each += 2 + int(points[i+1])
	}
	return f, nil
}

// Contacts describes trajectories by the ground contacts of the feet, as in A. Cully et al., "Robots that can adapt
// like animals", 2015. A foot touches the ground if a part of it is within the model's margin of the plane z = 0.
// Feet are located by forward kinematics from the observation after each step.
type Contacts struct {
	*footing
	counts *engine.Tensor // [1 + F, M, E]: number of transitions, and of those after which each foot touches the ground
}

// NewContacts makes the descriptors of trajectories [T, M, E] with the given numbers of members and environments.
//
// Errors: an environment without feet.
func NewContacts(s *engine.State, env *Environment, members, environments int) (*Contacts, error) {
	f, err := newFooting(s, env)
	if err != nil {
		return nil, err
	}
	c := &Contacts{footing: f}
	c.counts = s.Scratch("foot_contact", engine.Float32, engine.Axis("count", 1+len(env.feet.shapes)), engine.Members(members), engine.Environments(environments))
	return c, s.Err()
}

// Record records, for every member of a trajectory, the fractions of its transitions after which each foot touches
// the ground, over all its environments; NaN without transitions. Steps that diverged are excluded. The fractions of
// member m belong to candidate first + m % window of its population m / window, in shares [populations,
// candidates, F]; other elements are not written.
func (c *Contacts) Record(r *engine.Recorder, t Trajectory, window, first int, shares *engine.Tensor) {
	horizon, members, environments, ok := t.Done.Split(engine.MemberAxis)
	size, feet := r.Workgroup(), len(c.env.feet.shapes)
	if !ok || c.counts.Len() != (1+feet)*members*environments || shares.Len()%(members/window*feet) != 0 {
		r.Fail(fmt.Errorf("envs: contacts %v of a trajectory %v into %v; want those of its members", c.counts, t.Done, shares))
		return
	}
	switch most := int(r.Engine().Device().Info().Limits.MaxLoopIterations); {
	case most == 0: // not limited
	case (horizon/int(size)+1)*c.each > most:
		r.Fail(fmt.Errorf("envs: contacts in %d steps of %q; this device can describe at most %d", horizon, c.env.Name, (most/c.each-1)*int(size)))
		return
	case (1+feet)*(1+environments) > most:
		r.Fail(fmt.Errorf("envs: contacts in %d environments of a member; this device can describe at most %d", environments, most/(1+feet)-1))
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

// Touch tells from single observations whether each foot touches the ground, as Contacts does from trajectories.
type Touch struct{ *footing }

// NewTouch makes the tables of the environment's feet in s.
//
// Errors: an environment without feet.
func NewTouch(s *engine.State, env *Environment) (*Touch, error) {
	f, err := newFooting(s, env)
	if err != nil {
		return nil, err
	}
	return &Touch{f}, s.Err()
}

// Record records, for each of a number of observations [.., O], whether each foot touches the ground, 1 or 0, into the
// first elements of touching [N, F].
func (t *Touch) Record(r *engine.Recorder, obs, touching *engine.Tensor) {
	count, feet := obs.Len()/t.env.ObsSize(), len(t.env.feet.shapes)
	if count*t.env.ObsSize() != obs.Len() || touching.Len() < count*feet {
		r.Fail(fmt.Errorf("envs: contacts of %d feet in observations %v into %v; want %d numbers per observation, and room for all",
			feet, obs, touching, t.env.ObsSize()))
		return
	}
	size, groups := r.Invocations(count)
	r.Dispatch(touchKernel{
		Obs: obs.Range(), Link: t.links.Range(), Point: t.points.Range(), Touching: touching.Range(), Count: uint32(count),
		Features: uint32(t.env.ObsSize()), Points: uint32(t.points.Len() / pointFloats), Feet: uint32(feet), LocalSizeX: size,
	}.call(groups, 1, 1))
}
