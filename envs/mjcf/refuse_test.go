package mjcf

import (
	"strings"
	"testing"
)

// geomOf returns a geom by its name.
func geomOf(t *testing.T, m *Model, name string) *Geom {
	t.Helper()
	for b := range m.Bodies {
		for g := range m.Bodies[b].Geoms {
			if m.Bodies[b].Geoms[g].Name == name {
				return &m.Bodies[b].Geoms[g]
			}
		}
	}
	t.Fatalf("no geom %q", name)
	return nil
}

// TestRefusals: everything that a program refuses is reported at once, each by its file and line.
func TestRefusals(t *testing.T) {
	m := modelOf(t, "rub")
	arm, tip := &m.Bodies[2].Joints[0], &m.Bodies[3].Joints[0]
	arm.SolImp[4], tip.SolImp[4], tip.Friction.SolRef = 2.5, 9, [2]float64{1, -1}
	geomOf(t, m, "egg").Type, geomOf(t, m, "rod").Friction[0], geomOf(t, m, "floor").Friction[0] = "mesh", 0, 0
	_, err := Program(m)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		arm.At + ": joint arm: power 2.5 of solimp; want a whole number to 8", tip.At + ": joint tip: power 9 of solimp",
		tip.At + ": joint tip: solref [1 -1]; want both positive, or both negative",
		geomOf(t, m, "egg").At + ": geom \"floor\" (plane) and geom \"egg\" (mesh) may touch, but meshes cannot",
		geomOf(t, m, "rod").At + ": geom \"floor\" (plane) and geom \"rod\" (capsule) may touch, but friction is 0 with condim 3",
	} {
		if !strings.Contains("\n"+err.Error(), "\n"+want) {
			t.Errorf("no line %q in\n%v", want, err)
		}
	}
	m = modelOf(t, "rub")
	m.Bodies[2].Joints[0].Margin, m.Bodies[3].Joints[0].Margin = 2, 3
	if err := m.check(); err == nil || strings.Count(err.Error(), "; want more than twice the margin") != 2 {
		t.Errorf("two margins: %v", err)
	}
}

// TestGroundOnly: with contacts "ground" links do not touch each other, and meshes touch nothing.
func TestGroundOnly(t *testing.T) {
	m := modelOf(t, "rub")
	geomOf(t, m, "egg").Type = "mesh"
	contacts := func() int {
		p, err := newSolver(NewSystem(m), fewPairs)
		if err != nil {
			return -1
		}
		return len(p.contacts)
	}
	if err := m.Restrict("all"); err != nil || contacts() != -1 {
		t.Errorf("a mesh on a plane is accepted (%v)", err)
	}
	if err := m.Restrict("ground"); err != nil || contacts() != 9 { // a box's four corners, two capsules, a sphere
		t.Errorf("%d contacts with the ground; want 9 (%v)", contacts(), err)
	}
	if err := m.Restrict("floor"); err == nil || !strings.Contains(err.Error(), `contacts "floor"; want all, or ground`) {
		t.Errorf("unknown contacts: %v", err)
	}
}

// TestUprightCapsule: a capsule that always stands upright on a plane has tangents, though none of it lies along the plane.
func TestUprightCapsule(t *testing.T) {
	m := modelOf(t, "rub")
	axes := [4]float64{1, 0, 0, 0}
	capsule := *geomOf(t, m, "rod")
	capsule.Pos, capsule.Quat = [3]float64{}, axes
	plane := *geomOf(t, m, "floor")
	plane.Quat = axes
	turning := m.Bodies[2].Joints[0]
	turning.Q, turning.DOF, turning.Axis, turning.Pos = 0, 0, [3]float64{0, 0, 1}, [3]float64{}
	upright := *m
	upright.NQ, upright.NV, upright.Tendons, upright.Actuators = 1, 1, nil, nil
	upright.Bodies = []Body{{Quat: axes, Frame: axes, Geoms: []Geom{plane}}, {
		Name: "post", Weld: 1, Quat: axes, Frame: axes, Mass: 1, Inertia: [3]float64{1, 1, 1}, InvWeight: [2]float64{1, 1},
		Joints: []Joint{turning}, Geoms: []Geom{capsule},
	}}
	if err := upright.check(); err != nil {
		t.Fatal(err)
	}
	if text, err := Program(&upright); err != nil || !strings.Contains(text, "#define NV 1 ") {
		t.Errorf("%v\n%s", err, text)
	}
}
