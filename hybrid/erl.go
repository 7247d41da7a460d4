package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/rl"
)

// ERLConfig are the settings of evolution-guided reinforcement learning. Agent and Search name the algorithms in
// configurations; NewERL is given the parts themselves.
type ERLConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the populations; its section becomes part of the configuration."`

	Agents    int `min:"1" max:"4096" doc:"Number of agents per population."`
	Warmup    int `min:"0" doc:"Iterations of the populations alone before the agents act and learn."`
	Injection int `min:"1" doc:"Iterations between injections: the agents' actors, unchanged, are the last candidates of every so many generations."`

	Updates Count `doc:"Steps that updates_per_step multiplies: fixed (agent's settings), iteration (all of an iteration), run (all, as in the original)."`

	Evaluate Side `doc:"Policies that evaluations run: agents, or population (the search's solution, such as the best candidate, as in the paper)."`
	PopulationConfig
}

// Side is one of the two learning sides.
type Side uint32

const (
	// Agents learn by gradient descent.
	Agents Side = iota
	// Population learns by evolution.
	Population
)

var sideNames = []string{"agents", "population"}

// UnmarshalText parses a side's name: agents or population.
func (s *Side) UnmarshalText(text []byte) error {
	return config.UnmarshalName(s, "side", sideNames, text)
}

// MarshalText returns a side's name.
func (s Side) MarshalText() ([]byte, error) { return config.MarshalName(s, "side", sideNames) }

// DefaultERL has EvoRL's settings (B. Zheng et al., 2025, table 4 a), with common random numbers per generation: TD3
// and a genetic algorithm.
func DefaultERL() ERLConfig {
	return ERLConfig{Agent: "td3", Search: "ga", Agents: 1, Warmup: 10, Injection: 1, PopulationConfig: PopulationConfig{Episodes: 1, Common: true}}
}

// Check implements rl.Algorithm.
func (c ERLConfig) Check(with rl.Parts) error {
	switch {
	case with.Agents%c.Agents != 0:
		return config.Invalid("erl.agents", "%d agents in groups of %d; want a multiple of the group's size", with.Agents, c.Agents)
	case c.Agents > 1 && !with.Replay.Shared:
		return config.Invalid("replay.shared", "%d agents learn from the episodes of one population, so they share a ring; want true", c.Agents)
	case c.Agents > 1 && c.Evaluate == Population:
		return config.Invalid("erl.evaluate", "each population has %d agents, which are the members; want agents", c.Agents)
	}
	return c.PopulationConfig.check(c.Agent, with)
}

// ERL is evolution-guided reinforcement learning (S. Khadka, K. Tumer, "Evolution-Guided Policy Gradient in
// Reinforcement Learning", 2018, algorithm 1), in EvoRL's order (B. Zheng et al., 2025). A population of actors is
// evaluated, and every transition goes into the replay of its agents. The agents act with exploration and learn. After
// the warm-up, their actors, unchanged, are the last candidates of every ERLConfig.Injection-th generation, as if the
// algorithm had proposed them. An agent makes rollout_length · environments · updates_per_step updates per iteration, or a
// number that follows from the steps taken (ERLConfig.Updates). All of that is recorded and stays on the device,
// except the number of steps that determines the updates.
//
// Members are the agents. Evaluations run their actors, unless ERLConfig.Evaluate selects the population. The agents
// of one population are adjacent members and share its metrics.
type ERL struct {
	joint
	cfg     ERLConfig
	places  *engine.Tensor // [M, n] u32: indices of the candidates that the agents' actors replace
	learned *engine.Tensor // [M]: metric
}

// injecting is the phase in which the agents' actors are candidates, and then agents learn.
const injecting phase = 2

// NewERL makes ERL of agents and of a search by any algorithm that accepts candidates other than its own. It owns the
// agents: they are closed with the ERL, or here if there is an error.
//
// Errors: settings out of range, a number of agents that is not a multiple of the group's, agents that normalize
// observations, several agents per group without a shared replay, a replay that is too small, a population of fewer
// candidates than agents, an *ec.CandidatesError, and *vk.OutOfMemoryError.
func NewERL(ctx context.Context, agents *rl.OffPolicy, algorithm ec.Algorithm, cfg ERLConfig) (*ERL, error) {
	if err := engine.Require(map[string]any{"agents": agents, "algorithm": algorithm}); err != nil {
		return nil, fmt.Errorf("hybrid: ERL: %w", err)
	}
	e := &ERL{cfg: cfg}
	e.joint = newJoint("erl", agents, e, 3)
	e.solves = cfg.Evaluate == Population
	if err := e.build(ctx, algorithm); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: ERL of %s and %s: %w", agents.Describe().Workflow, algorithm.Name(), err), e.Close())
	}
	return e, nil
}

func (e *ERL) build(ctx context.Context, algorithm ec.Algorithm) (err error) {
	if err := config.Check(e.cfg); err != nil {
		return err
	}
	if err := e.cfg.Check(partsOf(e.agents)); err != nil {
		return err
	}
	if e.population, err = newPopulation(ctx, e.agents, e.cfg.Agents, algorithm, e.cfg.PopulationConfig); err != nil {
		return err
	}
	if n := e.population.generation.Population(); n < e.cfg.Agents {
		return config.Invalid("erl.agents", "%d actors are to replace candidates, of which there are %d; want fewer agents, or more candidates",
			e.cfg.Agents, n)
	}
	e.places = e.population.last("places", e.cfg.Agents, e.cfg.Agents)
	if e.cfg.Updates != Fixed {
		e.stepUpdates = newStepUpdates(e.agents, e.cfg.Updates, e.population.space.Members)
	}
	e.population.candidates.measure("population/")
	e.learned = newLearned(e.population)
	return e.State().Allocate()
}

// phase implements method.
func (e *ERL) phase(done int) phase {
	switch {
	case done < e.cfg.Warmup:
		return warming
	case done%e.cfg.Injection == 0 && (done > e.cfg.Warmup || e.cfg.Injection == 1): // agents have learned, or every generation has their actors
		return injecting
	}
	return learning
}

// starts implements method.
func (e *ERL) starts() []int {
	return []int{e.cfg.Warmup, (e.cfg.Warmup/e.cfg.Injection + 1) * e.cfg.Injection}
}

// before implements method.
func (e *ERL) before(r *engine.Recorder, phase phase) {
	p := e.population
	e.Metrics().Clear(r)
	if e.stepUpdates != nil {
		e.stepUpdates.reset(r)
		e.stepUpdates.begin(r)
	}
	p.ask(r)
	if phase == injecting {
		p.generation.Replace(r, p.candidates.rows, e.places, e.agents.Policy().Params)
	}
	p.candidates.record(r, p.candidates.rows)
	if phase != warming {
		e.agents.Collect(r)
	}
	switch {
	case e.stepUpdates != nil:
		e.stepUpdates.end(r)
	case phase != warming:
		e.agents.RecordUpdates(r)
	}
}

// after implements method.
func (e *ERL) after(r *engine.Recorder, phase phase, rows func(*engine.Recorder)) {
	p := e.population
	if phase != warming {
		e.agents.Finish(r)
	}
	if phase == injecting {
		recordLearned(r, p.candidates.fitness, e.places, e.learned)
		p.generation.TellCandidates(r, p.candidates.rows, p.candidates.fitness)
	} else {
		p.generation.Tell(r, p.candidates.fitness)
	}
	p.rows(r)
	_, episode := p.steps(0)
	rollout, _ := e.agents.Steps()
	e.agents.End(r, rows, max(episode, rollout))
}

// Describe implements engine.Workflow.
func (e *ERL) Describe() engine.Description {
	d := e.Workflow.Describe()
	episodes, _ := e.population.steps(e.population.generation.Population())
	d.Workflow, d.StepsPerIter = "erl", d.StepsPerIter+episodes
	return d
}

// Agents returns the agents.
func (e *ERL) Agents() *rl.OffPolicy { return e.agents }
