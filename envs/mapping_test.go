package envs

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
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

// TestTeamShared: what a team's world takes of a workgroup's memory is what the kernels declare.
func TestTeamShared(t *testing.T) {
	for name, s := range stepShader {
		name, isTeam := strings.CutSuffix(name, teamName)
		if !isTeam {
			continue
		}
		if got, want := sharedBytes(s.SPIRV), lookup(t, name).team.shared; got != want {
			t.Errorf("%s takes %d bytes; its Spec says %d", name, got, want)
		}
	}
}

// sharedBytes adds up the arrays of 32-bit numbers that a SPIR-V module has in storage class Workgroup.
func sharedBytes(code []byte) int {
	const opTypeArray, opTypePointer, opConstant, opVariable, workgroup = 28, 32, 43, 59, 4
	constants, arrays, pointers := map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]uint32{} // values; lengths' ids; what they point to
	sum := 0
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(code[4*i:]) }
	for i := 5; i < len(code)/4; i += int(word(i) >> 16) {
		switch word(i) & 0xffff {
		case opConstant:
			constants[word(i+2)] = word(i + 3)
		case opTypeArray:
			arrays[word(i+1)] = word(i + 3)
		case opTypePointer:
			pointers[word(i+1)] = word(i + 3)
		case opVariable:
			if word(i+3) == workgroup {
				sum += 4 * int(constants[arrays[pointers[word(i+1)]]])
			}
		}
	}
	return sum
}

// BenchmarkMapping measures environment steps of both forms: CPU time on software drivers, where teams are not to be chosen.
func BenchmarkMapping(b *testing.B) {
	softwareTeams = true
	b.Cleanup(func() { softwareTeams = false })
	for _, name := range []string{"Ant-v5", "Humanoid-v5"} {
		for _, m := range []Mapping{Lane, Team} {
			for _, n := range []int{1, 64, 4096} {
				b.Run(fmt.Sprintf("%s/%v/worlds=%d", name, m, n), func(b *testing.B) {
					batch := newBatch(b, open(b, vk.Validate(false)), name, 1, n, Options{Mapping: m})
					if _, err := batch.Reset(b.Context(), 1); err != nil {
						b.Fatal(err)
					}
					actions := make([]float32, n*batch.Environment().ActionWords())
					for i := range actions {
						actions[i] = float32(math.Sin(float64(i)))
					}
					if _, err := batch.StepContinuous(b.Context(), actions); err != nil { // compiles
						b.Fatal(err)
					}
					for b.Loop() {
						if _, err := batch.StepContinuous(b.Context(), actions); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "steps/s")
				})
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
		count int
		info  vk.Info
		want  Mapping
		fails bool
	}{
		{"Ant-v5", ByDevice, 64, gpu, Team, false}, {"Humanoid-v5", ByDevice, 2048, gpu, Team, false}, {"Humanoid-v5", ByDevice, 2049, gpu, Lane, false}, {"Humanoid-v5", Team, 2049, gpu, Team, false},
		{"Humanoid-v5", ByDevice, 64, small, Lane, false},
		{"Humanoid-v5", Team, 64, small, Lane, true}, {"Ant-v5", Lane, 64, gpu, Lane, false}, {"Ant-v5", ByDevice, 64, software, Lane, false},
		{"Ant-v5", Team, 64, software, Lane, true}, {"Hopper-v5", ByDevice, 64, gpu, Lane, false}, {"Hopper-v5", Team, 64, gpu, Lane, true},
	} {
		got, err := lookup(t, c.name).mapping(Options{Mapping: c.asked}, c.info, c.count)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s, asked for %v on a %v with %d bytes: %v, %v", c.name, c.asked, c.info.Type, c.info.Limits.MaxSharedBytes, got, err)
		}
	}
}

// TestTeamRollout: rollouts by both mappings agree but for rounding, with idle lanes and members that share none, where an action is taken twice, an episode
// ends between, and the step after it begins the next one.
func TestTeamRollout(t *testing.T) {
	teams(t)
	eng := engine.New(open(t, vk.Validate(false)), engine.Seed(31))
	var both [2][]float32
	var ended [2][]float32
	for i, m := range []Mapping{Lane, Team} {
		f := newFixture(t, eng, "Ant-v5", RolloutConfig{Members: 2, Environments: 3, Horizon: 4, Options: Options{
			Mapping: m, ActionRepeat: 2, TimeLimit: 3, AutoReset: NextStep,
		}}, nil)
		f.begin()
		f.run(func(r *engine.Recorder) { f.ro.Record(r, f.clock, nil) })
		both[i], ended[i] = f.floats(f.ro.state), f.floats(f.ro.finished)
	}
	for i, n := range ended[1][:6] {
		if n != 1 || ended[0][i] != 1 || ended[1][12+i] != 3 {
			t.Errorf("world %d has ended %g episodes by lanes and %g by teams, in %g steps; want 1 in 3", i, ended[0][i], n, ended[1][12+i])
		}
	}
	robot := robots["Ant-v5"]
	for i, v := range both[0][:6*(robot.positions+robot.velocities)] {
		if d := math.Abs(float64(v - both[1][i])); !(d <= 1e-3) {
			t.Errorf("element %d of world %d is %g by lanes and %g by teams", i/6, i%6, v, both[1][i])
		}
	}
}
