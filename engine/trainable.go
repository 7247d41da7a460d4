package engine

import "context"

// Trainable is a workflow that another one can train, such as population based training: its members can be compared, copied
// and varied.
type Trainable interface {
	Workflow
	// Record records an iteration into a program. rows, unless nil, is called before the metrics are written to their ring, to add more.
	Record(r *Recorder, rows func(*Recorder))
	// Hyper returns the hyperparameters that may differ between members.
	Hyper() *Hyper
	// Evaluations returns the evaluator of Prepare and Evaluate, without recording Step's program.
	Evaluations() Evaluator
	// Fitness makes the evaluation of members for a program, with tensors in s and the given number of episodes per member, if it has episodes.
	Fitness(ctx context.Context, s *State, episodes int) (Fitness, error)
	// Config returns the configuration of the algorithm. Fields with the tag member are hyperparameters.
	Config() any
}

// Fitness records an evaluation of every member to fitness [M]; greater is better. Where members are evaluated by n > 1 episodes, it records the return
// of each to fitness [M, n] instead.
type Fitness func(r *Recorder, fitness *Tensor)

// PolicyInheritor is a Trainable with policies that can be copied without the rest of its members: critics, replays, random numbers.
type PolicyInheritor interface {
	Trainable
	// Policies returns what a member takes over of its source: the policies, and the moments of observations.
	Policies() []*Tensor
	// RenewPolicy records that what belongs to a policy alone begins anew where Policies were taken over, in members whose source [M] u32 is another number
	// than their own: its optimizer, its target, its temperature.
	RenewPolicy(r *Recorder, source *Tensor)
}
