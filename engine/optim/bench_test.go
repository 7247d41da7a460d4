package optim

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// BenchmarkUpdate measures 20 Adam updates per run: of one optimizer, with its target following in the same pass or
// separately, and of two, grouped or one after the other.
func BenchmarkUpdate(b *testing.B) {
	dev, err := vk.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	eng := engine.New(dev)
	for _, c := range []struct{ members, row int }{{1, 4500}, {1, 70000}, {64, 4500}, {40, 70000}} {
		for _, what := range []string{"alone", "follow", "grouped", "two"} {
			b.Run(fmt.Sprintf("%s/%d members/%d", what, c.members, c.row), func(b *testing.B) {
				s := eng.NewState()
				defer s.Close()
				p := engine.Members(c.members)
				var o [2]*Optimizer
				var gradient [2]*engine.Tensor
				for i := range o {
					of := s.Sub(fmt.Sprint("optimizer_", i))
					o[i] = New(of, DefaultAdam, of.Tensor("rate", engine.Float32, p), c.row)
					gradient[i] = of.Scratch("gradient", engine.Float32, engine.Axis("split", 1), p, engine.Axis("parameter", c.row))
				}
				target, tau := s.Tensor("target", engine.Float32, p, engine.Axis("parameter", c.row)), s.Tensor("tau", engine.Float32, p)
				group, err := NewGroup(1, o[0], o[1])
				if err != nil {
					b.Fatal(err)
				}
				if what == "follow" {
					o[0].Follow(target, tau)
				}
				if err := s.Zero(b.Context()); err != nil {
					b.Fatal(err)
				}
				program, err := eng.Record(what, func(r *engine.Recorder) {
					for range 20 {
						if what == "grouped" {
							group.Step(r, gradient[0], gradient[1])
							continue
						}
						o[0].Step(r, gradient[0])
						if what == "two" {
							o[1].Step(r, gradient[1])
						}
					}
				})
				if err != nil {
					b.Fatal(err)
				}
				defer program.Free()
				if err := program.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				cpu := cpuTime()
				for b.Loop() {
					if err := program.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(1e9*(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
			})
		}
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
