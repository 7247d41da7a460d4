package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestRobotFreeRun compares free runs with MuJoCo's in float64, from the same initial state with the same actions,
// and finds after how many environment steps some position deviates by 1e-2. The noise floor is MuJoCo itself with
// positions and velocities rounded to float32 after each time step. Motions with contacts amplify any error; a
// horizon far below the floor would indicate errors larger than rounding. docs/physics.md has the table.
func TestRobotFreeRun(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
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
				rows[i] = make([]float64, width) // the remembered elements of a state do not affect the motion
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
				clear(state.Episode) // continue after a robot has fallen
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
