package vk

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestCut(t *testing.T) {
	ms := func(times ...int) (out []time.Duration) {
		for _, x := range times {
			out = append(out, time.Duration(x)*time.Millisecond)
		}
		return out
	}
	for _, c := range []struct {
		times []time.Duration
		want  []int
	}{
		{nil, nil},
		{ms(10, 10, 10), nil},
		{ms(20, 20, 20, 20), []int{2}},
		{ms(200, 1, 1), []int{1}},
		{ms(1, 200, 200, 1), []int{1, 2, 3}},
		{ms(0, 0, 50, 0, 50), []int{4}},
	} {
		if got := cut(c.times, 50*time.Millisecond); !slices.Equal(got, c.want) {
			t.Errorf("cut(%v) = %v, want %v", c.times, got, c.want)
		}
	}
}

// Later runs may find more to do in any of the dispatches of a kernel than the measured one did.
func TestLevel(t *testing.T) {
	rollout, other := &pipeline{}, &pipeline{}
	many, one := [3]uint32{8, 1, 1}, [3]uint32{1, 1, 1}
	ops := []op{{}, {pipeline: rollout, groups: many}, {pipeline: rollout, groups: many}, {pipeline: other, groups: many},
		{pipeline: rollout, groups: many}, {pipeline: rollout, groups: one}}
	times := []time.Duration{7, 40, 0, 3, 1, 2}
	level(ops, times)
	if want := []time.Duration{7, 40, 40, 3, 40, 2}; !slices.Equal(times, want) {
		t.Errorf("times %v; want %v", times, want)
	}
}

// A program over the budget is split after it was measured. The results do not change.
func TestSlicing(t *testing.T) {
	const ops, steps, words = 12, 60_000, 160
	noTimestamps := Option(reshape(func(p *physical) { p.info.Limits.TimestampPeriod = 0 }))
	for _, v := range append(slices.Clone(variants), struct {
		name string
		opts []Option
	}{"no timestamps", []Option{noTimestamps}}) {
		t.Run(v.name, func(t *testing.T) {
			d := openTest(t, append([]Option{SliceBudget(2 * time.Millisecond)}, v.opts...)...)
			x := newTestBuffer(t, d, words, Local)
			writeWords(t, x, make([]uint32, words))
			p := d.NewProgram("sliced")
			for range ops {
				p.Dispatch(spinCall(x.All(), steps))
			}
			build(t, p)
			if n := p.Stats().Submissions; n != 1 {
				t.Errorf("%d submissions before the first run", n)
			}
			const runs = 4
			for range runs {
				run(t, p)
			}
			if n := p.Stats().Submissions; n < 2 || n > ops {
				t.Errorf("%d submissions a run, want 2 to %d", n, ops)
			}
			if got, want := readWords(t, x)[7], spin(0, 1664525, runs*ops*steps); got != want {
				t.Errorf("x = %d, want %d", got, want)
			}
			if c := d.Counters(); c.Dispatches != runs*ops || c.Submissions < runs+2 {
				t.Errorf("counters: %+v", c)
			}
		})
	}
	t.Run("within the budget", func(t *testing.T) {
		d := openTest(t, SliceBudget(time.Minute))
		x := newTestBuffer(t, d, 8, Local)
		p := d.NewProgram("short")
		for range 300 {
			p.Dispatch(spinCall(x.All(), 1))
		}
		build(t, p)
		for range 3 {
			run(t, p)
		}
		if n := p.Stats().Submissions; n != 1 {
			t.Errorf("%d submissions, want 1", n)
		}
	})
	t.Run("first run of a GPU", func(t *testing.T) {
		d := openTest(t, SliceBudget(time.Minute), reshape(func(p *physical) { p.info.Type = DiscreteGPU }))
		x := newTestBuffer(t, d, 8, Local)
		p := d.NewProgram("long")
		for range 2*firstChunk + 1 {
			p.Dispatch(spinCall(x.All(), 1))
		}
		build(t, p)
		for i, want := range []uint64{3, 4, 5} { // 3 submissions, then 1 a run
			run(t, p)
			if got := d.Counters().Submissions; got != want {
				t.Errorf("%d submissions after run %d, want %d", got, i, want)
			}
		}
	})
}

func TestProfile(t *testing.T) {
	for _, budget := range []time.Duration{time.Minute, 2 * time.Millisecond} {
		d := openTest(t, SliceBudget(budget))
		x, y := newTestBuffer(t, d, 160, Local), newTestBuffer(t, d, 8, Local)
		p := d.NewProgram("profiled")
		p.Fill(x.All(), 0)
		for range 5 {
			long := spinCall(x.All(), 60_000)
			long.Label = "long"
			p.Dispatch(long)
			p.Dispatch(spinCall(y.All(), 1))
		}
		build(t, p)
		run(t, p)
		run(t, p)
		before := d.Counters()
		times, err := p.Profile(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c := d.Counters(); c.Dispatches-before.Dispatches != 10 {
			t.Errorf("%d dispatches of the profiled run, want 10", c.Dispatches-before.Dispatches)
		}
		calls := map[string]int{}
		for _, k := range times {
			calls[k.Label] = k.Calls
		}
		if len(times) != 3 || calls["long"] != 5 || calls["spin"] != 5 || calls["fill"] != 1 {
			t.Errorf("profile %+v", times)
		}
		first := func() bool {
			return times[0].Label == "long" && (d.Info().Limits.TimestampPeriod == 0 || times[0].Time >= 5*times[1].Time)
		}
		for tries := 1; tries < 3 && !first(); tries++ { // other processes may have interrupted a short kernel
			if times, err = p.Profile(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if !first() {
			t.Errorf("the long kernel does not come first by far: %+v", times)
		}
		if got, want := readWords(t, x)[0], spin(0, 1664525, 300_000); got != want {
			t.Errorf("the profiled run computed %d, want %d", got, want)
		}
		run(t, p)
	}
}
