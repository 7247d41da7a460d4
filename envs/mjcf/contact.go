package mjcf

import "fmt"

// contact is a possible contact of two geoms. Its rows are those of a pyramidal cone (condim 3), or only that of the
// normal (condim 1).
type contact struct {
	name   string
	body   int // of the second geom
	other  int // of the first geom; 0: the world
	params contactParams

	distance expr
	point    vec    // relative to the origin of body's tree
	across   vec    // to be added to a point relative to the origin of other's tree
	frame    [3]vec // normal, from the first geom to the second, and two tangents
	only     expr   // additional condition for the contact; none: always

	d  expr    // stiffness of the rows: 0 without contact
	at [3]expr // residuals J a - aref of the constraint, by direction, at the solver's initial acceleration
}

// contactParams are the contact parameters that MuJoCo derives from two geoms.
type contactParams struct {
	condim   int
	friction float64
	margin   float64
	solref   [2]float64
	solimp   [5]float64
}

// mix combines the parameters of two geoms (MuJoCo documentation, Computation, "Contact parameters").
func mix(a, b *Geom) contactParams {
	if a.Priority != b.Priority { // the geom with the higher priority determines the parameters
		if b.Priority > a.Priority {
			a, b = b, a
		}
		return contactParams{a.ConDim, a.Friction[0], a.Margin + b.Margin, a.SolRef, a.SolImp}
	}
	p := contactParams{condim: max(a.ConDim, b.ConDim), friction: max(a.Friction[0], b.Friction[0]), margin: a.Margin + b.Margin}
	weight := 0.5
	if a.SolMix+b.SolMix > 0 {
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

// pairs returns the pairs of geoms that may touch, by MuJoCo's rules: pairs with a plane or another geom of the
// world, and pairs of moving links.
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

// contacts makes the contacts of pairs of geoms.
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

// apart reports whether bodies never touch: both static, welded together, parent and child, or excluded.
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

// touch makes the contacts of two geoms.
func (s *System) touch(b1, b2 int, g1, g2 *Geom) ([]*contact, error) {
	if g1.Type != "plane" && g2.Type == "plane" || g1.Type == "cylinder" && round(g2) {
		b1, b2, g1, g2 = b2, b1, g2, g1
	}
	c := contact{name: s.geomName(b1, g1) + "_" + s.geomName(b2, g2), body: b2, other: b1, params: mix(g1, g2)}
	refuse := func(why string) ([]*contact, error) {
		return nil, fmt.Errorf("%s: geoms %q (%s) and %q (%s) may touch, but %s; want contype and conaffinity that keep them apart",
			g2.At, g1.Name, g1.Type, g2.Name, g2.Type, why)
	}
	switch {
	case c.params.condim != 1 && c.params.condim != 3:
		return refuse(fmt.Sprintf("condim is %d, not 1 or 3", c.params.condim))
	case c.params.condim == 3 && c.params.friction <= 0:
		return refuse(fmt.Sprintf("friction is %g with condim 3, not more than 0", c.params.friction))
	case g1.Type == "plane" && !s.bodies[b1].fixed:
		return refuse("the plane moves")
	case g1.Type == "plane":
		c.other = 0
		return s.onPlane(c, b1, g1, g2)
	case !round(g1) || !round(g2) && g2.Type != "cylinder":
		return refuse("only planes with spheres, capsules, boxes and cylinders can, and spheres and capsules with each other " +
			"and with cylinders")
	}
	if s.bodies[b2].fixed { // the second body is one that moves
		return s.between(c, b2, g2, b1, g1), nil
	}
	return s.between(c, b1, g1, b2, g2), nil
}

// geomName names a geom in the names of its contacts.
func (s *System) geomName(body int, g *Geom) string {
	if g.Name != "" {
		return Identifier(g.Name)
	}
	return s.bodies[body].name
}

// place returns a point of a geom, at the fraction `along` of its half length, relative to the body's tree.
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
