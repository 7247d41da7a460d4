package catalog

import (
	"context"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
)

// dvdES is the settings of DvD-ES: [network] and [policy] of the agents, [openes] of the search of each, and [dvd-es].
type dvdES struct {
	single
	network problem.NetworkConfig
	policy  problem.PolicyConfig
	search  ec.OpenESConfig
	cfg     hybrid.DvDESConfig
}

func newDvDES(*Catalog) Settings {
	return &dvdES{network: problem.DefaultNetwork(), policy: problem.DefaultPolicy(), search: ec.DefaultOpenES(), cfg: hybrid.DefaultDvDES()}
}

func (d *dvdES) Sections() config.Sections {
	return config.Sections{
		{Name: "network", Value: &d.network}, {Name: "policy", Value: &d.policy}, {Name: d.search.Name(), Value: &d.search}, {Name: "dvd-es", Value: &d.cfg},
	}
}

// Independent: agents are rewarded for differing from the others.
func (d *dvdES) Independent() bool { return false }

func (d *dvdES) learner() config.Section {
	return config.Section{Name: d.search.Name(), Value: &d.search}
}

func (d *dvdES) Members() (count *int, key string) { return &d.cfg.Agents, "dvd-es.agents" }

func (d *dvdES) Check(env *envs.Environment, options envs.Options) error {
	if err := checkPreset(d.network.Config, problem.DefaultNetwork().Config); err != nil {
		return err
	}
	with := problem.Parts{Env: env, Options: options, Network: d.network, Policy: d.policy}
	if err := with.Check(); err != nil {
		return keyed(err)
	}
	if err := ec.CheckRows(d.search); err != nil {
		return config.Invalid("openes.rank", "%v", err)
	}
	return d.cfg.Check(with)
}

func (d *dvdES) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	w, err := hybrid.NewDvDES(ctx, eng, env, options, d.network, d.policy, d.search, d.cfg)
	if err != nil {
		return nil, err
	}
	return w, nil
}
