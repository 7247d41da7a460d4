package envs

import (
	"context"
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// BenchmarkRollout measures environment steps of CartPole with a network per member, held in the lanes or streamed.
func BenchmarkRollout(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		hidden  []int
		members int
	}{{[]int{64, 64}, 128}, {[]int{256, 256}, 16}} {
		b.Run(fmt.Sprint(c.hidden), func(b *testing.B) {
			dev, err := vk.Open()
			if err != nil {
				b.Fatal(err)
			}
			defer dev.Close()
			env, err := Lookup("CartPole-v1")
			if err != nil {
				b.Fatal(err)
			}
			const environments, horizon = 32, 64
			eng := engine.New(dev)
			s := eng.NewState()
			defer s.Close()
			clock := engine.NewClock(s)
			ro, err := NewRollout(ctx, s, env, RolloutConfig{Members: c.members, Environments: environments, Horizon: horizon})
			if err != nil {
				b.Fatal(err)
			}
			net := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: c.hidden, Activation: nn.ReLU}
			params := s.Tensor("params", engine.Float32, engine.Members(c.members), engine.Axis("parameter", nn.Align(net.Size()+net.Out)))
			if err := s.Zero(ctx); err != nil {
				b.Fatal(err)
			}
			p, err := eng.Record("rollout", func(r *engine.Recorder) {
				ro.RecordFirst(r, clock)
				ro.Record(r, clock, &Policy{Weights: nn.Weights{Params: params}, Network: net, Head: env.Action.Head()})
			})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Free()
			if err := p.Run(ctx); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := p.Run(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*c.members*environments*horizon)/b.Elapsed().Seconds()/1e6, "Msteps/s")
		})
	}
}
