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

// QDPGConfig are the settings of QD-PG. Agent and Search name the algorithms in configurations; NewQDPG is given the
// parts themselves.
type QDPGConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the archives; its section becomes part of the configuration."`
	EmitterConfig
	Neighbours int `min:"1" max:"64" doc:"Elites nearest to a state by whose mean squared distance it is novel."`
}

// DefaultQDPG has the paper's five neighbours, and QDax's shares (F. Chalumeau et al., 2023) of a population of 100: a
// third by gradients of quality and a third by gradients of diversity, including each agent's own actor. The agents are
// TD3's, the archive MAP-Elites.
func DefaultQDPG() QDPGConfig {
	return QDPGConfig{
		Agent: "td3", Search: "map-elites",
		EmitterConfig: EmitterConfig{
			Climbers: 32, Greedy: true, Steps: 100, LearningRate: 1e-3, Warmup: 1, PopulationConfig: PopulationConfig{Episodes: 1, Common: true},
		},
		Neighbours: 5,
	}
}

// Check implements rl.Algorithm.
func (c QDPGConfig) Check(with rl.Parts) error {
	switch {
	case !with.Replay.Shared:
		return config.Invalid("replay.shared", "both agents of an archive learn from the same transitions; want true")
	case with.Replay.Steps != 1:
		return config.Invalid("replay.steps", "novelty is a reward of single steps, not of returns of %d; want 1", with.Replay.Steps)
	}
	return c.PopulationConfig.checkStill(c.Agent, with)
}

// QDPG is QD-PG (T. Pierrot et al., "Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization",
// 2022, algorithm 1) over any archive. Every archive has two agents, which learn from the same transitions: one by the
// environment's rewards, one by the novelty of the states that actions lead to. Of every generation, some candidates are
// elites moved along the gradient of the first agent's critic (quality), as many along the gradient of the
// second one's (diversity), and the others are the archive's offspring. The rest is as in PGAME.
//
// The novelty of a state is the mean squared distance of its descriptor from the descriptors of the nearest elites in
// the archive, as it is when the batch is drawn; the paper keeps a second archive, of states' descriptors, for that.
// Descriptors of states are what episodes' descriptors are means of (problem.States), scaled to [0, 1] between their
// bounds.
//
// A member is an archive with its two agents. Its solution is the fittest candidate so far. Metrics of the second agent
// have the prefix "diversity/".
type QDPG struct {
	*emitters
	neighbours int
	states     *problem.States
	bounds     *engine.Tensor // [2, B]: of the descriptors
}

// NewQDPG makes QD-PG of the agents that the function returns, DDPG or TD3, with one member per archive; behaviour
// selects the descriptors. The agents are closed with it, or here if there is an error.
//
// Errors: as NewPGAME; agents without a shared replay, or with returns of several steps; archives with
// more cells than the device can search.
func NewQDPG(
	ctx context.Context, make AgentsFunc, algorithm ec.Algorithm, behaviour problem.BehaviourConfig, cfg QDPGConfig,
) (*QDPG, error) {
	if err := engine.Require(map[string]any{"agents": make, "algorithm": algorithm}); err != nil {
		return nil, fmt.Errorf("hybrid: QD-PG: %w", err)
	}
	if err := config.Check(cfg); err != nil {
		return nil, fmt.Errorf("hybrid: QD-PG: %w", err)
	}
	agents, err := make.agents(rl.Objectives(2))
	if err != nil {
		return nil, fmt.Errorf("hybrid: QD-PG: %w", err)
	}
	agents.Metrics().Split("", "diversity/")
	if err := cfg.Check(partsOf(agents)); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: QD-PG: %w", err), agents.Close())
	}
	c, err := newEmitters(ctx, "qd-pg", agents, 2, algorithm, behaviour, cfg.EmitterConfig)
	if err != nil {
		return nil, fmt.Errorf("hybrid: QD-PG %w", err)
	}
	q := &QDPG{emitters: c, neighbours: cfg.Neighbours}
	if err := q.build(behaviour); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: QD-PG: %w", err), q.Close())
	}
	return q, nil
}

// build makes the rewards of diversity.
func (q *QDPG) build(behaviour problem.BehaviourConfig) (err error) {
	s := q.population.state.Sub("novelty")
	if q.states, err = problem.NewStates(s, q.agents.Environment(), behaviour, q.agents.Drawn()); err != nil {
		return err
	}
	descriptors, cells := q.states.Descriptors().Size("descriptor"), q.archive.Fitness.Size("cell")
	if most := int(s.Engine().Device().Info().Limits.MaxLoopIterations); most > 0 && (cells+2)*(descriptors+1) > most {
		return fmt.Errorf("an archive of %d cells; this device can search the nearest of at most %d", cells, most/(descriptors+1)-2)
	}
	q.bounds = engine.Constant(s, "bounds", q.states.Bounds, engine.Axis("bound", 2), engine.Axis("descriptor", descriptors))
	q.agents.Rewards(q.reward)
	return q.State().Allocate()
}

// reward records replacing the rewards of the second agent of every archive by novelty.
func (q *QDPG) reward(r *engine.Recorder, b rl.ReplayBatch) {
	q.states.Record(r, b.NextObs)
	count := b.Reward.Len() / 2
	size, groups := r.Invocations(count)
	r.Dispatch(noveltyKernel{
		State: q.states.Descriptors().Range(), Bounds: q.bounds.Range(), Elite: q.archive.Descriptor.Range(), Occupied: q.archive.Occupied.Range(),
		Held: q.archive.Held.Range(), Reward: b.Reward.Range(), Count: uint32(count), Archives: uint32(q.population.space.Members),
		Batch: uint32(b.Reward.Size("transition")), Cells: uint32(q.archive.Fitness.Size("cell")),
		Descriptors: uint32(q.bounds.Size("descriptor")), Neighbours: uint32(q.neighbours), LocalSizeX: size,
	}.call(groups, 1, 1))
}
