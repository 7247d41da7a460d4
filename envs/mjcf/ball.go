package mjcf

// turned returns the rotation vector, axis times angle, from an orientation of a ball joint to its position, in the axes of the
// body. The angle is at most π.
func (s *System) turned(j *Joint, from []float64) vec {
	q := [4]expr{s.q[j.Q], s.q[j.Q+1], s.q[j.Q+2], s.q[j.Q+3]}
	u := vec{q[1], q[2], q[3]}
	back := vec{s.num(-from[1]), s.num(-from[2]), s.num(-from[3])} // of the conjugate of from
	w := q[0].Scale(from[0]).Sub(back.Dot(u))
	v := u.Mul(s.num(from[0])).Add(back.Mul(q[0])).Add(back.Cross(u))
	positive := s.num(0).Less(w)
	for k := range v {
		v[k] = positive.Select(v[k], v[k].Neg())
	}
	w = w.Abs()
	// The angle is 2 atan(s / w) with s = |v|. Halved three more times by tan(x/2) = tan x / (1 + √(1 + tan² x)), it is 16 atan t with
	// t at most 0.199: the series to t¹⁵ has an error of 1e-13. All is computed relative to s, which may be zero.
	square := v.Dot(v)
	one := s.num(1)
	ratio := one.Div(w.Add(square.Add(w.Square()).Sqrt()))
	for range 2 {
		ratio = ratio.Div(one.Add(one.Add(ratio.Square().Mul(square)).Sqrt()))
	}
	tt := ratio.Square().Mul(square)
	series := s.num(0)
	for k := 15; k > 0; k -= 2 {
		sign := float64(2 - k%4) // 1 for 1, 5, …; -1 for 3, 7, …
		series = series.Mul(tt).Add(s.num(sign / float64(k)))
	}
	return v.Mul(ratio.Mul(series).Scale(16)).As("turn_" + s.dofs[j.DOF].name)
}

// ballLimit makes the row of the largest angle of a ball joint. Its range is that angle, as the larger end.
func (s *System) ballLimit(dof int, ref reference, warm []expr) *limit {
	j := s.dofs[dof].joint
	name := s.dofs[dof].name
	turn := s.turned(j, []float64{1, 0, 0, 0})
	angle := turn.Norm()
	row := turn.Mul(s.num(-1).Div(angle.Max(s.num(1e-15))))
	beyond := s.num(max(j.Range[0], j.Range[1])).Sub(angle).As("room_" + name).Sub(s.num(j.Margin))
	imp := s.impedance(ref, beyond).As("impedance_" + name)
	l := &limit{ball: &row, dof: dof}
	l.d = s.stiff(imp, j.InvWeight[0], beyond.Less(s.num(0))).As("d_" + name)
	aref := s.passed(l, s.v).Scale(-ref.b).Sub(imp.Mul(beyond).Scale(ref.k))
	l.at = s.passed(l, warm).Sub(aref)
	return l
}
