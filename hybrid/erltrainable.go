package hybrid

import (
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
