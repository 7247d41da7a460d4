package mjcf

import (
	"fmt"
	"go/format"
	"math"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// CooperativeDOFs is the minimum number of degrees of freedom for which tables are written: from there one lane per
// environment has too few registers on a GPU.
const CooperativeDOFs = 14

// Tables writes a model for the cooperative form of its dynamics, in which several lanes compute one environment
// (shaders/envs/physics/cooperative): constants as GLSL and, as Go, rows of numbers by body, degree of freedom, point
// and link, and words for their structure. The error names what that form does not support.
func Tables(m *Model, pkg string) (glsl string, source []byte, err error) {
	s := NewSystem(m)
	t := &tables{s: s}
	for _, part := range []func() error{t.shape, t.tree, t.limits, t.contacts, t.sensing} {
		if err := part(); err != nil {
			return "", nil, m.blame(fmt.Errorf("as tables: %w", err))
		}
	}
	source, err = t.source(pkg)
	return t.text(), source, err
}

// tables collects the rows.
type tables struct {
	s *System

	constants []string
	numbers   []row // bodies, degrees of freedom, points, links
	words     []row
	senses    []string
}

// row is a row of a table, with its comment.
type row struct {
	name   string
	values []string
}

func (t *tables) constant(typ, name, value, what string) {
	t.constants = append(t.constants, fmt.Sprintf("const %s %s = %s; // %s", typ, name, value, what))
}

func (t *tables) define(name string, value int, what string) {
	t.constants = append(t.constants, fmt.Sprintf("#define %s %d // %s", name, value, what))
}

func (t *tables) number(name string, values ...float64) {
	r := row{name: name}
	for _, v := range values {
		r.values = append(r.values, symbolic.Literal(snap(v)))
	}
	t.numbers = append(t.numbers, r)
}

func (t *tables) word(name string, values ...uint32) {
	r := row{name: name}
	for _, v := range values {
		r.values = append(r.values, fmt.Sprintf("0x%xu", v))
	}
	t.words = append(t.words, r)
}

// Kinds of degrees of freedom; a free joint has six, and the first has this kind.
const (
	slideKind = iota
	hingeKind
	freeKind
)

// shape returns an error that names what the form does not support.
func (t *tables) shape() error {
	m, s := t.s.Model, t.s
	if m.Integrator != "RK4" {
		return fmt.Errorf("the integrator %q; want RK4", m.Integrator)
	}
	if m.Cone != "" || s.impratio() != 1 {
		return fmt.Errorf("an elliptic cone, or impratio %g; want pyramidal and 1", s.impratio())
	}
	if m.Density != 0 || m.Viscosity != 0 {
		return fmt.Errorf("a medium of density %g and viscosity %g; want none", m.Density, m.Viscosity)
	}
	if len(m.Tendons) > 0 || len(m.Equalities) > 0 {
		return fmt.Errorf("%d tendons and %d equalities; want none", len(m.Tendons), len(m.Equalities))
	}
	for i := range m.Actuators {
		if a := &m.Actuators[i]; a.feedback() {
			return fmt.Errorf("actuator %q, whose force depends on position or velocity; want motors", a.Name)
		}
	}
	if m.NV > 32 || len(m.Bodies) > 255 {
		return fmt.Errorf("%d degrees of freedom and %d bodies; want at most 32 and 255", m.NV, len(m.Bodies))
	}
	for i := 1; i < len(m.Bodies); i++ {
		b := &m.Bodies[i]
		if b.Parent == 0 && i > 1 || s.bodies[i].fixed {
			return fmt.Errorf("body %q is not of the first body's tree; want one tree that moves", b.Name)
		}
		turned := false
		for _, j := range b.Joints {
			if j.Friction != nil || b.GravComp != 0 {
				return fmt.Errorf("joint %q with dry friction or gravity compensation; want neither", j.Name)
			}
			if j.Type == "ball" {
				return fmt.Errorf("joint %q is a ball joint; want hinges and slides", j.Name)
			}
			if j.ForceLimited {
				return fmt.Errorf("joint %q with a range of the actuators' forces; want none", j.Name)
			}
			if i == 1 && turned && j.Type == "slide" {
				return fmt.Errorf("joint %q: it slides after the first body has turned; want slides first", j.Name)
			}
			turned = turned || j.Type == "hinge"
		}
	}
	return nil
}

// tree writes bodies and degrees of freedom.
func (t *tables) tree() error {
	m, s := t.s.Model, t.s
	var levels [][]uint32
	depth := make([]int, len(m.Bodies))
	var bodies, chains, dofs, above []uint32
	for i := range m.Bodies {
		b := &m.Bodies[i]
		first := uint32(0)
		if len(s.bodies[i].dofs) > 0 {
			first = uint32(s.bodies[i].dofs[0])
		}
		bodies = append(bodies, uint32(b.Parent)|first<<8|uint32(len(s.bodies[i].dofs))<<16)
		chains = append(chains, bitsOf(s.chain(i)))
		if i == 0 {
			continue
		}
		depth[i] = depth[b.Parent] + 1
		if len(levels) < depth[i] {
			levels = append(levels, nil)
		}
		levels[depth[i]-1] = append(levels[depth[i]-1], uint32(i))
		rot, frame := rotation(b.Quat), rotation(b.Frame)
		var inertia [3][3]float64
		for r := range 3 {
			for c := range 3 {
				for k := range 3 {
					inertia[r][c] += frame[r][k] * b.Inertia[k] * frame[c][k]
				}
			}
		}
		t.number("body "+s.bodies[i].name, b.Pos[0], b.Pos[1], b.Pos[2],
			rot[0][0], rot[1][0], rot[2][0], rot[0][1], rot[1][1], rot[2][1], rot[0][2], rot[1][2], rot[2][2], b.COM[0], b.COM[1], b.COM[2],
			inertia[0][0], inertia[1][1], inertia[2][2], inertia[0][1], inertia[0][2], inertia[1][2], b.Mass)
	}
	for i := range s.dofs {
		d, j := &s.dofs[i], s.dofs[i].joint
		kind, rest, reference, weight := uint32(hingeKind), 0.0, 0.0, 0.0
		switch {
		case j.Type == "free":
			kind = freeKind
		case d.slide:
			kind = slideKind
		}
		q := j.Q
		if kind != freeKind {
			rest, reference = j.Rest[0], j.Reference[0]
		}
		if j.Limited {
			weight = j.InvWeight[0]
		}
		dofs = append(dofs, kind|uint32(q)<<8|uint32(d.body)<<16|uint32(i-j.DOF)<<24)
		chain := uint32(1) << i
		for k := d.parent; k >= 0; k = s.dofs[k].parent {
			chain |= 1 << k
		}
		above = append(above, chain)
		t.number("degree of freedom "+d.name, j.Axis[0], j.Axis[1], j.Axis[2], j.Pos[0], j.Pos[1], j.Pos[2], reference, rest, j.Stiffness, j.Damping,
			j.Armature[i-j.DOF], j.Range[0], j.Range[1], weight, 0)
	}
	var order []uint32
	starts, widest := []uint32{0}, 0
	for _, level := range levels {
		order, widest = append(order, level...), max(widest, len(level))
		starts = append(starts, uint32(len(order)))
	}
	t.word("parent, first degree of freedom << 8, degrees of freedom << 16, by body", bodies...)
	t.word("degrees of freedom that move a body, as bits", chains...)
	t.word("kind (0: slide, 1: hinge, 2: free), position << 8, body << 16, number within its joint << 24, by degree of freedom", dofs...)
	t.word("degrees of freedom above one, and itself, as bits", above...)
	t.word("bodies by level, from the root", order...)
	t.word("where levels begin there", starts...)
	starts = make([]uint32, m.NV+1)
	var list []uint32
	for i := range s.dofs {
		starts[i] = uint32(len(starts) + len(list))
		for k := range i {
			if above[i]>>k&1 == 1 {
				list = append(list, uint32(k))
			}
		}
	}
	starts[m.NV] = uint32(len(starts) + len(list))
	t.word("where the list of the degrees of freedom above one begins, counted from here, and ends", starts...)
	if len(list) > 0 {
		t.word("these lists", list...)
	}
	t.define("LIST_SIZE", len(starts)+len(list), "words of lists of degrees of freedom")
	t.define("BODIES", len(m.Bodies), "with the world, the first")
	t.define("LEVELS", len(levels), "of the tree")
	t.define("LEVEL_WIDTH", widest, "bodies of a level, at most")
	t.constant("vec3", "GRAVITY", literal3(m.Gravity), "m/s²")
	t.constant("float", "TOLERANCE", symbolic.Literal(2e-8*m.MeanInertia*float64(max(1, m.NV))), "of an improvement of the solver's: MuJoCo's")
	return nil
}

func bitsOf(set []bool) uint32 {
	bits := uint32(0)
	for i, in := range set {
		if in {
			bits |= 1 << i
		}
	}
	return bits
}

func literal3(v [3]float64) string {
	return fmt.Sprintf("vec3(%s, %s, %s)", symbolic.Literal(v[0]), symbolic.Literal(v[1]), symbolic.Literal(v[2]))
}

// soft writes the solver parameters shared by all constraints of a kind.
func (t *tables) soft(kind string, r reference, margin float64) {
	t.constant("Soft", kind, fmt.Sprintf("Soft(%s, %s, %s, %s, %s, %s, %s, %s)", symbolic.Literal(margin), symbolic.Literal(r.k), symbolic.Literal(r.b),
		symbolic.Literal(r.imp[0]), symbolic.Literal(r.imp[1]),
		symbolic.Literal(math.Max(r.imp[2], 1e-15)), symbolic.Literal(r.imp[3]), symbolic.Literal(r.imp[4])), "soft law")
}

// limits writes the solver parameters of the joint limits.
func (t *tables) limits() error {
	var law reference
	margin, found := 0.0, ""
	for i := range t.s.dofs {
		j := t.s.dofs[i].joint
		if !j.Limited {
			continue
		}
		ref, err := t.s.soften("joint "+j.Name, j.SolRef, j.SolImp)
		if err != nil {
			return err
		}
		if found != "" && (ref != law || margin != j.Margin) {
			return fmt.Errorf("joints %q and %q have limits of different margin, solref or solimp", found, j.Name)
		}
		law, margin, found = ref, j.Margin, j.Name
	}
	t.soft("LIMIT", law, margin)
	return nil
}

// text returns the GLSL.
func (t *tables) text() string {
	m := t.s.Model
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("// Tables of %s, for lanes that compute an environment together, "+
		"written by tools/mjcf from what MuJoCo %s's compiler makes of %s. Do not edit.",
		m.Name, m.MuJoCo, m.Source)
	say("\n#include \"envs/models/%s.glsl\"\n#include \"envs/physics/cooperative/soft.glsl\"\n", m.Name)
	for _, line := range t.constants {
		say("%s", line)
	}
	say("\n// How an environment step's last forward pass fills `sensed`.\n#define COOP_SENSE %s", strings.Join(t.senses, " "))
	say("\n// Numbers and words of the tables, which a kernel reads from a buffer.\n"+
		"#define MODEL_SIZE %d\n#define WORDS_SIZE %d", count(t.numbers), count(t.words))
	return out.String()
}

func count(rows []row) int {
	n := 0
	for _, r := range rows {
		n += len(r.values)
	}
	return n
}

// source returns the Go source of the tables.
func (t *tables) source(pkg string) ([]byte, error) {
	m := t.s.Model
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("// Code generated by tools/mjcf from what MuJoCo %s's compiler makes of %s. DO NOT EDIT.\n", m.MuJoCo, m.Source)
	say("package %s\n", pkg)
	say("// %sTables describe %s for lanes that compute an environment together; "+
		"shaders/envs/physics/cooperative says what is where.",
		camel(m.Name), m.Source)
	say("var %sTables = cooperativeTables{", camel(m.Name))
	for _, list := range []struct {
		typ, name, what string
		rows            []row
	}{
		{"float32", "numbers", "Bodies: position in the parent, axes (columns), centre of mass, inertia about it (xx yy zz xy xz yz), mass. " +
			"Degrees of freedom: axis, anchor, reference,\n" +
			"// rest of the spring, stiffness, damping, armature, least and greatest position, mean inverse inertia where limited. " +
			"Points: position, axis of their capsule, radius, friction\n" +
			"// (0: of the normal alone), mean inverse inertia of a row. Links: centre, half axis, " +
			"radius, mean inverse inertia. Metres, kilograms, seconds, radians.", t.numbers},
		{"uint32", "words", "What belongs to what.", t.words},
	} {
		say("// %s\n%s: []%s{", list.what, list.name, list.typ)
		for _, r := range list.rows {
			say("%s, // %s", strings.TrimSuffix(strings.ReplaceAll(strings.Join(r.values, ", ")+",", "u,", ","), ","), r.name)
		}
		say("},")
	}
	say("}")
	return format.Source([]byte(out.String()))
}
