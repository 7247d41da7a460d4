package mjcf

// coordinate is a linear combination of positions on which springs, limits, equalities and actuators act: a joint's
// position or a tendon's length.
type coordinate struct {
	name      string
	dofs      []int
	factors   []float64
	reference float64 // value in the joints' reference position
	weight    float64 // mean inverse inertia
}

// end returns the coordinate of an end.
func (s *System) end(e End) coordinate {
	if e.Tendon != nil {
		return s.tendon(*e.Tendon)
	}
	return s.single(*e.DOF)
}

// single returns the coordinate of a hinge or slide joint.
func (s *System) single(dof int) coordinate {
	j := s.dofs[dof].joint
	c := coordinate{name: s.dofs[dof].name, dofs: []int{dof}, factors: []float64{1}, weight: j.InvWeight[dof-j.DOF]}
	if len(j.Reference) == 1 {
		c.reference = j.Reference[0]
	}
	return c
}

func (s *System) tendon(number int) coordinate {
	t := &s.Model.Tendons[number]
	c := coordinate{name: s.tendonNames[number], reference: t.Reference, weight: t.InvWeight}
	for _, j := range t.Joints {
		if j[1] != 0 {
			c.dofs, c.factors = append(c.dofs, int(j[0])), append(c.factors, j[1])
		}
	}
	return c
}

// length returns the coordinate's value.
func (s *System) length(c coordinate) expr {
	sum := s.num(0)
	for k, dof := range c.dofs {
		sum = sum.Add(s.q[s.dofs[dof].joint.Q].Scale(c.factors[k]))
	}
	return sum
}

// of returns the coordinate's rate of change for the velocities x.
func (s *System) of(c coordinate, x []expr) expr {
	sum := s.num(0)
	for k, dof := range c.dofs {
		sum = sum.Add(x[dof].Scale(c.factors[k]))
	}
	return sum
}

// spread adds a force along a coordinate to the generalized forces.
func (s *System) spread(c coordinate, force expr, onto []expr) {
	for k, dof := range c.dofs {
		onto[dof] = onto[dof].Add(force.Scale(c.factors[k]))
	}
}

// hold adds a stiffness along a coordinate to a symmetric matrix.
func (s *System) hold(c coordinate, stiff expr, onto [][]expr) {
	for k, i := range c.dofs {
		for l, j := range c.dofs {
			onto[i][j] = onto[i][j].Add(stiff.Scale(c.factors[k] * c.factors[l]))
		}
	}
}

// pulls returns the generalized forces of the actuators.
func (s *System) pulls() []expr {
	out := s.zeros()
	for a := range s.Model.Actuators {
		s.spread(s.end(s.Model.Actuators[a].End), s.effort(a), out)
	}
	for i := range out {
		if j := s.dofs[i].joint; j.ForceLimited {
			out[i] = out[i].Clamp(s.num(j.ForceRange[0]), s.num(j.ForceRange[1]))
		}
	}
	return out
}

// effort returns the force of an actuator along its end: the part of its control, computed by physics_actuate, plus
// the parts of position and velocity.
func (s *System) effort(number int) expr {
	a := &s.Model.Actuators[number]
	force := s.unbounded(number)
	if !a.feedback() {
		return force
	}
	if a.ForceLimited {
		low, high := a.bounds()
		force = force.Clamp(s.num(low), s.num(high))
	}
	return force.As("effort_" + s.end(a.End).name)
}

// unbounded returns the force of an actuator before its force range applies to what depends on position and velocity.
func (s *System) unbounded(number int) expr {
	a := &s.Model.Actuators[number]
	force := s.force[number]
	if !a.feedback() {
		return force
	}
	end := s.end(a.End)
	return force.Add(s.length(end).Scale(a.Gear * a.Gear * a.Bias[1])).Add(s.of(end, s.v).Scale(a.Gear * a.Gear * a.Bias[2]))
}

// resistance returns how much the forces of tendons' dampers and of actuators decrease with velocity, times factor: a
// symmetric matrix. An actuator at a bound of its force range counts as constant, as in MuJoCo.
func (s *System) resistance(factor float64) [][]expr {
	onto := s.matrix()
	for i := range s.Model.Tendons {
		if d := s.Model.Tendons[i].Damping; d != 0 {
			s.hold(s.tendon(i), s.num(factor*d), onto)
		}
	}
	for i := range s.Model.Actuators {
		a := &s.Model.Actuators[i]
		if a.Bias[2] == 0 {
			continue
		}
		slope := s.num(-factor * a.Gear * a.Gear * a.Bias[2])
		if a.ForceLimited {
			low, high := a.bounds()
			force := s.unbounded(i)
			slope = s.num(low).Less(force).And(force.Less(s.num(high))).Select(slope, s.num(0))
		}
		s.hold(s.end(a.End), slope, onto)
	}
	return onto
}

// feedback reports whether an actuator's force depends on position or velocity.
func (a *Actuator) feedback() bool { return a.Bias[1] != 0 || a.Bias[2] != 0 }

// bounds returns the bounds of an actuator's force along its end.
func (a *Actuator) bounds() (low, high float64) {
	low, high = a.Gear*a.ForceRange[0], a.Gear*a.ForceRange[1]
	return min(low, high), max(low, high)
}
