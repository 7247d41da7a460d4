package mjcf

import (
	"fmt"
	"math"
)

// capsule is a sphere or capsule in the world: its centre and half axis, zero for a sphere.
type capsule struct {
	centre, along vec
	radius, half  float64
}

// cylinder is a cylinder in the world.
type cylinder struct {
	centre       vec
	axes         [3]vec // the third is the cylinder's axis
	radius, half float64
}

func (s *System) cylinder(body int, g *Geom, centre vec) cylinder {
	out := cylinder{centre: centre, radius: g.Size[0], half: g.Size[1]}
	for k := range out.axes {
		out.axes[k] = s.direction(body, g, k)
	}
	return out
}

// onCylinder makes the contacts of a sphere or capsule with a cylinder, with normals from the first to the second,
// times sign.
//
// For a capsule MuJoCo looks for contacts besides the nearest one ("multiccd"): it rotates both shapes by small
// angles about that contact, in both directions about two axes perpendicular to the normal, and adds a contact where
// the nearest points have moved, with the distance of the first.
func (s *System) onCylinder(c contact, a capsule, b cylinder, sign float64) []*contact {
	const (
		angle = 1e-3 // rad
		moved = 1e-3 // relative to the smaller radius of the two bounding spheres
	)
	origin := b.centre // coordinates are relative to origin, so that rounding is small compared with the movement of contacts
	a.centre, b.centre = a.centre.Sub(origin), s.vec([3]float64{})
	distance, normal, middle := s.nearest(a, b)
	first := s.meet(c, c.name, distance, normal.Mul(s.num(sign)), middle.Add(origin))
	all := []*contact{first}
	if a.along.IsZero() || !s.Model.MultiCCD {
		return all
	}
	apart := moved * min(a.radius+a.half, math.Hypot(b.radius, b.half))
	frame := s.tangents(normal)
	middles := []vec{middle}
	for k := range 4 {
		turn := s.turnAbout(middle, frame[1+k/2], angle*float64(2*(k%2)-1))
		back := s.turnAbout(middle, frame[1+k/2], -angle*float64(2*(k%2)-1))
		turned := b
		turned.centre = back(b.centre, true)
		for i := range turned.axes {
			turned.axes[i] = back(b.axes[i], false)
		}
		reach, normal, middle := s.nearest(capsule{turn(a.centre, true), turn(a.along, false), a.radius, a.half}, turned)
		close := s.num(0) // number of earlier contacts close to it
		for i, other := range middles {
			gap := middle.Sub(other)
			near := gap.Dot(gap).Less(s.num(apart*apart)).Select(s.num(1), s.num(0))
			if i > 0 {
				near = all[i].only.Select(near, s.num(0))
			}
			close = close.Add(near)
		}
		one := s.meet(c, fmt.Sprintf("%s_more%d", c.name, k+1), reach, normal.Mul(s.num(sign)), middle.Add(origin))
		one.distance = first.distance
		one.only = close.Less(s.num(0.5)).And(reach.Less(s.num(c.params.margin)))
		middles, all = append(middles, middle), append(all, one)
	}
	return all
}

// turnAbout returns a function that rotates points about an axis through a centre, or directions about the axis.
func (s *System) turnAbout(centre, axis vec, angle float64) func(v vec, point bool) vec {
	sin, rest := s.num(math.Sin(angle)), s.num(1-math.Cos(angle))
	return func(v vec, point bool) vec {
		if point {
			v = v.Sub(centre)
		}
		across := axis.Cross(v)
		v = v.Add(across.Mul(sin)).Add(axis.Cross(across).Mul(rest))
		if point {
			v = v.Add(centre)
		}
		return v
	}
}

// nearest returns the distance of a sphere or capsule from a cylinder, the normal from the first to the second, and
// the point midway between their surfaces. If the capsule's axis enters the cylinder, any point of it that is inside
// may be used.
func (s *System) nearest(a capsule, b cylinder) (distance expr, normal, middle vec) {
	zero, one, radius, half := s.num(0), s.num(1), s.num(b.radius), s.num(b.half)
	local := func(v vec) vec { return vec{v.Dot(b.axes[0]), v.Dot(b.axes[1]), v.Dot(b.axes[2])} }
	centre, axis := local(a.centre.Sub(b.centre)), local(a.along)
	// beyond returns the distance of a point of the capsule's axis from the nearest point of the cylinder.
	beyond := func(t expr) (out, at vec, reach expr) {
		at = centre.Add(axis.Mul(t))
		reach = at[0].Square().Add(at[1].Square()).Max(s.num(1e-12)).Sqrt()
		keep := one.Sub(radius.Div(reach)).Max(zero)
		return vec{at[0].Mul(keep), at[1].Mul(keep), at[2].Sub(at[2].Clamp(half.Neg(), half))}, at, reach
	}
	t := zero
	if !a.along.IsZero() {
		t = s.rootWithin(func(t expr) expr {
			out, _, _ := beyond(t)
			return out.Dot(axis)
		})
	}
	out, at, reach := beyond(t)
	square := out.Dot(out)
	length := square.Max(s.num(1e-12)).Sqrt()
	inside := square.Less(s.num(1e-12))
	side, end := radius.Sub(reach), half.Sub(at[2].Abs()) // depth of the point below the side and below the end
	flank := side.Less(end)
	up := at[2].Less(zero).Select(one.Neg(), one)
	inner := vec{flank.Select(at[0].Div(reach), zero), flank.Select(at[1].Div(reach), zero), flank.Select(zero, up)}
	normal = s.vec([3]float64{})
	for k := range b.axes {
		normal = normal.Sub(b.axes[k].Mul(inside.Select(inner[k], out[k].Div(length))))
	}
	distance = inside.Select(side.Min(end).Neg(), length).Sub(s.num(a.radius))
	return distance, normal, a.centre.Add(a.along.Mul(t)).Add(normal.Mul(distance.Scale(0.5).Add(s.num(a.radius))))
}

// rootWithin returns the zero between -1 and 1 of an increasing function, or the nearer end if it has none: by
// bisection, then one secant step.
func (s *System) rootWithin(of func(expr) expr) expr {
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
