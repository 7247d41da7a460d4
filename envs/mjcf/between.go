package mjcf

// between makes the contact of two spheres or capsules, or the contacts of one of them with a cylinder. The first body may
// be static, the second moves.
func (s *System) between(c contact, b1 int, g1 *Geom, b2 int, g2 *Geom) []*contact {
	c.other, c.body = b1, b2
	if s.bodies[b1].fixed {
		c.other = 0
	}
	c.across = s.origin[b2].Sub(s.origin[b1])
	p1, p2 := s.place(b1, g1, 0), s.place(b2, g2, 0).Add(c.across) // relative to the origin of the first body's tree
	switch {
	case g2.Type == "cylinder":
		return s.onCylinder(c, capsule{p1, s.halfAxis(b1, g1), g1.Size[0], g1.Size[1]}, s.cylinder(b2, g2, p2), 1)
	case g1.Type == "cylinder":
		return s.onCylinder(c, capsule{p2, s.halfAxis(b2, g2), g2.Size[0], g2.Size[1]}, s.cylinder(b1, g1, p1), -1)
	}
	a1, a2 := s.halfAxis(b1, g1), s.halfAxis(b2, g2)
	p1, p2 = s.closest(p1, a1, s.num(g1.Size[1]*g1.Size[1]), p2, a2, s.num(g2.Size[1]*g2.Size[1]))
	distance, normal, middle := s.surfaces(p1, s.num(g1.Size[0]), p2, s.num(g2.Size[0]))
	if c.params.condim > 1 {
		distance, normal, middle = s.crossing(p1, s.num(g1.Size[0]), a1, p2, s.num(g2.Size[0]), a2)
	}
	return []*contact{s.meet(c, c.name, distance, normal, middle)}
}

// meet makes a contact with the given distance and normal, midway between the surfaces, relative to the first body's
// tree.
func (s *System) meet(c contact, name string, distance expr, normal, middle vec) *contact {
	c.name = name
	c.distance, c.frame[0] = distance.As("distance_"+name), normal.As("normal_"+name)
	c.point = middle.As("contact_" + name).Sub(c.across)
	if c.params.condim > 1 {
		c.frame = s.tangents(c.frame[0])
	}
	return &c
}

// halfAxis returns the vector from a capsule's centre to its end, or zero for a sphere.
func (s *System) halfAxis(body int, g *Geom) vec {
	if g.Type != "capsule" {
		return s.vec([3]float64{})
	}
	return s.direction(body, g, 2).Mul(s.num(g.Size[1]))
}

// closest returns the closest points of two axes: of the lines, then clamped to the ends. p are the axes' centres, a
// their half axes, aa and bb the squared lengths of these, not zero unless the axis is known to be zero.
func (s *System) closest(p1, a1 vec, aa expr, p2, a2 vec, bb expr) (vec, vec) {
	one := s.num(1)
	unit := func(x expr) expr { return x.Clamp(one.Neg(), one) }
	between := p1.Sub(p2)
	switch {
	case a1.IsZero() && a2.IsZero():
		return p1, p2
	case a2.IsZero():
		return p1.Sub(a1.Mul(unit(a1.Dot(between).Div(aa)))), p2
	case a1.IsZero():
		return p1, p2.Add(a2.Mul(unit(a2.Dot(between).Div(bb))))
	}
	ab, u, v := a1.Dot(a2).Neg(), a1.Dot(between).Neg(), a2.Dot(between)
	det := aa.Mul(bb).Sub(ab.Square()).Max(aa.Mul(bb).Scale(1e-6))
	x1 := unit(bb.Mul(u).Sub(ab.Mul(v)).Div(det))
	x2 := v.Sub(ab.Mul(x1)).Div(bb)
	inside := x2.Abs().Less(one)
	x2 = unit(x2)
	x1 = inside.Select(x1, unit(u.Sub(ab.Mul(x2)).Div(aa)))
	return p1.Add(a1.Mul(x1)), p2.Add(a2.Mul(x2))
}

// surfaces returns the distance of two spheres, the normal from the first to the second, and the point midway between
// their surfaces. If the centres coincide, the normal is zero and no force acts.
func (s *System) surfaces(p1 vec, radius1 expr, p2 vec, radius2 expr) (distance expr, normal, middle vec) {
	towards := p2.Sub(p1)
	length := towards.Dot(towards).Max(s.num(1e-12)).Sqrt()
	distance = length.Sub(radius1.Add(radius2))
	normal = towards.Mul(s.num(1).Div(length))
	return distance, normal, p1.Add(normal.Mul(radius1.Add(distance.Scale(0.5))))
}

// crossing is surfaces for contacts with friction, which need a normal even where the axes a1 and a2 intersect, as in
// a planar robot's links. It is perpendicular to both, as in MuJoCo, or the first axis of the world if
// they are parallel.
func (s *System) crossing(p1 vec, radius1 expr, a1, p2 vec, radius2 expr, a2 vec) (distance expr, normal, middle vec) {
	const tiny = 1e-12
	towards, across, first := p2.Sub(p1), a1.Cross(a2), s.g.Unit(0)
	square, area := towards.Dot(towards), across.Dot(across)
	met, parallel := square.Less(s.num(tiny)), area.Less(s.num(tiny*tiny))
	length, width := square.Max(s.num(tiny)).Sqrt(), area.Max(s.num(tiny*tiny)).Sqrt()
	distance = met.Select(s.num(0), length).Sub(radius1.Add(radius2))
	for k := range normal {
		normal[k] = met.Select(parallel.Select(first[k], across[k].Div(width)), towards[k].Div(length))
	}
	return distance, normal, p1.Add(normal.Mul(radius1.Add(distance.Scale(0.5))))
}
