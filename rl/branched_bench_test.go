package rl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// BenchmarkUpdateNature measures values and updates of an iteration of PPO on images of 84 × 84 × 4 with DQN's network, by the settings of
// configs/atari-pong-ppo.toml with a quarter of the steps, in one minibatch: actor and critic with a network each, and with one.
func BenchmarkUpdateNature(b *testing.B) {
	for _, shared := range []Sharing{ShareNone, ShareAll} {
		b.Run(fmt.Sprint("shared ", shared), func(b *testing.B) {
			cfg, network, env := DefaultPPO(), DefaultNetwork(), spaces(1, envs.Discrete(6))
			env.Observation = envs.Image(84, 84, 4)
			cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.ClipEpsilon = 8, 32, 4, 1, 0.1
			network.Hidden, network.Preset, network.Shared = nil, nn.Nature, shared
			eng := engine.New(open(b))
			p := newLearner(b, eng, env, network, cfg)
			if err := p.agent.init(b.Context()); err != nil {
				b.Fatal(err)
			}
			obs, dice := make([]float32, p.minibatches.Trajectory.Obs.Len()), rand.New(rand.NewPCG(1, 2))
			for i := range obs {
				obs[i] = dice.Float32()
			}
			if err := p.minibatches.Trajectory.Obs.WriteFloat32(b.Context(), obs); err != nil {
				b.Fatal(err)
			}
			program, err := eng.Record("an iteration's updates", func(r *engine.Recorder) {
				p.estimates.Record(r, p.agent, p.minibatches.Trajectory)
				p.recordUpdates(r)
			})
			if err != nil {
				b.Fatal(err)
			}
			defer program.Free()
			if err := program.Run(b.Context()); err != nil { // compiles
				b.Fatal(err)
			}
			for b.Loop() {
				if err := program.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*cfg.Environments*cfg.RolloutLength)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
