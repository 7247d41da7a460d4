package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// games are the workflows of package hybrid in which members play games.
var games = []Workflow{
	{
		Name: "self-play", Summary: "an agent learns a game of two by playing against itself and against a pool of its earlier versions",
		Source:   "C. Berner et al., \"Dota 2 with Large Scale Deep Reinforcement Learning\", 2019; O. Vinyals et al., \"Grandmaster level in StarCraft II\", 2019",
		settings: newSelfPlay,
	},
}

// selfPlay holds the settings of self-play: the agent's, and [self-play].
type selfPlay struct {
	*agent
	cfg hybrid.SelfPlayConfig
}

// selfPlayAgents are the agents that self-play trains.
var selfPlayAgents = []string{"ppo"}

func newSelfPlay(*Catalog) Settings {
	p := &selfPlay{cfg: hybrid.DefaultSelfPlay()}
	at := slices.IndexFunc(agents, func(w Workflow) bool { return w.Name == p.cfg.Over })
	p.agent = agents[at].Settings().(*agent)
	p.slices = nil
	return p
}

// choose checks the agent named in the document or, if it names none, in a value of With.
func (p *selfPlay) choose(d *config.Document, values []any) error {
	var chosen struct {
		Over string `doc:"Name the agent that learns."`
	}
	const key = "self-play.over"
	if err := choose(d, "self-play", &p.cfg, values, &chosen); err != nil {
		return err
	}
	switch _, known := (*Catalog)(nil).Workflow(chosen.Over); {
	case slices.Contains(selfPlayAgents, chosen.Over):
		return nil
	case known || !d.Defined(key):
		return d.Errorf(key, "self-play does not train %q: want one of %v", chosen.Over, selfPlayAgents)
	}
	return d.UnknownValue(key, "agent", selfPlayAgents)
}

func (p *selfPlay) Sections() config.Sections {
	return append(p.agent.Sections(), config.Section{Name: "self-play", Value: &p.cfg})
}

func (p *selfPlay) Check(env *envs.Environment, options envs.Options) error {
	if of, ok := p.agent.cfg.(*rl.PPOConfig); ok {
		if err := p.cfg.Check(env, of.Members, of.Environments); err != nil {
			return err
		}
	}
	return p.agent.Check(env, options)
}

func (p *selfPlay) draws() bool { return p.agent.draws() }

// Independent implements Settings: the state names rows of parameters by the member's number, so that no member can continue in another run.
func (p *selfPlay) Independent() bool { return false }

// document adds the choices of agents.
func (p *selfPlay) document(section string, keys []config.Key) ([]config.Key, error) {
	for i := range keys {
		if section == "self-play" && keys[i].Name == "over" {
			keys[i].Choices = selfPlayAgents
		}
	}
	return keys, nil
}

func (p *selfPlay) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	w, err := p.agent.build(ctx, eng, env, options, p.cfg.Pool())
	if err != nil {
		return nil, err
	}
	ppo, ok := w.(*rl.PPO)
	if !ok {
		return nil, errors.Join(fmt.Errorf("evorl: self-play does not train %s", w.Describe().Workflow), w.Close())
	}
	return workflowOf(hybrid.NewSelfPlay(ppo, p.cfg))
}
