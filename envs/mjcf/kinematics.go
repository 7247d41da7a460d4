package mjcf

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

type (
	expr = symbolic.Expr
	vec  = symbolic.Vec
	mat  = symbolic.Mat
)

// System is a model's dynamics as expressions of positions, velocities and actuator forces.
//
// Positions are relative to the origin of a body's tree, the position of the tree's first body, in the axes of the
// world, so that precision does not depend on the distance from the world's origin.
type System struct {
	Model *Model
	g     *symbolic.Graph
	block *symbolic.Block // of a forward pass
	q, v  []expr
	force []expr // of the actuators

	bodies []bodyState
	dofs   []dof
	origin []vec // in the world, by body: the origin of its tree

	names       map[string]bool // of bodies, joints and tendons, used in the program
	tendonNames []string

	twist  []twist // of the velocities
	Mass   [][]expr
	Bias   []expr // forces of gravity and inertia, minus the medium's
	Smooth []expr // all forces except constraints'
}

type bodyState struct {
	name  string
	rot   mat
	pos   vec
	com   vec
	omega vec // angular velocity
	vel   vec // of pos
	alpha vec // angular acceleration for zero joint accelerations
	acc   vec // of pos, likewise, minus gravity
	dofs  []int
	fixed bool // static
}

// dof is a degree of freedom: translation along, or rotation about, an axis through anchor.
type dof struct {
	name   string
	body   int
	parent int // the degree of freedom before it in the tree, or -1
	slide  bool
	axis   vec
	anchor vec
	joint  *Joint
}

func (s *System) num(v float64) expr             { return s.g.Const(v) }
func (s *System) vec(v [3]float64) vec           { return s.g.Vec(snap3(v)) }
func (s *System) mat(q [4]float64) mat           { return s.g.Mat(rotation(q)) }
func (s *System) named(n string, v float64) expr { return s.g.Named(n, snap(v)) }

// Identifier converts a name to a GLSL identifier: without two consecutive underscores, which GLSL reserves, and not
// beginning with a digit.
func Identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "n" + name
	}
	return name
}

// unique returns a unique identifier for an element of a kind, from its name or, if it has none, from the kind and
// its number.
func (s *System) unique(kind, name string, number int) string {
	name = Identifier(name)
	if name == "" {
		name = fmt.Sprintf("%s%d", kind, number)
	}
	base := name
	for i := 2; s.names[kind+" "+strings.ToUpper(name)]; i++ {
		name = fmt.Sprintf("%s_n%d", base, i)
	}
	s.names[kind+" "+strings.ToUpper(name)] = true
	return name
}

// NewSystem computes the smooth dynamics of a model.
func NewSystem(m *Model) *System {
	g := symbolic.NewGraph()
	s := &System{Model: m, g: g, block: symbolic.NewBlock(nil), names: map[string]bool{}}
	input := func(name string, n int) []expr {
		out := make([]expr, n)
		for i := range out {
			out[i] = g.Var(s.block, fmt.Sprintf("%s[%d]", name, i))
		}
		return out
	}
	s.q, s.v, s.force = input("q", m.NQ), input("v", m.NV), input("force", len(m.Actuators))
	s.kinematics()
	for i := range m.Tendons {
		s.tendonNames = append(s.tendonNames, s.unique("tendon", m.Tendons[i].Name, i))
	}
	s.twist = s.twists(s.v)
	s.mass()
	s.bias()
	s.smooth()
	return s
}

// kinematics computes the bodies' positions, velocities and, for zero joint accelerations, accelerations.
func (s *System) kinematics() {
	zero, one := s.vec([3]float64{}), s.mat([4]float64{1, 0, 0, 0})
	world := bodyState{name: "world", rot: one, pos: zero, com: zero, omega: zero, vel: zero, alpha: zero, acc: s.vec(s.Model.Gravity).Neg(), fixed: true}
	s.bodies, s.origin = []bodyState{world}, []vec{zero}
	for i := 1; i < len(s.Model.Bodies); i++ {
		b := &s.Model.Bodies[i]
		parent := s.bodies[b.Parent]
		name := s.unique("body", b.Name, i)
		state := bodyState{name: name, omega: parent.omega, alpha: parent.alpha, fixed: parent.fixed && len(b.Joints) == 0}
		first := parent.fixed && !state.fixed // of its tree
		offset := parent.rot.Apply(s.vec(b.Pos))
		state.rot = parent.rot.Mul(s.mat(b.Quat))
		state.pos = parent.pos.Add(offset)
		state.vel = parent.vel.Add(parent.omega.Cross(offset))
		state.acc = parent.acc.Add(s.carried(parent.omega, parent.alpha, offset))
		before := len(s.dofs)
		for k := range b.Joints {
			s.joint(i, &state, &b.Joints[k])
		}
		if first { // positions in the world become relative to this body
			s.origin = append(s.origin, state.pos)
			for k := before; k < len(s.dofs); k++ {
				s.dofs[k].anchor = s.dofs[k].anchor.Sub(state.pos)
			}
			state.pos = zero
		} else {
			s.origin = append(s.origin, s.origin[b.Parent])
		}
		if !state.fixed {
			state.rot, state.pos = state.rot.As(name+"_axes"), state.pos.As(name)
			state.vel, state.acc = state.vel.As(name+"_velocity"), state.acc.As(name+"_acceleration")
			state.omega, state.alpha = state.omega.As(name+"_spin"), state.alpha.As(name+"_spin_rate")
		}
		state.com = state.pos.Add(state.rot.Apply(s.vec(b.COM))).As(name + "_com")
		s.bodies = append(s.bodies, state)
	}
}

// carried returns the acceleration of a point at r from a point without acceleration, on a rotating body.
func (s *System) carried(omega, alpha, r vec) vec {
	return alpha.Cross(r).Add(omega.Cross(omega.Cross(r)))
}

// last returns the innermost degree of freedom of a body, or -1.
func (s *System) last(body int) int {
	for b := body; b > 0; b = s.Model.Bodies[b].Parent {
		for i := len(s.dofs) - 1; i >= 0; i-- {
			if s.dofs[i].body == b {
				return i
			}
		}
	}
	return -1
}

func (s *System) addDOF(state *bodyState, d dof) {
	d.parent = s.last(d.body)
	state.dofs = append(state.dofs, len(s.dofs))
	s.dofs = append(s.dofs, d)
}

// joint moves a body by one of its joints.
func (s *System) joint(body int, state *bodyState, j *Joint) {
	name := s.unique("joint", j.Name, j.DOF)
	switch j.Type {
	case "slide":
		axis := state.rot.Apply(s.vec(j.Axis))
		step := axis.Mul(s.q[j.Q].Sub(s.num(j.Reference[0])))
		speed := axis.Mul(s.v[j.DOF])
		s.addDOF(state, dof{name: name, body: body, slide: true, axis: axis, anchor: state.pos, joint: j})
		state.pos = state.pos.Add(step)
		state.vel = state.vel.Add(state.omega.Cross(step)).Add(speed)
		state.acc = state.acc.Add(s.carried(state.omega, state.alpha, step)).Add(state.omega.Cross(speed).Mul(s.num(2)))
	case "hinge":
		axis := state.rot.Apply(s.vec(j.Axis))
		arm := state.rot.Apply(s.vec(j.Pos)) // from the body's position to the anchor
		angle := s.q[j.Q].Sub(s.num(j.Reference[0]))
		anchor := state.pos.Add(arm)
		velocity := state.vel.Add(state.omega.Cross(arm))
		acceleration := state.acc.Add(s.carried(state.omega, state.alpha, arm))
		spin := axis.Mul(s.v[j.DOF])
		s.addDOF(state, dof{name: name, body: body, axis: axis, anchor: anchor, joint: j})
		state.alpha = state.alpha.Add(state.omega.Cross(spin))
		state.omega = state.omega.Add(spin)
		state.rot = state.rot.Mul(s.turn(j.Axis, angle.Sin().As(name+"_sin"), angle.Cos().As(name+"_cos")))
		arm = state.rot.Apply(s.vec(j.Pos)).Neg()
		state.pos = anchor.Add(arm)
		state.vel = velocity.Add(state.omega.Cross(arm))
		state.acc = acceleration.Add(s.carried(state.omega, state.alpha, arm))
	case "ball":
		// Rotations about the body's axes. That of a hinge before or a slide after it is in rot.
		arm := state.rot.Apply(s.vec(j.Pos))
		anchor := state.pos.Add(arm)
		velocity := state.vel.Add(state.omega.Cross(arm))
		acceleration := state.acc.Add(s.carried(state.omega, state.alpha, arm))
		state.rot = state.rot.Mul(s.quaternion(s.q[j.Q], s.q[j.Q+1], s.q[j.Q+2], s.q[j.Q+3])).As(name + "_axes")
		spin := s.vec([3]float64{})
		for k := range 3 {
			axis := state.rot.Column(k)
			s.addDOF(state, dof{name: name + "_turn_" + "xyz"[k:k+1], body: body, axis: axis, anchor: anchor, joint: j})
			spin = spin.Add(axis.Mul(s.v[j.DOF+k]))
		}
		state.alpha = state.alpha.Add(state.omega.Cross(spin))
		state.omega = state.omega.Add(spin)
		arm = state.rot.Apply(s.vec(j.Pos)).Neg()
		state.pos = anchor.Add(arm)
		state.vel = velocity.Add(state.omega.Cross(arm))
		state.acc = acceleration.Add(s.carried(state.omega, state.alpha, arm))
	case "free":
		// Translations along the world's axes, rotations about the body's axes.
		state.pos = vec{s.q[j.Q], s.q[j.Q+1], s.q[j.Q+2]}
		state.rot = s.quaternion(s.q[j.Q+3], s.q[j.Q+4], s.q[j.Q+5], s.q[j.Q+6])
		state.vel = vec{s.v[j.DOF], s.v[j.DOF+1], s.v[j.DOF+2]}
		for k := range 3 {
			s.addDOF(state, dof{name: name + "_" + "xyz"[k:k+1], body: body, slide: true, axis: s.g.Unit(k), anchor: state.pos, joint: j})
		}
		for k := range 3 {
			axis := state.rot.Column(k)
			s.addDOF(state, dof{name: name + "_turn_" + "xyz"[k:k+1], body: body, axis: axis, anchor: state.pos, joint: j})
			state.omega = state.omega.Add(axis.Mul(s.v[j.DOF+3+k]))
		}
	}
}

// turn returns the rotation about a constant axis.
func (s *System) turn(axis [3]float64, sin, cos expr) mat {
	a := s.vec(axis)
	rest := s.num(1).Sub(cos)
	out := s.mat([4]float64{1, 0, 0, 0})
	cross := [3][3]expr{{s.num(0), a[2].Neg(), a[1]}, {a[2], s.num(0), a[0].Neg()}, {a[1].Neg(), a[0], s.num(0)}}
	for i := range 3 {
		for j := range 3 {
			square := a[i].Mul(a[j])
			switch {
			case i != j:
				out[i][j] = square.Mul(rest).Add(cross[i][j].Mul(sin))
			case square.IsZero():
				out[i][j] = cos
			default: // c + a² (1 - c)
				v, _ := square.Value()
				out[i][j] = s.num(v).Add(s.num(snap(1 - v)).Mul(cos))
			}
		}
	}
	return out
}

// quaternion returns the rotation of a quaternion of any length.
func (s *System) quaternion(w, x, y, z expr) mat {
	scale := s.num(2).Div(w.Square().Add(x.Square()).Add(y.Square()).Add(z.Square())).As("quaternion_scale")
	wx, wy, wz := w.Mul(x).Mul(scale), w.Mul(y).Mul(scale), w.Mul(z).Mul(scale)
	xx, xy, xz := x.Square().Mul(scale), x.Mul(y).Mul(scale), x.Mul(z).Mul(scale)
	yy, yz, zz := y.Square().Mul(scale), y.Mul(z).Mul(scale), z.Square().Mul(scale)
	one := s.num(1)
	return mat{
		{one.Sub(yy.Add(zz)), xy.Sub(wz), xz.Add(wy)},
		{xy.Add(wz), one.Sub(xx.Add(zz)), yz.Sub(wx)},
		{xz.Sub(wy), yz.Add(wx), one.Sub(xx.Add(yy))},
	}
}

// twist is the velocity of a body: its angular velocity (spin), and the velocity of its point at the tree's origin.
type twist struct{ spin, at vec }

// arm returns the velocity at the tree's origin due to a rotation about the axis.
func (d *dof) arm() vec { return d.anchor.Cross(d.axis) }

// twists returns the bodies' twists for the velocities x.
func (s *System) twists(x []expr) []twist {
	zero := s.vec([3]float64{})
	out := []twist{{zero, zero}}
	for i := 1; i < len(s.bodies); i++ {
		t := out[s.Model.Bodies[i].Parent]
		for _, k := range s.bodies[i].dofs {
			if d := &s.dofs[k]; d.slide {
				t.at = t.at.Add(d.axis.Mul(x[k]))
			} else {
				t.spin = t.spin.Add(d.axis.Mul(x[k]))
				t.at = t.at.Add(d.arm().Mul(x[k]))
			}
		}
		out = append(out, t)
	}
	return out
}

// velocity returns the velocity of a point of the body at r.
func (t twist) velocity(r vec) vec { return t.at.Add(t.spin.Cross(r)) }
