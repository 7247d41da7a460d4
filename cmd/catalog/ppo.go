package catalog

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// ppoParts are [network] and [ppo].
type ppoParts struct {
	network rl.NetworkConfig
	ppo     rl.PPOConfig
}

func newPPO() parts { return &ppoParts{rl.DefaultNetwork(), rl.DefaultPPO()} }

func (p *ppoParts) sections() config.Sections {
	return config.Sections{{Name: "network", Value: &p.network}, {Name: "ppo", Value: &p.ppo}}
}

func (p *ppoParts) check(*config.Document, *envs.Environment, envs.Options) error { return nil }

func (p *ppoParts) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return p.make(ctx, eng, env, options)
}

func (p *ppoParts) make(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (*rl.PPO, error) {
	return rl.NewPPO(ctx, eng, env, p.ppo, rl.Network(p.network), rl.Environment(options))
}
