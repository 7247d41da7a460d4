package envs

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// robots are the environments with MuJoCo's dynamics: their positions and velocities, and the tolerance of one
// environment step relative to MuJoCo's float64 step from the same float32 state, a few times the effect of rounding.
// The Cheetah's is larger for states that barely touch the ground.
var robots = map[string]struct {
	positions, velocities int
	position, velocity    float64
}{
	"InvertedPendulum-v5":       {2, 2, 1e-6, 1e-5},
	"InvertedDoublePendulum-v5": {3, 3, 1e-5, 1e-4},
	"Reacher-v5":                {4, 4, 2e-6, 2e-5},
	"Swimmer-v5":                {5, 5, 1e-6, 3e-5},
	"Hopper-v5":                 {6, 6, 1e-6, 1e-5},
	"HalfCheetah-v5":            {9, 9, 1e-4, 1e-2},
	"Walker2d-v5":               {9, 9, 5e-6, 1e-3},
	"Ant-v5":                    {15, 14, 3e-6, 1e-4},
	"Humanoid-v5":               {24, 23, 5e-6, 1e-3},
	"HumanoidStandup-v5":        {24, 23, 5e-6, 1e-3},
	"Pusher-v5":                 {11, 11, 5e-6, 1e-4},
}

// classic are the environments without MuJoCo's dynamics that have records: neither MinAtar's games, which TestMinAtar compares, nor tasks for memory, nor
// games.
func classic() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		_, robot := robots[name]
		_, masked := memoryTasks[name]
		_, game := games[name]
		return robot || masked || game || strings.HasPrefix(name, "MinAtar-")
	})
}

// TestRobotStep takes every recorded step of MuJoCo's from its state.
func TestRobotStep(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, name := range Names() {
		if _, ok := robots[name]; !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			robotStep(t, dev, name, Lane, 1)
		})
	}
}

// robotStep takes every every-th recorded step with one form of an environment's dynamics and compares.
func robotStep(t *testing.T, dev *vk.Device, name string, mapping Mapping, every int) {
	robot := robots[name]
	data := readTrajectory(t, name)
	var before, action [][]float64
	var after, at []int // rows, steps
	for i := range data.episodes() {
		first, step, steps := data.episode(i)
		for k := range steps {
			if (step+k)%every == 0 {
				before, action = append(before, data.state[first+k]), append(action, data.action[step+k])
				after, at = append(after, first+k+1), append(at, step+k)
			}
		}
	}
	n := len(action)
	began := time.Now()
	b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled, Mapping: mapping})
	t.Logf("compiled in %v", time.Since(began))
	if err := b.SetState(t.Context(), State{toFloat32(name, before), make([]EpisodeWord, n), make([]float32, n)}); err != nil {
		t.Fatal(err)
	}
	got, err := act(t.Context(), b, action)
	if err != nil {
		t.Fatal(err)
	}
	compiled := time.Since(began)
	state, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var dq, dv, extra, obs, reward deviation
	size := b.Environment().ObsSize()
	for i := range n {
		for f, v := range column(state.Env, n, i) {
			d := float64(v) - data.state[after[i]][f]
			switch {
			case f < robot.positions:
				dq.note(d, i, f)
			case f < robot.positions+robot.velocities:
				dv.note(d, i, f)
			case f >= robot.positions+2*robot.velocities:
				extra.note(d/max(1, math.Abs(data.state[after[i]][f])), i, f)
			}
		}
		for f, v := range got.NextObs[i*size : (i+1)*size] {
			want := data.obs[after[i]][f]
			obs.note((float64(v)-want)/max(1, math.Abs(want)), i, f)
		}
		reward.note(float64(got.Reward[i])-data.reward[at[i]], i, 0)
		if got.Done[i] != data.done[at[i]] {
			t.Errorf("step %d from %v by %v: done %d; want %d", i, before[i], action[i], got.Done[i], data.done[at[i]])
		}
	}
	terminated, _ := flags(data.done)
	t.Logf("%-25s %d steps, %d after the end; largest deviation: positions %.1g (median %.1g), "+
		"velocities %.1g (%.1g), what it remembers %.1g, observations %.1g, rewards %.1g; compiled and run in %v",
		name, n, terminated, dq.worst, dq.median(), dv.worst, dv.median(), extra.worst, obs.worst, reward.worst, compiled.Round(time.Millisecond))
	if !(dq.worst <= robot.position) || !(dv.worst <= robot.velocity) {
		t.Errorf("positions deviate by %g (step %d, element %d), velocities by %g (step %d, element %d); want at most %g and %g",
			dq.worst, dq.step, dq.element, dv.worst, dv.step, dv.element, robot.position, robot.velocity)
	}
	seen := 1e-2
	if strings.HasPrefix(name, "Humanoid") {
		// The models select MuJoCo's PGS solver, which stops before the minimum: over these steps, MuJoCo with
		// Newton's method deviates from the record by up to 0.031 in a contact force and 2.1e-4 in a velocity, at the
		// same step.
		seen = 4e-2
	}
	if !(reward.worst <= 1e-3) || !(obs.worst <= seen) || !(extra.worst <= seen) {
		t.Errorf("rewards deviate by %g (step %d), observations by %g (step %d, element %d), "+
			"what it remembers by %g (step %d, element %d); want at most 1e-3, %g, %g",
			reward.worst, reward.step, obs.worst, obs.step, obs.element, extra.worst, extra.step, extra.element, seen, seen)
	}
}

// deviation keeps the largest of many deviations and its position.
type deviation struct {
	worst         float64
	step, element int
	all           []float64
}

func (d *deviation) note(by float64, step, element int) {
	by = math.Abs(by)
	d.all = append(d.all, by)
	if !(by <= d.worst) { // also NaN
		d.worst, d.step, d.element = by, step, element
	}
}

func (d *deviation) median() float64 {
	slices.Sort(d.all)
	return d.all[len(d.all)/2]
}

// BenchmarkRobotStep measures environment steps of batches with given actions.
func BenchmarkRobotStep(b *testing.B) {
	for _, name := range Names() {
		if _, ok := robots[name]; !ok {
			continue
		}
		b.Run(strings.TrimSuffix(name, "-v5"), func(b *testing.B) {
			dev := vktest.Open(b, vk.Validate(false))
			const n = 1024
			began := time.Now()
			batch := newBatch(b, dev, name, 1, n, Options{})
			if _, err := batch.Reset(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			actions := make([]float32, n*batch.Environment().ActionWords())
			for i := range actions {
				actions[i] = float32(math.Sin(float64(i)))
			}
			if _, err := batch.StepContinuous(b.Context(), actions); err != nil {
				b.Fatal(err)
			}
			cold := time.Since(began)
			for b.Loop() {
				if _, err := batch.StepContinuous(b.Context(), actions); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e3, "ksteps/s")
			b.ReportMetric(cold.Seconds(), "s-cold")
		})
	}
}
