package cluster

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

var tracer = otel.Tracer("github.com/evorl/evorl/engine/cluster")

// Worker is one of those who do a run's slices.
type Worker struct {
	name string
	link Link
}

// NewWorker makes a worker with a name of its own.
func NewWorker(name string, link Link) (*Worker, error) {
	if name == "" || link == nil {
		return nil, errors.New("cluster: a worker without a name or a link; want both")
	}
	return &Worker{name, link}, nil
}

// Name returns the worker's name.
func (w *Worker) Name() string { return w.name }

// Join makes the worker take part in a run. It returns the step with which the worker begins, and the replica at its beginning.
func (w *Worker) Join(ctx context.Context) (step int, state []byte, err error) {
	return w.link.Join(ctx, w.name)
}

// Sync begins a step, before the worker's replica, which state returns, changes. The result is what the replica must become; nil: what it is.
func (w *Worker) Sync(ctx context.Context, step int, state func() ([]byte, error)) ([]byte, error) {
	return w.link.Sync(ctx, w.name, step, state)
}

// Compared reports whether a step is one in which the replicas are compared. Reading a state takes time, so that few steps are.
func (w *Worker) Compared(step int) bool { return step%comparedEvery == comparedEvery-1 }

const comparedEvery = 64

// Step does a step's slices together with the other workers: it calls do for each slice that it is given, and returns the results of all, by index.
// state is the digest of the worker's replica; "" if it is not compared.
//
// Errors: of do, after which the worker has left the run; *DisagreementError and *StateError, which end the run; *LeftError if the worker was given up.
func (w *Worker) Step(ctx context.Context, step, slices int, state string, do func(ctx context.Context, slice int) ([]byte, error)) ([][]byte, error) {
	if slices < 1 {
		return nil, fmt.Errorf("cluster: a step of %d slices; want at least 1", slices)
	}
	r := Report{Worker: w.name, Step: step, Slices: slices, State: state}
	for {
		o, err := w.link.Exchange(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case o.Results != nil && len(o.Results) != slices:
			return nil, fmt.Errorf("cluster: worker %s: %d results of step %d; want those of %d slices", w.name, len(o.Results), step, slices)
		case o.Results != nil:
			return o.Results, nil
		case o.Slice < 0 || o.Slice >= slices:
			return nil, fmt.Errorf("cluster: worker %s: an order for slice %d of step %d; want 0 to %d", w.name, o.Slice, step, slices-1)
		}
		result, err := w.traced(ctx, step, o.Slice, do)
		if err != nil {
			err = fmt.Errorf("cluster: worker %s: slice %d of step %d: %w", w.name, o.Slice, step, err)
			w.link.Leave(w.name, err)
			return nil, err
		}
		r.Done, r.Result = o.Slice, result
	}
}

// traced does a slice in a span of its own.
func (w *Worker) traced(ctx context.Context, step, slice int, do func(ctx context.Context, slice int) ([]byte, error)) ([]byte, error) {
	ctx, span := tracer.Start(ctx, "slice",
		trace.WithAttributes(attribute.Int("iteration", step+1), attribute.Int("slice", slice), attribute.String("worker", w.name)))
	defer span.End()
	result, err := do(ctx, slice)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return result, err
}

// Leave ends the worker's part in the run; cause is nil if it is no failure.
func (w *Worker) Leave(cause error) { w.link.Leave(w.name, cause) }
