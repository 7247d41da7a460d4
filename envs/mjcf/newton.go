package mjcf

import (
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// solver is MuJoCo's primal Newton method for the constraint problem (MuJoCo documentation, Computation,
// "Algorithms"): minimise over accelerations a
//
//	1/2 (a - a₀)·M (a - a₀) + Σ 1/2 d min(0, J a - aref)²
//
// where M a₀ are the smooth forces; rows of equalities have the square without min, rows of dry friction grow linearly where
// they reach its bound, and contacts with elliptic cones have one term each. The program carries `residual` =
// M a - M a₀ and `at` = J a - aref between iterations. The cost is piecewise quadratic, except for sliding contacts with
// elliptic cones: without these, a full Newton step that does not change the set of active rows reaches the minimum, up to
// rounding.
type solver struct {
	s        *System
	limits   []*limit
	ties     []*tie
	drags    []*drag
	contacts []*contact
	touching *touching // nil: all contacts are unrolled
	warm     []expr

	residual []expr // at the solver's initial acceleration
	at       []expr // likewise, by row: limits, equalities, dry friction, then the directions of each contact

	iteration *symbolic.Block
	step      []expr // the Newton step
	moved     []expr // M step
	passed    []expr // J step
	slope     expr   // derivative of the cost along the step, at its beginning

	search    *symbolic.Block
	rise      expr // first derivative of the cost at alpha
	curvature expr // second derivative
	changed   expr // whether the set of active rows differs at alpha; none if all rows are equalities
}

// newSolver sets up the problem. Contacts between links are unrolled if there are at most few pairs; otherwise contacts
// of spheres and capsules use slots, and the others are unrolled if they are few.
func newSolver(s *System, few int) (*solver, error) {
	n := s.Model.NV
	p := &solver{s: s}
	for i := range n {
		p.warm = append(p.warm, s.g.Var(s.block, fmt.Sprintf("a[%d]", i)))
	}
	var errs [6]error // all that is refused
	p.limits, errs[0] = s.limits(p.warm)
	p.ties, errs[1] = s.ties(p.warm)
	p.drags, errs[2] = s.drags(p.warm)
	world, links := s.pairs()
	if len(links) <= few {
		world, links = append(world, links...), nil
	} else if angular, curved := split(links); len(angular) <= few && len(curved) > 0 {
		world, links = append(world, angular...), curved
	}
	p.contacts, errs[3] = s.contacts(world)
	if links != nil {
		p.touching, errs[4] = s.touches(links, p.warm)
	}
	errs[5] = s.resist(p.contacts, p.warm)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	start := s.product(s.Mass, p.warm)
	for i := range n {
		p.residual = append(p.residual, start[i].Sub(s.Smooth[i]))
	}
	for _, l := range p.limits {
		p.at = append(p.at, l.at)
	}
	for _, t := range p.ties {
		p.at = append(p.at, t.at)
	}
	for _, d := range p.drags {
		p.at = append(p.at, d.at)
	}
	for _, c := range p.contacts {
		p.at = append(p.at, c.at[:c.directions()]...)
	}
	p.newton()
	if p.touching != nil {
		p.touching.again(s, p.iteration, p.step)
	}
	p.lineSearch()
	if t := p.touching; t != nil && t.params.condim == 3 {
		t.searchCone(s, p.search)
	}
	return p, nil
}

// product returns M x for a matrix with zeros.
func (s *System) product(m [][]expr, x []expr) []expr {
	out := make([]expr, len(x))
	for i := range out {
		out[i] = s.num(0)
		for j := range x {
			out[i] = out[i].Add(m[i][j].Mul(x[j]))
		}
	}
	return out
}

func (s *System) dot(x, y []expr) expr {
	sum := s.num(0)
	for i := range x {
		sum = sum.Add(x[i].Mul(y[i]))
	}
	return sum
}

// push is the effect of a row with residual x. Where x is below zero: its negated force d x and its stiffness d;
// otherwise zero.
type push struct{ force, stiff, on expr }

func (s *System) push(d, x expr) push {
	pull := d.Mul(x)
	on := pull.Less(s.num(0))
	return push{pull.Min(s.num(0)), on.Select(d, s.num(0)), on}
}

// rubs is push for dry friction: a force against the residual of at most the row's loss.
func (s *System) rubs(d *drag, x expr) (force, stiff expr, on []expr) {
	pull := d.d.Mul(x)
	on = []expr{pull.Less(d.loss.Neg()), d.loss.Less(pull)}
	stiff = on[0].Or(on[1]).Select(s.num(0), d.d)
	return pull.Clamp(d.loss.Neg(), d.loss), stiff, on
}

// cone is the combined effect of a contact's rows: forces, and stiffness between directions. Of a pyramid, only the
// normal's with each other direction, and each direction's with itself, are not zero.
type cone struct {
	force [6]expr
	stiff [6][6]expr // symmetric
	on    []expr
	bent  expr // whether the cost is not quadratic there; none: never
}

// cone sums the rows n ± mu t of a contact.
func (s *System) cone(c *contact, at []expr) cone {
	zero := s.num(0)
	var out cone
	for i := range out.force {
		out.force[i] = zero
		for j := range out.stiff {
			out.stiff[i][j] = zero
		}
	}
	if len(at) == 1 {
		p := s.push(c.d, at[0])
		out.force[0], out.stiff[0][0], out.on = p.force, p.stiff, []expr{p.on}
		return out
	}
	if s.elliptic() {
		return s.ellipticCone(c, at, out)
	}
	for k := 1; k < len(at); k++ {
		mu := s.num(c.params.mu(k))
		side := at[k].Mul(mu)
		a, b := s.push(c.d, at[0].Add(side)), s.push(c.d, at[0].Sub(side))
		out.force[0] = out.force[0].Add(a.force.Add(b.force))
		out.force[k] = mu.Mul(a.force.Sub(b.force))
		both := a.stiff.Add(b.stiff)
		out.stiff[0][0] = out.stiff[0][0].Add(both)
		out.stiff[0][k] = mu.Mul(a.stiff.Sub(b.stiff))
		out.stiff[k][0] = out.stiff[0][k]
		out.stiff[k][k] = mu.Square().Mul(both)
		out.on = append(out.on, a.on)
		if b.on != a.on {
			out.on = append(out.on, b.on)
		}
	}
	return out
}

// ellipticCone is cone of an elliptic cone (MuJoCo documentation, Computation, "Friction cones"). In u = (m x₀, μₖ xₖ), with
// m the coefficient of the regularized cone, n = u₀ and t = |u₁ …|: no force above the dual cone, n ≥ m t; each row by
// itself below the cone, m n + t ≤ 0; and between the cost ½ D (n - m t)² with D = d / (m² (1 + m²)).
func (s *System) ellipticCone(c *contact, at []expr, out cone) cone {
	zero, ratio := s.num(0), s.impratio()
	m := c.params.mu(1) / math.Sqrt(ratio)
	scale := []float64{m}
	u := []expr{at[0].Scale(m)}
	square := zero
	for k := 1; k < len(at); k++ {
		scale = append(scale, c.params.mu(k))
		u = append(u, at[k].Scale(c.params.mu(k)))
		square = square.Add(u[k].Square())
	}
	t := square.Max(s.num(1e-20)).Sqrt()
	n, reach := u[0], t.Scale(m)
	above := n.Scale(m).Add(t) // of the cone
	sticks, slides := above.Less(zero), n.Less(reach)
	d := c.d.Scale(1 / (m * m * (1 + m*m)))
	gap := n.Sub(reach)
	inverse := s.num(1).Div(t)
	// The gradient by u, and the second derivatives: of t they are (1 - û ûᵀ) / t.
	var slope [6]expr
	var unit [6]expr
	slope[0], unit[0] = d.Mul(gap), s.num(1)
	for k := 1; k < len(at); k++ {
		unit[k] = u[k].Mul(inverse)
		slope[k] = slope[0].Mul(unit[k]).Scale(-m)
	}
	round := slope[0].Mul(inverse).Scale(-m)
	for i := range at {
		stuck := c.d // the row's own stiffness: the product with the square of its coefficient is the first side's
		if i > 0 {
			stuck = c.d.Scale(ratio * scale[i] * scale[i] / (scale[1] * scale[1]))
		}
		out.force[i] = sticks.Select(stuck.Mul(at[i]), slides.Select(slope[i].Scale(scale[i]), zero))
		for j := i; j < len(at); j++ {
			var bend expr
			switch {
			case i == 0 && j == 0:
				bend = d
			case i == 0:
				bend = d.Mul(unit[j]).Scale(-m)
			default:
				bend = d.Scale(m * m).Sub(round).Mul(unit[i]).Mul(unit[j])
				if i == j {
					bend = bend.Add(round)
				}
			}
			bend = slides.Select(bend.Scale(scale[i]*scale[j]), zero)
			if i == j {
				bend = sticks.Select(stuck, bend)
			} else {
				bend = sticks.Select(zero, bend)
			}
			out.stiff[i][j], out.stiff[j][i] = bend, bend
		}
	}
	out.on, out.bent = []expr{sticks, slides}, sticks.Xor(slides).And(zero.Less(c.d))
	return out
}

// searches reports whether a step may change the set of active rows, so that a line search and further steps are
// needed.
func (p *solver) searches() bool { return p.changed != (expr{}) || p.touching != nil }

// variables declares the variables that the program carries between iterations. Values known to be zero are omitted,
// such as the motions of a planar model out of its plane.
func (p *solver) variables(block *symbolic.Block, name string, like []expr) []expr {
	out, slot := make([]expr, len(like)), 0
	for i := range out {
		if out[i] = like[i]; !like[i].IsZero() {
			out[i] = p.s.g.Var(block, fmt.Sprintf("%s[%d]", name, slot))
			slot++
		}
	}
	return out
}

// newton computes the step -H⁻¹ g, with g = residual + Jᵀ forces and H = M + Jᵀ D J over the active rows.
func (p *solver) newton() {
	s := p.s
	p.iteration = symbolic.NewBlock(s.block)
	residual, at := p.variables(p.iteration, "residual", p.residual), p.variables(p.iteration, "at", p.at)
	gradient := append([]expr(nil), residual...)
	hessian := s.matrix()
	zero := s.vec([3]float64{})
	forms, forces, torques := make([]stiffness, len(s.bodies)), make([]vec, len(s.bodies)), make([]vec, len(s.bodies))
	for i := range forms {
		forms[i], forces[i], torques[i] = s.noStiffness(), zero, zero
	}
	for i, l := range p.limits {
		one := s.push(l.d, at[i])
		s.pushLimit(l, one, gradient, hessian)
	}
	next := len(p.limits)
	for _, t := range p.ties {
		s.pushRow(t.row, t.d.Mul(at[next]), t.d, gradient, hessian)
		next++
	}
	for _, d := range p.drags {
		force, stiff, _ := s.rubs(d, at[next])
		s.spread(d.of, force, gradient)
		s.hold(d.of, stiff, hessian)
		next++
	}
	for _, c := range p.contacts {
		all := s.cone(c, at[next:next+c.directions()])
		next += c.directions()
		if c.other != 0 {
			var rows [][]expr
			for k := range c.directions() {
				rows = append(rows, s.row(c, k))
				s.pushRow(rows[k], all.force[k], all.stiff[k][k], gradient, hessian)
				for l := range k {
					if !all.stiff[l][k].IsZero() {
						s.mix(rows[l], rows[k], all.stiff[l][k], hessian)
					}
				}
			}
			continue
		}
		// Contacts with the world act like bodies: a form at a point, projected together with the others of the tree.
		w, force := s.coneForm(c, all, 0, 0)
		forms[c.body] = forms[c.body].add(s.pointStiffness(w, c.point))
		forces[c.body] = forces[c.body].Add(force)
		torques[c.body] = torques[c.body].Add(c.point.Cross(force))
		if c.directions() > 3 {
			spin, moment := s.coneForm(c, all, 3, 3)
			both, _ := s.coneForm(c, all, 3, 0)
			forms[c.body] = forms[c.body].add(s.spinStiffness(spin, both, c.point))
			torques[c.body] = torques[c.body].Add(moment)
		}
	}
	if t := p.touching; t != nil {
		for i, dof := range t.dofs {
			gradient[dof] = gradient[dof].Add(t.pullVar(s.g, p.iteration, i))
			for j, other := range t.dofs[:i+1] {
				hessian[dof][other] = hessian[dof][other].Add(t.pulledVar(s.g, p.iteration, i, j))
				hessian[other][dof] = hessian[dof][other]
			}
		}
	}
	projected := s.project(forms, "")
	for i := len(s.bodies) - 1; i > 0; i-- {
		if parent := s.Model.Bodies[i].Parent; !s.bodies[parent].fixed {
			forces[parent], torques[parent] = forces[parent].Add(forces[i]), torques[parent].Add(torques[i])
		}
	}
	for i := range s.dofs {
		d := &s.dofs[i]
		t := s.unit(d)
		gradient[i] = gradient[i].Add(torques[d.body].Dot(t.spin)).Add(forces[d.body].Dot(t.at))
		for j := range s.dofs {
			hessian[i][j] = hessian[i][j].Add(s.Mass[i][j]).Add(projected[i][j])
		}
	}
	descent := make([]expr, len(gradient))
	for i := range gradient {
		gradient[i] = gradient[i].As("gradient_" + s.dofs[i].name)
		descent[i] = gradient[i].Neg()
	}
	p.step = p.factor(hessian).solve(descent)
	for i := range p.step {
		p.step[i] = p.step[i].As("step_" + s.dofs[i].name)
	}
	p.slope = s.dot(gradient, p.step)
	p.moved = s.product(s.Mass, p.step)
	twists := s.twists(p.step)
	for _, l := range p.limits {
		p.passed = append(p.passed, s.passed(l, p.step))
	}
	for _, t := range p.ties {
		p.passed = append(p.passed, s.dot(t.row, p.step))
	}
	for _, d := range p.drags {
		p.passed = append(p.passed, s.of(d.of, p.step))
	}
	for _, c := range p.contacts {
		p.passed = append(p.passed, s.along(c, p.step, twists)...)
	}
}

// pushRow adds a row to the gradient and to both triangles of the Hessian.
func (s *System) pushRow(row []expr, force, stiff expr, gradient []expr, hessian [][]expr) {
	for i := range row {
		gradient[i] = gradient[i].Add(row[i].Mul(force))
		held := row[i].Mul(stiff) // not row[i] row[j], which would be kept in registers through the solver's loop
		for j := 0; j <= i; j++ {
			entry := hessian[i][j].Add(held.Mul(row[j]))
			hessian[i][j], hessian[j][i] = entry, entry
		}
	}
}

// mix adds the mixed stiffness of two rows to the Hessian.
func (s *System) mix(a, b []expr, stiff expr, hessian [][]expr) {
	for i := range a {
		heldA, heldB := a[i].Mul(stiff), b[i].Mul(stiff)
		for j := 0; j <= i; j++ {
			entry := hessian[i][j].Add(heldA.Mul(b[j])).Add(heldB.Mul(a[j]))
			hessian[i][j], hessian[j][i] = entry, entry
		}
	}
}

// coneForm returns a contact's stiffness as a matrix in the world's axes, and its force: of its directions from row on
// with its directions from column on, three each, or as many as there are.
func (s *System) coneForm(c *contact, all cone, row, column int) (mat, vec) {
	w := s.g.Mat([3][3]float64{})
	force := s.vec([3]float64{})
	rows, columns := min(3, c.directions()-row), min(3, c.directions()-column)
	for k := range rows {
		force = force.Add(c.frame[k].Mul(all.force[row+k]))
	}
	for i := range 3 {
		// Row i of the stiffness, by the contact's directions. Products of the frame alone would be kept in registers
		// through the solver's loop.
		var along [3]expr
		for k := range 3 {
			for l := range min(k, columns) {
				if k < rows {
					along[l] = along[l].Add(c.frame[k][i].Mul(all.stiff[row+k][column+l]))
				}
			}
			along[k] = s.num(0)
			for _, l := range []int{k, 0, 1}[:min(k, 2)+1] {
				if k < columns && l < rows {
					along[k] = along[k].Add(c.frame[l][i].Mul(all.stiff[row+l][column+k]))
				}
			}
		}
		from := 0
		if row == column {
			from = i
		}
		for j := from; j < 3; j++ {
			sum := s.num(0)
			for k := range columns {
				sum = sum.Add(along[k].Mul(c.frame[k][j]))
			}
			w[i][j] = sum
			if row == column {
				w[j][i] = sum
			}
		}
	}
	return w, force
}

// lineSearch computes the derivatives of the cost along the step. Its products begin with factors that change between
// iterations of the search: squares of the step alone would be kept in registers through the search, one for each
// row.
func (p *solver) lineSearch() {
	s := p.s
	p.search = symbolic.NewBlock(p.iteration)
	alpha := s.g.Var(p.search, "alpha")
	residual := p.variables(p.iteration, "residual", p.residual)
	before := p.variables(p.iteration, "at", p.at)
	p.rise = s.dot(residual, p.step).Add(alpha.Mul(s.dot(p.moved, p.step)))
	p.curvature = s.dot(p.moved, p.step)
	at := make([]expr, len(before))
	for i := range at {
		at[i] = before[i].Add(alpha.Mul(p.passed[i]))
	}
	note := func(then, now []expr) {
		for i := range then {
			differs := then[i].Xor(now[i])
			if p.changed == (expr{}) {
				p.changed = differs
			} else {
				p.changed = p.changed.Or(differs)
			}
		}
	}
	for i, l := range p.limits {
		one := s.push(l.d, at[i])
		p.rise = p.rise.Add(one.force.Mul(p.passed[i]))
		p.curvature = p.curvature.Add(one.stiff.Mul(p.passed[i].Square()))
		note([]expr{s.push(l.d, before[i]).on}, []expr{one.on})
	}
	next := len(p.limits)
	for _, t := range p.ties {
		held := t.d.Mul(p.passed[next])
		p.rise = p.rise.Add(held.Mul(at[next]))
		p.curvature = p.curvature.Add(held.Mul(p.passed[next]))
		next++
	}
	for _, d := range p.drags {
		force, stiff, on := s.rubs(d, at[next])
		p.rise = p.rise.Add(force.Mul(p.passed[next]))
		p.curvature = p.curvature.Add(stiff.Mul(p.passed[next].Square()))
		_, _, then := s.rubs(d, before[next])
		note(then, on)
		next++
	}
	for _, c := range p.contacts {
		n := c.directions()
		all, then, passed := s.cone(c, at[next:next+n]), s.cone(c, before[next:next+n]), p.passed[next:next+n]
		next += n
		mixed := s.num(0)
		for k := range n {
			p.rise = p.rise.Add(all.force[k].Mul(passed[k]))
			p.curvature = p.curvature.Add(all.stiff[k][k].Mul(passed[k]).Mul(passed[k]))
			if k > 0 {
				mixed = mixed.Add(all.stiff[0][k].Mul(passed[k]))
			}
		}
		p.curvature = p.curvature.Add(mixed.Mul(passed[0]).Scale(2))
		for k := 2; k < n; k++ {
			mixed := s.num(0)
			for l := 1; l < k; l++ {
				mixed = mixed.Add(all.stiff[l][k].Mul(passed[l]))
			}
			p.curvature = p.curvature.Add(mixed.Mul(passed[k]).Scale(2))
		}
		note(then.on, all.on)
		if all.bent != (expr{}) {
			p.changed = p.changed.Or(all.bent)
		}
	}
}

// factors is H = Lᵀ D L with L lower triangular and of unit diagonal, factorized from the leaves of the tree to the
// root, so that zeros between branches stay zeros (R. Featherstone, "Efficient Factorization of the Joint-Space
// Inertia Matrix for Branched Kinematic Trees", 2005).
type factors struct {
	s       *System
	lower   [][]expr
	pivot   []expr // D
	inverse []expr // of D
}

// factor factorizes the Hessian M + Jᵀ D J. Its pivots are at least M's. With stiff contacts, rounding in float32 may make them
// smaller or zero, and then the step is no descent.
func (p *solver) factor(hessian [][]expr) factors {
	if !p.rough() {
		return p.s.factor(hessian)
	}
	least := p.s.factor(p.s.Mass).pivot
	for i := range least {
		least[i] = least[i].As("least_" + p.s.dofs[i].name)
	}
	return p.s.factorAbove(hessian, least)
}

func (s *System) factor(h [][]expr) factors { return s.factorAbove(h, nil) }

// factorAbove is factor with lower bounds of D; nil: none.
func (s *System) factorAbove(h [][]expr, least []expr) factors {
	n := len(h)
	m := make([][]expr, n)
	for i := range m {
		m[i] = append([]expr(nil), h[i]...)
	}
	f := factors{s, s.matrix(), make([]expr, n), make([]expr, n)}
	for k := n - 1; k >= 0; k-- {
		f.pivot[k] = m[k][k]
		if least != nil {
			f.pivot[k] = f.pivot[k].Max(least[k])
		}
		f.inverse[k] = s.num(1).Div(f.pivot[k])
		for i := k - 1; i >= 0; i-- {
			f.lower[k][i] = m[k][i].Mul(f.inverse[k])
			for j := 0; j <= i; j++ {
				m[i][j] = m[i][j].Sub(f.lower[k][i].Mul(m[k][j]))
			}
		}
	}
	return f
}

func (f factors) solve(b []expr) []expr {
	x := append([]expr(nil), b...)
	n := len(x)
	for k := n - 1; k >= 0; k-- {
		for i := range k {
			x[i] = x[i].Sub(f.lower[k][i].Mul(x[k]))
		}
	}
	for k := range n {
		x[k] = x[k].Mul(f.inverse[k])
		for i := range k {
			x[k] = x[k].Sub(f.lower[k][i].Mul(x[i]))
		}
	}
	return x
}
