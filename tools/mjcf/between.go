package main

// between places the contact of two spheres or capsules, or of one of them with a cylinder. The first body may be at rest, the second moves.
func (s *System) between(c contact, b1 int, g1 *Geom, b2 int, g2 *Geom) []*contact {
	c.other, c.body = b1, b2
	if s.bodies[b1].fixed {
		c.other = 0
	}
	// Relative to the first body's tree.
	apart := s.origin[b2].Sub(s.origin[b1])
	p1, p2 := s.place(b1, g1, 0), s.place(b2, g2, 0).Add(apart)
	var distance expr
	var normal, middle vec
	switch {
	case g2.Type == "cylinder":
		distance, normal, middle = s.roundOnCylinder(b1, g1, p1, b2, g2, p2)
	case g1.Type == "cylinder":
		distance, normal, middle = s.roundOnCylinder(b2, g2, p2, b1, g1, p1)
		normal = normal.Neg()
	default:
		a1, a2 := s.halfAxis(b1, g1), s.halfAxis(b2, g2)
		p1, p2 = s.closest(p1, a1, s.num(g1.Size[1]*g1.Size[1]), p2, a2, s.num(g2.Size[1]*g2.Size[1]))
		distance, normal, middle = s.surfaces(p1, s.num(g1.Size[0]), p2, s.num(g2.Size[0]))
	}
	c.distance, c.frame[0] = distance.As("distance_"+c.name), normal.As("normal_"+c.name)
	middle = middle.As("contact_" + c.name)
	c.point, c.across = middle.Sub(apart), apart
	if c.params.condim == 3 {
		c.frame = s.tangents(c.frame[0])
	}
	return []*contact{&c}
}

// halfAxis is the vector from a capsule's centre to its end, or none.
func (s *System) halfAxis(body int, g *Geom) vec {
	if g.Type != "capsule" {
		return s.vec([3]float64{})
	}
	return s.direction(body, g, 2).Mul(s.num(g.Size[1]))
}

// closest gives the points of two axes that are closest: of the lines, then within the ends. p are the axes' centres, a their halves, and aa and bb those' squares, not zero where
// there is no axis but a point.
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

// surfaces gives the distance of two spheres, the normal from the first to the second, and the point half way between their surfaces.
func (s *System) surfaces(p1 vec, radius1 expr, p2 vec, radius2 expr) (distance expr, normal, middle vec) {
	towards := p2.Sub(p1)
	length := towards.Dot(towards).Max(s.num(1e-12)).Sqrt()
	distance = length.Sub(radius1.Add(radius2))
	normal = towards.Mul(s.num(1).Div(length))
	return distance, normal, p1.Add(normal.Mul(radius1.Add(distance.Scale(0.5))))
}

// roundOnCylinder gives the distance of a sphere or capsule, at p, from a cylinder, at q, the normal from the first to the second, and the point half way between their surfaces.
// Where a capsule's axis enters the cylinder, the point of it that counts is any that is inside.
func (s *System) roundOnCylinder(b1 int, g1 *Geom, p vec, b2 int, g2 *Geom, q vec) (distance expr, normal, middle vec) {
	zero, one, radius, half := s.num(0), s.num(1), s.num(g2.Size[0]), s.num(g2.Size[1])
	var axes [3]vec
	for k := range axes {
		axes[k] = s.direction(b2, g2, k)
	}
	local := func(v vec) vec { return vec{v.Dot(axes[0]), v.Dot(axes[1]), v.Dot(axes[2])} }
	along := s.halfAxis(b1, g1)
	centre, axis := local(p.Sub(q)), local(along)
	// beyond is how far a point of the capsule's axis is from the nearest of the cylinder.
	beyond := func(t expr) (out, at vec, reach expr) {
		at = centre.Add(axis.Mul(t))
		reach = at[0].Square().Add(at[1].Square()).Max(s.num(1e-12)).Sqrt()
		keep := one.Sub(radius.Div(reach)).Max(zero)
		return vec{at[0].Mul(keep), at[1].Mul(keep), at[2].Sub(at[2].Clamp(half.Neg(), half))}, at, reach
	}
	t := zero
	if !axis.IsZero() {
		t = s.zeroOf(func(t expr) expr {
			out, _, _ := beyond(t)
			return out.Dot(axis)
		})
	}
	out, at, reach := beyond(t)
	square := out.Dot(out)
	length := square.Max(s.num(1e-12)).Sqrt()
	inside := square.Less(s.num(1e-12))
	side, end := radius.Sub(reach), half.Sub(at[2].Abs()) // how deep it is inside
	flank := side.Less(end)
	up := at[2].Less(zero).Select(one.Neg(), one)
	inner := vec{flank.Select(at[0].Div(reach), zero), flank.Select(at[1].Div(reach), zero), flank.Select(zero, up)}
	towards := s.vec([3]float64{})
	for k := range axes {
		towards = towards.Sub(axes[k].Mul(inside.Select(inner[k], out[k].Div(length))))
	}
	distance = inside.Select(side.Min(end).Neg(), length).Sub(s.num(g1.Size[0]))
	return distance, towards, p.Add(along.Mul(t)).Add(towards.Mul(distance.Scale(0.5).Add(s.num(g1.Size[0]))))
}

// zeroOf is where a function that grows is zero between -1 and 1, or the end that is nearer: by bisection, and at last by the secant.
func (s *System) zeroOf(of func(expr) expr) expr {
	const halvings = 16
	zero := s.num(0)
	low, high := s.num(-1), s.num(1)
	for range halvings {
		middle := low.Add(high).Scale(0.5)
		right := of(middle).Less(zero)
		low, high = right.Select(middle, low), right.Select(high, middle)
	}
	below, above := of(low), of(high)
	part := below.Neg().Div(above.Sub(below).Max(s.num(1e-20))).Clamp(zero, s.num(1))
	return low.Add(high.Sub(low).Mul(part))
}
