package view

import (
	"math"

	"github.com/evorl/evorl/envs"
)

// solid is a shape at its position.
type solid struct {
	form   envs.Form
	size   vec
	pos    vec
	axes   axes
	color  vec     // linear
	radius float64 // of a bounding sphere; infinite for the ground
}

// solids positions the shapes. It omits those with a non-finite position.
func solids(shapes []envs.Shape, poses []envs.Pose) []solid {
	var out []solid
	for i := range shapes {
		s := &shapes[i]
		at := s.On(poses[s.Body])
		if !finite(at.Pos[:]...) || !finite(at.Rot[:]...) || s.Color[3] <= 0 {
			continue
		}
		size := vec(s.Size)
		o := solid{form: s.Form, size: size, pos: at.Pos, axes: axesOf(at), color: linear(s.Color)}
		switch s.Form {
		case envs.PlaneShape:
			o.radius = math.Inf(1)
		case envs.SphereShape:
			o.radius = size[0]
		case envs.CapsuleShape:
			o.radius = size[0] + size[1]
		case envs.CylinderShape:
			o.radius = math.Hypot(size[0], size[1])
		case envs.BoxShape:
			o.radius = size.length()
		case envs.EllipsoidShape:
			o.radius = max(size[0], size[1], size[2])
		}
		out = append(out, o)
	}
	return out
}

// far is the distance of a miss.
const far = 1e30

// hit returns the distance along a ray at which it meets the solid, and the normal there, or far for a miss. along has length 1.
func (s *solid) hit(from, along vec) (float64, vec) {
	if s.form == envs.PlaneShape {
		rate := s.axes[2].dot(along)
		t := s.axes[2].dot(s.pos.sub(from)) / rate
		if rate >= 0 || !(t > 0) { // invisible from below
			return far, vec{}
		}
		return t, s.axes[2]
	}
	if !s.near(from, along) {
		return far, vec{}
	}
	o, d := s.axes.in(from.sub(s.pos)), s.axes.in(along)
	t, n := far, vec{}
	switch s.form {
	case envs.SphereShape:
		t, n = sphere(o, d, s.size[0])
	case envs.EllipsoidShape:
		by := vec{1 / s.size[0], 1 / s.size[1], 1 / s.size[2]}
		scaled := d.by(by)
		stretch := scaled.length()
		if t, n = sphere(o.by(by), scaled.mul(1/stretch), 1); t < far {
			t, n = t/stretch, n.by(by).unit()
		}
	case envs.CapsuleShape:
		t, n = capsule(o, d, s.size[0], s.size[1])
	case envs.CylinderShape:
		t, n = cylinder(o, d, s.size[0], s.size[1])
	case envs.BoxShape:
		t, n = box(o, d, s.size)
	}
	if t >= far {
		return far, vec{}
	}
	return t, s.axes.out(n)
}

// near reports whether a ray meets the bounding sphere of the solid.
func (s *solid) near(from, along vec) bool {
	to := s.pos.sub(from)
	ahead := to.dot(along)
	return to.dot(to)-ahead*ahead <= s.radius*s.radius && ahead > -s.radius
}

func sphere(o, d vec, radius float64) (float64, vec) {
	b, c := o.dot(d), o.dot(o)-radius*radius
	h := b*b - c
	if h < 0 {
		return far, vec{}
	}
	t := -b - math.Sqrt(h)
	if t <= 0 {
		return far, vec{}
	}
	return t, o.add(d.mul(t)).mul(1 / radius)
}

// side returns the distance at which a ray meets the infinite cylinder about z.
func side(o, d vec, radius float64) float64 {
	a, b, c := d[0]*d[0]+d[1]*d[1], o[0]*d[0]+o[1]*d[1], o[0]*o[0]+o[1]*o[1]-radius*radius
	h := b*b - a*c
	if h < 0 || a < 1e-12 {
		return far
	}
	return (-b - math.Sqrt(h)) / a
}

func capsule(o, d vec, radius, half float64) (float64, vec) {
	if t := side(o, d, radius); t < far {
		if z := o[2] + t*d[2]; math.Abs(z) <= half {
			if t <= 0 {
				return far, vec{}
			}
			return t, vec{(o[0] + t*d[0]) / radius, (o[1] + t*d[1]) / radius, 0}
		}
	}
	t, n := sphere(vec{o[0], o[1], o[2] - half}, d, radius)
	if u, m := sphere(vec{o[0], o[1], o[2] + half}, d, radius); u < t {
		return u, m
	}
	return t, n
}

func cylinder(o, d vec, radius, half float64) (float64, vec) {
	best, n := far, vec{}
	if t := side(o, d, radius); t > 0 && t < far && math.Abs(o[2]+t*d[2]) <= half {
		best, n = t, vec{(o[0] + t*d[0]) / radius, (o[1] + t*d[1]) / radius, 0}
	}
	if d[2] != 0 {
		end := math.Copysign(half, -d[2]) // the end that faces the ray
		if t := (end - o[2]) / d[2]; t > 0 && t < best && math.Hypot(o[0]+t*d[0], o[1]+t*d[1]) <= radius {
			best, n = t, vec{0, 0, math.Copysign(1, end)}
		}
	}
	return best, n
}

func box(o, d, half vec) (float64, vec) {
	enter, leave, axis := -far, far, 0
	for k := range 3 {
		if d[k] == 0 {
			if math.Abs(o[k]) > half[k] {
				return far, vec{}
			}
			continue
		}
		a, b := (-half[k]-o[k])/d[k], (half[k]-o[k])/d[k]
		if a > b {
			a, b = b, a
		}
		if a > enter {
			enter, axis = a, k
		}
		leave = min(leave, b)
	}
	if enter > leave || enter <= 0 {
		return far, vec{}
	}
	n := vec{}
	n[axis] = math.Copysign(1, -d[axis])
	return enter, n
}

// shade returns how much of the sky the solid hides from a point with a normal, approximated by a ball at its nearest part.
func (s *solid) shade(point, normal vec) float64 {
	if s.form == envs.PlaneShape {
		return 0
	}
	core, radius := s.pos, s.size[0]
	if away := s.pos.sub(point); away.dot(away) > (s.radius+12*radius)*(s.radius+12*radius) {
		return 0 // not visible
	}
	switch s.form {
	case envs.CapsuleShape, envs.CylinderShape:
		along := s.axes[2].dot(point.sub(s.pos))
		core = core.add(s.axes[2].mul(min(max(along, -s.size[1]), s.size[1])))
	case envs.BoxShape:
		radius = min(s.size[0], s.size[1], s.size[2])
		local := s.axes.in(point.sub(s.pos))
		for k := range local {
			local[k] = min(max(local[k], radius-s.size[k]), s.size[k]-radius)
		}
		core = core.add(s.axes.out(local))
	}
	to := core.sub(point)
	square := to.dot(to)
	if square < 1e-12 {
		return 0
	}
	return max(0, normal.dot(to)/math.Sqrt(square)) * min(1, radius*radius/square)
}

// linear converts a screen colour to linear light.
func linear(color [4]float64) vec {
	return vec{math.Pow(color[0], 2.2), math.Pow(color[1], 2.2), math.Pow(color[2], 2.2)}
}
