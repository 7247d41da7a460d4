package bench

import (
	"context"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// agents measures worlds of several agents and games, alone and learning. tools/peers has a counterpart of each: spread_jaxmarl.py, waterworld_evojax.py and
// pong_pufferlib.py.
func agents() []Case {
	spread, network := rl.DefaultPPO(), rl.DefaultNetwork() // as configs/simple-spread-ippo.toml
	spread.Environments, spread.RolloutLength, spread.Epochs, spread.Minibatches, spread.LearningRate = 16, 128, 4, 4, 2.5e-4
	network.Hidden, network.NormalizeObs = []int{64, 64}, false
	return []Case{
		{Name: "ppo/spread", Summary: "PPO on SimpleSpread-v3, 16 worlds of three agents × 128 steps, JaxMARL's settings", Unit: "env steps/s",
			run: learning(like("SimpleSpread-v3", spread, network))},
		{Name: "spread/w16", Summary: "SimpleSpread-v3 with random actions, 16 worlds of three agents", Unit: "env steps/s", Rank: 1,
			run: randomSeats("SimpleSpread-v3", 16)},
		{Name: "spread/w4096", Summary: "the same, 4096 worlds", Unit: "env steps/s", run: randomSeats("SimpleSpread-v3", 4096)},
		{Name: "pgpe/waterworld", Summary: "a generation of PGPE on WaterWorld-v0: 256 candidates with [100] networks, 32 episodes each, EvoJAX's settings",
			Unit: "s", Least: time.Minute, run: waterWorldTime(256, 32, 0)},
		{Name: "pong/w4096", Summary: "Pong-v0 with random actions, 4096 environments", Unit: "env steps/s", run: randomSeats("Pong-v0", 4096)},
		{Name: "puffer-pong/w4096", Summary: "PufferPong-v0 with random actions, 4096 environments, four frames a step", Unit: "env steps/s",
			run: randomSeats("PufferPong-v0", 4096)},
	}
}

// randomSeats is rollout with random actions, 128 steps of one member, in the steps of all seats.
func randomSeats(name string, environments int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		env, err := envs.Lookup(name)
		if err != nil {
			return figure{}, err
		}
		f, err := rollout(name, 1, environments, 128, false, envs.ByDevice)(ctx, b)
		f.value *= float64(env.Seats())
		return f, err
	}
}

// waterWorldTime measures a generation of configs/waterworld-pgpe.toml, of a number of candidates and episodes each; limit 0 is the time limit of the world.
func waterWorldTime(population, episodes, limit int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		env, err := envs.Lookup("WaterWorld-v0")
		if err != nil {
			return figure{}, err
		}
		network, policy, cfg := problem.DefaultNetwork(), problem.DefaultPolicy(), ec.DefaultPGPE()
		network.Hidden, policy.Episodes = []int{100}, episodes
		cfg.Population, cfg.Optimizer, cfg.LearningRate, cfg.DeviationRate, cfg.InitStd = population, optim.Adam, 0.014, 0.088, 0.069
		s, err := ec.NewSearch(ctx, b.eng, cfg, problem.Policy(env, envs.Options{TimeLimit: limit}, network, policy), 1)
		if err != nil {
			return figure{}, err
		}
		defer s.Close()
		if err := s.Init(ctx); err != nil {
			return figure{}, err
		}
		rate, err := b.rate(ctx, 1, steps(ctx, s))
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.recorded(ctx, "generation", func(r *engine.Recorder) { s.Record(r, nil) })
		return figure{value: 1 / rate, kernels: kernels}, err
	}
}
