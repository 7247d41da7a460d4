package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/tools/mjcf/symbolic"
)

// fewPairs is how many pairs of links that may touch each other are written out, each with its row in the constraint problem. Of more pairs, a loop finds those
// that touch and puts them into slots: code for every pair would take drivers minutes to compile, and hardly any pair touches.
const fewPairs = 8

// touchSlots is how many of those may push at once. It is more than any recorded state of Gymnasium's Humanoid has; what exceeds it goes through.
const touchSlots = 12

// touching is links that touch each other, by slots. Their contacts have one row each (condim 1) and the same parameters, and are of one tree.
type touching struct {
	links    []link
	partners []uint32 // by link: the links behind it that it may touch, as bits
	params   contactParams
	dofs     []int // that move some links, but not all: the entries of a row

	near     *symbolic.Block // of a pair
	distance expr

	touch  *symbolic.Block // of a pair that touches
	row    []expr          // of J, by dofs
	d, at  expr            // stiffness and residual, as of a contact
	torque vec             // about the centre of mass of the tree, of a unit force along the normal
	normal vec             // from the first link to the second
}

// touches makes slots for the pairs. What keeps them from sharing code is an error.
func (s *System) touches(pairs []pair, warm []expr) (*touching, error) {
	t := &touching{params: mix(pairs[0].first.geom, pairs[0].second.geom), near: symbolic.NewBlock(s.block), touch: symbolic.NewBlock(s.block)}
	number := func(l link) int {
		for i := range t.links {
			if t.links[i] == l {
				return i
			}
		}
		t.links, t.partners = append(t.links, l), append(t.partners, 0)
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
		t.partners[i] |= 1 << j
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
	t.distance, _, _ = s.approach(t.near, t.params)
	return t, s.touchRow(t, warm)
}

// approach gives the distance of two links, the normal and the point half way between them, of the variables from_… and to_….
func (s *System) approach(block *symbolic.Block, params contactParams) (distance expr, normal, middle vec) {
	in := func(name string) expr { return s.g.Var(block, name) }
	three := func(name string) vec { return vec{in(name + "_x"), in(name + "_y"), in(name + "_z")} }
	square := func(v vec) expr { return v.Dot(v).Max(s.num(1e-12)) } // of a sphere, whose axis has no length
	p1, a1, p2, a2 := three("from"), three("from_axis"), three("to"), three("to_axis")
	p1, p2 = s.closest(p1, a1, square(a1), p2, a2, square(a2))
	return s.surfaces(p1, in("from_radius"), p2, in("to_radius"))
}

// touchRow makes the row of a pair that touches.
func (s *System) touchRow(t *touching, warm []expr) error {
	ref, err := s.soften("contacts of links", t.params.solref, t.params.solimp)
	if err != nil {
		return err
	}
	in := func(name string) expr { return s.g.Var(t.touch, name) }
	distance, normal, middle := s.approach(t.touch, t.params)
	moment := middle.Cross(normal)
	t.normal, t.torque = normal, middle.Sub(s.centre(t.links[0].body)).Cross(normal)
	velocity, acceleration := s.num(0), s.num(0)
	for _, i := range t.dofs {
		unit := s.unit(&s.dofs[i])
		// 1 where the degree of freedom moves the second link alone, -1 the first.
		side := in(fmt.Sprintf("float(int(to_chain >> %d & 1u) - int(from_chain >> %d & 1u))", i, i))
		entry := side.Mul(unit.spin.Dot(moment).Add(unit.at.Dot(normal))).As("reach_" + s.dofs[i].name)
		t.row = append(t.row, entry)
		velocity, acceleration = velocity.Add(entry.Mul(s.v[i])), acceleration.Add(entry.Mul(warm[i]))
	}
	beyond := distance.Sub(s.num(t.params.margin)).Min(s.num(0))
	imp := s.impedance(ref, beyond)
	t.d = imp.Div(s.num(1).Sub(imp).Mul(in("from_weight").Add(in("to_weight"))))
	t.at = acceleration.Add(velocity.Scale(ref.b)).Add(imp.Mul(beyond).Scale(ref.k))
	return nil
}

// declaration writes the constants of the links and the slots.
func (t *touching) declaration(s *System) string {
	if t == nil {
		return ""
	}
	var radius, weight, body, chain, partners []string
	for i, l := range t.links {
		bits := uint32(0)
		for dof, moves := range s.chain(l.body) {
			if moves {
				bits |= 1 << dof
			}
		}
		radius = append(radius, symbolic.Literal(l.geom.Size[0]))
		weight = append(weight, symbolic.Literal(s.Model.Bodies[l.body].InvWeight[0]))
		body = append(body, fmt.Sprintf("%du", l.body))
		chain, partners = append(chain, fmt.Sprintf("0x%xu", bits)), append(partners, fmt.Sprintf("0x%xu", t.partners[i]))
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	array := func(typ, name, what string, values []string) {
		say("const %s %s[LINKS] = %s[](%s); // %s", typ, name, typ, strings.Join(values, ", "), what)
	}
	var names []string
	for _, l := range t.links {
		names = append(names, l.geom.Name)
	}
	say("\n// Links that touch each other: %s.", strings.Join(names, ", "))
	say("#define LINKS %d\n#define TOUCHES %d // of them at once\n#define REACH %d // degrees of freedom that move some links, but not all", len(t.links), touchSlots, len(t.dofs))
	array("float", "LINK_RADIUS", "m", radius)
	array("float", "LINK_WEIGHT", "mean inverse inertia of the body, 1/kg", weight)
	array("uint", "LINK_BODY", "counted from the world, 0", body)
	array("uint", "LINK_CHAIN", "degrees of freedom that move it, as bits", chain)
	array("uint", "LINK_PARTNERS", "links behind it that it may touch, as bits", partners)
	return out.String()
}

// load writes what a pair's code begins with: the variables of the links numbered i and j.
func (t *touching) load(indent string, touches bool) string {
	var out strings.Builder
	for _, end := range []struct{ name, index string }{{"from", "i"}, {"to", "j"}} {
		for k, what := range []string{"_x", "_y", "_z", "_axis_x", "_axis_y", "_axis_z"} {
			fmt.Fprintf(&out, "%sfloat %s%s = link[6u * %s + %du];\n", indent, end.name, what, end.index, k)
		}
		fmt.Fprintf(&out, "%sfloat %s_radius = LINK_RADIUS[%s];\n", indent, end.name, end.index)
		if touches {
			fmt.Fprintf(&out, "%sfloat %s_weight = LINK_WEIGHT[%s];\n%suint %s_chain = LINK_CHAIN[%s];\n", indent, end.name, end.index, indent, end.name, end.index)
		}
	}
	return out.String()
}

// places are the links' centres and half axes.
func (t *touching) places(s *System) []expr {
	var out []expr
	for _, l := range t.links {
		centre, axis := s.place(l.body, l.geom, 0), s.vec([3]float64{})
		if l.geom.Type == "capsule" {
			axis = s.direction(l.body, l.geom, 2).Mul(s.num(l.geom.Size[1]))
		}
		out = append(append(out, centre[:]...), axis[:]...)
	}
	return out
}

// find writes the loops that fill the slots.
func (t *touching) find(s *System, em *symbolic.Emitter, forces bool) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("    float link[6u * LINKS]; // centre, half axis")
	for i, e := range t.places(s) {
		say("    link[%d] = %s;", i, em.Ref(e))
	}
	say("    uint touches = 0u, touch_pair[TOUCHES];")
	say("    float touch_row[TOUCHES * REACH], touch_d[TOUCHES], touch_at[TOUCHES], touch_passed[TOUCHES];")
	if forces {
		say("    float touch_wrench[6u * TOUCHES]; // of a unit force: torque about the centre of mass, force")
	}
	say("    [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) touch_d[slot] = touch_at[slot] = touch_passed[slot] = 0.0;")
	say("    [[dont_unroll]] for (uint i = 0u; i < LINKS; i++) {")
	say("        [[dont_unroll]] for (uint left = LINK_PARTNERS[i]; left != 0u; left &= left - 1u) {")
	say("            uint j = uint(findLSB(left));")
	out.WriteString(t.load("            ", false))
	out.WriteString(em.Block(t.near, "            "))
	say("            bool near = %s < %s && touches < TOUCHES;", em.Ref(t.distance), symbolic.Literal(t.params.margin))
	say("            uint pair = i << 8 | j;")
	say("            if (near) touch_pair[touches++] = pair;\n        }\n    }")
	say("    [[dont_unroll]] for (uint touch = 0u; touch < touches; touch++) {")
	say("        uint i = touch_pair[touch] >> 8, j = touch_pair[touch] & 255u;")
	out.WriteString(t.load("        ", true))
	out.WriteString(em.Block(t.touch, "        "))
	for k, e := range t.row {
		say("        touch_row[touch * REACH + %du] = %s;", k, em.Ref(e))
	}
	say("        touch_d[touch] = %s;\n        touch_at[touch] = %s;", em.Ref(t.d), em.Ref(t.at))
	if forces {
		for k, e := range slices.Concat(t.torque[:], t.normal[:]) {
			say("        touch_wrench[6u * touch + %du] = %s;", k, em.Ref(e))
		}
	}
	say("    }")
	return out.String()
}

// roots are what find asks an emitter for, by block.
func (t *touching) roots(s *System, forces bool) map[*symbolic.Block][]expr {
	all := append(slices.Clone(t.row), t.d, t.at)
	if forces {
		all = append(append(all, t.torque[:]...), t.normal[:]...)
	}
	return map[*symbolic.Block][]expr{s.block: t.places(s), t.near: {t.distance}, t.touch: all}
}

// pull is the variable of what the slots add to entry i of the gradient, pulled to entry i, j of the Hessian.
func (t *touching) pull(g *symbolic.Graph, iteration *symbolic.Block, i int) expr {
	return g.Var(iteration, fmt.Sprintf("pull[%d]", i))
}
func (t *touching) pulled(g *symbolic.Graph, iteration *symbolic.Block, i, j int) expr {
	return g.Var(iteration, fmt.Sprintf("pulled[%d]", i*(i+1)/2+j))
}

// gather writes what the slots add to gradient and Hessian.
func (t *touching) gather() string {
	n := len(t.dofs)
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("        float pull[REACH], pulled[%d];", n*(n+1)/2)
	say("        [[unroll]] for (uint k = 0u; k < REACH; k++) pull[k] = 0.0;")
	say("        [[unroll]] for (uint k = 0u; k < %du; k++) pulled[k] = 0.0;", n*(n+1)/2)
	say("        [[dont_unroll]] for (uint slot = 0u; slot < touches; slot++) {")
	say("            float force = touch_d[slot] * touch_at[slot];")
	say("            float stiff = force < 0.0 ? touch_d[slot] : 0.0;")
	say("            force = min(force, 0.0);")
	for i := range n {
		say("            float row%d = touch_row[slot * REACH + %du], held%d = stiff * row%d;", i, i, i, i)
		say("            pull[%d] += force * row%d;", i, i)
		for j := 0; j <= i; j++ {
			say("            pulled[%d] += held%d * row%d;", i*(i+1)/2+j, i, j)
		}
	}
	say("        }")
	return out.String()
}

// pass writes how the slots' residuals change along a step.
func (t *touching) pass(step []string) string {
	var out strings.Builder
	out.WriteString("        [[dont_unroll]] for (uint touch = 0u; touch < touches; touch++) {\n            float passed = 0.0;\n")
	for k, i := range t.dofs {
		fmt.Fprintf(&out, "            passed += touch_row[touch * REACH + %du] * %s;\n", k, atom(step[i]))
	}
	out.WriteString("            touch_passed[touch] = passed;\n        }\n")
	return out.String()
}

// search writes what the slots add to a search along the step.
func (t *touching) search() string {
	return `            [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) {
                float force = touch_d[slot] * (touch_at[slot] + alpha * touch_passed[slot]);
                rise += min(force, 0.0) * touch_passed[slot];
                curvature += force < 0.0 ? touch_d[slot] * touch_passed[slot] * touch_passed[slot] : 0.0;
                changed = changed || (force < 0.0) != (touch_d[slot] * touch_at[slot] < 0.0);
            }
`
}
