package hybrid

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracer makes the spans of slices of members.
var tracer = otel.Tracer("github.com/evorl/evorl/hybrid")

// bench is what does slices one after the other, a device or a worker, for the spans of what it does.
type bench struct {
	worker string
	free   time.Time // when it had done the one before
}

// begin begins an operation of a slice. What computes gets a span, from when the device is free for it, as the host gives it the next one before that.
func (b *bench) begin(ctx context.Context, m *memberSlice, op sliceOp) (ending, error) {
	work := op.work()
	if work == "" {
		return m.begin(ctx, op)
	}
	began := time.Now()
	end, err := m.begin(ctx, op)
	if err != nil {
		b.span(ctx, m, op, began, err)
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) {
		result, err := end(ctx)
		b.span(ctx, m, op, began, err)
		return result, err
	}, nil
}

// work names what an operation computes; "": it only moves data.
func (o sliceOp) work() string {
	switch o.Kind {
	case opStep:
		return "iteration"
	case opFitness:
		return "fitness"
	case opEvaluate:
		return "evaluation"
	}
	return ""
}

// span makes the span of an operation that is done.
func (b *bench) span(ctx context.Context, m *memberSlice, op sliceOp, began time.Time, err error) {
	if began.Before(b.free) {
		began = b.free
	}
	b.free = time.Now()
	about := []attribute.KeyValue{attribute.String("worker", b.worker), attribute.String("work", op.work()), attribute.Int("first_member", m.first),
		attribute.Int("members", m.members)}
	if op.Kind == opStep {
		about = append(about, attribute.Int("iteration", op.N+1))
	}
	_, span := tracer.Start(ctx, "slice", trace.WithTimestamp(began), trace.WithAttributes(about...))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(b.free))
}
