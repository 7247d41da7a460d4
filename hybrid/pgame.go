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

// PGAMEConfig are the settings of PGA-MAP-Elites.
type PGAMEConfig struct {
	Climbers     int     `min:"1" max:"4096" doc:"Candidates per generation that are elites moved along the critic's gradient; the others are offspring."`
	Greedy       bool    `doc:"The agent's own actor is a candidate, in place of one offspring."`
	Steps        int     `min:"1" max:"65536" doc:"Gradient steps per climber."`
	LearningRate float64 `min:"0" max:"1" doc:"Step size of the climbers' optimizer."`
	Warmup       int     `min:"1" doc:"Generations of the archive alone before candidates climb."`
	PopulationConfig
}

// DefaultPGAME has QDax's settings (F. Chalumeau et al., 2023) for a population of 100: half of it by gradients,
// including the agent's own actor.
func DefaultPGAME() PGAMEConfig {
	return PGAMEConfig{Climbers: 49, Greedy: true, Steps: 100, LearningRate: 1e-3, Warmup: 1, PopulationConfig: PopulationConfig{Episodes: 1, Common: true}}
}

// gradients returns the number of candidates per generation that come from gradients.
func (c PGAMEConfig) gradients() int {
	if c.Greedy {
		return c.Climbers + 1
	}
	return c.Climbers
}

// Fits checks the settings against those of the agents, before any device work. Its errors are those of
// config.Invalid, with the full key.
func (c PGAMEConfig) Fits(_ int, network rl.NetworkConfig, _ rl.ReplayConfig) error {
	return c.PopulationConfig.fits(network)
}

// PGAME is PGA-MAP-Elites (O. Nilsson, A. Cully, "Policy Gradient Assisted MAP-Elites", 2021, algorithm 1) over any
// archive. Of every generation, some candidates are the archive's offspring, others are elites moved by gradient steps
// along the agents' first critic, each with its own batches, and one is the agents' own actor. All are evaluated,
// every transition goes into the replay, and the archive is told. Then the agents make rollout_length · environments ·
// updates_per_step updates; they do not act themselves. All of that is recorded and stays on the device.
//
// A member is an archive with its agent. Its solution is the fittest candidate so far.
type PGAME struct {
	joint
	cfg     PGAMEConfig
	archive ec.Archive
	ascent  *rl.Ascent
	stream  uint32
	parents *engine.Tensor // [M, n] u32: cells of the elites that climb
	places  *engine.Tensor // [M, n] u32: indices of the candidates that they become
	own     *engine.Tensor // [M, 1] u32: index of the agents' own actor; nil: none
}

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
	g := &PGAME{cfg: cfg}
	g.joint = newJoint("pga-me", agents, g, 2)
	g.solves = true
	if err := g.build(ctx, algorithm, behaviour); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: PGA-MAP-Elites of %s and %s: %w", agents.Describe().Workflow, algorithm.Name(), err), g.Close())
	}
	return g, nil
}

func (g *PGAME) build(ctx context.Context, algorithm ec.Algorithm, behaviour problem.BehaviourConfig) (err error) {
	if err := config.Check(g.cfg); err != nil {
		return err
	}
	if err := g.cfg.Fits(g.agents.Describe().Members, g.agents.Network(), g.agents.Replay().Config()); err != nil {
		return err
	}
	if g.population, err = newDescribedPopulation(ctx, g.agents, 1, algorithm, g.cfg.PopulationConfig, &behaviour); err != nil {
		return err
	}
	g.population.candidates.measure("")
	p, s := g.population, g.population.state.Sub("gradients")
	of, ok := p.generation.Strategy().(ec.Archiver)
	if !ok {
		return fmt.Errorf("%s keeps no archive; want one of %v", algorithm.Name(), ec.ArchiveAlgorithms())
	}
	g.archive = of.Archive()
	if n := p.generation.Population(); n < g.cfg.gradients() {
		return config.Invalid("pga-me.climbers", "%d of %d candidates are to come from gradients; want at most all", g.cfg.gradients(), n)
	}
	if g.ascent, err = g.agents.NewAscent(s, rl.AscentConfig{Actors: g.cfg.Climbers, Steps: g.cfg.Steps, LearningRate: g.cfg.LearningRate}); err != nil {
		return err
	}
	m := engine.Members(p.space.Members)
	g.stream = s.Stream("parents")
	g.parents = s.Scratch("parents", engine.Uint32, m, engine.Axis("climber", g.cfg.Climbers))
	g.places = engine.Constant(s, "places", g.last(g.cfg.gradients(), g.cfg.Climbers), m, engine.Axis("climber", g.cfg.Climbers))
	if g.cfg.Greedy {
		g.own = engine.Constant(s, "own_place", g.last(1, 1), m, engine.Axis("actor", 1))
	}
	return g.State().Allocate()
}

// last returns the indices of n candidates of every population, beginning with the from-th last.
func (g *PGAME) last(from, n int) func() []uint32 {
	return func() (index []uint32) {
		for range g.population.space.Members {
			for i := range n {
				index = append(index, uint32(g.population.generation.Population()-from+i))
			}
		}
		return index
	}
}

// phase implements method.
func (g *PGAME) phase(done int) phase {
	if done < g.cfg.Warmup {
		return warming
	}
	return learning
}

// turns implements method.
func (g *PGAME) turns() []int { return []int{g.cfg.Warmup} }

// before implements method.
func (g *PGAME) before(r *engine.Recorder, of phase) {
	p := g.population
	g.Metrics().Clear(r)
	p.ask(r)
	if of == learning {
		g.climb(r)
	}
	p.candidates.record(r, p.candidates.rows)
	if of == learning {
		p.generation.TellCandidates(r, p.candidates.rows, p.candidates.fitness)
	} else {
		p.generation.Tell(r, p.candidates.fitness)
	}
	g.agents.RecordUpdates(r)
}

// after implements method.
func (g *PGAME) after(r *engine.Recorder, _ phase, rows func(*engine.Recorder)) {
	g.agents.Measure(r)
	g.population.rows(r)
	_, episode := g.population.steps(0)
	g.agents.End(r, rows, episode)
}

// climb records gradient steps of elites, and that they and the agents' own actors become the last candidates.
func (g *PGAME) climb(r *engine.Recorder) {
	p := g.population
	g.archive.Draw(r, p.space, g.Clock(), g.stream, g.parents, g.ascent.Actors())
	g.ascent.Record(r)
	p.generation.Replace(r, p.candidates.rows, g.places, g.ascent.Actors())
	if g.own != nil {
		p.generation.Replace(r, p.candidates.rows, g.own, g.agents.Policy().Params)
	}
}
