package engine

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// tracer makes the spans of Learn: of iterations, evaluations and checkpoints. They go nowhere unless a program gives OpenTelemetry a provider.
var tracer = otel.Tracer("github.com/evorl/evorl/engine")

// traceIteration makes the span of an iteration that is done.
func traceIteration(ctx context.Context, began time.Time, iteration int) {
	_, span := tracer.Start(ctx, "iteration", trace.WithTimestamp(began), trace.WithAttributes(attribute.Int("iteration", iteration)))
	span.End()
}
