package mjcf

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// What differs between slots of condim 3 and of condim 1: the former's contacts have pyramidal cones, of four rows in
// three directions.

// coneRows returns the rows of J in a contact's directions.
func (t *touching) coneRows(s *System, block *symbolic.Block, point vec, frame [3]vec) [][]expr {
	var rows [][]expr
	for k, name := range []string{"reach", "slide1", "slide2"} {
		rows = append(rows, t.entries(s, block, point.Cross(frame[k]), frame[k], name))
	}
	return rows
}

// keptRows returns the rows of J of a slot.
func (t *touching) keptRows(s *System, block *symbolic.Block) [][]expr {
	normal, side := s.three(block, "normal"), s.three(block, "side")
	return t.coneRows(s, block, s.three(block, "point"), [3]vec{normal, side, normal.Cross(side)})
}

// slotContact returns a slot's contact, with the variables d and at0 to at2.
func (t *touching) slotContact(s *System, block *symbolic.Block) (*contact, []expr) {
	at := []expr{s.g.Var(block, "at0"), s.g.Var(block, "at1"), s.g.Var(block, "at2")}
	return &contact{params: t.params, d: s.g.Var(block, "d")}, at
}

// gatherCone makes the expressions that a slot adds to gradient and Hessian.
func (t *touching) gatherCone(s *System) {
	rows := t.keptRows(s, t.gathering)
	c, at := t.slotContact(s, t.gathering)
	all := s.cone(c, at)
	for i := range t.dofs {
		pull := s.num(0)
		var held [3]expr // row i of Jᵀ times the cone's stiffness
		held[0] = all.stiff[0][0].Mul(rows[0][i])
		for k := range rows {
			pull = pull.Add(all.force[k].Mul(rows[k][i]))
			if k > 0 {
				held[0] = held[0].Add(all.stiff[0][k].Mul(rows[k][i]))
				held[k] = all.stiff[k][k].Mul(rows[k][i]).Add(all.stiff[0][k].Mul(rows[0][i]))
			}
		}
		t.pull = append(t.pull, pull)
		for j := 0; j <= i; j++ {
			sum := s.num(0)
			for k := range rows {
				sum = sum.Add(held[k].Mul(rows[k][j]))
			}
			t.pulled = append(t.pulled, sum)
		}
	}
}

// searchCone makes the expressions that a slot adds to a search along the step, with the additional variables passed0
// to passed2.
func (t *touching) searchCone(s *System, search *symbolic.Block) {
	t.searching = symbolic.NewBlock(search)
	c, before := t.slotContact(s, t.searching)
	alpha := s.g.Var(search, "alpha")
	var passed, now []expr
	for k := range before {
		passed = append(passed, s.g.Var(t.searching, fmt.Sprintf("passed%d", k)))
		now = append(now, before[k].Add(alpha.Mul(passed[k])))
	}
	all, then := s.cone(c, now), s.cone(c, before)
	t.rise, t.curvature = s.num(0), s.num(0)
	mixed := s.num(0)
	for k := range passed {
		t.rise = t.rise.Add(all.force[k].Mul(passed[k]))
		t.curvature = t.curvature.Add(all.stiff[k][k].Mul(passed[k]).Mul(passed[k]))
		if k > 0 {
			mixed = mixed.Add(all.stiff[0][k].Mul(passed[k]))
		}
	}
	t.curvature = t.curvature.Add(mixed.Mul(passed[0]).Scale(2))
	t.changed = then.on[0].Xor(all.on[0])
	for k := 1; k < len(all.on); k++ {
		t.changed = t.changed.Or(then.on[k].Xor(all.on[k]))
	}
}

// residuals returns the variables of a slot's stiffness and residuals.
func residuals(indent string) string {
	return indent + "float d = touch_d[slot], at0 = touch_at[3u * slot], at1 = touch_at[3u * slot + 1u], at2 = touch_at[3u * slot + 2u];\n"
}

// gatherConeText returns the code that adds the slots to gradient and Hessian.
func (t *touching) gatherConeText(em *symbolic.Emitter, indent string) string {
	var out strings.Builder
	out.WriteString(residuals(indent))
	out.WriteString(em.Block(t.gathering, indent))
	for i, e := range t.pull {
		fmt.Fprintf(&out, "%spull[%d] += %s;\n", indent, i, em.Ref(e))
	}
	for i, e := range t.pulled {
		fmt.Fprintf(&out, "%spulled[%d] += %s;\n", indent, i, em.Ref(e))
	}
	return out.String()
}

// searchConeText returns the code that adds the slots to a search along the step.
func (t *touching) searchConeText(em *symbolic.Emitter) string {
	const indent = "                "
	var out strings.Builder
	out.WriteString("            [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) {\n")
	out.WriteString(residuals(indent))
	for k := range 3 {
		fmt.Fprintf(&out, "%sfloat passed%d = touch_passed[%s];\n", indent, k, t.direction("slot", k))
	}
	out.WriteString(em.Block(t.searching, indent))
	fmt.Fprintf(&out, "%[1]srise += %[2]s;\n%[1]scurvature += %[3]s;\n%[1]schanged = changed || %[4]s;\n            }\n",
		indent, em.Ref(t.rise), em.Ref(t.curvature), em.Ref(t.changed))
	return out.String()
}
