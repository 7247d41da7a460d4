package envs

import (
	"math"
	"testing"

	"github.com/evorl/evorl/vk"
)

// teams lets a test run teams on any device.
func teams(t *testing.T) {
	softwareTeams = true
	t.Cleanup(func() { softwareTeams = false })
}

// TestTeamStep is TestRobotStep for teams, by one of so many recorded steps.
func TestTeamStep(t *testing.T) {
	teams(t)
	dev := open(t, vk.Validate(false))
	for _, name := range []string{"Ant-v5", "Humanoid-v5"} {
		t.Run(name, func(t *testing.T) { robotStep(t, dev, name, Team, 60) })
	}
}

// TestTeamDiverges: with more worlds than a subgroup has lanes, one that diverges ends its episode, and the others go on to the same bits.
func TestTeamDiverges(t *testing.T) {
	teams(t)
	dev := open(t, vk.Validate(false))
	const n, bad = 9, 4
	robot := robots["Ant-v5"]
	run := func(speed float32) (Transition, State) {
		b := newBatch(t, dev, "Ant-v5", 1, n, Options{Mapping: Team})
		if _, err := b.Reset(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		s, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if speed != 0 {
			s.Env[(robot.positions+robot.velocities-1)*n+bad] = speed
		}
		if err := b.SetState(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		got, err := b.StepContinuous(t.Context(), make([]float32, n*8))
		if err != nil {
			t.Fatal(err)
		}
		if s, err = b.State(t.Context()); err != nil {
			t.Fatal(err)
		}
		return got, s
	}
	_, healthy := run(0)
	for _, speed := range []float32{1e30, float32(math.NaN())} {
		got, after := run(speed)
		for e, done := range got.Done {
			if want := map[bool]Done{true: Terminated | Diverged}[e == bad]; done != want {
				t.Errorf("beside or at a world of the speed %g, world %d is done %d; want %d", speed, e, done, want)
			}
		}
		for i, v := range after.Env {
			switch e := i % n; {
			case e == bad && !(math.Abs(float64(v)) < 10):
				t.Errorf("after a world at the speed %g the next episode begins with element %d = %g", speed, i/n, v)
			case e != bad && math.Float32bits(v) != math.Float32bits(healthy.Env[i]):
				t.Fatalf("a world at the speed %g changes its neighbour %d", speed, e)
			}
		}
	}
}

// TestMapping: which form runs is a matter of the environment, the options and the device alone.
func TestMapping(t *testing.T) {
	gpu := vk.Info{Type: vk.DiscreteGPU}
	gpu.Limits.MaxSharedBytes = 32 << 10
	small := gpu
	small.Limits.MaxSharedBytes = 16 << 10
	software := gpu
	software.Type = vk.CPU
	for _, c := range []struct {
		name  string
		asked Mapping
		info  vk.Info
		want  Mapping
		fails bool
	}{
		{"Ant-v5", ByDevice, gpu, Team, false}, {"Humanoid-v5", ByDevice, gpu, Team, false}, {"Humanoid-v5", ByDevice, small, Lane, false},
		{"Humanoid-v5", Team, small, Lane, true}, {"Ant-v5", Lane, gpu, Lane, false}, {"Ant-v5", ByDevice, software, Lane, false},
		{"Ant-v5", Team, software, Lane, true}, {"Hopper-v5", ByDevice, gpu, Lane, false}, {"Hopper-v5", Team, gpu, Lane, true},
	} {
		got, err := lookup(t, c.name).mapping(Options{Mapping: c.asked}, c.info)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s, asked for %v on a %v with %d bytes: %v, %v", c.name, c.asked, c.info.Type, c.info.Limits.MaxSharedBytes, got, err)
		}
	}
}
