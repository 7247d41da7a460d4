package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// lowest returns the height above the ground of the lowest point of a shape, by the viewer's forward kinematics in
// float64.
func lowest(m *Model, name string, q []float32) float64 {
	shape := m.Shapes[slices.IndexFunc(m.Shapes, func(s Shape) bool { return s.Name == name })]
	pose := shape.Pose.On(m.Poses(q)[shape.Body])
	return min(pose.Point([3]float64{0, 0, -shape.Size[1]})[2], pose.Point([3]float64{0, 0, shape.Size[1]})[2]) - shape.Size[0]
}

// TestContacts: the fractions of steps in which feet touch the ground agree with float64, for windows of candidates
// and with void steps, and nothing else is written. Touch detects the same contacts in each state.
func TestContacts(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	const horizon, members, environments, window, population, first = 37, 6, 3, 3, 5, 1
	for name, of := range map[string]struct {
		model  *Model
		height float64 // of the torso at which feet touch
		margin float64
		count  int
	}{
		"Walker2d-v5": {&walker2dModel, 1.25, 0, 2}, "HalfCheetah-v5": {&halfCheetahModel, 0, 0, 2}, "Ant-v5": {&antModel, 0.5, 0.02, 4},
	} {
		t.Run(name, func(t *testing.T) {
			env := lookup(t, name)
			if len(env.Feet()) != of.count {
				t.Fatalf("feet %v; want %d", env.Feet(), of.count)
			}
			s := eng.NewState()
			defer s.Close()
			dims := func(more ...engine.Dim) []engine.Dim {
				return append([]engine.Dim{engine.Time(horizon), engine.Members(members), engine.Environments(environments)}, more...)
			}
			c, err := NewContacts(s, env, members, environments)
			if err != nil {
				t.Fatal(err)
			}
			touch, err := NewTouch(s.Sub("touch"), env)
			if err != nil {
				t.Fatal(err)
			}
			trajectory := Trajectory{
				NextObs: s.Scratch("next_obs", engine.Float32, dims(engine.Axis("feature", env.ObsSize()))...), Done: s.Scratch("done", engine.Uint32, dims()...),
			}
			shares := s.Scratch("shares", engine.Float32, engine.Members(members/window), engine.Axis("candidate", population), engine.Axis("foot", of.count))
			rows := horizon * members * environments
			each := s.Scratch("each", engine.Float32, engine.Axis("state", rows+1), engine.Axis("foot", of.count))
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			dice := rand.New(rand.NewPCG(5, uint64(len(name))))
			var touched []float32
			obs, done := make([]float32, 0, rows*env.ObsSize()), make([]uint32, rows)
			steps, touching := [members]float64{}, [members][maxFeet]float64{}
			for i := range rows {
				member := i / environments % members
				q := make([]float32, env.feet.hidden+env.ObsSize())
				clear := false
				for !clear { // until rounding cannot decide
					for k := range q {
						q[k] = float32(0.5 * dice.NormFloat64())
					}
					z := 1
					if name == "Ant-v5" {
						z = 2
					}
					q[z] = float32(of.height + 0.3*dice.NormFloat64())
					clear = true
					for _, foot := range env.Feet() {
						clear = clear && math.Abs(lowest(of.model, foot, q)-of.margin) > 1e-5
					}
				}
				obs = append(obs, q[env.feet.hidden:]...)
				for _, foot := range env.Feet() {
					touched = append(touched, 0)
					if lowest(of.model, foot, q) < of.margin {
						touched[len(touched)-1] = 1
					}
				}
				switch {
				case member == 4 || dice.IntN(5) == 0:
					done[i] = uint32(Void)
				case dice.IntN(9) == 0:
					done[i] = uint32(Terminated | Diverged)
				default:
					done[i] = uint32(dice.IntN(3))
					steps[member]++
					for f, foot := range env.Feet() {
						if lowest(of.model, foot, q) < of.margin {
							touching[member][f]++
						}
					}
				}
			}
			if err := trajectory.NextObs.WriteFloat32(t.Context(), obs); err != nil {
				t.Fatal(err)
			}
			if err := trajectory.Done.WriteUint32(t.Context(), done); err != nil {
				t.Fatal(err)
			}
			program, err := eng.Record("contacts", func(r *engine.Recorder) {
				c.Record(r, trajectory, window, first, shares)
				touch.Record(r, trajectory.NextObs, each)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			if err := program.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := shares.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			some := false
			for i, v := range got {
				candidate := i / of.count
				at := candidate % population
				member := candidate/population*window + at - first
				if at < first || at >= first+window || member == 4 {
					if v == v {
						t.Errorf("candidate %d: a share of %g where nothing was to be written, or there is no step", candidate, v)
					}
					continue
				}
				want := float32(touching[member][i%of.count] / steps[member])
				if some = some || want > 0.05 && want < 0.95; v != want {
					t.Errorf("member %d: foot %d touches the ground in %g of the steps; want %g", member, i%of.count, v, want)
				}
			}
			if !some {
				t.Error("feet touch always or never")
			}
			single, err := each.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(single[:len(touched)], touched) {
				t.Error("contacts of single states differ from those of forward kinematics")
			}
			for _, v := range single[len(touched):] {
				if v == v {
					t.Error("more contacts were written than there are states")
				}
			}
		})
	}
}

// TestContactsSeen: with an option that observes all positions, the contacts are the same.
func TestContactsSeen(t *testing.T) {
	env := lookup(t, "Walker2d-v5")
	links, _, err := env.footTables()
	if err != nil {
		t.Fatal(err)
	}
	options := DefaultWalker2dOptions()
	options.ExcludeCurrentPositionsFromObservation = false
	seen, err := env.With(options)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := seen.footTables()
	if err != nil {
		t.Fatal(err)
	}
	for l := 0; l < len(links); l += linkFloats {
		if joint := links[l] != linkBody; joint && all[l+1] != links[l+1]+1 || !joint && all[l+1] != 0 {
			t.Errorf("link %d: observation %g; want %g and one more", l/linkFloats, all[l+1], links[l+1])
		}
	}
}

// TestContactsRefused: environments without feet are rejected.
func TestContactsRefused(t *testing.T) {
	s := engine.New(open(t)).NewState()
	defer s.Close()
	if _, err := NewContacts(s, lookup(t, "Swimmer-v5"), 1, 1); err == nil || !strings.Contains(err.Error(), `"Swimmer-v5" has no feet`) {
		t.Errorf("error %v", err)
	}
	eng := engine.New(open(t))
	if eng.Device().Info().Limits.MaxLoopIterations > 0 {
		const environments = 22000
		of := eng.NewState()
		defer of.Close()
		env := lookup(t, "HalfCheetah-v5")
		c, err := NewContacts(of, env, 1, environments)
		if err != nil {
			t.Fatal(err)
		}
		dims := []engine.Dim{engine.Axis("step", 1), engine.Members(1), engine.Environments(environments)}
		tr := Trajectory{Done: of.Scratch("done", engine.Uint32, dims...)}
		tr.NextObs = of.Scratch("next", engine.Float32, append(dims, engine.Axis("feature", env.ObsSize()))...)
		shares := of.Scratch("shares", engine.Float32, engine.Members(1), engine.Axis("foot", 2))
		if _, err := eng.Record("test", func(r *engine.Recorder) { c.Record(r, tr, 1, 0, shares) }); err == nil ||
			!strings.Contains(err.Error(), "contacts in 22000 environments") {
			t.Errorf("error %v; want that of the device's bound on loops", err)
		}
	}
	if feet := lookup(t, "CartPole-v1").Feet(); feet != nil {
		t.Errorf("a cart has feet: %v", fmt.Sprint(feet))
	}
}
