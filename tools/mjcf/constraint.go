package main

import (
	"fmt"
	"math"
)

// limit is a joint's: one row, of the end of its range that is nearer.
type limit struct {
	dof  int
	sign expr // of the row's only entry: 1 at the lower end
	d    expr
	at   expr
}

// reference holds a constraint's soft law (MuJoCo documentation, Computation, "Reference", "Impedance").
type reference struct {
	k, b float64    // stiffness and damping of the reference acceleration -b velocity - k impedance distance
	imp  [5]float64 // least and greatest impedance, width, middle, power
}

// soften reads solref and solimp as MuJoCo does, with the time constant kept above twice the time step.
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

// impedance is that of a constraint at a distance beyond its margin.
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

// stiff is a row's D = imp / ((1 - imp) weight) where present, else 0.
func (s *System) stiff(imp expr, weight float64, present expr) expr {
	d := imp.Div(s.num(1).Sub(imp).Scale(weight))
	return present.Select(d, s.num(0))
}

// limits makes the rows of the joints' limits.
func (s *System) limits(warm []expr) ([]*limit, error) {
	var all []*limit
	for i := range s.dofs {
		j := s.dofs[i].joint
		if !j.Limited {
			continue
		}
		ref, err := s.soften("joint "+j.Name, j.SolRef, j.SolImp)
		if err != nil {
			return nil, err
		}
		name := s.dofs[i].name
		above, below := s.q[j.Q].Sub(s.num(j.Range[0])), s.num(j.Range[1]).Sub(s.q[j.Q])
		distance := above.Min(below).As("room_" + name)
		sign := above.Less(below).Select(s.num(1), s.num(-1)).As("sign_" + name)
		beyond := distance.Sub(s.num(j.Margin))
		imp := s.impedance(ref, beyond).As("impedance_" + name)
		l := &limit{dof: i, sign: sign}
		l.d = s.stiff(imp, j.InvWeight[0], beyond.Less(s.num(0))).As("d_" + name)
		aref := sign.Mul(s.v[i]).Scale(-ref.b).Sub(imp.Mul(beyond).Scale(ref.k))
		l.at = sign.Mul(warm[i]).Sub(aref)
		all = append(all, l)
	}
	return all, nil
}

// resist gives the contacts their stiffness and residual.
func (s *System) resist(contacts []*contact, warm []expr) error {
	start := s.twists(warm)
	for _, c := range contacts {
		ref, err := s.soften("contact "+c.name, c.params.solref, c.params.solimp)
		if err != nil {
			return err
		}
		beyond := c.distance.Sub(s.num(c.params.margin))
		imp := s.impedance(ref, beyond).As("impedance_" + c.name)
		// The approximate diagonal of A = J M⁻¹ Jᵀ, and how a pyramid shares it among its rows (engine_core_constraint.c).
		weight := s.Model.Bodies[c.body].InvWeight[0] + s.Model.Bodies[c.other].InvWeight[0]
		if mu := c.params.friction; c.params.condim == 3 {
			weight *= (1 + mu*mu) * 2 * mu * mu
		}
		c.d = s.stiff(imp, weight, beyond.Less(s.num(0))).As("d_" + c.name)
		velocity, acceleration := s.along(c, s.v, s.twist), s.along(c, warm, start)
		for k := range c.directions() {
			aref := velocity[k].Scale(-ref.b)
			if k == 0 {
				aref = aref.Sub(imp.Mul(beyond).Scale(ref.k))
			}
			c.at[k] = acceleration[k].Sub(aref)
		}
	}
	return nil
}

// directions is how many directions a contact's rows act in.
func (c *contact) directions() int {
	if c.params.condim == 3 {
		return 3
	}
	return 1
}

// along is J x of a contact, in its directions, for x whose twists are given too.
func (s *System) along(c *contact, x []expr, twists []twist) []expr {
	out := make([]expr, c.directions())
	if c.other == 0 {
		velocity := twists[c.body].velocity(c.point)
		for k := range out {
			out[k] = c.frame[k].Dot(velocity)
		}
		return out
	}
	sum := s.num(0)
	for i, entry := range s.row(c) {
		sum = sum.Add(entry.Mul(x[i]))
	}
	out[0] = sum
	return out
}

// row is the row of J of a contact of two bodies that move. What moves both does not appear.
func (s *System) row(c *contact) []expr {
	out := make([]expr, len(s.dofs))
	for i := range out {
		out[i] = s.num(0)
	}
	of, to := s.chain(c.body), s.chain(c.other)
	for i := range s.dofs {
		d := &s.dofs[i]
		switch {
		case of[i] && !to[i]:
			out[i] = c.frame[0].Dot(s.unit(d).velocity(c.point)).As("reach_" + c.name + "_" + d.name)
		case to[i] && !of[i]:
			out[i] = c.frame[0].Dot(s.unit(d).velocity(c.point.Add(c.across))).Neg()
		}
	}
	return out
}

// chain says which degrees of freedom move a body.
func (s *System) chain(body int) []bool {
	out := make([]bool, len(s.dofs))
	for i := s.last(body); i >= 0; i = s.dofs[i].parent {
		out[i] = true
	}
	return out
}
