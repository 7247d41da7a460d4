package envs

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFewEpisodes measures the cost of an environment step for few environments per member, for every placement
// of the network: CPU time of the process, which on a software driver is the device's. No episode ends: networks are
// zero, and the cart stays near its start.
func BenchmarkFewEpisodes(b *testing.B) {
	dev, err := vk.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	for _, hidden := range [][]int{{8}, {16, 16}, {32, 32}, {64, 64}, {128, 128}, {256, 256}} {
		for _, placement := range Placements() {
			for _, environments := range []int{1, 4, 8, 16} {
				b.Run(fmt.Sprint(hidden, "/placement=", placement, "/environments=", environments), func(b *testing.B) {
					env, err := Lookup("CartPoleSwingUp-easy")
					if err != nil {
						b.Fatal(err)
					}
					members, horizon := 128, 100
					eng := engine.New(dev)
					s := eng.NewState()
					defer s.Close()
					clock := engine.NewClock(s)
					net := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: hidden, Activation: nn.Tanh}
					ro, err := NewRollout(b.Context(), s, env, RolloutConfig{
						Members: members, Environments: environments, Horizon: horizon,
						Mode: true, Begin: true, Options: Options{AutoReset: Disabled},
					})
					if err != nil {
						b.Fatal(err)
					}
					params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", nn.Align(net.Size()+net.Out)))
					if err := s.Zero(b.Context()); err != nil {
						b.Fatal(err)
					}
					begin := cpu()
					p, err := eng.Record("rollout", func(r *engine.Recorder) {
						ro.Record(r, clock, &Policy{Weights: nn.Weights{Params: params}, Network: net, Head: env.Action.Head(), Placement: placement})
					})
					if err != nil {
						b.Skip(err)
					}
					defer p.Free()
					if err := p.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
					compile := cpu() - begin
					begin = cpu()
					for b.Loop() {
						if err := p.Run(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64((cpu()-begin).Nanoseconds())/float64(b.N*members*environments*horizon), "cpu-ns/step")
					b.ReportMetric(compile.Seconds(), "s-to-first")
				})
			}
		}
	}
}
