package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/vk"
)

// BenchmarkHybrids measures iterations of the suite hybrid on Pendulum-v1 and Swimmer-v5 against the population: the
// least processor time of an iteration, which on a software driver is the device's, device memory, and the shares of
// steps, updates and evolution. PBT's evolution is evaluation and exchange: what iterations without them do not take.
func BenchmarkHybrids(b *testing.B) {
	for _, shape := range []hybridShape{pendulums, swimmers} {
		for _, c := range []struct {
			name string
			make func(hybridShape, context.Context, *engine.Engine) (engine.Workflow, error)
		}{{"erl", hybridShape.erl}, {"cem-rl", hybridShape.cemRL}, {"pbt-sac", hybridShape.pbtSAC}, {"pbt-ppo", hybridShape.pbtPPO}} {
			for shape.population = 16; shape.population <= 8192; shape.population *= 2 {
				b.Run(fmt.Sprintf("%s/%s/%d", c.name, shape.env, shape.population), func(b *testing.B) {
					measureHybrid(b, func(eng *engine.Engine) (engine.Workflow, error) { return c.make(shape, b.Context(), eng) })
				})
			}
		}
	}
}

func measureHybrid(b *testing.B, build func(*engine.Engine) (engine.Workflow, error)) {
	dev, err := vk.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	w, err := build(engine.New(dev, engine.Seed(1)))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.Init(b.Context()); err != nil {
		b.Fatal(err)
	}
	next := step(b.Context(), w)
	_, exchanges := w.(*hybrid.PBT)
	for range 2 { // compiles, PBT's exchange in the second iteration
		if took := processorTime(b, next); took > long && !exchanges {
			break
		}
	}
	least := time.Duration(math.MaxInt64)
	for b.Loop() {
		least = min(least, processorTime(b, next))
	}
	b.ReportMetric(least.Seconds(), "cpu-s/iteration")
	b.ReportMetric(float64(dev.Memory().Peak)/1e6, "MB")
	if least <= long {
		reportShares(b, w, least)
	}
}

// reportShares reports the shares of an iteration, which takes the given processor time.
func reportShares(b *testing.B, w engine.Workflow, iteration time.Duration) {
	pbt, exchanges := w.(*hybrid.PBT)
	if exchanges {
		w = pbt.Inner()
	}
	program, err := w.State().Engine().Record("iteration", func(r *engine.Recorder) { w.(engine.Trainable).Record(r, nil) })
	if err != nil {
		b.Fatal(err)
	}
	defer program.Free()
	kernels := map[string]time.Duration{}
	for range profiles {
		times, err := program.Profile(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, k := range times {
			if least, ok := kernels[k.Label]; !ok || k.Time < least {
				kernels[k.Label] = k.Time
			}
		}
	}
	part, all := map[string]float64{}, 0.0
	for label, took := range kernels {
		part[partOf(label)] += took.Seconds()
		all += took.Seconds()
	}
	rest := 1.0 // what is not evaluation and exchange
	if exchanges {
		least := time.Duration(math.MaxInt64)
		for range 3 {
			least = min(least, processorTime(b, func() error { return program.Run(b.Context()) }))
		}
		rest = min(1, float64(least)/float64(iteration))
	}
	steps, evolution := part["steps"]/all*rest, part["evolution"]/all*rest+1-rest
	b.ReportMetric(100*steps, "%steps")
	b.ReportMetric(100*evolution, "%evolution")
	b.ReportMetric(100*(1-steps-evolution), "%updates")
}

// profiles is the number of profiles, of which every kernel's least time counts: other work on the machine disturbs any one. Iterations that take
// longer than long are not profiled.
const (
	profiles = 4
	long     = 2 * time.Second
)

// partOf returns the part of an iteration to which a kernel belongs.
func partOf(label string) string {
	switch {
	case strings.HasPrefix(label, "rl/replay_sample"), strings.HasPrefix(label, "rl/replay_sequence"), strings.HasPrefix(label, "rl/replay_obs"):
		return "updates"
	case strings.HasPrefix(label, "envs/"), strings.HasPrefix(label, "ec/problem/"), strings.HasPrefix(label, "rl/replay_"):
		return "steps"
	case strings.HasPrefix(label, "ec/"), strings.HasPrefix(label, "hybrid/"):
		return "evolution"
	}
	return "updates"
}

// processorTime returns the processor time of the process that f takes.
func processorTime(b *testing.B, f func() error) time.Duration {
	begin := processor(b)
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return processor(b) - begin
}

func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
