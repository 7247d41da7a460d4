package mjcf

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// contacts writes the points that may touch the ground, the links that may touch each other, and the solver
// parameters of all contacts.
func (t *tables) contacts() error {
	s := t.s
	world, links := s.pairs()
	var plane *Geom
	law, margin, found := reference{}, 0.0, ""
	share := func(p pair) error {
		params, name := mix(p.first.geom, p.second.geom), p.second.geom.Name
		ref, err := s.soften("contact "+name, params.solref, params.solimp)
		if err != nil {
			return err
		}
		if found != "" && (ref != law || margin != params.margin) {
			return fmt.Errorf("geoms %q and %q have contacts of different margin, solref or solimp", found, name)
		}
		law, margin, found = ref, params.margin, name
		return nil
	}
	var pointBody, linkBody, pairs []uint32
	for _, p := range world {
		if p.first.geom.Type != "plane" {
			p.first, p.second = p.second, p.first
		}
		params, g, b := mix(p.first.geom, p.second.geom), p.second.geom, p.second.body
		switch {
		case p.first.geom.Type != "plane" || !round(g) || p.first.body != 0 || params.condim != 1 && params.condim != 3:
			return fmt.Errorf("geoms %q (%s) and %q (%s) may touch with condim %d; want a plane of the world with a sphere or capsule, and condim 1 or 3",
				p.first.geom.Name, p.first.geom.Type, g.Name, g.Type, params.condim)
		case plane != nil && p.first.geom != plane:
			return fmt.Errorf("geoms touch the planes %q and %q; want one", plane.Name, p.first.geom.Name)
		case params.condim == 3 && params.friction[0] <= 0:
			return fmt.Errorf("geom %q touches with condim 3 and friction %g; want more than 0, or condim 1", g.Name, params.friction[0])
		}
		plane = p.first.geom
		if err := share(p); err != nil {
			return err
		}
		weight := s.Model.Bodies[b].InvWeight[0] + s.Model.Bodies[0].InvWeight[0]
		friction := params.friction[0]
		if params.condim == 1 {
			friction = 0
		} else {
			weight *= (1 + friction*friction) * 2 * friction * friction
		}
		ends, axis := []float64{0}, [3]float64{}
		frame := rotation(g.Quat)
		if g.Type == "capsule" {
			ends = []float64{1, -1}
			axis = [3]float64{frame[0][2], frame[1][2], frame[2][2]}
		}
		for _, end := range ends {
			at := g.Pos
			for k := range 3 {
				at[k] += axis[k] * g.Size[1] * end
			}
			t.number("point of "+title(s, b, g), at[0], at[1], at[2], axis[0], axis[1], axis[2], g.Size[0], friction, weight)
			pointBody = append(pointBody, uint32(b))
		}
	}
	var all []link
	number := func(l link) int {
		for i := range all {
			if all[i] == l {
				return i
			}
		}
		all = append(all, l)
		return len(all) - 1
	}
	for _, p := range links {
		number(p.first) // links are numbered as in the other form, in order of appearance in the pairs
	}
	for _, p := range links {
		if params := mix(p.first.geom, p.second.geom); !round(p.first.geom) || !round(p.second.geom) || params.condim != 1 {
			return fmt.Errorf("geoms %q (%s) and %q (%s) may touch with condim %d; want spheres and capsules, and condim 1",
				p.first.geom.Name, p.first.geom.Type, p.second.geom.Name, p.second.geom.Type, params.condim)
		}
		if err := share(p); err != nil {
			return err
		}
		pairs = append(pairs, uint32(number(p.first))<<8|uint32(number(p.second)))
	}
	for _, l := range all {
		axis, frame := [3]float64{}, rotation(l.geom.Quat)
		if l.geom.Type == "capsule" {
			for k := range 3 {
				axis[k] = frame[k][2] * l.geom.Size[1]
			}
		}
		p := l.geom.Pos
		t.number("link "+title(s, l.body, l.geom), p[0], p[1], p[2], axis[0], axis[1], axis[2], l.geom.Size[0], s.Model.Bodies[l.body].InvWeight[0], 0)
		linkBody = append(linkBody, uint32(l.body))
	}
	for _, list := range []struct {
		name  string
		words []uint32
	}{{"body, by point", pointBody}, {"body, by link", linkBody}, {"first link << 8, second, by pair of links that may touch", pairs}} {
		if len(list.words) > 0 {
			t.word(list.name, list.words...)
		}
	}
	t.define("POINTS", len(pointBody), "that may touch the ground")
	t.define("COOP_LINKS", len(all), "that may touch each other")
	t.define("COOP_PAIRS", len(pairs), "of them")
	t.define("COOP_TOUCHES", min(len(pairs), touchSlots), "pairs at once; those beyond go through each other")
	t.soft("CONTACT", law, margin)
	normal, at, second := [3]float64{0, 0, 1}, [3]float64{}, 1
	if plane != nil {
		frame := rotation(plane.Quat)
		normal, at = [3]float64{frame[0][2], frame[1][2], frame[2][2]}, plane.Pos
		if frame[1][2]*frame[1][2] >= 0.25 {
			second = 2
		}
	}
	side := [3]float64{}
	side[second] = 1
	t.constant("vec3", "GROUND_NORMAL", literal3(normal), "")
	t.constant("float", "GROUND_HEIGHT", symbolic.Literal(snap(normal[0]*at[0]+normal[1]*at[1]+normal[2]*at[2])), "along it")
	t.constant("vec3", "GROUND_SIDE", literal3(side), "along which, for spheres, friction acts")
	return nil
}

// title names a geom.
func title(s *System, body int, g *Geom) string {
	if g.Name != "" {
		return g.Name
	}
	return s.bodies[body].name
}

// sensing writes the steps that fill `sensed`.
func (t *tables) sensing() error {
	at := 0
	for _, text := range t.s.Model.Senses {
		words := strings.Fields(text)
		n := 0
		switch {
		case words[0] == "position" && words[2] == "xy":
			body := t.s.find(words[1])
			if words[1] == "mass" {
				body = 0 // the world has only one position
			} else if body < 0 {
				return fmt.Errorf("sense %q: no such body", text)
			}
			t.senses = append(t.senses, fmt.Sprintf("coop_sense_position(%du, %du);", at, body))
			n = 2
		case words[0] == "inertia":
			t.senses = append(t.senses, fmt.Sprintf("coop_sense_inertia(%du);", at))
			n = 10 * (len(t.s.bodies) - 1)
		case words[0] == "velocity" || words[0] == "forces":
			t.senses = append(t.senses, fmt.Sprintf("coop_sense_%s(%du%s);", words[0], at, map[string]string{"forces": ", slots"}[words[0]]))
			n = 6 * (len(t.s.bodies) - 1)
		default:
			return fmt.Errorf("sense %q; want position BODY xy, position mass xy, inertia, velocity or forces", text)
		}
		at += n
	}
	if most := t.s.Model.NV * (t.s.Model.NV + 1); at > most {
		return fmt.Errorf("%d senses; want at most %d", at, most) // they overlay two triangular matrices
	}
	return nil
}
