package rl

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Option is a setting that is not part of the algorithm's configuration.
type Option func(*settings)

type settings struct {
	network NetworkConfig
	replay  *ReplayConfig // nil: the algorithm has none
	options envs.Options
	actors  int // per member; 0: one

	sequences *SequenceConfig // nil: the algorithm draws none

	objectives int // agents per member; 0: one
	err        error

	criticsFirst bool

	acting bool // see ForActing

	pool PoolConfig // of a member; no opponents: it plays all seats
}

// newSettings returns an algorithm's defaults, changed by options.
func newSettings(s settings, opts []Option) settings {
	for i, o := range opts {
		if o == nil {
			s.err = fmt.Errorf("option %d of %d: %w", i+1, len(opts), &engine.NilError{What: "option"})
			continue
		}
		o(&s)
	}
	return s
}

// offPolicySettings returns the defaults of an off-policy algorithm, changed by options.
func offPolicySettings(network NetworkConfig, opts []Option) settings {
	replay := DefaultReplay()
	return newSettings(settings{network: network, replay: &replay}, opts)
}

// Network sets the networks of actor and critic. Default: DefaultNetwork; DefaultOffPolicyNetwork for off-policy
// algorithms, DefaultSACNetwork for SAC, DefaultDQNNetwork for DQN.
func Network(cfg NetworkConfig) Option { return func(s *settings) { s.network = cfg } }

// Replays sets the replay of an off-policy algorithm. Default: DefaultReplay, DefaultDQNReplay for DQN. On-policy
// algorithms ignore it.
func Replays(cfg ReplayConfig) Option { return func(s *settings) { s.replay = &cfg } }

// Sequences sets the sequences from which DQN learns if its network has memory. Default: DefaultSequences. Other algorithms ignore it.
func Sequences(cfg SequenceConfig) Option { return func(s *settings) { s.sequences = &cfg } }

// Actors gives each member of DDPG, TD3 or SAC with continuous actions n actors, for methods that train candidates of a search (hybrid.CEMRL). They
// share the member's critics, with the mean over the actors' batches as their loss (B. Zheng et al., 2025, appendix B.2);
// each has its own optimizer, target and batch. OffPolicy.Policy then has the actors [M · n, row]. Such members act
// only at random by themselves; the enclosing method trains them whole (OffPolicy.Restart). Default: 1.
func Actors(n int) Option {
	return func(s *settings) { s.actors = n; s.count("Actors", n) }
}

// Objectives gives each member of DDPG or TD3 n agents with the same settings, for methods in which agents learn from the
// same transitions by different rewards (hybrid.QDPG): agents of the workflow that are adjacent, with one ring
// for all (ReplayConfig.Shared). OffPolicy.Rewards changes the rewards of each. They act only at random by themselves:
// the metrics of their rollouts have the prefix "agents/". Default: 1.
func Objectives(n int) Option {
	return func(s *settings) { s.objectives = n; s.count("Objectives", n) }
}

// PoolConfig describes whom a member plays against.
type PoolConfig struct {
	Opponents int // in its pool

	// Shares of the training episodes in which a member plays itself, other members as they are, the world's script, and random actions; in the others
	// opponents of the pool.
	Alone, Peers, Scripted, Random float64

	Evaluation envs.Player // of evaluations: envs.PoolPlayer stands for all opponents of the pool alike

	// League makes one pool of the members as they are and of all members' pools. All episodes are against its rows, by weights, which may be a member's
	// own: then it plays both seats. The shares above have no effect.
	League bool
}

// Pool gives each member of PPO or A2C, in a world of two agents, a pool of opponents, which play one of the seats in its training episodes and its
// evaluations. Who is in the pool, and how often it plays, is the enclosing method's affair (hybrid.SelfPlay): see Opponents. Default: a member plays all
// seats.
func Pool(cfg PoolConfig) Option {
	return func(s *settings) { s.pool = cfg; s.count("Pool", cfg.Opponents) }
}

// maxAgents bounds the agents and actors of a member.
const maxAgents = 1 << 20

// count keeps an error if an option's number of agents or actors is out of range.
func (s *settings) count(option string, n int) {
	if n < 1 || n > maxAgents {
		s.err = fmt.Errorf("%s(%d): want 1 to %d", option, n, maxAgents)
	}
}

// CriticsFirst lets DDPG and TD3 make all updates of an iteration's critics before its actors', each with a batch of its own,
// as CEM-RL's authors do. Default: they alternate.
func CriticsFirst() Option { return func(s *settings) { s.criticsFirst = true } }

// ForActing makes an agent that acts for a learner elsewhere (Act) and does not learn: its replay has the smallest capacity. Agents without a replay ignore it.
func ForActing() Option { return func(s *settings) { s.acting = true } }

// Environment sets the options of the environment: time limit, reward scale and others. Default: as its Spec.
func Environment(options envs.Options) Option { return func(s *settings) { s.options = options } }

// sequenceConfig returns the sequences from which networks with memory learn.
func (s settings) sequenceConfig() (c SequenceConfig) {
	if s.sequences != nil {
		c = *s.sequences
	}
	return c
}

func (s settings) check() error {
	if s.err != nil {
		return s.err
	}
	if err := config.Check(s.network); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if mode := s.options.AutoReset; mode == envs.Disabled {
		return fmt.Errorf("auto-reset mode %v; want %v or %v, which lose no transition", mode, envs.Normal, envs.Fast)
	}
	if s.actors > 1 && s.network.NormalizeObs {
		return config.Invalid("network.normalize_obs", "several actors of a member cannot have separate moments; want false")
	}
	if s.replay == nil {
		return nil
	}
	if s.pool.Opponents > 0 {
		return errors.New("a pool of opponents of an agent with a replay; want PPO or A2C")
	}
	if s.objectives > 1 && (s.actors > 1 || !s.replay.Shared) {
		return config.Invalid("replay.shared", "%d agents of a member, with %d actors each, learn from the same transitions; want true, and one actor",
			s.objectives, max(s.actors, 1))
	}
	if err := config.Check(*s.replay); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if s.sequences == nil {
		return nil
	}
	if err := config.Check(*s.sequences); err != nil {
		return fmt.Errorf("sequences: %w", err)
	}
	return nil
}
