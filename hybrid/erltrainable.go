package hybrid

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
)

// ERL is an engine.Trainable whose members are an agent with its population: PBT copies both, and varies the agent's
// hyperparameters.

// Record implements engine.Trainable: an iteration with an injection. All iterations must be the same: a warm-up, an
// injection interval above 1, updates that follow from steps, and several agents per population are recording errors.
func (e *ERL) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	if c := e.cfg; c.Warmup > 0 || c.Injection > 1 || c.Updates != Fixed || c.Agents > 1 {
		r.Fail(errors.New("hybrid: ERL whose iterations differ cannot be trained; want warmup = 0, injection = 1, updates = \"fixed\" and agents = 1"))
		return
	}
	e.before(r, injecting)
	e.after(r, injecting, rows)
}

// Hyper implements engine.Trainable.
func (e *ERL) Hyper() *engine.Hyper { return e.agents.Hyper() }

// Config implements engine.Trainable: the agents' configuration.
func (e *ERL) Config() any { return e.agents.Config() }

// Fitness implements engine.Trainable: the fitness of the side that is evaluated.
func (e *ERL) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	if e.cfg.Evaluate == Population {
		return e.population.candidates.Fitness(ctx, s, e.Generation().Solution(), episodes)
	}
	return e.agents.Fitness(ctx, s, episodes)
}

// Evaluations implements engine.Trainable.
func (e *ERL) Evaluations() engine.Evaluator {
	if e.cfg.Evaluate == Population {
		return champions{e}
	}
	return e.agents.Evaluations()
}

// champions evaluates the populations' solutions.
type champions struct{ *ERL }

// Prepare implements engine.Evaluator.
func (c champions) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	return c.population.candidates.Prepare(ctx, c.Generation().Solution(), episodes)
}

// Run implements engine.Evaluator.
func (c champions) Run(ctx context.Context, _ engine.Clock, episodes int) (engine.Evaluation, error) {
	return c.population.candidates.Evaluate(ctx, c.Generation().Solution(), episodes)
}

// Close implements engine.Evaluator.
func (c champions) Close() { c.population.candidates.Close() }
