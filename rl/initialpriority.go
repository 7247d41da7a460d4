package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// InitialPriority is the priority of new transitions in a replay with priorities.
type InitialPriority uint32

const (
	LargestPriority InitialPriority = iota // the member's largest (T. Schaul et al., 2016, algorithm 1, line 6)
	ErrorPriority                          // of their errors by the values that acted (D. Horgan et al., "Distributed Prioritized Experience Replay", 2018)
)

var initialPriorityNames = [...]string{"max", "td-error"}

func (p InitialPriority) String() string { return config.NameOf(p, initialPriorityNames[:]) }

// UnmarshalText parses a name: max or td-error.
func (p *InitialPriority) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "initial priority", initialPriorityNames[:], text)
}

// MarshalText returns the name.
func (p InitialPriority) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "initial priority", initialPriorityNames[:])
}

// initialErrors are the errors of the transitions that an iteration appends, by which they get their first priorities: of the values that acted, and of as many
// steps as learning has, or those that there are yet. The learner's device computes them from the trajectory, whoever acted.
type initialErrors struct {
	discount *engine.Tensor // [M]
	by       *envs.Policy   // that acts, or whose values count where actions are random; set before a trajectory is appended
	batch    ReplayBatch    // [M, T · E]
	compute  func(r *engine.Recorder, by nn.Weights, b ReplayBatch) *engine.Tensor
}

// prioritize makes the replay's new transitions [M, T · E] get the priorities of their errors [M, T · E], which compute records by parameters [M, …].
func (y *Replay) prioritize(s *engine.State, discount *engine.Tensor, compute func(*engine.Recorder, nn.Weights, ReplayBatch) *engine.Tensor) {
	y.initial = &initialErrors{discount: discount, compute: compute, batch: y.newBatch(s, y.own.slots.Len()/y.rings, engine.Members(y.rings))}
}

// errorsOf records the errors of the rows that a trajectory was appended to; those of rows that are no transitions have no meaning.
func (y *Replay) errorsOf(r *engine.Recorder, slots *engine.Tensor) *engine.Tensor {
	e := y.initial
	k := y.reader(e.batch, e.discount)
	k.Drawn, k.Clock, k.Update = slots.Range(), y.head.Range(), y.head.Range() // no random numbers are drawn
	if e.by.Normalizer != nil {
		k.Normalizer = e.by.Normalizer.Range()
	}
	y.gather(r, k, e.batch)
	params := e.by.Params // of equal copies, where environments explore differently
	return e.compute(r, nn.Weights{Params: params.View(engine.Members(y.rings), engine.Axis("parameter", params.Len()/y.rings))}, e.batch)
}
