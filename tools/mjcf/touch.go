package main

import (
	"fmt"

	"github.com/evorl/evorl/tools/mjcf/symbolic"
)

// fewPairs is how many pairs of links that may touch each other are written out, each with its row in the constraint problem. Of more pairs only the distances
// are, and a loop puts those that touch into slots: rows for every pair would take drivers minutes to compile, and hardly any pair touches.
const fewPairs = 8

// touchSlots is how many of those may push at once. It is more than any recorded state of Gymnasium's Humanoid has; what exceeds it goes through.
const touchSlots = 12

// touching is links that touch each other, by slots. Their contacts have one row each (condim 1) and the same parameters, and are of one tree.
//
// A slot keeps the wrench of a unit force between the links, from which its row of J comes anew wherever it is wanted: that is fewer loads from an
// array than the row has entries.
type touching struct {
	links  []link
	pairs  [][2]int // by number of a pair: its links
	near   []expr   // by number of a pair: whether it touches
	params contactParams
	dofs   []int // that move some links, but not all: the entries of a row

	touch          *symbolic.Block // of a pair that touches
	torque, normal vec             // of a unit force on the second link: about the tree's origin, and from the first link to the second
	d, at          expr            // stiffness and residual, as of a contact

	gathering *symbolic.Block // of a slot, in an iteration
	row       []expr          // of J, by dofs
	passing   *symbolic.Block // of a slot, where the step is known
	passed    expr            // J step

	weighing *symbolic.Block // of a slot, when all is done
	moment   vec             // the torque about the tree's centre of mass
}

// touches makes slots for the pairs. What keeps them from sharing code is an error.
func (s *System) touches(pairs []pair, warm []expr) (*touching, error) {
	t := &touching{params: mix(pairs[0].first.geom, pairs[0].second.geom), touch: symbolic.NewBlock(s.block)}
	number := func(l link) int {
		for i := range t.links {
			if t.links[i] == l {
				return i
			}
		}
		t.links = append(t.links, l)
		return len(t.links) - 1
	}
	for _, p := range pairs {
		number(p.first)
	}
	for _, p := range pairs {
		i, j := number(p.first), number(p.second)
		switch {
		case !round(p.first.geom) || !round(p.second.geom) || t.params.condim != 1:
			return nil, fmt.Errorf("geoms %q (%s) and %q (%s) may touch with condim %d; want spheres and capsules, and condim 1", p.first.geom.Name, p.first.geom.Type, p.second.geom.Name, p.second.geom.Type, t.params.condim)
		case mix(p.first.geom, p.second.geom) != t.params:
			return nil, fmt.Errorf("geoms %q and %q may touch, but more than %d pairs of links may, and not all have the same margin, solref and solimp", p.first.geom.Name, p.second.geom.Name, fewPairs)
		case s.root(p.first.body) != s.root(t.links[0].body) || s.root(p.second.body) != s.root(t.links[0].body):
			return nil, fmt.Errorf("geoms %q and %q may touch, but more than %d pairs of links may, and they are of several trees", p.first.geom.Name, p.second.geom.Name, fewPairs)
		}
		t.pairs, t.near = append(t.pairs, [2]int{i, j}), append(t.near, s.near(p, t.params.margin))
	}
	if len(t.links) > 32 || s.Model.NV > 32 {
		return nil, fmt.Errorf("%d links may touch each other, of %d degrees of freedom; want at most 32 of each", len(t.links), s.Model.NV)
	}
	for i := range s.dofs {
		all, none := true, true
		for _, l := range t.links {
			moves := s.chain(l.body)[i]
			all, none = all && moves, none && !moves
		}
		if !all && !none {
			t.dofs = append(t.dofs, i)
		}
	}
	return t, s.touchWrench(t, warm)
}

// near says whether the surfaces of a pair are closer than the margin.
func (s *System) near(p pair, margin float64) expr {
	axis := func(l link) (vec, expr) {
		if l.geom.Type != "capsule" {
			return s.vec([3]float64{}), s.num(0)
		}
		return s.direction(l.body, l.geom, 2).Mul(s.num(l.geom.Size[1])), s.num(l.geom.Size[1] * l.geom.Size[1])
	}
	a1, square1 := axis(p.first)
	a2, square2 := axis(p.second)
	p1, p2 := s.closest(s.place(p.first.body, p.first.geom, 0), a1, square1, s.place(p.second.body, p.second.geom, 0), a2, square2)
	apart, reach := p2.Sub(p1), p.first.geom.Size[0]+p.second.geom.Size[0]+margin
	return apart.Dot(apart).Less(s.num(reach * reach))
}

// approach gives the distance of two links, the normal and the point half way between them, of the variables from_… and to_….
func (s *System) approach(block *symbolic.Block) (distance expr, normal, middle vec) {
	in := func(name string) expr { return s.g.Var(block, name) }
	square := func(v vec) expr { return v.Dot(v).Max(s.num(1e-12)) } // of a sphere, whose axis has no length
	a1, a2 := s.three(block, "from_axis"), s.three(block, "to_axis")
	p1, p2 := s.closest(s.three(block, "from"), a1, square(a1), s.three(block, "to"), a2, square(a2))
	return s.surfaces(p1, in("from_radius"), p2, in("to_radius"))
}

func (s *System) three(block *symbolic.Block, name string) vec {
	return vec{s.g.Var(block, name+"_x"), s.g.Var(block, name+"_y"), s.g.Var(block, name+"_z")}
}

// entries are the row of J of a pair that pushes with a torque about the tree's origin and a force, in a block with the variables from_chain and to_chain.
func (t *touching) entries(s *System, block *symbolic.Block, torque, normal vec) []expr {
	var row []expr
	for _, i := range t.dofs {
		unit := s.unit(&s.dofs[i])
		// 1 where the degree of freedom moves the second link alone, -1 the first.
		side := s.g.Var(block, fmt.Sprintf("float(int(to_chain >> %d & 1u) - int(from_chain >> %d & 1u))", i, i))
		row = append(row, side.Mul(unit.spin.Dot(torque).Add(unit.at.Dot(normal))).As("reach_"+s.dofs[i].name))
	}
	return row
}

// along is a row's product with a vector of all degrees of freedom.
func (t *touching) along(s *System, row, x []expr) expr {
	sum := s.num(0)
	for k, i := range t.dofs {
		sum = sum.Add(row[k].Mul(x[i]))
	}
	return sum
}

// touchWrench makes the wrench, the stiffness and the residual of a pair that touches.
func (s *System) touchWrench(t *touching, warm []expr) error {
	ref, err := s.soften("contacts of links", t.params.solref, t.params.solimp)
	if err != nil {
		return err
	}
	in := func(name string) expr { return s.g.Var(t.touch, name) }
	distance, normal, middle := s.approach(t.touch)
	t.torque, t.normal = middle.Cross(normal), normal
	row := t.entries(s, t.touch, t.torque, t.normal)
	beyond := distance.Sub(s.num(t.params.margin)).Min(s.num(0))
	imp := s.impedance(ref, beyond)
	t.d = imp.Div(s.num(1).Sub(imp).Mul(in("from_weight").Add(in("to_weight"))))
	t.at = t.along(s, row, warm).Add(t.along(s, row, s.v).Scale(ref.b)).Add(imp.Mul(beyond).Scale(ref.k))
	return nil
}

// again makes of a slot's wrench what the solver wants in an iteration, whose step is given, and after.
func (t *touching) again(s *System, iteration *symbolic.Block, step []expr) {
	t.gathering, t.passing, t.weighing = symbolic.NewBlock(s.block), symbolic.NewBlock(iteration), symbolic.NewBlock(s.block)
	t.row = t.entries(s, t.gathering, s.three(t.gathering, "torque"), s.three(t.gathering, "normal"))
	t.passed = t.along(s, t.entries(s, t.passing, s.three(t.passing, "torque"), s.three(t.passing, "normal")), step)
	t.moment = s.three(t.weighing, "torque").Sub(s.centre(t.links[0].body).Cross(s.three(t.weighing, "normal")))
}

// pull is the variable of what the slots add to entry i of the gradient, pulled to entry i, j of the Hessian.
func (t *touching) pull(g *symbolic.Graph, iteration *symbolic.Block, i int) expr {
	return g.Var(iteration, fmt.Sprintf("pull[%d]", i))
}
func (t *touching) pulled(g *symbolic.Graph, iteration *symbolic.Block, i, j int) expr {
	return g.Var(iteration, fmt.Sprintf("pulled[%d]", i*(i+1)/2+j))
}
