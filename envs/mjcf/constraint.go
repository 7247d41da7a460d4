package mjcf

import (
	"errors"
	"fmt"
	"math"
)

// limit is the limit of a joint or tendon: one row, for the nearer end of its range.
type limit struct {
	of   coordinate
	sign expr // of the row: 1 at the lower end
	ball *vec // instead of both: the row of a ball joint's angle
	dof  int  // its first degree of freedom
	d    expr
	at   expr
}

// passed returns J x of a limit.
func (s *System) passed(l *limit, x []expr) expr {
	if l.ball != nil {
		return l.ball.Dot(vec{x[l.dof], x[l.dof+1], x[l.dof+2]})
	}
	return l.sign.Mul(s.of(l.of, x))
}

// pushLimit adds a limit to the gradient and to the Hessian.
func (s *System) pushLimit(l *limit, one push, gradient []expr, hessian [][]expr) {
	if l.ball == nil {
		s.spread(l.of, l.sign.Mul(one.force), gradient)
		s.hold(l.of, one.stiff, hessian)
		return
	}
	row := s.zeros()
	copy(row[l.dof:], l.ball[:])
	s.pushRow(row, one.force, one.stiff, gradient, hessian)
}

// reference holds a constraint's solver parameters (MuJoCo documentation, Computation, "Reference", "Impedance").
type reference struct {
	k, b float64    // stiffness and damping of the reference acceleration -b velocity - k impedance distance
	imp  [5]float64 // minimum and maximum impedance, width, midpoint, power
}

// soften reads solref and solimp as MuJoCo does: the time constant is at least twice the time step.
func (s *System) soften(name string, solref [2]float64, solimp [5]float64) (reference, error) {
	within := func(v float64) float64 { return math.Min(0.9999, math.Max(0.0001, v)) }
	r := reference{imp: [5]float64{within(solimp[0]), within(solimp[1]), math.Max(0, solimp[2]), within(solimp[3]), math.Max(1, solimp[4])}}
	if r.imp[4] != math.Round(r.imp[4]) || r.imp[4] > 8 {
		return r, fmt.Errorf("%s: power %g of solimp; want a whole number to 8", name, r.imp[4])
	}
	high := r.imp[1]
	if solref[0] > 0 && solref[1] > 0 {
		time := math.Max(solref[0], 2*s.Model.Timestep)
		r.k, r.b = 1/(high*high*time*time*solref[1]*solref[1]), 2/(high*time)
	} else if solref[0] <= 0 && solref[1] <= 0 {
		r.k, r.b = -solref[0]/(high*high), -solref[1]/high
	} else {
		return r, fmt.Errorf("%s: solref %v; want both positive, or both negative", name, solref)
	}
	return r, nil
}

// impedance returns the impedance of a constraint at a distance beyond its margin.
func (s *System) impedance(r reference, beyond expr) expr {
	low, high, width, middle, power := r.imp[0], r.imp[1], r.imp[2], r.imp[3], int(r.imp[4])
	if low == high || width <= 1e-15 {
		return s.num(0.5 * (low + high))
	}
	raise := func(x expr) expr {
		y := x
		for range power - 1 {
			y = y.Mul(x)
		}
		return y
	}
	x := beyond.Abs().Scale(1 / width).Min(s.num(1))
	y := x
	if power > 1 {
		rise := raise(x).Scale(1 / math.Pow(middle, float64(power-1)))
		fall := s.num(1).Sub(raise(s.num(1).Sub(x)).Scale(1 / math.Pow(1-middle, float64(power-1))))
		y = s.num(middle).Less(x).Select(fall, rise)
	}
	return s.num(low).Add(y.Scale(high - low))
}

// stiff returns a row's D = imp / ((1 - imp) weight) where present, else 0.
func (s *System) stiff(imp expr, weight float64, present expr) expr {
	d := imp.Div(s.num(1).Sub(imp).Scale(weight))
	return present.Select(d, s.num(0))
}

// limits makes the rows of joint and tendon limits.
func (s *System) limits(warm []expr) ([]*limit, error) {
	var all []*limit
	var errs []error
	for i := range s.dofs {
		if j := s.dofs[i].joint; j.Limited {
			ref, err := s.soften("joint "+j.Name, j.SolRef, j.SolImp)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", j.At, err))
				continue
			}
			if j.Type != "ball" {
				all = append(all, s.limit(s.single(i), j.Range, j.Margin, ref, warm))
			} else if i == j.DOF {
				all = append(all, s.ballLimit(i, ref, warm))
			}
		}
	}
	for i := range s.Model.Tendons {
		if t := &s.Model.Tendons[i]; t.Limited {
			ref, err := s.soften("tendon "+t.Name, t.SolRef, t.SolImp)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.At, err))
				continue
			}
			all = append(all, s.limit(s.tendon(i), t.Range, t.Margin, ref, warm))
		}
	}
	return all, errors.Join(errs...)
}

// limit makes the row of a coordinate's limit with the given solver parameters.
func (s *System) limit(of coordinate, within [2]float64, margin float64, ref reference, warm []expr) *limit {
	name, length := of.name, s.length(of)
	above, below := length.Sub(s.num(within[0])), s.num(within[1]).Sub(length)
	distance := above.Min(below).As("room_" + name)
	sign := above.Less(below).Select(s.num(1), s.num(-1)).As("sign_" + name)
	beyond := distance.Sub(s.num(margin))
	imp := s.impedance(ref, beyond).As("impedance_" + name)
	l := &limit{of: of, sign: sign}
	l.d = s.stiff(imp, of.weight, beyond.Less(s.num(0))).As("d_" + name)
	aref := sign.Mul(s.of(of, s.v)).Scale(-ref.b).Sub(imp.Mul(beyond).Scale(ref.k))
	l.at = sign.Mul(s.of(of, warm)).Sub(aref)
	return l
}

// tie is the row of an equality constraint, which acts in both directions.
type tie struct {
	row []expr // by degree of freedom
	d   expr
	at  expr
}

// drag is the row of dry friction along a coordinate: it pulls towards rest, by at most loss.
type drag struct {
	of   coordinate
	loss expr
	d    expr
	at   expr
}

// drags makes the rows of dry friction of joints and tendons.
func (s *System) drags(warm []expr) ([]*drag, error) {
	var all []*drag
	var errs []error
	add := func(kind, at, name string, of coordinate, f *Friction) {
		ref, err := s.soften(kind+" "+name, f.SolRef, f.SolImp)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
			return
		}
		imp := ref.imp[0] // the constraint is always at distance zero
		d := s.num(imp / ((1 - imp) * of.weight)).As("d_friction_" + of.name)
		all = append(all, &drag{of, s.num(f.Loss), d, s.of(of, warm).Add(s.of(of, s.v).Scale(ref.b))})
	}
	for i := range s.dofs {
		if j := s.dofs[i].joint; j.Friction != nil {
			add("joint", j.At, j.Name, s.single(i), j.Friction)
		}
	}
	for i := range s.Model.Tendons {
		if t := &s.Model.Tendons[i]; t.Friction != nil {
			add("tendon", t.At, t.Name, s.tendon(i), t.Friction)
		}
	}
	return all, errors.Join(errs...)
}

// ties makes the rows of the equality constraints.
func (s *System) ties(warm []expr) ([]*tie, error) {
	var all []*tie
	var errs []error
	for i := range s.Model.Equalities {
		e := &s.Model.Equalities[i]
		name := s.unique("equality", e.Name, i)
		ref, err := s.soften("equality "+name, e.SolRef, e.SolImp)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.At, err))
			continue
		}
		if e.Points != nil {
			all = append(all, s.connect(e, name, ref, warm)...)
			continue
		}
		first := s.end(e.Ends[0])
		t := &tie{row: s.zeros()}
		s.spread(first, s.num(1), t.row)
		distance, weight := s.length(first).Sub(s.num(first.reference+e.Poly[0])), first.weight
		if len(e.Ends) == 2 {
			second := s.end(e.Ends[1])
			x := s.length(second).Sub(s.num(second.reference))
			value, slope := s.num(0), s.num(0)
			for k := 4; k > 0; k-- { // Horner's scheme for the polynomial and its derivative
				value = value.Add(s.num(e.Poly[k])).Mul(x)
				slope = slope.Mul(x).Add(s.num(float64(k) * e.Poly[k]))
			}
			distance, weight = distance.Sub(value), weight+second.weight
			s.spread(second, slope.Neg(), t.row)
		}
		distance = distance.As("off_" + name)
		imp := s.impedance(ref, distance).As("impedance_" + name)
		t.d = imp.Div(s.num(1).Sub(imp).Scale(weight)).As("d_" + name)
		t.at = s.dot(t.row, warm).Add(s.dot(t.row, s.v).Scale(ref.b)).Add(imp.Mul(distance).Scale(ref.k))
		all = append(all, t)
	}
	return all, errors.Join(errs...)
}

func (s *System) zeros() []expr {
	out := make([]expr, len(s.dofs))
	for i := range out {
		out[i] = s.num(0)
	}
	return out
}

// resist computes the contacts' stiffness and residual.
func (s *System) resist(contacts []*contact, warm []expr) error {
	start := s.twists(warm)
	var errs []error
	for _, c := range contacts {
		ref, err := s.soften("contact "+c.name, c.params.solref, c.params.solimp)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.at0, err))
			continue
		}
		beyond := c.distance.Sub(s.num(c.params.margin))
		imp := s.impedance(ref, beyond).As("impedance_" + c.name)
		// The approximate diagonal of A = J M⁻¹ Jᵀ, and its division among the rows of a pyramid
		// (engine_core_constraint.c).
		weight := s.Model.Bodies[c.body].InvWeight[0] + s.Model.Bodies[c.other].InvWeight[0]
		weight *= s.pyramid(c.params)
		present := beyond.Less(s.num(0))
		if c.only != (expr{}) {
			present = present.And(c.only)
		}
		c.d = s.stiff(imp, weight, present).As("d_" + c.name)
		velocity, acceleration := s.along(c, s.v, s.twist), s.along(c, warm, start)
		for k := range c.directions() {
			aref := velocity[k].Scale(-ref.b)
			if k == 0 {
				aref = aref.Sub(imp.Mul(beyond).Scale(ref.k))
			}
			c.at[k] = acceleration[k].Sub(aref)
		}
	}
	return errors.Join(errs...)
}

// pyramid returns the factor of the approximate diagonal for the rows of a pyramidal cone; 1 for other contacts.
func (s *System) pyramid(p contactParams) float64 {
	mu := p.friction[0]
	if p.condim == 1 || s.elliptic() {
		return 1
	}
	return (1 + mu*mu) * 2 * mu * mu / s.impratio()
}

// directions returns the number of directions of a contact: the normal, two of sliding, then spinning about the normal and
// rolling about the two, as far as condim has them.
func (c *contact) directions() int { return c.params.condim }

// along returns J x of a contact, by direction; twists are the bodies' twists for x.
func (s *System) along(c *contact, x []expr, twists []twist) []expr {
	out := make([]expr, c.directions())
	for k := range out {
		if c.other == 0 && k >= 3 {
			out[k] = c.frame[k-3].Dot(twists[c.body].spin)
			continue
		} else if c.other == 0 {
			out[k] = c.frame[k].Dot(twists[c.body].velocity(c.point))
			continue
		}
		sum := s.num(0)
		for i, entry := range s.row(c, k) {
			sum = sum.Add(entry.Mul(x[i]))
		}
		out[k] = sum
	}
	return out
}

// row returns the row of J, in one direction, of a contact between two moving bodies. Degrees of freedom that move
// both have zero entries.
func (s *System) row(c *contact, direction int) []expr {
	out := s.zeros()
	of, to := s.chain(c.body), s.chain(c.other)
	name := "reach_" + c.name
	if direction > 0 {
		name = fmt.Sprintf("slide%d_%s", direction, c.name)
	}
	for i := range s.dofs {
		d := &s.dofs[i]
		switch {
		case of[i] != to[i] && direction >= 3:
			out[i] = c.frame[direction-3].Dot(s.unit(d).spin)
			if to[i] {
				out[i] = out[i].Neg()
			}
		case of[i] && !to[i]:
			out[i] = c.frame[direction].Dot(s.unit(d).velocity(c.point)).As(name + "_" + d.name)
		case to[i] && !of[i]:
			out[i] = c.frame[direction].Dot(s.unit(d).velocity(c.point.Add(c.across))).Neg()
		}
	}
	return out
}

// chain returns which degrees of freedom move a body.
func (s *System) chain(body int) []bool {
	out := make([]bool, len(s.dofs))
	for i := s.last(body); i >= 0; i = s.dofs[i].parent {
		out[i] = true
	}
	return out
}
