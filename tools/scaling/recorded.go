package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/evorl/evorl"
)

// recorder keeps how long the slices of a run take, from their spans.
type recorder struct {
	mu    sync.Mutex
	times map[[2]int]time.Duration // by iteration, from 1, and slice or first member
}

func (r *recorder) OnStart(context.Context, trace.ReadWriteSpan) {}
func (r *recorder) Shutdown(context.Context) error               { return nil }
func (r *recorder) ForceFlush(context.Context) error             { return nil }

// OnEnd implements trace.SpanProcessor.
func (r *recorder) OnEnd(s trace.ReadOnlySpan) {
	if s.Name() != "slice" {
		return
	}
	var at [2]int
	for _, a := range s.Attributes() {
		switch a.Key {
		case "iteration":
			at[0] = int(a.Value.AsInt64())
		case "slice", "first_member":
			at[1] = int(a.Value.AsInt64())
		}
	}
	if at[0] > 0 { // else an evaluation or a fitness
		r.mu.Lock()
		defer r.mu.Unlock()
		r.times[at] = s.EndTime().Sub(s.StartTime())
	}
}

// spans is of the process: OpenTelemetry takes the first provider that it is given.
var spans = trace.NewTracerProvider()

// record runs a configuration in slices, with nobody else, and writes how long each slice took in each iteration but the first, which compiles kernels.
func record(ctx context.Context, path, config string, settings ...string) (err error) {
	r := &recorder{times: map[[2]int]time.Duration{}}
	spans.RegisterSpanProcessor(r)
	defer spans.UnregisterSpanProcessor(r)
	otel.SetTracerProvider(spans)
	var options []evorl.Option
	for _, of := range settings {
		options = append(options, evorl.Set(of))
	}
	cfg, err := evorl.Read(config, options...)
	if err != nil {
		return err
	}
	dev, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	dir, err := os.MkdirTemp("", "scaling")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	run, err := evorl.Start(ctx, dev, cfg, filepath.Join(dir, "run"), evorl.Clustered(evorl.ClusterConfig{Address: "embed://127.0.0.1:0"}))
	if err != nil {
		return err
	}
	if err := errors.Join(run.Learn(ctx), run.Close()); err != nil {
		return err
	}
	return r.write(path)
}

// write writes the times, by iteration and slice.
func (r *recorder) write(path string) error {
	rows := [][]string{{"iteration", "slice", "ms"}}
	var all [][2]int
	for at := range r.times {
		if at[0] > 1 {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	slice := 0
	for i, at := range all {
		if slice++; i == 0 || at[0] != all[i-1][0] {
			slice = 0
		}
		rows = append(rows, []string{strconv.Itoa(at[0]), strconv.Itoa(slice), strconv.FormatFloat(r.times[at].Seconds()*1e3, 'f', 4, 64)})
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}

// readTimes reads what write wrote: by iteration and slice.
func readTimes(path string) (all [][]time.Duration, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	last := ""
	for _, row := range rows[min(1, len(rows)):] {
		ms, err := strconv.ParseFloat(row[len(row)-1], 64)
		if err != nil || !(ms > 0) || len(row) != 3 {
			return nil, fmt.Errorf("%s: a line %q; want iteration, slice, ms", path, row)
		}
		if row[0] != last {
			all, last = append(all, nil), row[0]
		}
		of := &all[len(all)-1]
		*of = append(*of, time.Duration(ms*float64(time.Millisecond)))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no times of slices; want those of -record", path)
	}
	return all, nil
}

// time returns how long a slice of an iteration takes: as recorded, over and over, or always the same.
func (s study) time(iteration, slice int) time.Duration {
	if len(s.times) == 0 {
		return s.Slice
	}
	of := s.times[iteration%len(s.times)]
	return of[slice%len(of)]
}

// ideal returns how long an iteration takes if all workers are busy all the time.
func (s study) ideal(iteration int) time.Duration {
	var sum time.Duration
	for k := range s.slices() {
		sum += s.time(iteration, k)
	}
	return sum / time.Duration(s.Workers)
}

// replay reads the recorded times of a study, whose slices then take their mean.
func (s *study) replay() (err error) {
	if s.Times == "" {
		return nil
	}
	if s.times, err = readTimes(s.Times); err != nil {
		return err
	}
	var sum time.Duration
	n := 0
	for _, of := range s.times {
		for _, t := range of {
			sum, n = sum+t, n+1
		}
	}
	s.Slice = sum / time.Duration(n)
	return nil
}
