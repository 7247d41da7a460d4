package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/vk"
)

// TestRobotFreeRun follows free runs of MuJoCo's in float64 from their first state on, by the same actions, and finds
// how many environment steps it takes to deviate by 1e-2 in some position. The noise floor is MuJoCo itself with
// positions and velocities rounded to float32 after each of its time steps. Motions with contacts diverge from any
// error at all; what a horizon far below the floor would show is an error larger than rounding's. docs/physics.md has
// the table.
func TestRobotFreeRun(t *testing.T) {
	dev := open(t, vk.Validate(false))
	for _, name := range Names() {
		robot, ok := robots[name]
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data := readArrays(t, name+"_free")
			begin, position, action := data["begin.npy"], data["position.npy"], data["action.npy"]
			n, steps := len(begin), len(position)/len(begin)
			b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled, TimeLimit: NoTimeLimit})
			width := b.Environment().StateSize()
			rows := make([][]float64, n)
			for i := range rows {
				rows[i] = make([]float64, width) // what a state remembers besides does not move it
				copy(rows[i], begin[i])
			}
			state := State{toFloat32(name, rows), make([]EpisodeWord, n), make([]float32, n)}
			horizon := make([]int, n)
			for i := range horizon {
				horizon[i] = steps
			}
			for step := range steps {
				if err := b.SetState(t.Context(), state); err != nil {
					t.Fatal(err)
				}
				var actions [][]float64
				for i := range n {
					actions = append(actions, action[i*steps+step])
				}
				if _, err := act(t.Context(), b, actions); err != nil {
					t.Fatal(err)
				}
				var err error
				if state, err = b.State(t.Context()); err != nil {
					t.Fatal(err)
				}
				clear(state.Episode) // a robot that has fallen goes on
				for i := range n {
					for f := range robot.positions {
						if d := math.Abs(float64(state.Env[f*n+i]) - position[i*steps+step][f]); !(d <= 1e-2) {
							horizon[i] = min(horizon[i], step)
						}
					}
				}
			}
			var floor []int
			for _, row := range data["floor.npy"] {
				floor = append(floor, int(row[0]))
			}
			t.Logf("%-26s steps to a deviation of 1e-2, of at most %d: %v; MuJoCo rounded to float32: %v", name, steps, horizon, floor)
			slices.Sort(horizon)
			slices.Sort(floor)
			if got, want := horizon[n/2], floor[n/2]; got < want/3 {
				t.Errorf("the horizon is %d steps; rounding alone has %d", got, want)
			}
		})
	}
}
