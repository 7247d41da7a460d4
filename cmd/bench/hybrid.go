package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// hybrids measures iterations of ERL, CEM-RL and PBT over SAC and PPO as a function of the population size, as in B.
// Zheng et al. ("EvoRL", 2025, figure 5): Swimmer-v5, episodes of 1000 steps; on GPUs with their networks, batches and
// 4096 updates, on software drivers with smaller ones and 64 updates. The cases on Pendulum-v1, episodes of 200 steps,
// are as in tools/peers/hybrid_jax.py and pbt_jax.py.
func hybrids() (cases []Case) {
	for _, k := range []struct {
		name, summary string
		make          func(hybridShape, context.Context, *engine.Engine) (engine.Workflow, error)
	}{
		{"erl", "an iteration of ERL: %d candidates, one of TD3's agents, %d updates, an injection", hybridShape.erl},
		{"cem-rl", "an iteration of CEM-RL: %d candidates, half of which make %d updates of TD3's", hybridShape.cemRL},
		{"pbt-sac", "an iteration of PBT over %d members of SAC: %d updates each, and an exchange", hybridShape.pbtSAC},
		{"pbt-ppo", "an iteration of PBT over %[1]d members of PPO: 512 steps and 16 updates each, and an exchange", hybridShape.pbtPPO},
	} {
		for _, s := range []hybridShape{swimmers, largeSwimmers, pendulums} {
			for s.population = 16; s.population <= 8192; s.population *= 2 {
				c := Case{
					Name: k.name + s.name + fmt.Sprintf("/%dx%d/p%d", s.hidden[0], s.hidden[1], s.population), Summary: fmt.Sprintf(k.summary, s.population, s.updates),
					Unit: "s", GPU: s.large || s.population > s.most, Rank: 2, Least: 2 * time.Minute,
				}
				if s.name == "" && (s.population == 16 || s.population == 256) || s.name == pendulums.name && s.population == 64 {
					c.Rank = 0
				}
				of, build := s, k.make
				c.run = func(ctx context.Context, b *bench) (figure, error) {
					w, err := build(of, ctx, b.eng)
					if err != nil {
						return figure{}, err
					}
					return b.iterations(ctx, w)
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// hybridShape holds the sizes of an iteration.
type hybridShape struct {
	name       string // part of the case's; "" for Swimmer-v5
	env        string
	steps      int // of an episode
	most       int // population on software drivers
	hidden     []int
	batch      int
	updates    int
	population int
	large      bool
}

var (
	swimmers      = hybridShape{env: "Swimmer-v5", steps: 1000, most: 64, hidden: []int{64, 64}, batch: 64, updates: 64}
	largeSwimmers = hybridShape{env: "Swimmer-v5", steps: 1000, hidden: []int{256, 256}, batch: 256, updates: 4096, large: true}
	pendulums     = hybridShape{name: "/pendulum", env: "Pendulum-v1", steps: 200, most: 1024, hidden: []int{64, 64}, batch: 64, updates: 64}
)

// iterations measures iterations of a workflow, which it closes.
func (b *bench) iterations(ctx context.Context, w engine.Workflow) (_ figure, err error) {
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Init(ctx); err != nil {
		return figure{}, err
	}
	rate, err := b.rate(ctx, 1, eachWaited(step(ctx, w)))
	if err != nil {
		return figure{}, err
	}
	if p, ok := w.(*hybrid.PBT); ok {
		w = p.Inner() // the exchange is not profiled
	}
	kernels, err := b.recorded(ctx, "iteration", func(r *engine.Recorder) { w.(engine.Trainable).Record(r, nil) })
	return figure{value: 1 / rate, kernels: kernels}, err
}

// common returns settings of `members` agents that take 128 steps per iteration and make the shape's updates.
func (s hybridShape) common(c rl.OffPolicyConfig, members int) rl.OffPolicyConfig {
	c.Members, c.Environments, c.RolloutLength, c.LearningStarts = members, 1, 128, 1024
	c.UpdatesPerStep = float64(s.updates) / float64(c.RolloutLength)
	return c
}

// options returns the networks, and a replay shared by all members with a capacity of three iterations of about
// `steps` steps.
func (s hybridShape) options(network rl.NetworkConfig, steps int) []rl.Option {
	network.Hidden = s.hidden
	replay := rl.DefaultReplay()
	replay.Shared, replay.Batch, replay.Capacity = true, s.batch, 3*steps
	return []rl.Option{rl.Network(network), rl.Replays(replay)}
}

func (s hybridShape) td3(ctx context.Context, eng *engine.Engine, more ...rl.Option) (*rl.OffPolicy, error) {
	env, err := envs.Lookup(s.env)
	if err != nil {
		return nil, err
	}
	cfg := rl.DefaultTD3()
	cfg.OffPolicyConfig, cfg.PolicyDelay = s.common(cfg.OffPolicyConfig, 1), 1
	opts := s.options(rl.DefaultOffPolicyNetwork(), (s.population+1)*s.steps)
	return rl.NewTD3(ctx, eng, env, cfg, append(opts, more...)...)
}

func (s hybridShape) erl(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	agents, err := s.td3(ctx, eng)
	if err != nil {
		return nil, err
	}
	search, cfg := ec.DefaultGA(), hybrid.DefaultERL()
	search.Population, search.InitialStd, cfg.Warmup = s.population, 0.05, 0
	e, err := hybrid.NewERL(ctx, agents, search, cfg)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s hybridShape) cemRL(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	search, cfg := ec.DefaultCEM(), hybrid.DefaultCEMRL()
	search.Population, search.Elites, cfg.Learners, cfg.Warmup = s.population, s.population/2, s.population/2, 0
	c, err := hybrid.NewCEMRL(ctx, func(more ...rl.Option) (*rl.OffPolicy, error) { return s.td3(ctx, eng, more...) }, search, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s hybridShape) pbtSAC(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	env, err := envs.Lookup(s.env)
	if err != nil {
		return nil, err
	}
	sac := rl.DefaultSAC()
	sac.OffPolicyConfig = s.common(sac.OffPolicyConfig, s.population)
	agents, err := rl.NewSAC(ctx, eng, env, sac, s.options(rl.DefaultSACNetwork(), s.population*sac.RolloutLength)...)
	if err != nil {
		return nil, err
	}
	return s.pbt(ctx, agents)
}

// pbtPPO has PPO's default settings: 4 environments of 128 steps, 4 epochs of 4 minibatches.
func (s hybridShape) pbtPPO(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	env, err := envs.Lookup(s.env)
	if err != nil {
		return nil, err
	}
	ppo, network := rl.DefaultPPO(), rl.DefaultNetwork()
	ppo.Members, network.Hidden = s.population, s.hidden
	agents, err := rl.NewPPO(ctx, eng, env, ppo, rl.Network(network))
	if err != nil {
		return nil, err
	}
	return s.pbt(ctx, agents)
}

// pbt makes PBT with an exchange in every iteration.
func (s hybridShape) pbt(ctx context.Context, agents engine.Trainable) (engine.Workflow, error) {
	cfg := hybrid.DefaultPBT()
	if cfg.Warmup, cfg.Interval, cfg.Episodes = 0, 1, 16; !s.large {
		cfg.Episodes = 1
	}
	p, err := hybrid.NewPBT(ctx, agents, cfg)
	if err != nil {
		return nil, err
	}
	return p, nil
}
