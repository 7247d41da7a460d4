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

// CEMRLConfig are the settings of CEM-RL. Agent and Search name the algorithms in configurations; NewCEMRL is given the
// parts themselves.
type CEMRLConfig struct {
	Agent  string `doc:"Algorithm that updates the candidates; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the search; its section becomes part of the configuration."`

	Learners       int  `min:"1" max:"4096" doc:"Number of candidates of each population that learn, per iteration."`
	RandomLearners bool `doc:"The learners are drawn at random in every iteration; otherwise they are the first candidates."`
	Warmup         int  `min:"0" doc:"Iterations of the search alone before candidates learn."`

	Updates Count `doc:"Steps that updates_per_step multiplies: fixed (agents' settings), iteration (the last one's, as in the original), run (all)."`

	CriticsFirst bool `doc:"All updates of an iteration's critics come before those of its learners (the authors' order); otherwise they alternate (EvoRL's)."`

	ImportanceMixing bool `doc:"Candidates of the last generation are reused, with their fitness, by importance mixing (A. Pourchot et al., 2018)."`
	PopulationConfig
}

// DefaultCEMRL has EvoRL's settings (B. Zheng et al., 2025, table 4 b) for a population of 10, with common random
// numbers per generation: TD3 and the cross-entropy method.
func DefaultCEMRL() CEMRLConfig {
	return CEMRLConfig{
		Agent: "td3", Search: "cem", Learners: 5, RandomLearners: true, Warmup: 10, PopulationConfig: PopulationConfig{Episodes: 1, Common: true},
	}
}

// Check implements rl.Algorithm.
func (c CEMRLConfig) Check(with rl.Parts) error {
	return c.PopulationConfig.checkStill(c.Agent, with)
}

// CEMRL is CEM-RL (A. Pourchot, O. Sigaud, "CEM-RL: Combining evolutionary and gradient-based methods for policy
// search", 2019, algorithm 1) with any search that accepts candidates other than its own. In an iteration, some of the
// candidates learn by gradient descent from their parameters, with shared critics that persist over iterations (B.
// Zheng et al., 2025, appendix B.2). Then all are evaluated, every transition goes into the replay, and the search is
// told the changed candidates. A learner makes rollout_length · environments · updates_per_step updates per iteration,
// by the agents' settings, or a number that follows from the steps taken (CEMRLConfig.Updates). All of that is
// recorded and stays on the device, except the number of steps that determines the updates.
//
// With importance mixing, candidates that do not learn may come from the previous generation (ec.Mixing). These are not
// evaluated, take no steps and add no transitions. Candidates that learned are never reused, since they no longer follow
// the search's distribution.
//
// A member is a search with its critics. Evaluations run the search's solution: the mean of a distribution, the best
// candidate of a genetic algorithm.
type CEMRL struct {
	joint
	cfg      CEMRLConfig
	learners *engine.Tensor // [M, L] u32: indices of the candidates that learn
	learned  *engine.Tensor // [M]: metric
	stream   uint32         // for choosing them
	mixed    *mixed         // nil: no importance mixing
}

// AgentsFunc makes agents with further options.
type AgentsFunc func(...rl.Option) (*rl.OffPolicy, error)

// agents makes the agents. It is an error if there are none.
func (f AgentsFunc) agents(options ...rl.Option) (*rl.OffPolicy, error) {
	agents, err := f(options...)
	if err == nil && agents == nil {
		err = engine.Require(map[string]any{"result of the function that makes agents": agents})
	}
	return agents, err
}

// NewCEMRL makes CEM-RL of the agents that the function returns, DDPG, SAC or TD3, with one member per search. The agents
// are closed with the CEM-RL, or here if there is an error.
//
// Errors: settings out of range, agents that normalize observations or have other actors, a replay that is too small,
// a population of fewer candidates than learners, an *ec.CandidatesError, with importance mixing an *ec.NormalError, and
// *vk.OutOfMemoryError.
func NewCEMRL(ctx context.Context, make AgentsFunc, algorithm ec.Algorithm, cfg CEMRLConfig) (*CEMRL, error) {
	if err := engine.Require(map[string]any{"agents": make, "algorithm": algorithm}); err != nil {
		return nil, fmt.Errorf("hybrid: CEM-RL: %w", err)
	}
	if err := config.Check(cfg); err != nil {
		return nil, fmt.Errorf("hybrid: CEM-RL: %w", err)
	}
	opts := []rl.Option{rl.Actors(cfg.Learners)}
	if cfg.CriticsFirst {
		opts = append(opts, rl.CriticsFirst())
	}
	agents, err := make.agents(opts...)
	if err != nil {
		return nil, fmt.Errorf("hybrid: CEM-RL: %w", err)
	}
	c := &CEMRL{cfg: cfg}
	c.joint = newJoint("cem-rl", agents, c, 2)
	c.late, c.solves = true, true
	if err := c.build(ctx, algorithm); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: CEM-RL of %s and %s: %w", agents.Describe().Workflow, algorithm.Name(), err), c.Close())
	}
	return c, nil
}

func (c *CEMRL) build(ctx context.Context, algorithm ec.Algorithm) (err error) {
	if err := c.cfg.Check(partsOf(c.agents)); err != nil {
		return err
	}
	if c.population, err = newPopulation(ctx, c.agents, 1, algorithm, c.cfg.PopulationConfig); err != nil {
		return err
	}
	c.population.candidates.measure("")
	c.learned = newLearned(c.population)
	if c.cfg.Updates != Fixed {
		c.stepUpdates = newStepUpdates(c.agents, c.cfg.Updates, c.population.space.Members)
	}
	if n := c.population.generation.Population(); n < c.cfg.Learners {
		return config.Invalid("cem-rl.learners", "%d of %d candidates are to learn; want at most all", c.cfg.Learners, n)
	}
	p, s := c.population, c.population.state.Sub("learners")
	dims := []engine.Dim{engine.Members(p.space.Members), engine.Axis("learner", c.cfg.Learners)}
	c.stream = s.Stream("choice")
	if c.cfg.RandomLearners {
		c.learners = s.Scratch("index", engine.Uint32, dims...)
	} else {
		c.learners = engine.Constant(s, "index", c.first, dims...)
	}
	if c.cfg.ImportanceMixing {
		if c.mixed, err = newMixed(p, c.learners); err != nil {
			return err
		}
	}
	return c.State().Allocate()
}

// first returns the indices of the first candidates of every population.
func (c *CEMRL) first() []uint32 {
	index := make([]uint32, c.population.space.Members*c.cfg.Learners)
	for i := range index {
		index[i] = uint32(i % c.cfg.Learners)
	}
	return index
}

// phase implements method.
func (c *CEMRL) phase(done int) phase {
	if done < c.cfg.Warmup {
		return warming
	}
	return learning
}

// starts implements method.
func (c *CEMRL) starts() []int { return []int{c.cfg.Warmup} }

// before implements method.
func (c *CEMRL) before(r *engine.Recorder, of phase) {
	c.Metrics().Clear(r)
	c.population.ask(r)
	if of == learning && c.cfg.RandomLearners {
		c.choose(r)
	}
	if c.mixed != nil {
		c.mixed.record(r, of == learning)
	}
	if of == learning {
		c.begin(r)
		if c.stepUpdates == nil {
			c.agents.RecordUpdates(r)
		}
	}
}

// after implements method.
func (c *CEMRL) after(r *engine.Recorder, of phase, rows func(*engine.Recorder)) {
	p := c.population
	if of == learning {
		p.generation.Replace(r, p.candidates.rows, c.learners, c.agents.Policy().Params)
	}
	p.candidates.record(r, p.candidates.rows)
	if c.stepUpdates != nil {
		c.stepUpdates.next(r)
	}
	if c.mixed != nil {
		c.mixed.remember(r)
	}
	if of == learning || c.mixed != nil {
		p.generation.TellCandidates(r, p.candidates.rows, p.candidates.fitness)
	} else {
		p.generation.Tell(r, p.candidates.fitness)
	}
	if of == learning {
		recordLearned(r, p.candidates.fitness, c.learners, c.learned)
		c.agents.Measure(r)
	}
	p.rows(r)
	_, episode := p.steps(0)
	c.agents.End(r, rows, episode)
}

// choose records choosing the candidates that learn at random.
func (c *CEMRL) choose(r *engine.Recorder) {
	n := uint32(c.cfg.Learners)
	r.Dispatch(learnersKernel{
		Clock: c.Clock().Tensor().Range(), Learners: c.learners.Range(), Population: uint32(c.population.generation.Population()), Count: n,
		Seed: r.Engine().Seed(), Stream: c.stream,
	}.call((n+7)/8, uint32(c.population.space.Members), 1))
}

// begin records that some of the candidates become actors, which learn from these parameters.
func (c *CEMRL) begin(r *engine.Recorder) {
	p := c.population
	p.space.PickRows(r, p.candidates.rows, ec.Pick{Index: c.learners}, c.agents.Policy().Params)
	c.agents.Restart(r)
	if c.stepUpdates != nil {
		c.stepUpdates.reset(r)
	}
}
