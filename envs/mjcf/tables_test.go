package mjcf

import (
	"math"
	"strings"
	"testing"
)

// Models that tables do not support are rejected with the name of the element.
func TestTablesRefuse(t *testing.T) {
	for _, c := range []struct {
		model  string
		change func(*Model)
		want   string
	}{
		{"ant", func(m *Model) { m.Integrator = "Euler" }, `the integrator "Euler"`},
		{"ant", func(m *Model) { m.Viscosity = 0.1 }, "viscosity 0.1"},
		{"ant", func(m *Model) { m.NV = 33 }, "33 degrees of freedom"},
		{"ant", func(m *Model) { m.Tendons = []Tendon{{Joints: [][2]float64{{6, 1}}}} }, "1 tendons and 0 equalities"},
		{"ant", func(m *Model) { m.Actuators[0].Bias[1] = -1 }, "whose force depends on position"},
		{"ant", func(m *Model) { m.Bodies[3].Joints[0].ForceLimited = true }, "a range of the actuators' forces"},
		{"ant", func(m *Model) { m.Bodies[4].Parent = 0 }, `body "` + modelOf(t, "ant").Bodies[4].Name + `"`},
		{"humanoid", func(m *Model) { lastLimited(m).SolRef[0] *= 2 }, "have limits of different margin, solref or solimp"},
	} {
		m := modelOf(t, c.model)
		c.change(m)
		if _, _, err := Tables(m, "envs"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.model, err, c.want)
		}
	}
}

// Tables hold all parameters of the model that the dynamics need.
func TestTables(t *testing.T) {
	m := modelOf(t, "humanoid")
	glsl, source, err := Tables(m, "envs")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Bodies[1:] {
		if !strings.Contains(string(source), "// body "+b.Name+"\n") {
			t.Errorf("no row of the body %q", b.Name)
		}
		for _, j := range b.Joints {
			if j.Type != "free" && !strings.Contains(string(source), "// degree of freedom "+j.Name+"\n") {
				t.Errorf("no row of the joint %q", j.Name)
			}
		}
	}
	for _, want := range []string{"#define BODIES 14 ", "GRAVITY = vec3(0.0, 0.0, -9.81)"} {
		if !strings.Contains(glsl, want) {
			t.Errorf("the constants lack %q:\n%s", want, glsl)
		}
	}
	if len(m.Bodies) != 14 || math.Abs(m.Gravity[2]+9.81) > 1e-12 {
		t.Errorf("the model has %d bodies and gravity %v", len(m.Bodies), m.Gravity)
	}
}

func modelOf(t *testing.T, name string) *Model {
	t.Helper()
	m, _ := read(t, name)
	return m
}

func lastLimited(m *Model) *Joint {
	var last *Joint
	for i := range m.Bodies {
		for k := range m.Bodies[i].Joints {
			if j := &m.Bodies[i].Joints[k]; j.Limited {
				last = j
			}
		}
	}
	return last
}
