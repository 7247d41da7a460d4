package envs

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// allowCooperative lets a test run the cooperative form on any device.
func allowCooperative(t *testing.T) {
	cooperativeOnSoftware = true
	t.Cleanup(func() { cooperativeOnSoftware = false })
}

// TestCooperativeStep is TestRobotStep for the cooperative form, with one of 60 recorded steps.
func TestCooperativeStep(t *testing.T) {
	allowCooperative(t)
	dev := vktest.Open(t, vk.Validate(false))
	for _, name := range []string{"Ant-v5", "Humanoid-v5", "HumanoidStandup-v5"} {
		t.Run(name, func(t *testing.T) { robotStep(t, dev, name, Cooperative, 60) })
	}
}

// TestCooperativeDiverges: with more environments than a subgroup has lanes, one that diverges ends its episode, and
// the others are bit-identical to a run without it.
func TestCooperativeDiverges(t *testing.T) {
	allowCooperative(t)
	dev := vktest.Open(t, vk.Validate(false))
	const n, bad = 9, 4
	robot := robots["Ant-v5"]
	run := func(speed float32) (Transition, State) {
		b := newBatch(t, dev, "Ant-v5", 1, n, Options{Mapping: Cooperative})
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
				t.Errorf("beside or at an environment of the speed %g, environment %d is done %d; want %d", speed, e, done, want)
			}
		}
		for i, v := range after.Env {
			switch e := i % n; {
			case e == bad && !(math.Abs(float64(v)) < 10):
				t.Errorf("after an environment at the speed %g the next episode begins with element %d = %g", speed, i/n, v)
			case e != bad && math.Float32bits(v) != math.Float32bits(healthy.Env[i]):
				t.Fatalf("an environment at the speed %g changes its neighbour %d", speed, e)
			}
		}
	}
}

// TestCooperativeShared: the declared shared memory per environment agrees with the kernels.
func TestCooperativeShared(t *testing.T) {
	for name, s := range stepShader {
		name, isCooperative := strings.CutSuffix(name, cooperativeName)
		if !isCooperative {
			continue
		}
		if got, want := sharedBytes(s.SPIRV()), lookup(t, name).cooperative.shared; got != want {
			t.Errorf("%s takes %d bytes; its Spec says %d", name, got, want)
		}
	}
}

// sharedBytes returns the total size of the arrays of 32-bit numbers in storage class Workgroup of a SPIR-V module.
func sharedBytes(code []byte) int {
	const opTypeArray, opTypePointer, opConstant, opVariable, workgroup = 28, 32, 43, 59, 4
	constants, arrays, pointers := map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]uint32{} // values; ids of lengths; pointee types
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

// BenchmarkMapping measures environment steps of both forms, in CPU time on software drivers, where the cooperative
// form is not used by default.
func BenchmarkMapping(b *testing.B) {
	cooperativeOnSoftware = true
	b.Cleanup(func() { cooperativeOnSoftware = false })
	for _, name := range []string{"Ant-v5", "Humanoid-v5"} {
		for _, m := range []Mapping{Lane, Cooperative} {
			for _, n := range []int{1, 64, 4096} {
				b.Run(fmt.Sprintf("%s/%v/environments=%d", name, m, n), func(b *testing.B) {
					batch := newBatch(b, vktest.Open(b, vk.Validate(false)), name, 1, n, Options{Mapping: m})
					if _, err := batch.Reset(b.Context(), 1); err != nil {
						b.Fatal(err)
					}
					actions := make([]float32, n*batch.Environment().ActionWords())
					for i := range actions {
						actions[i] = float32(math.Sin(float64(i)))
					}
					if _, err := batch.StepContinuous(b.Context(), actions); err != nil { // compiles the kernels
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

// TestMapping: the choice of form depends only on the environment, the options and the device.
func TestMapping(t *testing.T) {
	gpu := vk.Info{Type: vk.DiscreteGPU}
	gpu.Limits.MaxSharedBytes = 32 << 10
	small := gpu
	small.Limits.MaxSharedBytes = 16 << 10
	intel := gpu
	intel.VendorID = 0x8086
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
		{"Ant-v5", ByDevice, 64, gpu, Cooperative, false}, {"Humanoid-v5", ByDevice, 2048, gpu, Cooperative, false},
		{"Humanoid-v5", ByDevice, 2049, gpu, Lane, false}, {"Humanoid-v5", Cooperative, 2049, gpu, Cooperative, false},
		{"Humanoid-v5", ByDevice, 2049, intel, Cooperative, false}, {"Humanoid-v5", Lane, 64, intel, Lane, false},
		{"Humanoid-v5", ByDevice, 64, small, Lane, false},
		{"Humanoid-v5", Cooperative, 64, small, Lane, true}, {"Ant-v5", Lane, 64, gpu, Lane, false}, {"Ant-v5", ByDevice, 64, software, Lane, false},
		{"Ant-v5", Cooperative, 64, software, Lane, true}, {"Hopper-v5", ByDevice, 64, gpu, Lane, false}, {"Hopper-v5", Cooperative, 64, gpu, Lane, true},
	} {
		got, err := lookup(t, c.name).mapping(Options{Mapping: c.asked}, c.info, c.count)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s, asked for %v on a %v with %d bytes: %v, %v", c.name, c.asked, c.info.Type, c.info.Limits.MaxSharedBytes, got, err)
		}
	}
}

// TestCooperativeRollout: rollouts by both mappings differ only by rounding, with idle lanes, members that share no
// subgroup, action repeat, episodes that end within a repeated action, and steps that begin the next episode.
func TestCooperativeRollout(t *testing.T) {
	allowCooperative(t)
	eng := engine.New(vktest.Open(t, vk.Validate(false)), engine.Seed(31))
	var both [2][]float32
	var ended [2][]float32
	for i, m := range []Mapping{Lane, Cooperative} {
		f := newFixture(t, eng, "Ant-v5", RolloutConfig{Members: 2, Environments: 3, Horizon: 4, Options: Options{
			Mapping: m, ActionRepeat: 2, TimeLimit: 3, AutoReset: Disabled,
		}}, nil)
		f.begin()
		f.run(func(r *engine.Recorder) { f.ro.Record(r, f.clock, nil) })
		both[i], ended[i] = f.floats(f.ro.state), f.floats(f.ro.finished)
	}
	for i, n := range ended[1][:6] {
		if n != 1 || ended[0][i] != 1 || ended[1][12+i] != 3 {
			t.Errorf("environment %d has ended %g episodes by lane and %g cooperatively, in %g steps; want 1 in 3", i, ended[0][i], n, ended[1][12+i])
		}
	}
	robot := robots["Ant-v5"]
	for i, v := range both[0][:6*(robot.positions+robot.velocities)] {
		if d := math.Abs(float64(v - both[1][i])); !(d <= 1e-3) {
			t.Errorf("element %d of environment %d is %g by lane and %g cooperatively", i/6, i%6, v, both[1][i])
		}
	}
}
