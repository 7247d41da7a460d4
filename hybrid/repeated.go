package hybrid

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// ERL and CEMRL are engine.Trainables: a member is an agent with its population, or a search with its critics. PBT
// copies it whole, and varies the agents' hyperparameters.

// Repeats returns the error of settings with which iterations of ERL differ, so that PBT cannot train it; nil: none.
func (c ERLConfig) Repeats() error {
	switch {
	case c.Injection > 1:
		return config.Invalid("erl.injection", "PBT trains ERL whose iterations are all the same; want 1")
	case c.Agents > 1:
		return config.Invalid("erl.agents", "PBT copies agents with their populations; want 1 per population")
	}
	return repeats("erl", c.Warmup, c.Updates)
}

// Repeats returns the error of settings with which iterations of CEM-RL differ, so that PBT cannot train it; nil: none.
func (c CEMRLConfig) Repeats() error { return repeats("cem-rl", c.Warmup, c.Updates) }

func repeats(section string, warmup int, updates Count) error {
	switch {
	case warmup > 0:
		return config.Invalid(section+".warmup", "PBT trains workflows whose iterations are all the same; want 0")
	case updates != Fixed:
		return config.Invalid(section+".updates", "PBT trains workflows whose iterations are all the same; want \"fixed\"")
	}
	return nil
}

// Record implements engine.Trainable: an iteration with an injection. Settings with which iterations differ are
// recording errors (ERLConfig.Repeats).
func (e *ERL) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	e.repeat(r, e.cfg.Repeats(), injecting, rows)
}

// Record implements engine.Trainable: an iteration with learners. Settings with which iterations differ are recording
// errors (CEMRLConfig.Repeats).
func (c *CEMRL) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	c.repeat(r, c.cfg.Repeats(), learning, rows)
}

// repeat records an iteration of a phase, unless err is not nil.
func (j *joint) repeat(r *engine.Recorder, err error, of phase, rows func(*engine.Recorder)) {
	if err != nil {
		r.Fail(err)
		return
	}
	j.method.before(r, of)
	j.method.after(r, of, rows)
}
