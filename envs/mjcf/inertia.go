package mjcf

// stiffness is a quadratic form on twists (spin, at): spin·A spin + 2 spin·B at + at·C at. It represents twice the
// kinetic energy of bodies, and what contacts add to the Hessian of the constraint problem; both are accumulated
// along a tree in the same way (R. Featherstone, "Rigid Body Dynamics Algorithms", 2008, section 6.2: the composite
// rigid body algorithm).
type stiffness struct{ a, b, c mat }

func (s *System) noStiffness() stiffness {
	zero := s.g.Mat([3][3]float64{})
	return stiffness{zero, zero, zero}
}

func (k stiffness) add(l stiffness) stiffness {
	return stiffness{k.a.Add(l.a), k.b.Add(l.b), k.c.Add(l.c)}
}

// apply returns the torque about the origin and the force for a twist.
func (k stiffness) apply(t twist) (torque, force vec) {
	return k.a.Apply(t.spin).Add(k.b.Apply(t.at)), k.b.Transposed().Apply(t.spin).Add(k.c.Apply(t.at))
}

// unit returns the twist of a degree of freedom with velocity one.
func (s *System) unit(d *dof) twist {
	if d.slide {
		return twist{s.vec([3]float64{}), d.axis}
	}
	return twist{d.axis, d.arm()}
}

// project maps the bodies' forms to the degrees of freedom: it returns the matrix of x → form(twists(x)), both
// triangles.
func (s *System) project(of []stiffness, name string) [][]expr {
	of = append([]stiffness(nil), of...)
	for i := len(of) - 1; i > 0; i-- {
		if p := s.Model.Bodies[i].Parent; !s.bodies[p].fixed {
			of[p] = of[p].add(of[i])
		}
	}
	out := s.matrix()
	for i := range s.dofs {
		d := &s.dofs[i]
		torque, force := of[d.body].apply(s.unit(d))
		for j := i; j >= 0; j = s.dofs[j].parent {
			to := s.unit(&s.dofs[j])
			out[i][j] = torque.Dot(to.spin).Add(force.Dot(to.at))
			if name != "" {
				out[i][j] = out[i][j].As(name + "_" + s.dofs[i].name + "_" + s.dofs[j].name)
			}
			out[j][i] = out[i][j]
		}
	}
	return out
}

func (s *System) matrix() [][]expr {
	out := make([][]expr, s.Model.NV)
	for i := range out {
		out[i] = make([]expr, s.Model.NV)
		for j := range out[i] {
			out[i][j] = s.num(0)
		}
	}
	return out
}

// pointStiffness returns the form of a symmetric matrix w acting on the velocity of the point r.
func (s *System) pointStiffness(w mat, r vec) stiffness {
	// velocity = at + spin × r; with X = [r]×: spin × r = -X spin, so C = w, B = X w, A = X w Xᵀ.
	var b, a mat
	for j := range 3 {
		column := r.Cross(w.Column(j))
		for i := range 3 {
			b[i][j] = column[i]
		}
	}
	for i := range 3 {
		a[i] = r.Cross(b[i])
	}
	return stiffness{symmetric(a), b, w}
}

// spinStiffness returns the form of a symmetric matrix acting on the spin, and of a matrix between the spin and the velocity
// of the point r.
func (s *System) spinStiffness(spin, both mat, r vec) stiffness {
	// velocity = at + spin × r: 2 spin·both velocity = 2 spin·both at + 2 spin·N spin, where row i of N is r × row i of both.
	for i := range 3 {
		turned := r.Cross(both[i])
		for j := range 3 {
			spin[i][j] = spin[i][j].Add(turned[j])
			spin[j][i] = spin[j][i].Add(turned[j])
		}
	}
	return stiffness{symmetric(spin), both, s.g.Mat([3][3]float64{})}
}

// mass computes the inertia matrix.
func (s *System) mass() {
	of := []stiffness{s.noStiffness()}
	for i := 1; i < len(s.bodies); i++ {
		b := &s.Model.Bodies[i]
		if s.bodies[i].fixed || b.Mass == 0 {
			of = append(of, s.noStiffness())
			continue
		}
		m := s.named(constantName(s.bodies[i].name, "mass"), b.Mass)
		zero := s.num(0)
		own := s.pointStiffness(mat{{m, zero, zero}, {zero, m, zero}, {zero, zero, m}}, s.bodies[i].com)
		own.a = own.a.Add(s.inertia(i))
		of = append(of, own)
	}
	s.Mass = s.project(of, "mass")
	for i := range s.dofs {
		j := s.dofs[i].joint
		if a := j.Armature[i-j.DOF]; a != 0 {
			s.Mass[i][i] = s.Mass[i][i].Add(s.named(constantName(s.dofs[i].name, "armature"), a)).As("inertia_" + s.dofs[i].name)
		}
	}
	for i := range s.Model.Tendons {
		if a := s.Model.Tendons[i].Armature; a != 0 {
			s.hold(s.tendon(i), s.num(a), s.Mass)
		}
	}
}

// inertia returns a body's inertia about its centre of mass, in the world's axes.
func (s *System) inertia(i int) mat {
	b := &s.Model.Bodies[i]
	frame := rotation(b.Frame)
	var own [3][3]float64 // in the body's axes
	for r := range 3 {
		for c := range 3 {
			for k := range 3 {
				own[r][c] += frame[r][k] * b.Inertia[k] * frame[c][k]
			}
			own[r][c] = snap(own[r][c])
		}
	}
	largest := max(b.Inertia[0], b.Inertia[1], b.Inertia[2])
	var m mat
	for r := range 3 {
		for c := range 3 {
			name := constantName(s.bodies[i].name, "inertia_"+"xyz"[min(r, c):min(r, c)+1]+"xyz"[max(r, c):max(r, c)+1])
			if v := own[min(r, c)][max(r, c)]; v*v > 1e-24*largest*largest {
				m[r][c] = s.g.Named(name, v)
			} else {
				m[r][c] = s.num(0)
			}
		}
	}
	if m[0][0] != m[1][1] && own[0][0] == own[1][1] {
		m[1][1] = m[0][0]
	}
	if isScalar(m) || own[0][0] == own[1][1] && own[1][1] == own[2][2] && isDiagonal(m) {
		return mat{{m[0][0], s.num(0), s.num(0)}, {s.num(0), m[0][0], s.num(0)}, {s.num(0), s.num(0), m[0][0]}}
	}
	rot := s.bodies[i].rot
	return symmetric(rot.Mul(m).Mul(rot.Transposed()))
}

// symmetric copies the entries above the diagonal to those below, which are equal but computed by other operations.
func symmetric(m mat) mat {
	m[1][0], m[2][0], m[2][1] = m[0][1], m[0][2], m[1][2]
	return m
}

func isDiagonal(m mat) bool {
	return m[0][1].IsZero() && m[0][2].IsZero() && m[1][2].IsZero()
}

func isScalar(m mat) bool {
	return isDiagonal(m) && m[0][0] == m[1][1] && m[1][1] == m[2][2]
}
