package evorl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// twoSessions learns a run of 20 iterations with two workers: it is interrupted after iteration 11, and resumed. One worker, on the device stays, takes part in
// both sessions; in each of them another one, on the device leaves, is stopped in iteration 7 and 17, after look has been called.
func twoSessions(
	t *testing.T, cfg *evorl.Config, path string, dev, stays, leaves *vk.Device, look func(run *evorl.Run, address evorl.ClusterConfig),
) {
	t.Helper()
	at, ended := evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}, make(chan error, 1)
	for session, begin := range []func(context.Context, *vk.Device, *evorl.Config, string, ...evorl.RunOption) (*evorl.Run, error){evorl.Start, evorl.Resume} {
		run, err := begin(t.Context(), dev, cfg, path, evorl.Clustered(at))
		if err != nil {
			t.Fatal(err)
		}
		address := evorl.ClusterConfig{Address: run.WorkersAddress()}
		if session == 0 {
			go func() { ended <- evorl.Work(t.Context(), stays, address, nil, func(text string) { t.Log(text) }) }()
			at.Address = "embed" + strings.TrimPrefix(address.Address, "nats")
		}
		short, stopWorker := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- evorl.Work(short, leaves, address, nil, nil) }()
		ctx, stop := context.WithCancel(t.Context())
		err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
			for r.Iteration == 2+12*session && run.Taking() < 3 {
				time.Sleep(time.Millisecond)
			}
			switch r.Iteration {
			case 7, 17:
				look(run, address)
				stopWorker()
			case 11:
				stop()
			}
			return nil
		})
		stop()
		if session == 0 != errors.Is(err, context.Canceled) || session == 1 && err != nil {
			t.Errorf("session %d ends with %v", session, err)
		}
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			t.Errorf("the worker that is stopped ends with %v", err)
		}
		if result, err := run.Result(t.Context()); err != nil || len(result.Members) == 0 {
			t.Errorf("result %+v, %v", result, err)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
		stopWorker()
	}
	if err := <-ended; err != nil {
		t.Errorf("the worker ends with %v", err)
	}
}

// configure returns the configuration of a workflow in CartPole-v1 with the given settings.
func configure(t *testing.T, workflow string, settings ...string) *evorl.Config {
	t.Helper()
	var options []evorl.Option
	for _, of := range settings {
		options = append(options, evorl.Set(of))
	}
	cfg, err := evorl.New(workflow, "CartPole-v1", options...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
