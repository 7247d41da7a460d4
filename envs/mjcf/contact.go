package mjcf

import (
	"errors"
	"fmt"
)

// contact is a possible contact of two geoms. Its rows are a pyramidal or elliptic cone's, or only the normal's
// (condim 1).
type contact struct {
	name   string
	body   int // of the second geom
	other  int // of the first geom; 0: the world
	params contactParams

	at0      string // the file and line of its second geom
	distance expr
	point    vec    // relative to the origin of body's tree
	across   vec    // to be added to a point relative to the origin of other's tree
	frame    [3]vec // normal, from the first geom to the second, and two tangents: needed with condim above 1
	only     expr   // additional condition for the contact; none: always

	d  expr    // stiffness of the rows: 0 without contact; of an elliptic cone the normal's
	at [6]expr // residuals J a - aref of the constraint, by direction, at the solver's initial acceleration
}

// contactParams are the contact parameters that MuJoCo derives from two geoms.
type contactParams struct {
	condim   int
	friction [3]float64 // sliding, spinning, rolling
	margin   float64
	solref   [2]float64
	solimp   [5]float64
}

// mu returns the friction coefficient of a direction after the normal.
func (p *contactParams) mu(direction int) float64 {
	const least = 1e-5 // MuJoCo's mjMINMU
	return max(least, p.friction[[]int{0, 0, 0, 1, 2, 2}[direction]])
}

func (s *System) elliptic() bool { return s.Model.Cone == "elliptic" }

// impratio returns the stiffness of friction relative to the normal force's.
func (s *System) impratio() float64 {
	if s.Model.ImpRatio == 0 {
		return 1
	}
	return s.Model.ImpRatio
}

// mix combines the parameters of two geoms (MuJoCo documentation, Computation, "Contact parameters").
func mix(a, b *Geom) contactParams {
	if a.Priority != b.Priority { // the geom with the higher priority determines the parameters
		if b.Priority > a.Priority {
			a, b = b, a
		}
		return contactParams{a.ConDim, a.Friction, a.Margin + b.Margin, a.SolRef, a.SolImp}
	}
	p := contactParams{condim: max(a.ConDim, b.ConDim), margin: a.Margin + b.Margin}
	for i := range p.friction {
		p.friction[i] = max(a.Friction[i], b.Friction[i])
	}
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

// title names a geom in an error: by its body, if it has no name.
func (s *System) title(l link) string {
	if l.geom.Name == "" {
		return fmt.Sprintf("a geom of body %q (%s)", s.Model.Bodies[l.body].Name, l.geom.Type)
	}
	return fmt.Sprintf("geom %q (%s)", l.geom.Name, l.geom.Type)
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
					if s.Model.GroundOnly && !onGround(g1, g2) {
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

// split divides pairs into pairs of spheres and capsules alone, and the others.
func split(pairs []pair) (angular, curved []pair) {
	for _, p := range pairs {
		if round(p.first.geom) && round(p.second.geom) {
			curved = append(curved, p)
		} else {
			angular = append(angular, p)
		}
	}
	return angular, curved
}

// contacts makes the contacts of pairs of geoms.
func (s *System) contacts(pairs []pair) ([]*contact, error) {
	var all []*contact
	var errs []error
	for _, p := range pairs {
		found, err := s.touch(p.first.body, p.second.body, p.first.geom, p.second.geom)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

// onGround reports whether a pair of geoms is a plane and a shape other than a mesh.
func onGround(g1, g2 *Geom) bool {
	return g1.Type == "plane" && g2.Type != "mesh" || g2.Type == "plane" && g1.Type != "mesh"
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
	c := contact{name: s.geomName(b1, g1) + "_" + s.geomName(b2, g2), body: b2, other: b1, params: mix(g1, g2), at0: g2.At}
	refuse := func(why string) ([]*contact, error) {
		return nil, fmt.Errorf("%s: %s and %s may touch, but %s; want contype and conaffinity that keep them apart, or contacts ground",
			g2.At, s.title(link{b1, g1}), s.title(link{b2, g2}), why)
	}
	switch {
	case c.params.condim > 1 && c.params.friction[0] <= 0:
		return refuse(fmt.Sprintf("friction is %g with condim %d, not more than 0", c.params.friction[0], c.params.condim))
	case g1.Type == "plane" && !s.bodies[b1].fixed:
		return refuse("the plane moves")
	case g1.Type == "plane" && g2.Type == "mesh":
		return refuse("meshes cannot")
	case g1.Type == "plane":
		c.other = 0
		return s.onPlane(c, b1, g1, g2)
	case !round(g1) || !round(g2) && g2.Type != "cylinder":
		return refuse("only planes with spheres, capsules, boxes, cylinders and ellipsoids can, and spheres and capsules with each other " +
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
