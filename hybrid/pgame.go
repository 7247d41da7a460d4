package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/rl"
)

// PGAMEConfig are the settings of PGA-MAP-Elites. Agent and Search name the algorithms in configurations; NewPGAME is
// given the parts themselves.
type PGAMEConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the archives; its section becomes part of the configuration."`
	EmitterConfig
}

// DefaultPGAME has QDax's settings (F. Chalumeau et al., 2023) for a population of 100: half of it by gradients,
// including the agent's own actor. The agents are TD3's, the archive MAP-Elites.
func DefaultPGAME() PGAMEConfig {
	return PGAMEConfig{Agent: "td3", Search: "map-elites", EmitterConfig: EmitterConfig{
		Climbers: 49, Greedy: true, Steps: 100, LearningRate: 1e-3, Warmup: 1, PopulationConfig: PopulationConfig{Episodes: 1, Common: true},
	}}
}

// Check implements rl.Algorithm.
func (c PGAMEConfig) Check(with rl.Parts) error {
	return c.PopulationConfig.checkStill(c.Agent, with)
}

// PGAME is PGA-MAP-Elites (O. Nilsson, A. Cully, "Policy Gradient Assisted MAP-Elites", 2021, algorithm 1) over any
// archive. Of every generation, some candidates are the archive's offspring, others are elites moved by gradient steps
// along the agents' first critic, each with its own batches, and one is the agents' own actor. All are evaluated,
// every transition goes into the replay, and the archive is told. Then the agents make rollout_length · environments ·
// updates_per_step updates; they do not act themselves. All of that is recorded and stays on the device.
//
// A member is an archive with its agent. Its solution is the fittest candidate so far.
type PGAME struct{ *emitters }

// NewPGAME makes PGA-MAP-Elites of agents, DDPG or TD3, which it owns, and of as many archives; behaviour selects the
// descriptors. The agents are closed with it, or here if there is an error.
//
// Errors: settings out of range, agents that normalize observations or have other actors, a replay that is too small,
// a population of fewer candidates than come from gradients, an algorithm without an archive, an environment without
// the descriptors, and *vk.OutOfMemoryError.
func NewPGAME(
	ctx context.Context, agents *rl.OffPolicy, algorithm ec.Algorithm, behaviour problem.BehaviourConfig, cfg PGAMEConfig,
) (*PGAME, error) {
	if err := engine.Require(map[string]any{"agents": agents, "algorithm": algorithm}); err != nil {
		return nil, fmt.Errorf("hybrid: PGA-MAP-Elites: %w", err)
	}
	err := config.Check(cfg)
	if err == nil {
		err = cfg.Check(partsOf(agents))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: PGA-MAP-Elites: %w", err), agents.Close())
	}
	c, err := newEmitters(ctx, "pga-me", agents, 1, algorithm, behaviour, cfg.EmitterConfig)
	if err != nil {
		return nil, fmt.Errorf("hybrid: PGA-MAP-Elites %w", err)
	}
	return &PGAME{c}, nil
}
