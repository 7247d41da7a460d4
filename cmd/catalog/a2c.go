package catalog

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// a2cParts are [network] and [a2c].
type a2cParts struct {
	network rl.NetworkConfig
	a2c     rl.A2CConfig
}

func newA2C() parts { return &a2cParts{rl.DefaultNetwork(), rl.DefaultA2C()} }

func (p *a2cParts) sections() config.Sections {
	return config.Sections{{Name: "network", Value: &p.network}, {Name: "a2c", Value: &p.a2c}}
}

func (p *a2cParts) check(*config.Document, *envs.Environment, envs.Options) error { return nil }

func (p *a2cParts) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return rl.NewA2C(ctx, eng, env, p.a2c, rl.Network(p.network), rl.Environment(options))
}
