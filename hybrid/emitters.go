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

// EmitterConfig are the settings of policy gradient emitters: archives with candidates that follow the gradients of agents' critics.
type EmitterConfig struct {
	Climbers     int     `min:"1" max:"4096" doc:"Candidates per generation and agent: elites moved along its critic's gradient. The others are offspring."`
	Greedy       bool    `doc:"Each agent's own actor is a candidate, in place of one offspring."`
	Steps        int     `min:"1" max:"65536" doc:"Gradient steps per climber."`
	LearningRate float64 `min:"0" max:"1" doc:"Step size of the climbers' optimizer."`
	Warmup       int     `min:"1" doc:"Generations of the archive alone before candidates climb."`
	PopulationConfig
}

// gradients returns the number of candidates per generation that come from the gradients of `agents` agents.
func (c EmitterConfig) gradients(agents int) int {
	if c.Greedy {
		return agents * (c.Climbers + 1)
	}
	return agents * c.Climbers
}

// emitters is the common part of MAP-Elites with policy gradients: of every generation, some candidates are the
// archive's offspring, others are elites moved by gradient steps along the agents' first critics. All are evaluated,
// every transition goes into the replay, and the archive is told. Then the agents learn; they do not act. A member is an
// archive with its agents. All of that is recorded and stays on the device.
type emitters struct {
	joint
	cfg        EmitterConfig
	archive    ec.Archive
	ascent     *rl.Ascent
	stream     uint32
	parents    *engine.Tensor // [M, n] u32: cells of the elites that climb, an agent's adjacent
	places     *engine.Tensor // [M, n] u32: indices of the candidates that they become
	own        *engine.Tensor // [M, agents] u32: indices of the agents' own actors; nil: none
	byGradient *engine.Tensor // [M, n] u32: indices of all candidates that come from gradients: climbers and the agents' own actors
	learned    *engine.Tensor // [M]: metric
}

// newEmitters makes the workflow of a method over archives with the given number of agents each. The agents are closed
// with it, or here if there is an error.
func newEmitters(
	ctx context.Context, name string, agents *rl.OffPolicy, each int, algorithm ec.Algorithm, behaviour problem.BehaviourConfig, cfg EmitterConfig,
) (*emitters, error) {
	c := &emitters{cfg: cfg}
	c.joint = newJoint(name, agents, c, 2)
	c.solves = true
	if err := c.build(ctx, each, algorithm, behaviour); err != nil {
		return nil, errors.Join(fmt.Errorf("of %s and %s: %w", agents.Describe().Workflow, algorithm.Name(), err), c.Close())
	}
	return c, nil
}

func (c *emitters) build(ctx context.Context, each int, algorithm ec.Algorithm, behaviour problem.BehaviourConfig) (err error) {
	if c.population, err = newDescribedPopulation(ctx, c.agents, each, algorithm, c.cfg.PopulationConfig, &behaviour); err != nil {
		return err
	}
	c.population.candidates.measure("")
	p, s := c.population, c.population.state.Sub("gradients")
	of, ok := p.generation.Strategy().(ec.Archiver)
	if !ok {
		return fmt.Errorf("%s keeps no archive; want one of %v", algorithm.Name(), ec.ArchiveAlgorithms())
	}
	c.archive = of.Archive()
	all := c.cfg.gradients(each)
	if n := p.generation.Population(); n < all {
		climbers := each * c.cfg.Climbers
		return config.Invalid(c.name+".climbers", "%d climbers and the agents' actors (%d) are to be among %d candidates; want at most as many",
			climbers, all-climbers, n)
	}
	if c.ascent, err = c.agents.NewAscent(s, rl.AscentConfig{Actors: c.cfg.Climbers, Steps: c.cfg.Steps, LearningRate: c.cfg.LearningRate}); err != nil {
		return err
	}
	m, climber := engine.Members(p.space.Members), engine.Axis("climber", each*c.cfg.Climbers)
	c.stream = s.Stream("parents")
	c.parents = s.Scratch("parents", engine.Uint32, m, climber)
	c.places, c.byGradient = p.last("places", all, climber.Size), p.last("all_places", all, all)
	if c.cfg.Greedy {
		c.own = p.last("own_place", each, each)
	}
	c.learned = newLearned(p)
	return c.State().Allocate()
}

func (c *emitters) phase(done int) phase {
	if done < c.cfg.Warmup {
		return warming
	}
	return learning
}

func (c *emitters) starts() []int { return []int{c.cfg.Warmup} }

func (c *emitters) before(r *engine.Recorder, of phase) {
	p := c.population
	c.Metrics().Clear(r)
	p.ask(r)
	if of == learning {
		c.emit(r)
	}
	p.candidates.record(r, p.candidates.rows)
	if of == learning {
		recordLearned(r, p.candidates.fitness, c.byGradient, c.learned)
		p.generation.TellCandidates(r, p.candidates.rows, p.candidates.fitness)
	} else {
		p.generation.Tell(r, p.candidates.fitness)
	}
	c.agents.RecordUpdates(r)
}

func (c *emitters) after(r *engine.Recorder, _ phase, rows func(*engine.Recorder)) {
	c.agents.Measure(r)
	c.population.rows(r)
	_, episode := c.population.steps(0)
	c.agents.End(r, rows, episode)
}

// Init implements engine.Workflow: the agents' actors begin as the first candidate, as in QDax.
func (c *emitters) Init(ctx context.Context) error {
	if err := c.joint.Init(ctx); err != nil {
		return err
	}
	p, each := c.population, c.population.each
	start, row := p.space.Pad(p.start()), p.space.Row()
	var actors []float32
	for i := range p.space.Members * each {
		actors = append(actors, start[i/each*p.generation.Founders()*row:][:row]...)
	}
	return c.agents.Adopt(ctx, actors)
}

// emit records gradient steps of elites, and that they and the agents' own actors become the last candidates.
func (c *emitters) emit(r *engine.Recorder) {
	p := c.population
	c.archive.Draw(r, p.space, c.Clock(), c.stream, c.parents, c.ascent.Actors())
	c.ascent.Record(r)
	p.generation.Replace(r, p.candidates.rows, c.places, c.ascent.Actors())
	if c.own != nil {
		p.generation.Replace(r, p.candidates.rows, c.own, c.agents.Policy().Params)
	}
}
