package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Option is a setting beside those of the algorithm.
type Option func(*settings)

type settings struct {
	network NetworkConfig
	replay  *ReplayConfig // nil: the algorithm has none
	options envs.Options
	actors  int // of a member; 0: one
}

// newSettings are an algorithm's defaults, changed by options.
func newSettings(s settings, opts []Option) settings {
	for _, o := range opts {
		o(&s)
	}
	return s
}

// offPolicySettings are the defaults of an off-policy algorithm, changed by options.
func offPolicySettings(network NetworkConfig, opts []Option) settings {
	replay := DefaultReplay()
	return newSettings(settings{network: network, replay: &replay}, opts)
}

// Network sets the networks of actor and critic. Default: DefaultNetwork, of off-policy algorithms DefaultOffPolicyNetwork, of SAC DefaultSACNetwork,
// of DQN DefaultDQNNetwork.
func Network(cfg NetworkConfig) Option { return func(s *settings) { s.network = cfg } }

// Replays sets the replay of an off-policy algorithm. Default: DefaultReplay, of DQN DefaultDQNReplay. Others have none, and it is of no effect.
func Replays(cfg ReplayConfig) Option { return func(s *settings) { s.replay = &cfg } }

// Actors gives each member of DDPG or TD3 n actors, for methods that train candidates of a search (hybrid.CEMRL). They share the member's critics, whose
// loss is the mean over the actors' batches (B. Zheng et al., 2025, appendix B.2); each has an optimizer, a target and a batch of its own.
// OffPolicy.Policy has the actors [P · n, row]. Such members act only at random; what trains them, trains whole (OffPolicy.Restart). Default: 1.
func Actors(n int) Option { return func(s *settings) { s.actors = n } }

// Environment sets how the environment is used: time limit, reward scale and the like. Default: as its Spec describes it.
func Environment(options envs.Options) Option { return func(s *settings) { s.options = options } }

func (s settings) check() error {
	if err := config.Check(s.network); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if mode := s.options.AutoReset; mode != envs.Normal && mode != envs.Fast {
		return fmt.Errorf("auto-reset mode %v; want %v or %v, which lose no transition", mode, envs.Normal, envs.Fast)
	}
	if s.actors > 1 && s.network.NormalizeObs {
		return config.Invalid("network.normalize_obs", "the actors of a member have no moments of their own; want false")
	}
	if s.replay == nil {
		return nil
	}
	if err := config.Check(*s.replay); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}
