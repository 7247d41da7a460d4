package hybrid

import (
	"context"
	"errors"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// joint is the common part of workflows of agents and a population of candidates: their life cycle. The programs of an
// iteration are recorded once for each of the method's phases.
type joint struct {
	engine.Workflow // the agents' workflow; some of its methods are replaced
	name            string
	agents          *rl.OffPolicy
	population      *population
	stepUpdates     *stepUpdates // nil: the number of updates is fixed
	late            bool         // steps of earlier iterations are counted
	solves          bool         // evaluations run the searches' solutions, not the agents
	method          method
	programs        []stages // by phase
}

// phase selects the parts of an iteration.
type phase int

const (
	warming  phase = iota // the population only: no updates in a number that is counted
	learning              // also the agents, or candidates
)

// method is what a workflow does in an iteration.
type method interface {
	// phase returns the phase of the iteration after `done` others.
	phase(done int) phase
	// starts returns the first iteration of every phase that comes after warming, in a run from the start.
	starts() []int
	// before records an iteration up to its updates, including a fixed number of updates.
	before(r *engine.Recorder, of phase)
	// after records the part of an iteration after the updates. rows, unless nil, records further metrics.
	after(r *engine.Recorder, of phase, rows func(*engine.Recorder))
}

// newJoint makes the life cycle of a method with the given number of phases. The population follows.
func newJoint(name string, agents *rl.OffPolicy, method method, phases int) joint {
	return joint{Workflow: agents, name: name, agents: agents, method: method, programs: make([]stages, phases)}
}

// stages returns the programs of a phase, which it records at the first call.
func (j *joint) stages(of phase) (*stages, error) {
	p := &j.programs[of]
	if of != warming {
		p.stepUpdates, p.late = j.stepUpdates, j.late
	}
	if err := j.State().Err(); err != nil {
		return p, err
	}
	return p, p.record(j.State().Engine(), j.name, func(r *engine.Recorder) { j.method.before(r, of) }, func(r *engine.Recorder) { j.method.after(r, of, nil) })
}

func (j *joint) Describe() engine.Description {
	d := j.Workflow.Describe()
	d.Workflow, d.Members = j.name, j.population.space.Members
	d.StepsPerIter, _ = j.population.steps(j.population.generation.Population())
	return d
}

// Generation returns the running search.
func (j *joint) Generation() *ec.Generation { return j.population.generation }

func (j *joint) Init(ctx context.Context) error {
	return errors.Join(j.agents.Init(ctx), j.population.init(ctx))
}

// Step implements engine.Workflow. If the number of updates follows from steps, it waits for these.
func (j *joint) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	stages, err := j.stages(j.method.phase(iteration))
	if err != nil {
		return nil, err
	}
	if err := j.State().Advance(ctx, iteration); err != nil {
		return nil, err
	}
	return stages.submit(ctx)
}

// Prepare implements engine.Workflow. Programs that the first iteration does not need may still be compiling when it
// returns.
func (j *joint) Prepare(ctx context.Context, episodes int) error {
	first, err := j.stages(j.method.phase(0))
	for _, done := range j.method.starts() {
		if err == nil {
			_, err = j.stages(j.method.phase(done))
		}
	}
	if err != nil {
		return err
	}
	if err := j.Evaluations().Prepare(ctx, j.Clock(), episodes); err != nil {
		return err
	}
	return first.build()
}

// Evaluate implements engine.Workflow: episodes of the side that is evaluated.
func (j *joint) Evaluate(ctx context.Context, episodes int) (engine.Evaluation, error) {
	if err := j.State().Ready(); err != nil {
		return engine.Evaluation{}, err
	}
	return j.Evaluations().Run(ctx, j.Clock(), episodes)
}

// Evaluator runs the policies of that side.
func (j *joint) Evaluator(ctx context.Context) (*envs.Evaluator, error) {
	if j.solves {
		return j.population.candidates.Evaluator(ctx, j.Generation().Solution())
	}
	return j.agents.Evaluator(), nil
}

// Side returns the side that has the policies of evaluations.
func (j *joint) Side() Side {
	if j.solves {
		return Population
	}
	return Agents
}

// Hyper returns the agents' hyperparameters, which may differ between members.
func (j *joint) Hyper() *engine.Hyper { return j.agents.Hyper() }

// Config returns the agents' configuration.
func (j *joint) Config() any { return j.agents.Config() }

// Fitness makes the evaluation of the side that is evaluated, for a program (engine.Trainable).
func (j *joint) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	if j.solves {
		return j.population.candidates.Fitness(ctx, s, j.Generation().Solution(), episodes)
	}
	return j.agents.Fitness(ctx, s, episodes)
}

// Evaluations returns the evaluator of Prepare and Evaluate.
func (j *joint) Evaluations() engine.Evaluator {
	if j.solves {
		return solutions{j.population}
	}
	return j.agents.Evaluations()
}

func (j *joint) Close() error {
	for i := range j.programs {
		j.programs[i].free()
	}
	j.stepUpdates.free()
	if j.population != nil && j.population.candidates != nil {
		j.population.candidates.Close()
	}
	return j.agents.Close()
}

// solutions evaluates the searches' solutions: the mean of a distribution, the best candidate of a genetic algorithm.
type solutions struct{ *population }

func (s solutions) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	return s.candidates.Prepare(ctx, s.generation.Solution(), episodes)
}

func (s solutions) Run(ctx context.Context, _ engine.Clock, episodes int) (engine.Evaluation, error) {
	return s.candidates.Evaluate(ctx, s.generation.Solution(), episodes)
}

func (s solutions) Close() { s.candidates.Close() }
