package mjcf

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// Program returns the GLSL of a model: constants, actuators, and a forward pass.
func Program(m *Model) (string, error) {
	p, err := newSolver(NewSystem(m), fewPairs)
	if err != nil {
		return "", few(m.blame(err))
	}
	text, err := p.text()
	if err != nil {
		return "", m.blame(err)
	}
	return text, nil
}

// text returns the program with the count of its loops.
func (p *solver) text() (string, error) {
	body, err := p.body()
	if err != nil {
		return "", err
	}
	m := p.s.Model
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("// Dynamics of %s, written by tools/mjcf from what MuJoCo %s's compiler makes of %s. Do not edit.", m.Name, m.MuJoCo, m.Source)
	say("//\n// Degrees of freedom: %s.", p.names())
	say("\n#include \"envs/physics/solver.glsl\"\n")
	say("#define NQ %d // positions\n#define NV %d // degrees of freedom\n#define NU %d // actuators", m.NQ, m.NV, len(m.Actuators))
	say("#define TIME_STEP_ITERATIONS %d // iterations that the loops of a time step take at most", p.iterations())
	say("#define DYNAMICS_LOOPS %d // loops below, which that counts", len(rolled.FindAllString(unrolled.ReplaceAllString(body, ""), -1)))
	return out.String() + body, nil
}

var (
	unrolled = regexp.MustCompile(`\[\[unroll\]\] (for|while) \(`)
	rolled   = regexp.MustCompile(`\b(for|while) \(`)
)

// Bounds of the constraint solver's loops; shaders/envs/physics/solver.glsl.
const (
	solverIterations = 12
	searchIterations = 8
)

// roughIterations is the bound with dry friction, elliptic cones, impratio or contacts that resist spinning: MuJoCo's default.
// Rows of dry friction settle one by one, contacts with condim 6 have ten rows each, and on elliptic cones the cost is not
// quadratic: Menagerie's quadrupeds take up to 50 iterations.
const roughIterations = 100

// rough reports whether the solver may take many iterations.
func (p *solver) rough() bool {
	for _, c := range p.contacts {
		if c.directions() > 3 || c.directions() > 1 && (p.s.elliptic() || p.s.impratio() != 1) {
			return true
		}
	}
	return len(p.drags) > 0
}

// newtonIterations returns the bound of the solver's iterations.
func (p *solver) newtonIterations() int {
	if p.rough() {
		return roughIterations
	}
	return solverIterations
}

// iterations returns the maximum number of loop iterations in a time step: in each forward pass the solver's
// and the loops over slots.
func (p *solver) iterations() int {
	passes, loops := 1, 0
	if p.s.Model.Integrator == "RK4" {
		passes = 4
	}
	if p.searches() {
		loops = p.newtonIterations() * (1 + searchIterations)
	}
	if p.touching != nil {
		loops += touchSlots + p.newtonIterations()*2*touchSlots // one to find, two in each solver iteration
		if p.senseForces() {
			loops += touchSlots
		}
	}
	return passes * (1 + loops)
}

// senseForces reports whether the slots' forces are among the senses.
func (p *solver) senseForces() bool {
	return p.touching != nil && slices.Contains(p.s.Model.Senses, "forces")
}

// body returns the program without its header.
func (p *solver) body() (string, error) {
	s, m, t := p.s, p.s.Model, p.touching
	after := symbolic.NewBlock(s.block) // after the solver's loop
	rates := p.rates(after)
	seen, starts, err := p.sense(after)
	if err != nil {
		return "", err
	}
	forces := p.senseForces()
	if forces && t.params.condim == 3 {
		return "", fmt.Errorf("sense forces: links that touch each other in slots have condim 3; want condim 1")
	}
	atReset, places, err := p.senseAtReset(starts)
	if err != nil {
		return "", err
	}

	roots := map[*symbolic.Block][]expr{
		s.block:     append(append([]expr{}, p.residual...), p.at...),
		p.iteration: append(append(append([]expr{p.slope}, p.step...), p.moved...), p.passed...),
		after:       rates,
	}
	sensing := with(roots, after, seen)
	counted := roots // senses may depend on positions that the rest does not
	if m.AbsoluteSenses {
		counted = sensing
	}
	travel := p.travel(s.g.NewEmitter(counted))
	roots = sensing
	constrained := p.searches()
	if constrained {
		roots[p.search] = []expr{p.rise, p.curvature, p.changed}
	}
	if t != nil {
		for block, list := range t.roots(s, forces) {
			roots = with(roots, block, list)
		}
	}
	// Constants are shared by both functions, so both are emitted with the names that the whole program gives them.
	all := s.g.NewEmitter(with(roots, s.block, atReset))
	constants := all.Constants()
	em := s.g.NewEmitterWith(roots, all)

	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	runge := 0
	if m.Integrator == "RK4" {
		runge = 1
	}
	say("#define TRAVEL %d // positions, the first ones, that no force depends on", travel)
	say("#define SENSES %d // numbers that a forward pass gives beside its accelerations", max(1, len(seen)))
	say("#define RUNGE_KUTTA %d // 0: Euler's method\n", runge)
	say("const float TIMESTEP = %s;", symbolic.Literal(m.Timestep))
	out.WriteString(constants)
	out.WriteString(t.declaration(s))
	say("")
	out.WriteString(p.actuation())
	out.WriteString(p.integration())

	say("// physics_forward computes the accelerations a at positions q and velocities v under the actuators' forces; a's old values are where the search for the")
	say("// contacts' forces begins. rate is what the velocities advance by. %s", p.sensedText())
	say("void physics_forward(const float q[NQ], const float v[NV], const float force[NU], inout float a[NV], out float rate[NV], out float sensed[SENSES]) {")
	out.WriteString(em.Block(s.block, "    "))
	declare := func(name string, list []expr) {
		slots := slots(list)
		if len(slots) == 0 {
			return
		}
		say("    float %s[%d];", name, len(slots))
		for i, e := range slots {
			say("    %s[%d] = %s;", name, i, em.Ref(e))
		}
	}
	declare("residual", p.residual)
	declare("at", p.at)
	if t != nil {
		out.WriteString(t.find(s, em))
	}
	bound := "SOLVER_ITERATIONS"
	if n := p.newtonIterations(); n != solverIterations {
		bound = fmt.Sprintf("%du", n)
	}
	loop := fmt.Sprintf("    for (uint iteration = 0u; iteration < %s; iteration++) {", bound)
	if !constrained {
		loop = "    {"
	}
	if p.rough() {
		say("    float before = 1e38; // the slope, negated, of the last iteration, if its step changed no set")
	}
	say("%s", loop)
	if t != nil {
		out.WriteString(t.gather(em))
	}
	out.WriteString(em.Block(p.iteration, "        "))
	if t != nil {
		out.WriteString(t.pass(em))
	}
	say("        float alpha = 1.0;")
	if constrained {
		say("        float slope = %s;", em.Ref(p.slope))
		say("        bool done = false;")
		say("        float low = 0.0, high = 0.0; // alpha is between, once high is positive")
		say("        [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {")
		out.WriteString(em.Block(p.search, "            "))
		say("            float rise = %s;", em.Ref(p.rise))
		say("            float curvature = %s;", em.Ref(p.curvature))
		say("            bool changed = %s;", em.Ref(p.changed))
		if t != nil {
			out.WriteString(t.search(em))
		}
		say("            done = search == 0u && !changed;")
		say("            if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;")
		say("            low = rise < 0.0 ? alpha : low;")
		say("            high = rise < 0.0 ? high : alpha;")
		say("            float next = alpha - rise / curvature;")
		say("            alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));")
		say("        }")
		if p.rough() { // rounding of a stiff problem leaves a full step far from the minimum: until they no longer decrease the slope
			say("        bool full = done;")
			say("        done = done && -slope >= 0.25 * before && -slope <= before;")
			say("        before = full ? -slope : 1e38;")
		}
	}
	update := func(name string, like, by []expr) {
		slot := 0
		for i := range like {
			if like[i].IsZero() {
				continue
			}
			say("        %s[%d] += alpha * %s;", name, slot, atom(em.Ref(by[i])))
			slot++
		}
	}
	for i := range p.step {
		say("        a[%d] += alpha * %s;", i, atom(em.Ref(p.step[i])))
	}
	update("residual", p.residual, p.moved)
	if constrained {
		update("at", p.at, p.passed)
		if t != nil {
			size := map[int]string{1: "TOUCHES", 3: "3u * TOUCHES"}[t.params.condim]
			say("        [[unroll]] for (uint slot = 0u; slot < %s; slot++) touch_at[slot] += alpha * touch_passed[slot];", size)
		}
		say("        if (done || -slope <= %s) break; // MuJoCo's tolerance of an improvement", symbolic.Literal(2e-8*m.MeanInertia*float64(max(1, m.NV))))
	}
	say("    }")
	out.WriteString(em.Block(after, "    "))
	for i := range rates {
		say("    rate[%d] = %s;", i, em.Ref(rates[i]))
	}
	if forces {
		out.WriteString(t.forces(s, em))
	}
	out.WriteString(p.sensing(em, seen, starts, forces))
	say("}")
	if len(atReset) > 0 {
		em := s.g.NewEmitterWith(map[*symbolic.Block][]expr{s.block: atReset}, all)
		say("\n// physics_sense gives what of `sensed` depends on positions and velocities alone: %s. The rest is 0.", strings.Join(m.kinematicSenses(), ", "))
		say("void physics_sense(const float q[NQ], const float v[NV], out float sensed[SENSES]) {")
		say("    [[unroll]] for (uint i = 0u; i < SENSES; i++) sensed[i] = 0.0;")
		out.WriteString(em.Block(s.block, "    "))
		for i, e := range atReset {
			say("    sensed[%d] = %s;", places[i], em.Ref(e))
		}
		say("}")
	}
	return out.String(), nil
}

// with returns roots with more expressions of a block.
func with(roots map[*symbolic.Block][]expr, block *symbolic.Block, more []expr) map[*symbolic.Block][]expr {
	out := maps.Clone(roots)
	out[block] = append(slices.Clone(roots[block]), more...)
	return out
}

// slots returns the expressions that the program carries: those not known to be zero.
func slots(list []expr) []expr {
	var out []expr
	for _, e := range list {
		if !e.IsZero() {
			out = append(out, e)
		}
	}
	return out
}

// atom parenthesizes a text of several words.
func atom(text string) string {
	if strings.ContainsAny(text, " ") {
		return "(" + text + ")"
	}
	return text
}

// rates returns the rates by which velocities advance: the solver's accelerations or, with Euler's method and damped
// joints, those with implicit damping: (M + h D) rate = M a (MuJoCo documentation, Computation, "Numerical
// integration"). With implicitfast, D also has the dampers of tendons and the velocity feedback of actuators.
func (p *solver) rates(after *symbolic.Block) []expr {
	s := p.s
	var rates []expr
	damped := false
	matrix := s.matrix()
	for i := range s.dofs {
		copy(matrix[i], s.Mass[i])
		if d := s.dofs[i].joint.Damping; d != 0 && (s.Model.EulerDamp || s.Model.Integrator == "implicitfast") {
			damped = true
			matrix[i][i] = matrix[i][i].Add(s.num(s.Model.Timestep * d))
		}
	}
	if s.Model.Integrator == "implicitfast" {
		damped = true
		resistance := s.resistance(s.Model.Timestep)
		for i := range s.dofs {
			for j := i; j >= 0; j = s.dofs[j].parent { // as in MuJoCo, nothing between branches of a tree
				matrix[i][j] = matrix[i][j].Add(resistance[i][j])
				matrix[j][i] = matrix[i][j]
			}
		}
	}
	if s.Model.Integrator == "RK4" || !damped {
		for i := range s.dofs {
			rates = append(rates, s.g.Var(after, fmt.Sprintf("a[%d]", i)))
		}
		return rates
	}
	var forces []expr
	for i := range s.dofs {
		forces = append(forces, s.Smooth[i].Add(s.g.Var(after, fmt.Sprintf("residual[%d]", i))))
	}
	return s.factor(matrix).solve(forces)
}

// travel counts the leading positions on which nothing depends.
func (p *solver) travel(em *symbolic.Emitter) int {
	for i, q := range p.s.q {
		if em.Needs(q) {
			return i
		}
	}
	return len(p.s.q)
}

func (p *solver) names() string {
	var names []string
	for i := range p.s.dofs {
		names = append(names, p.s.dofs[i].name)
	}
	return strings.Join(names, ", ")
}

// actuation returns the function from controls to forces.
func (p *solver) actuation() string {
	var out strings.Builder
	m := p.s.Model
	var motors []string
	for i := range m.Actuators {
		if dof := m.Actuators[i].DOF; dof != nil {
			motors = append(motors, fmt.Sprintf("%du", *dof))
		}
	}
	if len(motors) == len(m.Actuators) {
		fmt.Fprintf(&out, "const uint physics_motor[NU] = uint[](%s); // the degrees of freedom that the actuators drive\n\n", strings.Join(motors, ", "))
	}
	out.WriteString("// physics_actuate gives the forces of controls, each within its range. " +
		"As in MuJoCo, one control that is no number, or beyond 1e10, and all count as zero.\n")
	out.WriteString("void physics_actuate(const float control[NU], out float force[NU]) {\n    bool valid = true;\n")
	for i := range m.Actuators {
		fmt.Fprintf(&out, "    valid = valid && abs(control[%d]) <= 1e10;\n", i)
	}
	for i := range m.Actuators {
		fmt.Fprintf(&out, "    force[%d] = %s;\n", i, m.Actuators[i].force(fmt.Sprintf("control[%d]", i)))
	}
	out.WriteString("}\n\n")
	return out.String()
}

// force returns the part of an actuator's force that depends on its control. An invalid control counts as 0.
func (a *Actuator) force(control string) string {
	clamp := func(text string, low, high float64) string {
		return fmt.Sprintf("clamp(%s, %s, %s)", text, symbolic.Literal(low), symbolic.Literal(high))
	}
	if a.Limited {
		control = clamp(control, a.Range[0], a.Range[1])
	}
	if gain := a.Gear * a.Gain; gain != 1 {
		control = symbolic.Literal(gain) + " * " + control
	}
	text := fmt.Sprintf("valid ? %s : 0.0", control)
	if bias := a.Gear * a.Bias[0]; bias != 0 {
		text = fmt.Sprintf("%s + (%s)", symbolic.Literal(bias), text)
	}
	if a.ForceLimited && !a.feedback() {
		low, high := a.bounds()
		text = clamp(text, low, high)
	}
	return text
}

// integration returns the function that advances positions by velocities.
func (p *solver) integration() string {
	var out strings.Builder
	out.WriteString("// physics_move moves positions by velocities for a time.\n")
	out.WriteString("void physics_move(inout float q[NQ], const float v[NV], float time) {\n")
	turned := "turned" // the quaternion of a free or ball joint
	for i := range p.s.Model.Bodies {
		for _, j := range p.s.Model.Bodies[i].Joints {
			q, dof := j.Q, j.DOF // of the quaternion, and of the angular velocity
			switch j.Type {
			case "hinge", "slide":
				fmt.Fprintf(&out, "    q[%d] += time * v[%d];\n", j.Q, j.DOF)
				continue
			case "free":
				for k := range 3 {
					fmt.Fprintf(&out, "    q[%d] += time * v[%d];\n", j.Q+k, j.DOF+k)
				}
				q, dof = q+3, dof+3
			}
			fmt.Fprintf(&out, "    vec4 %s = quaternion_turn(vec4(q[%d], q[%d], q[%d], q[%d]), vec3(v[%d], v[%d], v[%d]), time);\n",
				turned, q, q+1, q+2, q+3, dof, dof+1, dof+2)
			fmt.Fprintf(&out, "    q[%[2]d] = %[1]s.x, q[%[3]d] = %[1]s.y, q[%[4]d] = %[1]s.z, q[%[5]d] = %[1]s.w;\n",
				turned, q, q+1, q+2, q+3)
			turned = fmt.Sprintf("turned_%d", q+4)
		}
	}
	out.WriteString("}\n\n")
	return out.String()
}
