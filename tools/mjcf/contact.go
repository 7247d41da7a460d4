package main

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/tools/mjcf/symbolic"
)

// Contact is a place where two geoms may touch. Its rows are those of a pyramidal cone (condim 3), or one of the normal alone (condim 1).
type contact struct {
	name   string
	body   int // the second geom's
	other  int // the first geom's; 0: the world
	params contactParams

	distance expr
	point    vec    // relative to the origin of body's tree
	across   vec    // what to add for a point relative to the origin of other's tree
	frame    [3]vec // normal, from the first geom to the second, and two tangents

	d  expr    // the rows' stiffness: 0 where they are apart
	at [3]expr // of the constraints' residual J a - aref, by direction, at the acceleration the solver begins with
}

// contactParams are what MuJoCo makes of the parameters of two geoms.
type contactParams struct {
	condim   int
	friction float64
	margin   float64
	solref   [2]float64
	solimp   [5]float64
}

// mix combines the parameters of two geoms (MuJoCo documentation, Computation, "Contact parameters").
func mix(a, b *Geom) contactParams {
	p := contactParams{condim: max(a.ConDim, b.ConDim), friction: max(a.Friction[0], b.Friction[0]), margin: a.Margin + b.Margin}
	weight := 0.5
	switch {
	case a.Priority > b.Priority:
		p.condim, p.friction, weight = a.ConDim, a.Friction[0], 1
	case a.Priority < b.Priority:
		p.condim, p.friction, weight = b.ConDim, b.Friction[0], 0
	case a.SolMix+b.SolMix > 0:
		weight = a.SolMix / (a.SolMix + b.SolMix)
	}
	for i := range p.solref {
		p.solref[i] = weight*a.SolRef[i] + (1-weight)*b.SolRef[i]
		if a.SolRef[0] <= 0 || b.SolRef[0] <= 0 {
			p.solref[i] = min(a.SolRef[i], b.SolRef[i])
		}
	}
	for i := range p.solimp {
		p.solimp[i] = weight*a.SolImp[i] + (1-weight)*b.SolImp[i]
	}
	return p
}

// pair is two geoms that may touch.
type pair struct{ first, second link }

// link is a geom of a body.
type link struct {
	body int
	geom *Geom
}

// pairs finds the pairs of geoms that may touch, by MuJoCo's rules: those with a plane or another geom of the world, and those of links that both move.
func (s *System) pairs() (world, links []pair) {
	bodies := s.Model.Bodies
	for b1 := range bodies {
		for b2 := b1 + 1; b2 < len(bodies); b2++ {
			if s.apart(b1, b2) {
				continue
			}
			for i := range bodies[b1].Geoms {
				for j := range bodies[b2].Geoms {
					g1, g2 := &bodies[b1].Geoms[i], &bodies[b2].Geoms[j]
					if g1.ConType&g2.ConAffinity == 0 && g2.ConType&g1.ConAffinity == 0 {
						continue
					}
					p := pair{link{b1, g1}, link{b2, g2}}
					if s.bodies[b1].fixed || s.bodies[b2].fixed {
						world = append(world, p)
					} else {
						links = append(links, p)
					}
				}
			}
		}
	}
	return world, links
}

// contacts places the contacts of pairs of geoms.
func (s *System) contacts(pairs []pair) ([]*contact, error) {
	var all []*contact
	for _, p := range pairs {
		found, err := s.touch(p.first.body, p.second.body, p.first.geom, p.second.geom)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func round(g *Geom) bool { return g.Type == "sphere" || g.Type == "capsule" }

// apart says whether bodies never touch: both at rest in the world, welded together, parent and child, or excluded.
func (s *System) apart(b1, b2 int) bool {
	w1, w2 := s.Model.Bodies[b1].Weld, s.Model.Bodies[b2].Weld
	if w1 == w2 {
		return true
	}
	p1, p2 := s.Model.Bodies[s.Model.Bodies[w1].Parent].Weld, s.Model.Bodies[s.Model.Bodies[w2].Parent].Weld
	if w1 != 0 && w2 != 0 && (w1 == p2 || w2 == p1) {
		return true
	}
	for _, pair := range s.Model.Excluded {
		if pair == [2]int{b1, b2} || pair == [2]int{b2, b1} {
			return true
		}
	}
	return false
}

// touch places the contacts of two geoms.
func (s *System) touch(b1, b2 int, g1, g2 *Geom) ([]*contact, error) {
	params := mix(g1, g2)
	label := func(b int, g *Geom) string {
		if g.Name != "" {
			return identifier(g.Name)
		}
		return s.bodies[b].name
	}
	if g1.Type != "plane" && g2.Type == "plane" {
		b1, b2, g1, g2 = b2, b1, g2, g1
	}
	name := label(b1, g1) + "_" + label(b2, g2)
	refuse := func(why string) ([]*contact, error) {
		return nil, fmt.Errorf("geoms %q (%s) and %q (%s) may touch, but %s; want contype and conaffinity that keep them apart", g1.Name, g1.Type, g2.Name, g2.Type, why)
	}
	if !round(g2) || !round(g1) && g1.Type != "plane" {
		return refuse("only planes, spheres and capsules can")
	}
	if g1.Type == "plane" {
		if !s.bodies[b1].fixed {
			return refuse("the plane moves")
		}
		if b1 != 0 {
			return refuse("the plane is not of the world body")
		}
		if params.condim != 1 && params.condim != 3 {
			return refuse(fmt.Sprintf("condim is %d, not 1 or 3", params.condim))
		}
		ends := []float64{0}
		if g2.Type == "capsule" {
			ends = []float64{1, -1}
		}
		var out []*contact
		for i, end := range ends {
			c := &contact{name: name, body: b2, params: params}
			if len(ends) > 1 {
				c.name += []string{"_top", "_end"}[i]
			}
			s.onPlane(c, g1, g2, end)
			out = append(out, c)
		}
		return out, nil
	}
	if s.bodies[b1].fixed || s.bodies[b2].fixed {
		return refuse("one of them is at rest and no plane")
	}
	if params.condim != 1 {
		return refuse("both move and condim is not 1")
	}
	c := &contact{name: name, body: b2, other: b1, params: params}
	s.between(c, g1, g2)
	return []*contact{c}, nil
}

// place is a point of a geom, at the fraction `along` of its half length, relative to the body's tree.
func (s *System) place(body int, g *Geom, along float64) vec {
	local := g.Pos
	axis := rotation(g.Quat)
	if g.Type == "capsule" {
		for i := range 3 {
			local[i] += axis[i][2] * g.Size[1] * along
		}
	}
	return s.bodies[body].pos.Add(s.bodies[body].rot.Apply(s.vec(local)))
}

func (s *System) direction(body int, g *Geom, axis int) vec {
	frame := rotation(g.Quat)
	return s.bodies[body].rot.Apply(s.vec([3]float64{frame[0][axis], frame[1][axis], frame[2][axis]}))
}

// onPlane places the contact of a sphere, or of an end of a capsule, with a plane of the world.
func (s *System) onPlane(c *contact, plane, g *Geom, end float64) {
	frame := rotation(plane.Quat)
	normal := s.vec([3]float64{frame[0][2], frame[1][2], frame[2][2]})
	centre := s.place(c.body, g, end)
	height := normal.Dot(s.origin[c.body].Sub(s.vec(plane.Pos))).Add(normal.Dot(centre))
	radius := s.num(g.Size[0])
	c.distance = height.Sub(radius).As("distance_" + c.name)
	c.point = centre.Sub(normal.Mul(height.Add(radius).Mul(s.num(0.5)))).As("contact_" + c.name) // half way between the surfaces
	c.frame[0] = normal
	if g.Type == "sphere" {
		second := s.g.Unit(1)
		if math.Abs(frame[1][2]) >= 0.5 {
			second = s.g.Unit(2)
		}
		c.frame[1] = s.unitVec(second.Sub(normal.Mul(second.Dot(normal))))
	} else { // the first tangent goes along the capsule
		axis := s.direction(c.body, g, 2)
		c.frame[1] = s.unitVec(axis.Sub(normal.Mul(axis.Dot(normal))))
	}
	c.frame[2] = normal.Cross(c.frame[1])
}

// unitVec is v at length 1, or the first axis where v vanishes. Of a vector along one axis the sign is lost.
func (s *System) unitVec(v vec) vec {
	var along []int
	for i := range 3 {
		if !v[i].IsZero() {
			along = append(along, i)
		}
	}
	if len(along) == 1 { // of no consequence: the cone is symmetric
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

// between places the contact of two spheres or capsules that move.
func (s *System) between(c *contact, g1, g2 *Geom) {
	// Relative to the first body's tree.
	apart := s.origin[c.body].Sub(s.origin[c.other])
	p1, p2 := s.place(c.other, g1, 0), s.place(c.body, g2, 0).Add(apart)
	a1, a2 := s.direction(c.other, g1, 2).Mul(s.num(g1.Size[1])), s.direction(c.body, g2, 2).Mul(s.num(g2.Size[1]))
	p1, p2 = s.closest(p1, a1, s.num(g1.Size[1]*g1.Size[1]), p2, a2, s.num(g2.Size[1]*g2.Size[1]))
	distance, normal, middle := s.surfaces(p1, s.num(g1.Size[0]), p2, s.num(g2.Size[0]))
	c.distance, c.frame[0] = distance.As("distance_"+c.name), normal.As("normal_"+c.name)
	c.point, c.across = middle.As("contact_"+c.name).Sub(apart), apart
	c.frame[1], c.frame[2] = symbolic.Vec{}, symbolic.Vec{}
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
