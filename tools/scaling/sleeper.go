package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/hybrid"
)

// sleeper is members that sleep where agents learn. Their state is as large as that of agents, and stays with the worker who has it.
type sleeper struct {
	engine.Base
	study study
	slice int            // index
	done  *engine.Tensor // [M, counted] u32: the iterations done, the newest of each remainder
}

const (
	counted = 64 // of its last iterations that a member keeps
	tensors = 20 // that a member has besides, about as many as an agent
)

// build makes the members of a slice.
func (s study) build(_ context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
	w := &sleeper{Base: engine.NewBase(eng, members, 1), study: s, slice: eng.First() / s.Members}
	w.done = w.State().Tensor("done", engine.Uint32, engine.Members(members), engine.Axis("count", counted))
	if n := (s.State/4 - counted) / tensors; n > 0 {
		for i := range tensors {
			w.State().Tensor(fmt.Sprint("parameters/", i), engine.Float32, engine.Members(members), engine.Axis("parameter", n))
		}
	}
	w.Hyper().Add(varied, 1e-3)
	w.Metrics().Row(engine.ReturnMetric)
	of := engine.Description{Workflow: "virtual", Environment: "none", Members: members, StepsPerIter: members}
	init := func(context.Context) error { return nil }
	return w, w.Complete(engine.Parts{Description: of, Record: w.Record, Init: init, Evaluator: nobody{}})
}

// varied is the hyperparameter that PBT changes.
const varied = "learning_rate"

// Record implements engine.Trainable.
func (w *sleeper) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	r.Host("sleeping", func(ctx context.Context) error {
		next, _ := w.State().Position()
		select {
		case <-time.After(w.study.long(w.study.time(next-1, w.slice))):
		case <-ctx.Done():
			return ctx.Err()
		}
		members := w.Describe().Members
		all, err := w.done.ReadUint32(ctx)
		if err != nil {
			return err
		}
		for m := range members {
			all[m*counted+next%counted] = uint32(next)
		}
		return w.done.WriteUint32(ctx, all)
	})
	w.End(r, rows, 1)
}

// Fitness implements engine.Trainable: numbers that are the same whoever computes them.
func (w *sleeper) Fitness(context.Context, *engine.State, int) (engine.Fitness, error) {
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		r.Host("fitness", func(ctx context.Context) error {
			next, _ := w.State().Position()
			values := make([]float32, fitness.Len())
			for i := range values {
				values[i] = float32(binary.LittleEndian.Uint16(study{Bytes: 8}.result(next, w.slice*w.study.Members+i)))
			}
			return fitness.WriteFloat32(ctx, values)
		})
	}, nil
}

// Config implements engine.Trainable.
func (w *sleeper) Config() any { return struct{}{} }

// nobody evaluates members that do nothing.
type nobody struct{}

func (nobody) Prepare(context.Context, engine.Clock, int) error { return nil }
func (nobody) Run(context.Context, engine.Clock, int) (engine.Evaluation, error) {
	return engine.Evaluation{}, nil
}
func (nobody) Close() {}

// population makes PBT over the members, if they exchange.
func (s study) population(ctx context.Context, of engine.Trainable) (engine.Workflow, error) {
	if s.Interval == 0 {
		return of, nil
	}
	cfg := hybrid.DefaultPBT()
	cfg.Warmup, cfg.Interval, cfg.Episodes = s.Interval, s.Interval, 1
	cfg.Search = map[string]hybrid.Prior{varied: {Prior: hybrid.LogUniform, Low: 1e-4, High: 1e-2}}
	return hybrid.NewPBT(ctx, of, cfg)
}

// exchanges reports whether an iteration begins with an exchange.
func (s study) exchanges(iteration int) bool {
	return s.Interval > 0 && iteration > 0 && iteration%s.Interval == 0
}

// check checks that all members have done the iterations before the given one, each once, also those that became copies of others.
func check(ctx context.Context, w engine.Workflow, iterations int) error {
	all, err := w.State().Lookup("done").ReadUint32(ctx)
	if err != nil {
		return err
	}
	for i, got := range all {
		want := uint32(0)
		if of := i % counted; of <= iterations {
			want = uint32(iterations - (iterations-of)%counted)
		}
		if got != want {
			return fmt.Errorf("member %d has done iteration %d where it should be %d", i/counted, got, want)
		}
	}
	return nil
}
