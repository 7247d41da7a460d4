package mjcf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// eachSlot begins a loop over the slots in use, which endEachSlot ends. The condition is at the end of the body:
// otherwise Mesa's software driver executes one more iteration, without active lanes.
const (
	eachSlot    = "if (touches > 0u) {\n%[1]s    uint slot = 0u;\n%[1]s    [[dont_unroll]] do {\n"
	endEachSlot = "%[1]s    } while (++slot < touches);\n%[1]s}\n"
)

// declaration returns the constants of the links and the slots.
func (t *touching) declaration(s *System) string {
	if t == nil {
		return ""
	}
	var names, radius, weight, body, chain, pairs []string
	for _, l := range t.links {
		bits := uint32(0)
		for dof, moves := range s.chain(l.body) {
			if moves {
				bits |= 1 << dof
			}
		}
		names = append(names, l.geom.Name)
		radius = append(radius, symbolic.Literal(l.geom.Size[0]))
		weight = append(weight, symbolic.Literal(s.Model.Bodies[l.body].InvWeight[0]))
		body, chain = append(body, fmt.Sprintf("%du", l.body)), append(chain, fmt.Sprintf("0x%xu", bits))
	}
	for _, p := range t.pairs {
		pairs = append(pairs, fmt.Sprintf("0x%xu", p[0]<<8|p[1]))
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	array := func(typ, name, size, what string, values []string) {
		say("const %s %s[%s] = %s[](%s); // %s", typ, name, size, typ, strings.Join(values, ", "), what)
	}
	say("\n// Links that touch each other: %s.", strings.Join(names, ", "))
	say("#define LINKS %d\n#define PAIRS %d // of links that may touch\n"+
		"#define TOUCHES %d // of them at once\n#define REACH %d // degrees of freedom that move some links, but not all",
		len(t.links), len(t.pairs), touchSlots, len(t.dofs))
	array("float", "LINK_RADIUS", "LINKS", "m", radius)
	array("float", "LINK_WEIGHT", "LINKS", "mean inverse inertia of the body, 1/kg", weight)
	array("uint", "LINK_BODY", "LINKS", "counted from the world, 0", body)
	array("uint", "LINK_CHAIN", "LINKS", "degrees of freedom that move it, as bits", chain)
	array("uint", "PAIR_LINKS", "PAIRS", "its links: the first in bits 8 to 15, the second in bits 0 to 7", pairs)
	return out.String()
}

// places returns the links' centres and half axes.
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

// roots returns the expressions that the slots' code needs from an emitter, by block.
func (t *touching) roots(s *System, forces bool) map[*symbolic.Block][]expr {
	out := map[*symbolic.Block][]expr{
		s.block:     slices.Concat(t.places(s), t.near),
		t.touch:     slices.Concat(t.keeps, []expr{t.d}, t.at),
		t.gathering: slices.Concat(t.row, t.pull, t.pulled), t.passing: t.passed,
	}
	if t.searching != nil {
		out[t.searching] = []expr{t.rise, t.curvature, t.changed}
	}
	if forces {
		out[t.weighing] = t.moment[:]
	}
	return out
}

// find returns the code that marks the pairs that touch, and the loop that assigns them to slots.
func (t *touching) find(s *System, em *symbolic.Emitter) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("    float link[6u * LINKS]; // centre, half axis")
	for i, e := range t.places(s) {
		say("    link[%d] = %s;", i, em.Ref(e))
	}
	var words []string
	for i, e := range t.near {
		if i%32 == 0 {
			words = append(words, fmt.Sprintf("near%d", i/32))
			say("    uint near%d = 0u; // pairs that touch, as bits", i/32)
		}
		say("    near%d |= %s ? 0x%xu : 0u;", i/32, em.Ref(e), uint32(1)<<(i%32))
	}
	any := "(" + strings.Join(words, " | ") + ") != 0u"
	say("    uint touches = 0u, touch_pair[TOUCHES];")
	if t.params.condim == 3 {
		say("    float touch_d[TOUCHES], touch_at[3u * TOUCHES], touch_passed[3u * TOUCHES];")
		say("    float touch_kept[9u * TOUCHES]; // point relative to the tree's origin, normal, tangent")
		say("    [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) touch_d[slot] = 0.0;")
		say("    [[unroll]] for (uint k = 0u; k < 3u * TOUCHES; k++) touch_at[k] = touch_passed[k] = 0.0;")
	} else {
		say("    float touch_d[TOUCHES], touch_at[TOUCHES], touch_passed[TOUCHES];")
		say("    float touch_wrench[6u * TOUCHES]; // of a unit force: torque about the tree's origin, force")
		say("    [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) touch_d[slot] = touch_at[slot] = touch_passed[slot] = 0.0;")
	}
	say("    if (%s) {", any)
	say("        [[dont_unroll]] do { // asks after its turn: Mesa's software driver else takes one turn more, with no lane in it")
	say("            uint number = 0u, bits = 0u; // of the next pair, in its word")
	for i := len(words) - 1; i >= 0; i-- {
		say("            if (%s != 0u) number = %du, bits = %s;", words[i], 32*i, words[i])
	}
	say("            uint pair = PAIR_LINKS[number + uint(findLSB(bits))], i = pair >> 8, j = pair & 255u;")
	for i, word := range words {
		say("            if (number == %du) %s &= %s - 1u;", 32*i, word, word)
	}
	out.WriteString(t.load("            "))
	out.WriteString(em.Block(t.touch, "            "))
	say("            touch_pair[touches] = pair;")
	say("            touch_d[touches] = %s;", em.Ref(t.d))
	for k, e := range t.at {
		say("            touch_at[%s] = %s;", t.direction("touches", k), em.Ref(e))
	}
	for k, e := range t.keeps {
		say("            %s = %s;", t.kept("touches", k), em.Ref(e))
	}
	say("            touches++;\n        } while (%s && touches < TOUCHES);\n    }", any)
	return out.String()
}

// load returns the variables of the links with indices i and j.
func (t *touching) load(indent string) string {
	var out strings.Builder
	for _, end := range []struct{ name, index string }{{"from", "i"}, {"to", "j"}} {
		for k, what := range []string{"_x", "_y", "_z", "_axis_x", "_axis_y", "_axis_z"} {
			fmt.Fprintf(&out, "%sfloat %s%s = link[6u * %s + %du];\n", indent, end.name, what, end.index, k)
		}
		fmt.Fprintf(&out,
			"%[1]sfloat %[2]s_radius = LINK_RADIUS[%[3]s], %[2]s_weight = LINK_WEIGHT[%[3]s];\n"+
				"%[1]suint %[2]s_chain = LINK_CHAIN[%[3]s];\n", indent, end.name, end.index)
	}
	return out.String()
}

// kept returns the array element of what a slot stores.
func (t *touching) kept(slot string, k int) string {
	if t.params.condim == 3 {
		return fmt.Sprintf("touch_kept[9u * %s + %du]", slot, k)
	}
	return fmt.Sprintf("touch_wrench[6u * %s + %du]", slot, k)
}

// direction returns the index of a slot's direction.
func (t *touching) direction(slot string, k int) string {
	if t.params.condim == 3 {
		return fmt.Sprintf("3u * %s + %du", slot, k)
	}
	return slot
}

// wrench returns the variables of what a slot stores.
func (t *touching) wrench(indent string) string {
	var out strings.Builder
	for k, name := range t.keptNames() {
		fmt.Fprintf(&out, "%sfloat %s = %s;\n", indent, name, t.kept("slot", k))
	}
	return out.String()
}

// ends returns the variables from_… and to_…: the entries of a slot's links in a table of links.
func (t *touching) ends(indent, typ, what, table string) string {
	return fmt.Sprintf("%[1]s%[2]s from_%[3]s = %[4]s[touch_pair[slot] >> 8], to_%[3]s = %[4]s[touch_pair[slot] & 255u];\n", indent, typ, what, table)
}

// gather returns the code that adds the slots to gradient and Hessian.
func (t *touching) gather(em *symbolic.Emitter) string {
	const indent = "                "
	n := len(t.dofs)
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("        float pull[REACH], pulled[%d];", n*(n+1)/2)
	say("        [[unroll]] for (uint k = 0u; k < REACH; k++) pull[k] = 0.0;")
	say("        [[unroll]] for (uint k = 0u; k < %du; k++) pulled[k] = 0.0;", n*(n+1)/2)
	fmt.Fprintf(&out, "        "+eachSlot, "        ")
	if t.params.condim == 3 {
		out.WriteString(t.ends(indent, "uint", "chain", "LINK_CHAIN"))
		out.WriteString(t.wrench(indent))
		out.WriteString(t.gatherConeText(em, indent))
		fmt.Fprintf(&out, endEachSlot, "        ")
		return out.String()
	}
	say(indent + "float force = touch_d[slot] * touch_at[slot];")
	say(indent + "float stiff = force < 0.0 ? touch_d[slot] : 0.0;")
	say(indent + "force = min(force, 0.0);")
	out.WriteString(t.ends(indent, "uint", "chain", "LINK_CHAIN"))
	out.WriteString(t.wrench(indent))
	out.WriteString(em.Block(t.gathering, indent))
	for i, e := range t.row {
		say(indent+"float row%d = %s, held%d = stiff * row%d;", i, em.Ref(e), i, i)
		say(indent+"pull[%d] += force * row%d;", i, i)
		for j := 0; j <= i; j++ {
			say(indent+"pulled[%d] += held%d * row%d;", i*(i+1)/2+j, i, j)
		}
	}
	fmt.Fprintf(&out, endEachSlot, "        ")
	return out.String()
}

// pass returns the code that computes the change of the slots' residuals along a step.
func (t *touching) pass(em *symbolic.Emitter) string {
	const indent = "                "
	var out strings.Builder
	fmt.Fprintf(&out, "        "+eachSlot, "        ")
	out.WriteString(t.ends(indent, "uint", "chain", "LINK_CHAIN"))
	out.WriteString(t.wrench(indent))
	out.WriteString(em.Block(t.passing, indent))
	for k, e := range t.passed {
		fmt.Fprintf(&out, "%stouch_passed[%s] = %s;\n", indent, t.direction("slot", k), em.Ref(e))
	}
	fmt.Fprintf(&out, endEachSlot, "        ")
	return out.String()
}

// search returns the code that adds the slots to a search along the step.
func (t *touching) search(em *symbolic.Emitter) string {
	if t.params.condim == 3 {
		return t.searchConeText(em)
	}
	return `            [[unroll]] for (uint slot = 0u; slot < TOUCHES; slot++) {
                float force = touch_d[slot] * (touch_at[slot] + alpha * touch_passed[slot]);
                rise += min(force, 0.0) * touch_passed[slot];
                curvature += force < 0.0 ? touch_d[slot] * touch_passed[slot] * touch_passed[slot] : 0.0;
                changed = changed || (force < 0.0) != (touch_d[slot] * touch_at[slot] < 0.0);
            }
`
}

// forces returns the loop that sums the forces of the contacts in slots, by body.
func (t *touching) forces(s *System, em *symbolic.Emitter) string {
	const indent = "            "
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	n := 6 * (len(s.bodies) - 1)
	say("    float touch_force[%d]; // torque about the centre of mass of all, and force, on each body", n)
	say("    [[unroll]] for (uint k = 0u; k < %du; k++) touch_force[k] = 0.0;", n)
	fmt.Fprintf(&out, "    "+eachSlot, "    ")
	out.WriteString(t.ends(indent, "uint", "body", "LINK_BODY"))
	say(indent + "float push = -min(touch_d[slot] * touch_at[slot], 0.0);")
	out.WriteString(t.wrench(indent))
	out.WriteString(em.Block(t.weighing, indent))
	wrench := []string{em.Ref(t.moment[0]), em.Ref(t.moment[1]), em.Ref(t.moment[2]), "normal_x", "normal_y", "normal_z"}
	for k := range 3 {
		say(indent+"float moment%d = %s;", k, wrench[k])
		wrench[k] = fmt.Sprintf("moment%d", k)
	}
	for b := 1; b < len(s.bodies); b++ {
		say(indent+"float on%d = to_body == %du ? push : (from_body == %du ? -push : 0.0);", b, b, b)
		for k, part := range wrench {
			say(indent+"touch_force[%d] += on%d * %s;", 6*b-6+k, b, part)
		}
	}
	fmt.Fprintf(&out, endEachSlot, "    ")
	return out.String()
}
