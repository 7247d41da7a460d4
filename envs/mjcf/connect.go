package mjcf

import "fmt"

// connect makes the rows of two points that are one: the components of their difference in the world. All have the impedance
// of its length. As in MuJoCo, the reference acceleration is the points', with what velocities contribute to it.
func (s *System) connect(e *Equality, name string, ref reference, warm []expr) []*tie {
	var at [2]vec    // relative to the origins of the bodies' trees
	var swing [2]vec // the points' accelerations without the joints'
	var moves [2][]bool
	weight := 0.0
	for i, p := range e.Points {
		body := s.bodies[p.Body]
		arm := body.rot.Apply(s.vec(p.Pos))
		at[i] = body.pos.Add(arm).As(fmt.Sprintf("point%d_%s", i+1, name))
		swing[i] = body.acc.Add(s.carried(body.omega, body.alpha, arm))
		moves[i] = s.chain(p.Body)
		weight += s.Model.Bodies[p.Body].InvWeight[0]
	}
	between := s.origin[e.Points[0].Body].Sub(s.origin[e.Points[1].Body])
	off := between.Add(at[0].Sub(at[1])).As("off_" + name)
	imp := s.impedance(ref, off.Norm()).As("impedance_" + name)
	d := imp.Div(s.num(1).Sub(imp).Scale(weight)).As("d_" + name)
	var rows []*tie
	for k := range 3 {
		t := &tie{row: s.zeros(), d: d}
		for i := range s.dofs {
			unit := s.unit(&s.dofs[i])
			if moves[0][i] {
				t.row[i] = unit.velocity(at[0])[k]
			}
			if moves[1][i] {
				t.row[i] = t.row[i].Sub(unit.velocity(at[1])[k])
			}
			t.row[i] = t.row[i].As(fmt.Sprintf("pull_%s_%s_%s", "xyz"[k:k+1], name, s.dofs[i].name))
		}
		t.at = s.dot(t.row, warm).Add(swing[0][k].Sub(swing[1][k])).Add(s.dot(t.row, s.v).Scale(ref.b)).Add(imp.Mul(off[k]).Scale(ref.k))
		rows = append(rows, t)
	}
	return rows
}
