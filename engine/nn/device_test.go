package nn

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
)

func TestMain(m *testing.M) {
	vktest.Validate = false // but by tools/validate: there are many kernels
	vktest.Main(m)
}

// dice draws a test's numbers, which are the same in every run: where a draw lies at a kink of ReLU or of max pooling, float32 and float64 may be on
// different sides of it.
var dice = diceOf("")

func diceOf(test string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(test))
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// testState returns an empty state on the device under test, and begins the test's random numbers.
func testState(t testing.TB) *engine.State {
	t.Helper()
	dice = diceOf(t.Name())
	s := engine.New(vktest.Device(t)).NewState()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// poison fills outputs before a kernel runs: a NaN that no kernel computes.
var poison = math.Float32frombits(0x7fdecade)

func isPoison(x float32) bool { return math.Float32bits(x) == 0x7fdecade }

// fill writes values to a tensor, or poison if values is nil.
func fill(t testing.TB, x *engine.Tensor, values []float32) {
	t.Helper()
	if values == nil {
		values = make([]float32, x.Len())
		for i := range values {
			values[i] = poison
		}
	}
	if err := x.WriteFloat32(context.Background(), values); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, x *engine.Tensor) []float32 {
	t.Helper()
	values, err := x.ReadFloat32(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// normals returns n standard normal numbers.
func normals(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(dice.NormFloat64())
	}
	return values
}

// vector makes a tensor of one axis with the values, or with poison if values is nil.
func vector(t testing.TB, s *engine.State, name string, n int, values []float32) *engine.Tensor {
	t.Helper()
	x := s.Scratch(name, engine.Float32, engine.Axis("element", n))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	fill(t, x, values)
	return x
}

// record records f as a program and runs it.
func record(t testing.TB, s *engine.State, f func(*engine.Recorder)) {
	t.Helper()
	p, err := s.Engine().Record(t.Name(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// cpuTime returns the processor time used by the process in seconds, including the software driver's threads.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
