package mjcf

import (
	"math"
	"strings"
)

// constantName returns the name of a constant of a part.
func constantName(part, what string) string { return strings.ToUpper(part + "_" + what) }

// bias computes the bias forces: gravity and inertia, by the recursive Newton-Euler algorithm for zero joint
// accelerations, minus the forces of the medium.
func (s *System) bias() {
	zero := s.vec([3]float64{})
	forces, torques := make([]vec, len(s.bodies)), make([]vec, len(s.bodies))
	for i := range s.bodies {
		b := &s.bodies[i]
		forces[i], torques[i] = zero, zero
		if b.fixed || i == 0 {
			continue
		}
		if m := s.Model.Bodies[i].Mass; m != 0 {
			r := b.com.Sub(b.pos)
			acceleration := b.acc.Add(s.carried(b.omega, b.alpha, r))
			force := acceleration.Mul(s.named(constantName(b.name, "mass"), m))
			inertia := s.inertia(i)
			torque := inertia.Apply(b.alpha).Add(b.omega.Cross(inertia.Apply(b.omega)))
			mediumForce, mediumTorque := s.medium(i)
			force, torque = force.Sub(mediumForce).As(b.name+"_force"), torque.Sub(mediumTorque)
			forces[i], torques[i] = force, torque.Add(b.com.Cross(force)).As(b.name+"_torque")
		}
	}
	for i := len(s.bodies) - 1; i > 0; i-- {
		if p := s.Model.Bodies[i].Parent; !s.bodies[p].fixed {
			forces[p], torques[p] = forces[p].Add(forces[i]), torques[p].Add(torques[i])
		}
	}
	for i := range s.dofs {
		d := &s.dofs[i]
		t := s.unit(d)
		s.Bias = append(s.Bias, torques[d.body].Dot(t.spin).Add(forces[d.body].Dot(t.at)).As("bias_"+d.name))
	}
}

// medium returns the force of the surrounding medium on a body at its centre of mass, and the torque, by MuJoCo's
// model of drag and viscosity on the box of equal inertia (MuJoCo documentation, Computation, "Inertia model").
func (s *System) medium(i int) (force, torque vec) {
	m, b, state := s.Model, &s.Model.Bodies[i], &s.bodies[i]
	zero := s.vec([3]float64{})
	if m.Density == 0 && m.Viscosity == 0 {
		return zero, zero
	}
	var box [3]float64
	for k := range 3 {
		box[k] = math.Sqrt(math.Max(1e-15, b.Inertia[(k+1)%3]+b.Inertia[(k+2)%3]-b.Inertia[k]) / b.Mass * 6)
	}
	axes := state.rot.Mul(s.mat(b.Frame))
	spin := axes.Transposed().Apply(state.omega)
	moved := state.vel.Add(state.omega.Cross(state.com.Sub(state.pos))).Sub(s.vec(m.Wind))
	velocity := axes.Transposed().Apply(moved)
	force, torque = zero, zero
	if m.Viscosity != 0 {
		d := (box[0] + box[1] + box[2]) / 3
		force = velocity.Mul(s.num(-3 * math.Pi * d * m.Viscosity))
		torque = spin.Mul(s.num(-math.Pi * d * d * d * m.Viscosity))
	}
	if m.Density != 0 {
		for k := range 3 {
			y, z := box[(k+1)%3], box[(k+2)%3]
			drag := velocity[k].Abs().Mul(velocity[k]).Mul(s.num(0.5 * m.Density * y * z))
			force[k] = force[k].Sub(drag)
			turn := spin[k].Abs().Mul(spin[k]).Mul(s.num(m.Density * box[k] * (y*y*y*y + z*z*z*z) / 64))
			torque[k] = torque[k].Sub(turn)
		}
	}
	return axes.Apply(force), axes.Apply(torque)
}

// smooth sums all forces except constraints': springs, dampers and actuators, minus the bias.
func (s *System) smooth() {
	tendons, pulls, lifts := s.tendonForces(), s.pulls(), s.lifts()
	for i := range s.dofs {
		j := s.dofs[i].joint
		f := s.Bias[i].Neg()
		switch {
		case j.Stiffness != 0 && j.Type == "ball":
			k := s.named(constantName(Identifier(j.Name)+s.dofs[i].name, "stiffness"), j.Stiffness)
			f = f.Sub(k.Mul(s.turned(j, j.Rest)[i-j.DOF]))
		case j.Stiffness != 0:
			k := s.named(constantName(s.dofs[i].name, "stiffness"), j.Stiffness)
			f = f.Sub(k.Mul(s.q[j.Q].Sub(s.num(j.Rest[0]))))
		}
		if j.Damping != 0 {
			f = f.Sub(s.named(constantName(s.dofs[i].name, "damping"), j.Damping).Mul(s.v[i]))
		}
		s.Smooth = append(s.Smooth, f.Add(tendons[i]).Add(pulls[i]).Add(lifts[i]).As("smooth_"+s.dofs[i].name))
	}
}

// lifts returns the generalized forces of gravity compensation: at each body's centre of mass, against a part of its weight.
func (s *System) lifts() []expr {
	out := s.zeros()
	for i := 1; i < len(s.bodies); i++ {
		b := &s.Model.Bodies[i]
		if b.GravComp == 0 {
			continue
		}
		force := s.vec(s.Model.Gravity).Mul(s.num(-b.Mass * b.GravComp))
		for k, moves := range s.chain(i) {
			if moves {
				out[k] = out[k].Add(s.unit(&s.dofs[k]).velocity(s.bodies[i].com).Dot(force))
			}
		}
	}
	return out
}

// tendonForces returns the generalized forces of the tendons' springs and dampers. A spring has no force between its
// two rest lengths.
func (s *System) tendonForces() []expr {
	out := s.zeros()
	for i := range s.Model.Tendons {
		t, c := &s.Model.Tendons[i], s.tendon(i)
		force, zero := s.num(0), s.num(0)
		if t.Stiffness != 0 {
			length := s.length(c)
			short, long := s.num(t.Rest[0]).Sub(length), length.Sub(s.num(t.Rest[1]))
			if t.Rest[0] == t.Rest[1] {
				force = short.Scale(t.Stiffness)
			} else {
				force = short.Max(zero).Sub(long.Max(zero)).Scale(t.Stiffness)
			}
		}
		if t.Damping != 0 {
			force = force.Sub(s.of(c, s.v).Scale(t.Damping))
		}
		s.spread(c, force.As("tension_"+c.name), out)
	}
	return out
}
