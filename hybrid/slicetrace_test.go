package hybrid

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// TestSliceTraces: each slice has a span of each iteration, by the device or the worker that did it, and the spans of one do not overlap.
func TestSliceTraces(t *testing.T) {
	spans, was := tracetest.NewSpanRecorder(), tracer
	tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("")
	t.Cleanup(func() { tracer = was }) // after the workers have ended
	w, crowd := sliced{"ppo", slicedPPO, nil, true}.assisted(t)
	initialized(t, w)
	steps(t, w, 0, 1)
	crowd.join(immortal, true)
	ctx, outer := tracer.Start(t.Context(), "outer")
	slices := Innermost(w).(*Slices)
	for i := 1; i < 4; i++ {
		slices.homed, slices.homing = time.Now(), time.Hour // so that they stay where they are
		ticket, err := w.Step(ctx, i)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	outer.End()
	type part struct{ first, iteration int64 }
	done, free := map[part]string{}, map[string]time.Time{}
	for _, s := range spans.Ended() {
		if s.Name() != "slice" {
			continue
		}
		of := map[attribute.Key]attribute.Value{}
		for _, a := range s.Attributes() {
			of[a.Key] = a.Value
		}
		by, p := of["worker"].AsString(), part{of["first_member"].AsInt64(), of["iteration"].AsInt64()}
		if of["work"].AsString() != "iteration" || done[p] != "" {
			t.Errorf("a span with %v; want one of each slice and iteration", s.Attributes())
		}
		if done[p] = by; s.StartTime().Before(free[by]) {
			t.Errorf("%s begins %v at %v, before it has ended the one before, at %v", by, p, s.StartTime(), free[by])
		}
		if free[by] = s.EndTime(); p.iteration > 1 && by[0] == '0' && s.Parent().SpanID() != trace.SpanContextFromContext(ctx).SpanID() {
			t.Errorf("the span of %v is not under that of the steps", p)
		}
	}
	away := 0
	for p, by := range done {
		if by == "worker 1" {
			away++
		} else if by[0] != '0' {
			t.Errorf("%v was done by %q", p, by)
		}
	}
	if len(done) != 3*4 || away != 3 {
		t.Errorf("%v; want 3 slices in 4 iterations, one slice of the last 3 by the worker", done)
	}
}
