package mjcf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is a state with MuJoCo's dynamics, from a file written by tools/reference/physics.py.
type recorded struct {
	Q, V, Warm, Control                             []float64
	Mass                                            [][]float64 // the lower triangle
	Bias, Passive, Smooth, Acceleration, Constraint []float64
	Contacts, Rows                                  int
}

// models lists the models with recorded states: this repository's environments, and robots.
func models(t *testing.T) []string {
	t.Helper()
	names := robots(t)
	paths, err := filepath.Glob("models/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no models", err)
	}
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return names
}

// robotFolder has the models of robots with their recorded steps: testdata/robots, or $MJCF_ROBOTS, a folder that
// tools/reference/menagerie.py has written.
func robotFolder() string {
	return cmp.Or(os.Getenv("MJCF_ROBOTS"), filepath.Join("testdata", "robots"))
}

// robots lists the models of robotFolder.
func robots(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(robotFolder(), "*_steps.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no robots", err)
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(paths[i]), "_steps.json")
	}
	return paths
}

func read(t *testing.T, name string) (*Model, []recorded) {
	t.Helper()
	model, states := filepath.Join("models", name+".json"), filepath.Join("testdata", name+".json")
	if slices.Contains(robots(t), name) {
		model, states = filepath.Join(robotFolder(), name+".json"), filepath.Join(robotFolder(), name+"_steps.json")
	}
	m, err := ReadModel(model)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(states)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Meta   map[string]any
		States []recorded
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.States) == 0 {
		t.Fatal(err, len(file.States))
	}
	if contacts, _ := file.Meta["contacts"].(string); m.Restrict(contacts) != nil {
		t.Fatalf("%s: contacts %q", name, contacts)
	}
	if file.Meta["mujoco"] != m.MuJoCo {
		t.Fatalf("%s: the states are of MuJoCo %v, the model of %s", name, file.Meta["mujoco"], m.MuJoCo)
	}
	return m, file.States
}

// inputs returns the values of the program's variables for a state.
func inputs(m *Model, r recorded) map[string]float64 {
	vars := map[string]float64{}
	put := func(name string, values []float64) {
		for i, v := range values {
			vars[fmt.Sprintf("%s[%d]", name, i)] = v
		}
	}
	put("q", r.Q)
	put("v", r.V)
	put("a", r.Warm)
	for i, a := range m.Actuators {
		u := r.Control[i]
		if a.Limited {
			u = min(max(u, a.Range[0]), a.Range[1])
		}
		force := a.Gear * (a.Gain*u + a.Bias[0])
		if low, high := a.bounds(); a.ForceLimited && !a.feedback() {
			force = min(max(force, low), high)
		}
		vars[fmt.Sprintf("force[%d]", i)] = force
	}
	return vars
}

// scaled returns the largest deviation of values, relative to the largest wanted value or to 1.
func scaled(got []float64, want []float64) float64 {
	most, worst := 1.0, 0.0
	for _, w := range want {
		most = max(most, math.Abs(w))
	}
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if !(d <= worst) { // also NaN
			worst = d
		}
	}
	return worst / most
}

// TestSmooth: inertia, bias and the sum of smooth forces agree with MuJoCo, to rounding in float64 and within 5e-4 in
// float32.
func TestSmooth(t *testing.T) {
	for _, name := range models(t) {
		m, states := read(t, name)
		s := NewSystem(m)
		for _, arithmetic := range []struct {
			name   string
			single bool
			limit  float64
		}{{"float64", false, 1e-8}, {"float32", true, 5e-5}} {
			mass, bias, smooth := 0.0, 0.0, 0.0
			for _, r := range states {
				ev := s.g.Evaluate(inputs(m, r), arithmetic.single)
				var got, want []float64
				for i := range m.NV {
					for j := 0; j <= i; j++ {
						got, want = append(got, ev.Of(s.Mass[i][j])), append(want, r.Mass[i][j])
					}
				}
				mass = max(mass, scaled(got, want))
				values := func(list []expr) []float64 {
					out := make([]float64, len(list))
					for i := range list {
						out[i] = ev.Of(list[i])
					}
					return out
				}
				smooth = max(smooth, scaled(values(s.Smooth), r.Smooth))
				if m.Density == 0 && m.Viscosity == 0 { // with a medium, its forces are part of the bias here
					bias = max(bias, scaled(values(s.Bias), r.Bias))
				}
			}
			t.Logf("%-26s %s: largest deviation of inertia %.1g, bias %.1g, smooth forces %.1g", name, arithmetic.name, mass, bias, smooth)
			if worst := max(mass, bias, smooth); !(worst <= arithmetic.limit) {
				t.Errorf("%s in %s: deviation %g; want at most %g", name, arithmetic.name, worst, arithmetic.limit)
			}
		}
	}
}

// solve runs the loops of the program.
func solve(p *solver, vars map[string]float64) (acceleration []float64, iterations int) {
	s := p.s
	ev := s.g.Evaluate(vars, false)
	values := func(list []expr) []float64 {
		var out []float64
		for _, e := range slots(list) {
			out = append(out, ev.Of(e))
		}
		return out
	}
	residual, at := values(p.residual), values(p.at)
	a := make([]float64, s.Model.NV)
	for i := range a {
		a[i] = vars[fmt.Sprintf("a[%d]", i)]
	}
	for iterations = 1; iterations <= 50; iterations++ {
		for i := range residual {
			vars[fmt.Sprintf("residual[%d]", i)] = residual[i]
		}
		for i := range at {
			vars[fmt.Sprintf("at[%d]", i)] = at[i]
		}
		alpha, low, high, done := 1.0, 0.0, 0.0, !p.searches()
		vars["alpha"] = alpha
		ev = s.g.Evaluate(vars, false)
		slope := ev.Of(p.slope)
		for search := 0; search < 20 && p.searches(); search++ {
			vars["alpha"] = alpha
			at := s.g.Evaluate(vars, false)
			rise, curvature := at.Of(p.rise), at.Of(p.curvature)
			done = search == 0 && at.Of(p.changed) == 0
			if done || math.Abs(rise) <= 0.01*math.Abs(slope) {
				break
			}
			if rise < 0 {
				low = alpha
			} else {
				high = alpha
			}
			next := alpha - rise/curvature
			switch {
			case next > low && (high == 0 || next < high):
				alpha = next
			case high == 0:
				alpha *= 2
			default:
				alpha = (low + high) / 2
			}
		}
		for i := range a {
			a[i] += alpha * ev.Of(p.step[i])
			residual[i] += alpha * ev.Of(p.moved[i])
		}
		slot := 0
		for i := range p.at {
			if !p.at[i].IsZero() {
				at[slot] += alpha * ev.Of(p.passed[i])
				slot++
			}
		}
		if done || -slope <= 1e-20 { // elliptic cones never keep to one quadratic
			return a, iterations
		}
	}
	return a, iterations
}

// TestAcceleration: the solution of the constraint problem agrees with MuJoCo, also with joints at their limits and
// many contacts.
func TestAcceleration(t *testing.T) {
	for _, name := range models(t) {
		m, states := read(t, name)
		s := NewSystem(m)
		p, err := newSolver(s, math.MaxInt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		worst, most, rows := 0.0, 0, 0
		for _, r := range states {
			got, n := solve(p, inputs(m, r))
			d := scaled(got, r.Acceleration)
			worst, most, rows = max(worst, d), max(most, n), max(rows, r.Rows)
			if testing.Verbose() && d > 1e-6 {
				t.Logf("%s: %g with %d rows, %d contacts: %.4g\n want %.4g", name, d, r.Rows, r.Contacts, got, r.Acceleration)
			}
		}
		t.Logf("%-26s largest deviation of accelerations %.1g, at most %d iterations, up to %d rows", name, worst, most, rows)
		const limit = 1e-7
		if !(worst <= limit) {
			t.Errorf("%s: deviation %g; want at most %g", name, worst, limit)
		}
	}
}
