package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// imagesAndMemory measures PPO with networks that see images or remember, with the settings of configs/minatar-breakout-ppo.toml and
// configs/ppo-rnn-masked-cartpole.toml, and MinAtar's games alone.
func imagesAndMemory() []Case {
	image, memory := rl.DefaultPPO(), rl.DefaultPPO()
	image.Environments, image.RolloutLength, image.Epochs, image.Minibatches, image.LearningRate = 64, 128, 4, 8, 1e-3
	memory.Environments, memory.RolloutLength, memory.Epochs, memory.Minibatches, memory.LearningRate = 32, 128, 4, 4, 1e-3
	memory.Discount, memory.EntropyWeight = 0.995, 0.003
	convolutional, recurrent, behind := rl.DefaultNetwork(), rl.DefaultNetwork(), rl.DefaultNetwork()
	convolutional.Preset, convolutional.Hidden, recurrent.Hidden, behind.Hidden = nn.MinAtar, nil, nil, nil
	behind.Preset, behind.Shared = nn.PPORNN, rl.ShareCell
	recurrent.Layers = []nn.LayerConfig{{Kind: nn.Dense, Units: 64}, {Kind: nn.GRU, Units: 64}}
	cases := []Case{
		{Name: "ppo/minatar-breakout", Summary: "PPO on MinAtar-Breakout-v1, 64 environments × 128 steps, MinAtar's network", Unit: "env steps/s", Rank: 1,
			run: learning(like("MinAtar-Breakout-v1", image, convolutional))},
		{Name: "ppo/masked-cartpole", Summary: "PPO with a GRU of 64 units on CartPoleMasked-v1, 32 environments × 128 steps", Unit: "env steps/s", Rank: 1,
			run: learning(like("CartPoleMasked-v1", memory, recurrent))},
		{Name: "ppo/masked-cartpole-cell", Unit: "env steps/s", Rank: 1,
			Summary: "the same with PureJaxRL's network, 128-gru128-128, shared up to the GRU", run: learning(like("CartPoleMasked-v1", memory, behind))},
	}
	for _, game := range []string{"Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"} {
		for _, environments := range []int{64, 4096} {
			name := "MinAtar-" + game + "-v1"
			cases = append(cases, Case{
				Name: fmt.Sprintf("%s/w%d", strings.ToLower(strings.TrimSuffix(name, "-v1")), environments), Unit: "env steps/s", Rank: 2,
				Summary: fmt.Sprintf("%s with random actions, %d environments", name, environments),
				run:     rollout(name, 1, environments, 128, false, envs.ByDevice),
			})
		}
	}
	return cases
}

// like returns what learning measures in an environment.
func like(name string, cfg rl.PPOConfig, network rl.NetworkConfig) maker {
	return func(ctx context.Context, eng *engine.Engine) (*rl.PPO, float64, error) {
		env, err := envs.Lookup(name)
		if err != nil {
			return nil, 0, err
		}
		of := func(outputs int) float64 {
			return passOperations(network.Config.Model(env.Observation.Shape(), outputs, nn.Float32))
		}
		p, err := rl.NewPPO(ctx, eng, env, cfg, rl.Network(network))
		return p, training(of(env.Action.Size()), of(1), cfg), err
	}
}

// maker makes a PPO workflow, and returns the operations of its networks per environment step.
type maker func(context.Context, *engine.Engine) (*rl.PPO, float64, error)

// learning measures the environment steps per second of PPO training. The limit is the multiply-add peak.
func learning(of maker) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		p, operations, err := of(ctx, b.eng)
		if err != nil {
			return figure{}, err
		}
		defer p.Close()
		if err := p.Init(ctx); err != nil {
			return figure{}, err
		}
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, float64(p.Describe().StepsPerIter), steps(ctx, p))
			return err
		})
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.recorded(ctx, "iteration", func(r *engine.Recorder) { p.Record(r, nil) })
		return figure{value: rate, limit: peak / operations, kernels: kernels}, err
	}
}

// training returns the operations of PPO's networks per environment step, from those of a forward pass: one of the actor and two of the critic for
// acting and values; in each epoch, a forward pass of both, and a backward pass at twice the cost.
func training(actor, critic float64, cfg rl.PPOConfig) float64 {
	return actor + 2*critic + float64(cfg.Epochs)*3*(actor+critic)
}
