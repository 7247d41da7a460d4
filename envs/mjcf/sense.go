package mjcf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// BuiltInSenses returns the outputs of a forward pass that the environment of one of this repository's models uses, and
// whether it observes them at a reset.
func BuiltInSenses(model string) (senses []string, atReset bool) {
	return builtInSenses[model], builtInResets[model]
}

// builtInSenses are the outputs of a forward pass that this repository's environments use, by model, besides
// positions, velocities and accelerations:
//
//	site NAME AXES         position of a site
//	apart A B AXES         position of body A minus position of body B
//	position BODY AXES     position of a body's origin
//	position mass AXES     position of the centre of mass of all bodies
//	constraint DOF         generalized force of contacts and limits
//	forces                 torque and force of contacts on each body except the world, about the centre of mass of its tree: MuJoCo's cfrc_ext
//	inertia                each body's inertia about that point (xx yy zz xy xz yz), mass times offset, mass: cinert
//	velocity               angular velocity, and velocity at that point: cvel
var builtInSenses = map[string][]string{
	"inverted_double_pendulum": {"site tip xz", "constraint 0"},
	"reacher":                  {"apart fingertip target xy"},
	"ant":                      {"position torso xy", "forces"},
	"pusher":                   {"position tips_arm xyz", "position object xyz", "position goal xyz"},
	"humanoid":                 {"position mass xy", "inertia", "velocity", "forces"},
	"humanoidstandup":          {"inertia", "velocity", "forces"},
}

// builtInResets lists the models of environments that observe senses at a reset.
var builtInResets = map[string]bool{"humanoid": true, "humanoidstandup": true, "pusher": true, "reacher": true}

// sense returns the expressions of a model's senses, in a block after the solver has found the accelerations, and where each sense begins among them.
func (p *solver) sense(after *symbolic.Block) (list []expr, starts []int, err error) {
	for _, text := range p.s.Model.Senses {
		if text == "forces" && slices.Contains(p.s.Model.Senses[:len(starts)], text) {
			return nil, nil, fmt.Errorf("sense %q: it is in the list twice; want it once", text)
		}
		values, err := p.valuesOf(after, text)
		if err != nil {
			return nil, nil, err
		}
		starts = append(starts, len(list))
		list = append(list, values...)
	}
	return list, starts, nil
}

// senseAtReset returns the senses that depend only on positions and velocities, if needed at a reset, and their places among all senses, which begin at starts.
func (p *solver) senseAtReset(starts []int) (list []expr, places []int, err error) {
	if !p.s.Model.SensedAtReset {
		return nil, nil, nil
	}
	for i, text := range p.s.Model.Senses {
		if !kinematic(text) {
			continue
		}
		values, err := p.valuesOf(nil, text)
		if err != nil {
			return nil, nil, err
		}
		for k := range values {
			places = append(places, starts[i]+k)
		}
		list = append(list, values...)
	}
	return list, places, nil
}

// kinematic reports whether a sense depends only on positions and velocities.
func kinematic(sense string) bool {
	return sense != "forces" && !strings.HasPrefix(sense, "constraint")
}

// kinematicSenses returns the senses that depend only on positions and velocities.
func (m *Model) kinematicSenses() []string {
	return slices.DeleteFunc(slices.Clone(m.Senses), func(text string) bool { return !kinematic(text) })
}

// valuesOf returns the expressions of a sense.
func (p *solver) valuesOf(after *symbolic.Block, text string) ([]expr, error) {
	words := strings.Fields(text)
	err := wellFormed(words)
	var values []expr
	if err == nil {
		values, err = p.sensed(after, words)
	}
	if err != nil {
		return nil, fmt.Errorf("sense %q: %w", text, err)
	}
	return values, nil
}

// senseWords lists the number of words of each sense.
var senseWords = map[string]int{"site": 3, "apart": 4, "position": 3, "constraint": 2, "forces": 1, "inertia": 1, "velocity": 1}

// wellFormed checks the form of a sense: its words, and that the last of places are axes.
func wellFormed(words []string) error {
	if len(words) == 0 || senseWords[words[0]] == 0 {
		return fmt.Errorf("want site, apart, position, constraint, forces, inertia or velocity")
	}
	if n := senseWords[words[0]]; len(words) != n {
		return fmt.Errorf("%d words; want %d", len(words), n)
	}
	if axes := words[len(words)-1]; len(words) > 2 && strings.Trim(axes, "xyz") != "" {
		return fmt.Errorf("axes %q; want some of xyz", axes)
	}
	return nil
}

func (p *solver) sensed(after *symbolic.Block, words []string) ([]expr, error) {
	s := p.s
	world := func(body int) vec { return s.origin[body].Add(s.bodies[body].pos) }
	pick := func(v vec) []expr {
		var out []expr
		for _, axis := range words[len(words)-1] {
			out = append(out, v[strings.IndexRune("xyz", axis)])
		}
		return out
	}
	switch words[0] {
	case "site":
		for b := range s.Model.Bodies {
			for _, site := range s.Model.Bodies[b].Sites {
				if site.Name == words[1] {
					return pick(world(b).Add(s.bodies[b].rot.Apply(s.vec(site.Pos)))), nil
				}
			}
		}
		return nil, fmt.Errorf("no such site")
	case "apart":
		a, b := s.find(words[1]), s.find(words[2])
		if a < 0 || b < 0 {
			return nil, fmt.Errorf("no such body")
		}
		return pick(world(a).Sub(world(b))), nil
	case "position":
		if words[1] == "mass" {
			if s.Model.firstMass() == 0 {
				return nil, fmt.Errorf("the first tree of bodies has no mass")
			}
			return pick(s.origin[1].Add(s.centre(1))), nil
		}
		b := s.find(words[1])
		if b < 0 {
			return nil, fmt.Errorf("no such body")
		}
		return pick(world(b)), nil
	case "constraint":
		i, err := strconv.Atoi(words[1])
		if err != nil || i < 0 || i >= s.Model.NV {
			return nil, fmt.Errorf("want a degree of freedom")
		}
		return p.variables(after, "residual", p.residual)[i : i+1], nil
	case "forces":
		return p.contactForces(after), nil
	case "inertia", "velocity":
		var out []expr
		for b := 1; b < len(s.bodies); b++ {
			offset := s.bodies[b].com.Sub(s.centre(b))
			if words[0] == "velocity" {
				t := s.twist[b]
				at := t.velocity(s.centre(b))
				out = append(append(out, t.spin[:]...), at[:]...)
				continue
			}
			m := s.num(s.Model.Bodies[b].Mass)
			zero := s.num(0)
			i := s.pointStiffness(mat{{m, zero, zero}, {zero, m, zero}, {zero, zero, m}}, offset).a.Add(s.inertia(b))
			out = append(out, i[0][0], i[1][1], i[2][2], i[0][1], i[0][2], i[1][2])
			moment := offset.Mul(m)
			out = append(append(out, moment[:]...), m)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s is unknown", words[0]) // wellFormed refuses it before
}

func (s *System) find(name string) int {
	for b := range s.Model.Bodies {
		if s.Model.Bodies[b].Name == name {
			return b
		}
	}
	return -1
}

// root returns the first body of a body's tree.
func (s *System) root(body int) int {
	for !s.bodies[s.Model.Bodies[body].Parent].fixed {
		body = s.Model.Bodies[body].Parent
	}
	return body
}

// centre returns the centre of mass of a body's tree.
func (s *System) centre(body int) vec {
	mass, sum := 0.0, s.vec([3]float64{})
	for b := 1; b < len(s.bodies); b++ {
		if s.root(b) == s.root(body) {
			m := s.Model.Bodies[b].Mass
			mass += m
			sum = sum.Add(s.bodies[b].com.Mul(s.num(m)))
		}
	}
	return sum.Mul(s.num(1 / mass)).As("centre_of_mass")
}

// firstMass returns the mass of the tree of the first body, as centre counts it; 0 if it does not move.
func (m *Model) firstMass() float64 {
	sum, of := 0.0, make([]bool, len(m.Bodies))
	for i := 1; i < len(m.Bodies); i++ {
		b := &m.Bodies[i]
		of[i] = i == 1 && len(b.Joints) > 0 || of[b.Parent]
		if of[i] {
			sum += b.Mass
		}
	}
	return sum
}

// contactForces returns MuJoCo's cfrc_ext, without the contacts in slots.
func (p *solver) contactForces(after *symbolic.Block) []expr {
	s := p.s
	at := p.variables(after, "at", p.at)[len(p.limits)+len(p.ties)+len(p.drags):]
	zero := s.vec([3]float64{})
	torques, forces := make([]vec, len(s.bodies)), make([]vec, len(s.bodies))
	for i := range forces {
		torques[i], forces[i] = zero, zero
	}
	for _, c := range p.contacts {
		all := s.cone(c, at[:c.directions()])
		at = at[c.directions():]
		force := zero
		moment := zero
		for k := range c.directions() {
			if k < 3 {
				force = force.Sub(c.frame[k].Mul(all.force[k])) // the cone's force is negated
			} else {
				moment = moment.Sub(c.frame[k-3].Mul(all.force[k]))
			}
		}
		forces[c.body] = forces[c.body].Add(force)
		torques[c.body] = torques[c.body].Add(c.point.Sub(s.centre(c.body)).Cross(force)).Add(moment)
		if c.other != 0 {
			forces[c.other] = forces[c.other].Sub(force)
			torques[c.other] = torques[c.other].Sub(c.point.Add(c.across).Sub(s.centre(c.other)).Cross(force)).Sub(moment)
		}
	}
	var out []expr
	for b := 1; b < len(s.bodies); b++ {
		out = append(append(out, torques[b][:]...), forces[b][:]...)
	}
	return out
}

// sensedText describes the layout of `sensed`.
func (p *solver) sensedText() string {
	if list := p.s.Model.Senses; len(list) > 0 {
		return "sensed is " + strings.Join(list, ", ") + "."
	}
	return "There is nothing in sensed."
}

// sensing returns the code that fills `sensed` with senses that begin at starts. With contacts in slots, touch_force holds their part of the forces.
func (p *solver) sensing(em *symbolic.Emitter, list []expr, starts []int, touches bool) string {
	var out strings.Builder
	if len(list) == 0 {
		out.WriteString("    sensed[0] = 0.0;\n")
	}
	forces, count := 0, 0 // of the list
	if touches {
		forces, count = starts[slices.Index(p.s.Model.Senses, "forces")], 6*(len(p.s.bodies)-1)
	}
	for i, e := range list {
		text := em.Ref(e)
		if i >= forces && i < forces+count {
			text += fmt.Sprintf(" + touch_force[%d]", i-forces)
		}
		fmt.Fprintf(&out, "    sensed[%d] = %s;\n", i, text)
	}
	return out.String()
}
