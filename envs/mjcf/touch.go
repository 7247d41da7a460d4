package mjcf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// fewPairs is the maximum number of pairs of links that are unrolled, each with its row in the constraint problem.
// With more pairs only the distances are unrolled, and a loop assigns the pairs that touch to slots: rows for every
// pair would take drivers minutes to compile, and few pairs ever touch.
const fewPairs = 8

// touchSlots is the number of slots. No recorded state of Gymnasium's Humanoid needs more; further pairs are ignored.
const touchSlots = 12

// touching holds the links that may touch each other, by slots. Their contacts have the same parameters and belong to
// one tree.
//
// A slot stores data from which its rows of J are recomputed wherever they are needed, since these are fewer loads
// from an array than the entries of the rows. For condim 1 it is the wrench of a unit force between the links, for
// condim 3 the point, the normal and a tangent.
type touching struct {
	links  []link
	pairs  [][2]int // by pair: its links
	near   []expr   // by pair: whether it touches
	params contactParams
	dofs   []int // degrees of freedom that move some of the links, but not all: the entries of a row

	touch *symbolic.Block // of a pair that touches
	keeps []expr          // data stored by a slot: see keptNames
	d     expr            // stiffness, as of a contact
	at    []expr          // residuals, by direction

	gathering                *symbolic.Block // of a slot, in an iteration
	row                      []expr          // of J, by dofs, for condim 1
	pull                     []expr          // what the slot adds to the gradient, by dofs, for condim 3
	pulled                   []expr          // and to the lower triangle of the Hessian
	passing                  *symbolic.Block // of a slot, after the step is known
	passed                   []expr          // J step, by direction
	searching                *symbolic.Block // of a slot, in the search along the step, for condim 3
	rise, curvature, changed expr

	weighing *symbolic.Block // of a slot, after the solver
	moment   vec             // the torque about the tree's centre of mass
}

// touches makes slots for the pairs. It returns an error if the pairs cannot share code.
func (s *System) touches(pairs []pair, warm []expr) (*touching, error) {
	t := &touching{params: mixSlots(pairs[0]), touch: symbolic.NewBlock(s.block)}
	number := func(l link) int {
		for i := range t.links {
			if t.links[i] == l {
				return i
			}
		}
		t.links = append(t.links, l)
		return len(t.links) - 1
	}
	refuse := func(p pair, why string) error {
		return fmt.Errorf("%s: %s and %s may touch, and more than %d pairs of links may, but %s; "+
			"want contype and conaffinity that keep them apart, or contacts ground", p.second.geom.At, s.title(p.first), s.title(p.second), fewPairs, why)
	}
	for _, p := range pairs {
		number(p.first)
	}
	var errs []error
	for _, p := range pairs {
		i, j := number(p.first), number(p.second)
		switch {
		case !round(p.first.geom) || !round(p.second.geom):
			errs = append(errs, refuse(p, "only spheres and capsules can"))
			continue
		case t.params.condim != 1 && t.params.condim != 3:
			errs = append(errs, refuse(p, fmt.Sprintf("condim is %d, not 1 or 3", t.params.condim)))
			continue
		case t.params.condim == 3 && s.elliptic():
			errs = append(errs, refuse(p, "their cones are elliptic"))
			continue
		case t.params.condim == 3 && t.params.friction[0] <= 0:
			errs = append(errs, refuse(p, fmt.Sprintf("friction is %g with condim 3, not more than 0", t.params.friction[0])))
			continue
		case mixSlots(p) != mixSlots(pairs[0]):
			errs = append(errs, refuse(p, "not all have the same condim, friction, margin, solref and solimp"))
			continue
		case s.root(p.first.body) != s.root(t.links[0].body) || s.root(p.second.body) != s.root(t.links[0].body):
			errs = append(errs, refuse(p, "they are of several trees"))
			continue
		}
		t.pairs, t.near = append(t.pairs, [2]int{i, j}), append(t.near, s.near(p, t.params.margin))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
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

// mixSlots returns the relevant parameters of a pair's contact: without friction if condim is 1.
func mixSlots(p pair) contactParams {
	params := mix(p.first.geom, p.second.geom)
	if params.condim == 1 {
		params.friction = [3]float64{}
	}
	return params
}

// near reports whether the surfaces of a pair are closer than the margin.
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

// approach returns the distance of two links, the normal and the point midway between them, from the variables from_…
// and to_….
func (s *System) approach(block *symbolic.Block, condim int) (distance expr, normal, middle vec) {
	in := func(name string) expr { return s.g.Var(block, name) }
	square := func(v vec) expr { return v.Dot(v).Max(s.num(1e-12)) } // at least 1e-12, for spheres: their axis has no length
	a1, a2 := s.three(block, "from_axis"), s.three(block, "to_axis")
	p1, p2 := s.closest(s.three(block, "from"), a1, square(a1), s.three(block, "to"), a2, square(a2))
	if condim == 3 {
		return s.crossing(p1, in("from_radius"), a1, p2, in("to_radius"), a2)
	}
	return s.surfaces(p1, in("from_radius"), p2, in("to_radius"))
}

func (s *System) three(block *symbolic.Block, name string) vec {
	return vec{s.g.Var(block, name+"_x"), s.g.Var(block, name+"_y"), s.g.Var(block, name+"_z")}
}

// entries returns the row of J of a pair, for a unit force with the given normal and torque about the tree's origin,
// in a block with the variables from_chain and to_chain.
func (t *touching) entries(s *System, block *symbolic.Block, torque, normal vec, name string) []expr {
	var row []expr
	for _, i := range t.dofs {
		unit := s.unit(&s.dofs[i])
		// 1 if the degree of freedom moves only the second link, -1 if only the first.
		side := s.g.Var(block, fmt.Sprintf("float(int(to_chain >> %d & 1u) - int(from_chain >> %d & 1u))", i, i))
		row = append(row, side.Mul(unit.spin.Dot(torque).Add(unit.at.Dot(normal))).As(name+"_"+s.dofs[i].name))
	}
	return row
}

// along returns a row's product with a vector of all degrees of freedom.
func (t *touching) along(s *System, row, x []expr) expr {
	sum := s.num(0)
	for k, i := range t.dofs {
		sum = sum.Add(row[k].Mul(x[i]))
	}
	return sum
}

// keptNames returns the variables that a slot stores.
func (t *touching) keptNames() []string {
	if t.params.condim == 3 {
		return []string{"point_x", "point_y", "point_z", "normal_x", "normal_y", "normal_z", "side_x", "side_y", "side_z"}
	}
	return []string{"torque_x", "torque_y", "torque_z", "normal_x", "normal_y", "normal_z"}
}

// touchWrench makes the data stored by a slot, and the stiffness and residuals, of a pair that touches.
func (s *System) touchWrench(t *touching, warm []expr) error {
	ref, err := s.soften("contacts of links", t.params.solref, t.params.solimp)
	if err != nil {
		return fmt.Errorf("%s: %w", t.links[0].geom.At, err)
	}
	in := func(name string) expr { return s.g.Var(t.touch, name) }
	distance, normal, middle := s.approach(t.touch, t.params.condim)
	var rows [][]expr
	if t.params.condim == 3 {
		frame := s.tangents(normal)
		t.keeps = slices.Concat(middle[:], frame[0][:], frame[1][:])
		rows = t.coneRows(s, t.touch, middle, frame)
	} else {
		torque := middle.Cross(normal)
		t.keeps = slices.Concat(torque[:], normal[:])
		rows = [][]expr{t.entries(s, t.touch, torque, normal, "reach")}
	}
	beyond := distance.Sub(s.num(t.params.margin)).Min(s.num(0))
	imp := s.impedance(ref, beyond)
	rest, weight := s.num(1).Sub(imp), in("from_weight").Add(in("to_weight"))
	weight = weight.Scale(s.pyramid(t.params))
	t.d = imp.Div(rest.Mul(weight))
	for k, row := range rows {
		at := t.along(s, row, warm).Add(t.along(s, row, s.v).Scale(ref.b))
		if k == 0 {
			at = at.Add(imp.Mul(beyond).Scale(ref.k))
		}
		t.at = append(t.at, at)
	}
	return nil
}

// again computes from a slot's stored data what the solver needs in an iteration with the given step, and after it.
func (t *touching) again(s *System, iteration *symbolic.Block, step []expr) {
	t.gathering, t.passing, t.weighing = symbolic.NewBlock(s.block), symbolic.NewBlock(iteration), symbolic.NewBlock(s.block)
	if t.params.condim == 3 {
		t.gatherCone(s)
		for _, row := range t.keptRows(s, t.passing) {
			t.passed = append(t.passed, t.along(s, row, step))
		}
		return
	}
	t.row = t.entries(s, t.gathering, s.three(t.gathering, "torque"), s.three(t.gathering, "normal"), "reach")
	t.passed = []expr{t.along(s, t.entries(s, t.passing, s.three(t.passing, "torque"), s.three(t.passing, "normal"), "reach"), step)}
	t.moment = s.three(t.weighing, "torque").Sub(s.centre(t.links[0].body).Cross(s.three(t.weighing, "normal")))
}

// pullVar returns the variable of what the slots add to entry i of the gradient, pulledVar to entry i, j of the
// Hessian.
func (t *touching) pullVar(g *symbolic.Graph, iteration *symbolic.Block, i int) expr {
	return g.Var(iteration, fmt.Sprintf("pull[%d]", i))
}
func (t *touching) pulledVar(g *symbolic.Graph, iteration *symbolic.Block, i, j int) expr {
	return g.Var(iteration, fmt.Sprintf("pulled[%d]", i*(i+1)/2+j))
}
