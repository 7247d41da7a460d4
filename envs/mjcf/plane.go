package mjcf

import (
	"fmt"
	"math"
)

// onPlane makes the contacts of a moving geom with a static plane, of body b1.
func (s *System) onPlane(c contact, b1 int, plane, g *Geom) ([]*contact, error) {
	normal, at := s.planeOf(b1, plane)
	switch g.Type {
	case "sphere", "capsule":
		return s.roundOnPlane(c, normal, at, g), nil
	case "box":
		return s.boxOnPlane(c, normal, at, g), nil
	case "cylinder":
		return s.cylinderOnPlane(c, normal, at, g), nil
	case "ellipsoid":
		return s.ellipsoidOnPlane(c, normal, at, g), nil
	}
	return nil, fmt.Errorf("%s: geoms %q (plane) and %q (%s) may touch; want a sphere, capsule, box, cylinder or ellipsoid on planes",
		g.At, plane.Name, g.Name, g.Type)
}

// planeOf returns the normal of a plane and a point on it, in the world.
func (s *System) planeOf(body int, plane *Geom) (normal, at vec) {
	if body == 0 {
		frame := rotation(plane.Quat)
		return s.vec([3]float64{frame[0][2], frame[1][2], frame[2][2]}), s.vec(plane.Pos)
	}
	return s.direction(body, plane, 2), s.origin[body].Add(s.place(body, plane, 0))
}

// roundOnPlane makes the contact of a sphere, or the contacts of a capsule's ends.
func (s *System) roundOnPlane(c contact, normal, at vec, g *Geom) []*contact {
	ends := map[string][]float64{"sphere": {0}, "capsule": {1, -1}}[g.Type]
	var out []*contact
	for i, end := range ends {
		one := c
		if len(ends) > 1 {
			one.name += []string{"_top", "_end"}[i]
		}
		centre := s.place(c.body, g, end)
		height := normal.Dot(s.origin[c.body].Sub(at)).Add(normal.Dot(centre))
		radius := s.num(g.Size[0])
		one.distance = height.Sub(radius).As("distance_" + one.name)
		one.point = centre.Sub(normal.Mul(height.Add(radius).Mul(s.num(0.5)))).As("contact_" + one.name) // midway between the surfaces
		one.frame = s.tangents(normal)
		if g.Type == "capsule" { // the first tangent is along the capsule
			axis := s.direction(c.body, g, 2)
			one.frame[1] = s.unitVec(axis.Sub(normal.Mul(axis.Dot(normal))))
			one.frame[2] = normal.Cross(one.frame[1])
		}
		out = append(out, &one)
	}
	return out
}

// boxOnPlane makes the contacts of the four corners of a box that face the plane: one of each diagonal.
func (s *System) boxOnPlane(c contact, normal, at vec, g *Geom) []*contact {
	centre := s.place(c.body, g, 0)
	height := normal.Dot(s.origin[c.body].Sub(at)).Add(normal.Dot(centre))
	var edges [3]vec
	for k := range edges {
		edges[k] = s.direction(c.body, g, k).Mul(s.num(g.Size[k]))
	}
	var out []*contact
	for i := range 4 {
		sign := func(bit int) expr { return s.num(float64(2*(i>>bit&1) - 1)) }
		corner := edges[0].Mul(sign(0)).Add(edges[1].Mul(sign(1))).Add(edges[2])
		rise := normal.Dot(corner)
		down := s.num(0).Less(rise).Select(s.num(-1), s.num(1))
		name := fmt.Sprintf("%s_corner%d", c.name, i+1)
		out = append(out, s.pointOnPlane(c, name, normal, height.Sub(rise.Abs()), centre.Add(corner.Mul(down))))
	}
	return out
}

// cylinderOnPlane makes four contacts: the point nearest to the plane, the one above it on the other disc, and two
// more on the near disc that form a triangle with the first.
func (s *System) cylinderOnPlane(c contact, normal, at vec, g *Geom) []*contact {
	centre := s.place(c.body, g, 0)
	height := normal.Dot(s.origin[c.body].Sub(at)).Add(normal.Dot(centre))
	first, second, axis := s.direction(c.body, g, 0), s.direction(c.body, g, 1), s.direction(c.body, g, 2)
	rise := normal.Dot(axis)
	down := s.num(0).Less(rise).Select(s.num(-1), s.num(1)) // make the axis point towards the plane
	axis, rise = axis.Mul(down), rise.Abs().Neg()
	// Along the disc towards the plane: the component of the normal perpendicular to the axis. An upright cylinder
	// uses its slightest tilt.
	x, y := normal.Dot(first).Neg(), normal.Dot(second).Neg()
	square := x.Square().Add(y.Square())
	upright := square.Less(s.num(1e-30))
	scale := s.num(g.Size[0]).Div(square.Max(s.num(1e-30)).Sqrt())
	x, y = upright.Select(s.num(g.Size[0]), x.Mul(scale)), upright.Select(s.num(0), y.Mul(scale))
	out := first.Mul(x).Add(second.Mul(y))
	fall := normal.Dot(out)
	axis, rise = axis.Mul(s.num(g.Size[1])), rise.Scale(g.Size[1])
	side := out.Cross(axis).Mul(s.num(math.Sqrt(3) / 2 / g.Size[1])) // the length of out times √3/2
	half := out.Mul(s.num(-0.5))
	point := func(name string, above expr, offset vec) *contact {
		return s.pointOnPlane(c, c.name+name, normal, height.Add(above), centre.Add(offset))
	}
	low, high := rise.Add(fall), fall.Sub(rise)
	near := rise.Sub(fall.Scale(0.5))
	return []*contact{
		point("_low", low, out.Add(axis)), point("_high", high, out.Sub(axis)),
		point("_left", near, half.Add(axis).Add(side)), point("_right", near, half.Add(axis).Sub(side)),
	}
}

// ellipsoidOnPlane makes the contact of the point of an ellipsoid that is farthest against the normal.
func (s *System) ellipsoidOnPlane(c contact, normal, at vec, g *Geom) []*contact {
	centre := s.place(c.body, g, 0)
	height := normal.Dot(s.origin[c.body].Sub(at)).Add(normal.Dot(centre))
	reach, square := s.vec([3]float64{}), s.num(0) // of radii r and the normal n in the ellipsoid's axes: r² n, and n · r² n
	for k := range 3 {
		axis := s.direction(c.body, g, k)
		along := normal.Dot(axis)
		far := along.Scale(g.Size[k] * g.Size[k])
		reach, square = reach.Add(axis.Mul(far)), square.Add(along.Mul(far))
	}
	length := square.Sqrt()
	point := centre.Sub(reach.Mul(s.num(1).Div(length)))
	return []*contact{s.pointOnPlane(c, c.name, normal, height.Sub(length), point)}
}

// pointOnPlane makes the contact of a point of a surface at a distance from a plane.
func (s *System) pointOnPlane(c contact, name string, normal vec, distance expr, point vec) *contact {
	c.name = name
	c.distance = distance.As("distance_" + name)
	c.point = point.Sub(normal.Mul(c.distance.Scale(0.5))).As("contact_" + name) // midway between the surfaces
	c.frame = s.tangents(normal)
	return &c
}

// tangents completes a normal to a frame as MuJoCo does: the second axis is the world's y or, if that is too close to
// the normal, z, orthogonalised to the normal.
func (s *System) tangents(normal vec) [3]vec {
	y, z := s.g.Unit(1), s.g.Unit(2)
	side := y
	if value, ok := normal[1].Value(); ok {
		if math.Abs(value) >= 0.5 {
			side = z
		}
	} else {
		steep := normal[1].Abs().Less(s.num(0.5))
		for k := range side {
			side[k] = steep.Select(y[k], z[k])
		}
	}
	first := s.unitVec(side.Sub(normal.Mul(side.Dot(normal))))
	return [3]vec{normal, first, normal.Cross(first)}
}

// unitVec returns v normalised to length 1, or the first axis if v is zero. For a vector along one axis the sign is
// lost.
func (s *System) unitVec(v vec) vec {
	var along []int
	for i := range 3 {
		if !v[i].IsZero() {
			along = append(along, i)
		}
	}
	switch len(along) {
	case 0: // such as the part along the ground of a capsule that always stands upright
		return s.g.Unit(0)
	case 1: // the sign does not matter: the cone is symmetric
		return s.g.Unit(along[0])
	}
	square := v.Dot(v)
	if value, ok := square.Value(); ok {
		return v.Mul(s.num(1 / math.Sqrt(value)))
	}
	tiny := square.Less(s.num(1e-12))
	scale := s.num(1).Div(square.Max(s.num(1e-12)).Sqrt())
	first := s.g.Unit(0)
	for i := range v {
		v[i] = tiny.Select(first[i], v[i].Mul(scale))
	}
	return v
}
