// Package traces sends what a process does to a collector of OpenTelemetry, if its environment names one.
//
// Spans are made where the work is done, by the tracers of the packages: engine's of iterations, evaluations and checkpoints, engine/cluster's of slices of
// candidates, hybrid's of slices of members, and evorl's of runs and workers. Without a collector they cost some 100 ns each.
package traces

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// flushTime is how long the end of a process waits for a collector.
const flushTime = 5 * time.Second

// Begin sends spans from now on to the collector that OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names, by OTLP over HTTP; without
// either, or where OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER none, it does nothing. OpenTelemetry's other variables apply. warn is told of a
// collector that cannot be reached, once. end sends what is left.
//
// Errors: of an address or a protocol that evorl does not have.
func Begin(ctx context.Context, version string, warn func(error)) (end func(), err error) {
	nothing := func() {}
	if !wanted() {
		return nothing, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if of := os.Getenv(name); of != "" && of != "http/protobuf" {
			return nothing, fmt.Errorf("traces: %s is %q: want http/protobuf", name, of)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nothing, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "evorl"), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithHost(), resource.WithProcessPID())
	if err != nil {
		return nothing, fmt.Errorf("traces: %w", err)
	}
	told := false
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !told {
			warn(fmt.Errorf("traces: %w", err))
		}
		told = true
	}))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}

func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// The span of another process travels as W3C's traceparent.
const parent = "traceparent"

// Parent returns the span of ctx for other processes, "" if nothing is traced.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[parent]
}

// Under returns a context whose spans belong to another process's, that of Parent; "" and what is none are left out.
func Under(ctx context.Context, of string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parent: of})
}
