package envs

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestLongRollout: a rollout so long that its dispatches are a repeated block ends in the same states, with the same
// sums, as one with a trajectory, which has its dispatches recorded one by one.
func TestLongRollout(t *testing.T) {
	const members, environments, horizon = 2, 3, 37*1024 + 777
	run := func(trajectory bool) (all [][]uint32, commands int) {
		eng := engine.New(open(t), engine.Seed(3))
		s := eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		ro, err := NewRollout(t.Context(), s, lookup(t, "CartPole-v1"), RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Trajectory: trajectory, Begin: true, Seen: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{s.Zero(t.Context()), s.Poison(t.Context()), clock.Tensor().WriteUint32(t.Context(), []uint32{4, 99})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p, err := eng.Record("long", func(r *engine.Recorder) { ro.Record(r, clock, nil) })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		before := eng.Device().Counters().Dispatches
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tensor := range []*engine.Tensor{ro.state, ro.ret, ro.finished, ro.seen} {
			values, err := tensor.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var words []uint32
			for _, v := range values {
				words = append(words, math.Float32bits(v))
			}
			all = append(all, words)
		}
		steps, err := ro.step.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return append(all, steps), int(eng.Device().Counters().Dispatches - before)
	}
	got, dispatches := run(false)
	want, single := run(true)
	if dispatches < single || dispatches > single+single/8 {
		t.Errorf("%d dispatches; want those %d of the trajectory and those that advance the clock", dispatches, single)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("tensor %d is %v; want %v", i, got[i], want[i])
		}
	}
}

// TestEndlessEvaluation: episodes of a billion steps are recorded in bounded memory, and stop when the context is
// cancelled.
func TestEndlessEvaluation(t *testing.T) {
	eng := engine.New(open(t))
	f := newFixture(t, eng, "Pendulum-v1", RolloutConfig{Members: 2, Environments: 1, Horizon: 1}, &nn.MLP{In: 3, Out: 1, Hidden: []int{4}})
	ev, err := NewEvaluator(t.Context(), f.state, f.env, Options{TimeLimit: 1<<30 - 1}, f.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := ev.Run(ctx, f.clock, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; want the context's", err)
	}
	runtime.ReadMemStats(&after)
	if took, grown := time.Since(began), after.TotalAlloc-before.TotalAlloc; took > 20*time.Second || grown > 8<<20 {
		t.Errorf("it took %v and %d bytes of the host's memory", took, grown)
	}
}
