package mjcf

import (
	"fmt"
	"math"
	"testing"
)

// free is a system moved only by inertia and gravity.
type free struct {
	s    *System
	rate func(q, v []float64) []float64 // accelerations, in float32
}

func newFree(t *testing.T, m *Model) free {
	t.Helper()
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	s := NewSystem(m)
	unknown := s.factor(s.Mass).solve(s.Smooth)
	return free{s, func(q, v []float64) []float64 {
		vars := map[string]float64{}
		for i, x := range q {
			vars[fmt.Sprintf("q[%d]", i)] = x
		}
		for i, x := range v {
			vars[fmt.Sprintf("v[%d]", i)] = x
		}
		ev := s.g.Evaluate(vars, true)
		out := make([]float64, len(v))
		for i := range out {
			out[i] = ev.Of(unknown[i])
		}
		return out
	}}
}

func single(x float64) float64 { return float64(float32(x)) }

// move is physics_move, in float32.
func (f free) move(q, v []float64, time float64) []float64 {
	out := append([]float64(nil), q...)
	for _, b := range f.s.Model.Bodies {
		for _, j := range b.Joints {
			if j.Type != "free" {
				out[j.Q] = single(q[j.Q] + single(time*v[j.DOF]))
				continue
			}
			for k := range 3 {
				out[j.Q+k] = single(q[j.Q+k] + single(time*v[j.DOF+k]))
			}
			w, x, y, z := q[j.Q+3], q[j.Q+4], q[j.Q+5], q[j.Q+6]
			a, b, c := v[j.DOF+3], v[j.DOF+4], v[j.DOF+5]
			length, speed := math.Sqrt(w*w+x*x+y*y+z*z), math.Sqrt(a*a+b*b+c*c)
			cos, sin := math.Cos(time*speed/2)/length, math.Sin(time*speed/2)/max(speed, 1e-12)/length
			a, b, c = a*sin, b*sin, c*sin
			for k, value := range []float64{w*cos - x*a - y*b - z*c, w*a + x*cos + y*c - z*b, w*b - x*c + y*cos + z*a, w*c + x*b - y*a + z*cos} {
				out[j.Q+3+k] = single(value)
			}
		}
	}
	return out
}

// step is one step of the classical Runge-Kutta method in float32, as in shaders/envs/physics/advance.glsl.
func (f free) step(q, v []float64) ([]float64, []float64) {
	h := f.s.Model.Timestep
	x, y := q, v
	sumV, sumA := make([]float64, len(v)), make([]float64, len(v))
	for stage := range 4 {
		a := f.rate(x, y)
		weight, time := 1.0/3, h/2
		if stage == 0 || stage == 3 {
			weight = 1.0 / 6
		}
		if stage >= 2 {
			time = h
		}
		for i := range v {
			sumV[i], sumA[i] = single(sumV[i]+single(weight*y[i])), single(sumA[i]+single(weight*a[i]))
		}
		speed := y
		if stage == 3 {
			speed, a = sumV, sumA
		}
		next := make([]float64, len(v))
		for i := range v {
			next[i] = single(v[i] + single(time*a[i]))
		}
		x, y = f.move(q, speed, time), next
	}
	return x, y
}

// TestPendulumKeepsEnergy: two links without friction keep their energy over 10,000 steps, up to the errors of the
// method and of float32.
func TestPendulumKeepsEnergy(t *testing.T) {
	link := func(name string, parent int, pos [3]float64, dof int) Body {
		return Body{
			Name: name, Parent: parent, Weld: dof + 1, Pos: pos, Quat: [4]float64{1},
			Mass: 1, COM: [3]float64{0, 0, -0.25}, Frame: [4]float64{1}, Inertia: [3]float64{0.02, 0.02, 0.001},
			Joints: []Joint{{Name: name, Type: "hinge", Q: dof, DOF: dof, Axis: [3]float64{0, 1, 0},
				Reference: []float64{0}, Rest: []float64{0}, Armature: []float64{0}, InvWeight: []float64{1}}},
		}
	}
	m := &Model{Name: "pendulum", Integrator: "RK4", Timestep: 0.002, Gravity: [3]float64{0, 0, -9.81}, NQ: 2, NV: 2,
		Bodies: []Body{{Name: "world", Quat: [4]float64{1}}, link("upper", 0, [3]float64{}, 0), link("lower", 1, [3]float64{0, 0, -0.5}, 1)}}
	f := newFree(t, m)
	energy := func(q, v []float64) float64 {
		vars := map[string]float64{"q[0]": q[0], "q[1]": q[1], "v[0]": v[0], "v[1]": v[1]}
		ev := f.s.g.Evaluate(vars, false)
		sum := 0.0
		for i := range 2 {
			for j := range 2 {
				sum += 0.5 * v[i] * v[j] * ev.Of(f.s.Mass[i][j])
			}
			sum += 9.81 * (ev.Of(f.s.bodies[i+1].com[2]))
		}
		return sum
	}
	q, v := []float64{1.2, 0.5}, []float64{0, 0} // not over the top, where the links swing too fast for the time step
	begin, worst, fastest := energy(q, v), 0.0, 0.0
	for range 10000 {
		q, v = f.step(q, v)
		worst, fastest = max(worst, math.Abs(energy(q, v)-begin)), max(fastest, math.Abs(v[1]))
	}
	t.Logf("energy %.4f J, largest drift in 10,000 steps %.2g J; fastest turn %.1f rad/s", begin, worst, fastest)
	if !(worst < 2e-3) || fastest < 3 {
		t.Errorf("the energy drifts by %g J of %g, at up to %g rad/s; want at most 2e-3, and a pendulum that swings", worst, begin, fastest)
	}
}

// TestFreeBodyKeepsMomentum: a body tumbling without forces keeps its momentum, angular momentum and energy over
// 10,000 steps.
func TestFreeBodyKeepsMomentum(t *testing.T) {
	inertia := [3]float64{0.01, 0.02, 0.025} // rotation about the middle axis is unstable
	m := &Model{Name: "body", Integrator: "RK4", Timestep: 0.002, NQ: 7, NV: 6, Bodies: []Body{{Name: "world", Quat: [4]float64{1}}, {
		Name: "body", Weld: 1, Quat: [4]float64{1}, Mass: 2, COM: [3]float64{0.1, 0, 0.05}, Frame: [4]float64{1}, Inertia: inertia,
		Joints: []Joint{{Name: "root", Type: "free",
			Reference: make([]float64, 7), Rest: make([]float64, 7), Armature: make([]float64, 6), InvWeight: make([]float64, 6)}},
	}}}
	f := newFree(t, m)
	measure := func(q, v []float64) (out [7]float64) { // momentum, angular momentum about the centre of mass, energy
		vars := map[string]float64{}
		for i, x := range q {
			vars[fmt.Sprintf("q[%d]", i)] = x
		}
		for i, x := range v {
			vars[fmt.Sprintf("v[%d]", i)] = x
		}
		velocity, body := f.s.twist[1].velocity(f.s.bodies[1].com), f.s.bodies[1]
		turn := f.s.inertia(1).Apply(body.omega)
		ev := f.s.g.Evaluate(vars, false)
		for k := range 3 {
			out[k] = 2 * ev.Of(velocity[k])
			out[3+k] = ev.Of(turn[k])
			out[6] += ev.Of(velocity[k])*ev.Of(velocity[k]) + 0.5*ev.Of(turn[k])*ev.Of(body.omega[k])
		}
		return out
	}
	q, v := []float64{0, 0, 1, 1, 0, 0, 0}, []float64{0.5, 0, 0.2, 0.1, 6, 0.2}
	begin := measure(q, v)
	var worst [7]float64
	flipped := false
	for range 10000 {
		q, v = f.step(q, v)
		for i, x := range measure(q, v) {
			worst[i] = max(worst[i], math.Abs(x-begin[i]))
		}
		flipped = flipped || v[4] < -3
	}
	t.Logf("begins with %.3g, largest drifts in 10,000 steps %.1g", begin, worst)
	for i, limit := range []float64{1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-3} {
		if !(worst[i] <= limit) {
			t.Errorf("quantity %d drifts by %g; want at most %g", i, worst[i], limit)
		}
	}
	if !flipped {
		t.Error("the body does not tumble")
	}
}
