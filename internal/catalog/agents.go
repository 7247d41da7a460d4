package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// agents are the workflows of package rl.
var agents = []Workflow{
	{
		Name: "a2c", Summary: "advantage actor-critic, a population of independent agents at once",
		Source:   "V. Mnih et al., \"Asynchronous Methods for Deep Reinforcement Learning\", 2016",
		settings: newAgent("a2c", rl.DefaultA2C, rl.NewA2C, func(c *rl.A2CConfig) *int { return &c.Members }),
	},
	{
		Name: "ddpg", Summary: "deep deterministic policy gradient, a population of independent agents at once",
		Source:   "T. P. Lillicrap et al., \"Continuous control with deep reinforcement learning\", 2016",
		settings: newOffPolicy("ddpg", rl.DefaultOffPolicyNetwork, rl.DefaultReplay, rl.DefaultDDPG, rl.NewDDPG, func(c *rl.DDPGConfig) *int { return &c.Members }),
	},
	{
		Name: "dqn", Summary: "deep Q-learning, with the parts of Rainbow as options, a population of independent agents at once",
		Source:   "V. Mnih et al., \"Human-level control through deep reinforcement learning\", 2015",
		settings: newDQN,
	},
	{
		Name: "impala", Summary: "actor-critic with V-trace, which corrects for trajectories of older policies, a population of independent agents at once",
		Source:   "L. Espeholt et al., \"IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner Architectures\", 2018",
		settings: newAgent("impala", rl.DefaultIMPALA, rl.NewIMPALA, func(c *rl.IMPALAConfig) *int { return &c.Members }),
	},
	{
		Name: "ppo", Summary: "proximal policy optimization, a population of independent agents at once",
		Source:   "J. Schulman et al., \"Proximal Policy Optimization Algorithms\", 2017",
		settings: newAgent("ppo", rl.DefaultPPO, rl.NewPPO, func(c *rl.PPOConfig) *int { return &c.Members }),
	},
	{
		Name: "redq", Summary: "randomized ensembled double Q-learning: SAC with many critics and many updates per step, a population of independent agents at once",
		Source:   "X. Chen et al., \"Randomized Ensembled Double Q-Learning: Learning Fast Without a Model\", 2021",
		settings: newOffPolicy("redq", rl.DefaultSACNetwork, rl.DefaultReplay, rl.DefaultREDQ, rl.NewREDQ, func(c *rl.REDQConfig) *int { return &c.Members }),
	},
	{
		Name: "sac", Summary: "soft actor-critic, a population of independent agents at once",
		Source:   "T. Haarnoja et al., \"Soft Actor-Critic Algorithms and Applications\", 2018",
		settings: newOffPolicy("sac", rl.DefaultSACNetwork, rl.DefaultReplay, rl.DefaultSAC, rl.NewSAC, func(c *rl.SACConfig) *int { return &c.Members }),
	},
	{
		Name: "td3", Summary: "twin delayed deep deterministic policy gradient, a population of independent agents at once",
		Source:   "S. Fujimoto et al., \"Addressing Function Approximation Error in Actor-Critic Methods\", 2018",
		settings: newOffPolicy("td3", rl.DefaultOffPolicyNetwork, rl.DefaultReplay, rl.DefaultTD3, rl.NewTD3, func(c *rl.TD3Config) *int { return &c.Members }),
	},
}

// populations are the workflows whose members learn from each other, so that none can be copied alone.
var populations = []Workflow{
	{
		Name: "dvd", Summary: "TD3 for a population of agents that share critics and experience and are rewarded for acting differently",
		Source: "J. Parker-Holder et al., \"Effective Diversity in Population Based Reinforcement Learning\", 2020",
		settings: whole(newOffPolicy("dvd", rl.DefaultOffPolicyNetwork, rl.DefaultDvDReplay, rl.DefaultDvD, rl.NewDvD,
			func(c *rl.DvDConfig) *int { return &c.Members })),
	},
	{
		Name: "dvd-es", Summary: "OpenES for every agent of a population; the fitness of candidates combines return and difference from the other agents' behaviour",
		Source:   "J. Parker-Holder et al., \"Effective Diversity in Population Based Reinforcement Learning\", 2020",
		settings: newDvDES,
	},
}

// agent holds the settings of an algorithm of package rl: [network], for off-policy algorithms [replay], and the
// section of the algorithm's name.
type agent struct {
	single
	name      string
	network   rl.NetworkConfig
	defaults  rl.NetworkConfig   // of network
	replay    *rl.ReplayConfig   // nil: none
	sequences *rl.SequenceConfig // of networks with memory; nil: none
	cfg       any                // pointer to the algorithm's configuration
	size      *int               // the number of members
	slices    *MembersConfig     // nil: they are not divided
	check     func(rl.Parts) error
	make      func(ctx context.Context, eng *engine.Engine, env *envs.Environment, opts ...rl.Option) (engine.Workflow, error)
}

// agentFunc makes an algorithm's workflow.
type agentFunc[C rl.Algorithm, W engine.Workflow] func(context.Context, *engine.Engine, *envs.Environment, C, ...rl.Option) (W, error)

func newAgent[C rl.Algorithm, W engine.Workflow](name string, defaults func() C, new agentFunc[C, W], size func(*C) *int) func(*Catalog) Settings {
	return func(*Catalog) Settings { return agentOf(name, rl.DefaultNetwork(), nil, defaults(), new, size) }
}

// newOffPolicy is newAgent for algorithms with a replay buffer; network and replay have their own defaults.
func newOffPolicy[C rl.Algorithm, W engine.Workflow](
	name string, network func() rl.NetworkConfig, replay func() rl.ReplayConfig, defaults func() C, new agentFunc[C, W], size func(*C) *int,
) func(*Catalog) Settings {
	return func(*Catalog) Settings {
		of := replay()
		return agentOf(name, network(), &of, defaults(), new, size)
	}
}

// whole makes settings of agents that are not divided by members.
func whole(settings func(*Catalog) Settings) func(*Catalog) Settings {
	return func(c *Catalog) Settings {
		of := settings(c)
		of.(*agent).slices = nil
		return of
	}
}

// newDQN is newOffPolicy for DQN, whose networks may have memory.
func newDQN(*Catalog) Settings {
	replay, sequences := rl.DefaultDQNReplay(), rl.DefaultSequences()
	a := agentOf("dqn", rl.DefaultDQNNetwork(), &replay, rl.DefaultDQN(), rl.NewDQN, func(c *rl.DQNConfig) *int { return &c.Members })
	a.sequences = &sequences
	return a
}

// agentOf returns the settings of an algorithm whose configuration is C.
func agentOf[C rl.Algorithm, W engine.Workflow](
	name string, network rl.NetworkConfig, replay *rl.ReplayConfig, cfg C, new agentFunc[C, W], size func(*C) *int,
) *agent {
	a := &agent{name: name, network: network, defaults: network, replay: replay, cfg: &cfg, size: size(&cfg), slices: &MembersConfig{}}
	a.check = func(with rl.Parts) error { return cfg.Check(with) }
	a.make = func(ctx context.Context, eng *engine.Engine, env *envs.Environment, opts ...rl.Option) (engine.Workflow, error) {
		w, err := new(ctx, eng, env, cfg, opts...)
		if err != nil {
			return nil, err // no nil pointer in the interface
		}
		return w, nil
	}
	return a
}

func (a *agent) Sections() config.Sections {
	of := config.Sections{{Name: "network", Value: &a.network}}
	if a.replay != nil {
		of = append(of, config.Section{Name: "replay", Value: a.replay})
	}
	if a.sequences != nil {
		of = append(of, config.Section{Name: "sequences", Value: a.sequences})
	}
	of = append(of, a.learner())
	if a.slices != nil {
		of = append(of, config.Section{Name: membersSection, Value: a.slices})
	}
	return of
}

func (a *agent) learner() config.Section { return config.Section{Name: a.name, Value: a.cfg} }

func (a *agent) Members() (count *int, key string) { return a.size, a.name + ".members" }

func (a *agent) Check(env *envs.Environment, _ envs.Options) error {
	if err := a.checkSlices(); err != nil {
		return err
	}
	if err := a.checkActors(); err != nil {
		return err
	}
	if err := a.checkNetwork(); err != nil {
		return err
	}
	return a.check(a.parts(env))
}

func (a *agent) draws() bool {
	return slices.Contains([]string{"ppo", "a2c", "impala", "sac", "redq"}, a.name)
}

// checkNetwork returns an error if a setting of the networks that this agent's do not have is not its default.
func (a *agent) checkNetwork() error {
	is, was := a.network, a.defaults
	if a.name == "dqn" && is.ActorGain != was.ActorGain {
		return config.Invalid("network.actor_gain", "dqn has one network, whose output critic_gain multiplies, and no actor besides; want %g", was.ActorGain)
	}
	if len(is.CriticHidden) > 0 {
		was.Activation = is.Activation // of the critics
	}
	return checkPreset(is.Config, was.Config)
}

// parts returns what the algorithm is made with in an environment.
func (a *agent) parts(env *envs.Environment) rl.Parts {
	with := rl.Parts{Env: env, Network: a.network, Agents: *a.size}
	if a.replay != nil {
		with.Replay = *a.replay
	}
	if a.sequences != nil {
		with.Sequences = *a.sequences
	}
	if of, ok := a.cfg.(interface{ Schedule() rl.ScheduleConfig }); ok {
		with.Schedule = of.Schedule()
	}
	if of, ok := a.cfg.(interface{ Exploration() rl.Exploration }); ok {
		with.Noise = of.Exploration()
	}
	return with
}

func (a *agent) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	if a.slices != nil && a.slices.Slice > 0 {
		return a.inSlices(ctx, eng, env, options)
	}
	return a.build(ctx, eng, env, options)
}

func (a *agent) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options, more ...rl.Option) (engine.Workflow, error) {
	opts := []rl.Option{rl.Network(a.network), rl.Environment(options)}
	if a.replay != nil {
		opts = append(opts, rl.Replays(*a.replay))
	}
	if a.sequences != nil {
		opts = append(opts, rl.Sequences(*a.sequences))
	}
	return a.make(ctx, eng, env, append(opts, more...)...)
}

// offPolicy makes the agents of a hybrid.
func (a *agent) offPolicy(
	ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options, opts ...rl.Option,
) (*rl.OffPolicy, error) {
	w, err := a.build(ctx, eng, env, options, opts...)
	if err != nil {
		return nil, err
	}
	of, ok := w.(*rl.OffPolicy)
	if !ok {
		return nil, errors.Join(fmt.Errorf("evorl: %s does not learn off-policy", a.name), w.Close())
	}
	return of, nil
}
