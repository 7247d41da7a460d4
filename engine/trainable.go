package engine

import "context"

// Trainable is a workflow that another can be made over, such as population based training: one whose members can be compared, copied
// and varied.
type Trainable interface {
	Workflow
	// Record records an iteration into a program; rows, unless nil, is called before the metrics are put into their ring, to add to them.
	Record(r *Recorder, rows func(*Recorder))
	// Hyper lists the hyperparameters that may differ between members.
	Hyper() *Hyper
	// Evaluations runs the evaluation episodes of Prepare and Evaluate, without recording Step's program.
	Evaluations() Evaluator
	// Fitness makes what evaluates the members within a program, its tensors in s, by so many episodes of each where there are episodes.
	Fitness(ctx context.Context, s *State, episodes int) (Fitness, error)
	// Config is the configuration of the algorithm. Its fields with the tag member are hyperparameters.
	Config() any
}

// Fitness records evaluating every member into fitness [P]; greater is better.
type Fitness func(r *Recorder, fitness *Tensor)
