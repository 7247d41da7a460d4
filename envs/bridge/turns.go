package bridge

import (
	"context"

	"github.com/evorl/evorl/envs"
)

// Halve implements envs.Halver: each process has a part of both halves, and takes its steps in the order in which they begin.
func (st *stepper) Halve(ctx context.Context, split int) error {
	st.split = split
	return st.start(ctx)
}

// part returns a half's environments: first … end-1.
func (st *stepper) part(half int) (first, end int) {
	if half == 0 {
		return 0, st.split
	}
	return st.split, len(st.at)
}

// Begin implements envs.Halver. A process that has ended is noticed by Wait.
func (st *stepper) Begin(_ context.Context, half int, s *envs.Step) error {
	first, end := st.part(half)
	st.order(s, first, end)
	for _, of := range st.servers {
		for h := range of.halves {
			if of.halves[h].turn == half {
				st.post(of, h, s.Action)
			}
		}
	}
	st.taking[half], st.ahead[half] = s, false
	return nil
}

// Wait implements envs.Halver. After a failure nothing goes on before both halves' steps are over.
func (st *stepper) Wait(ctx context.Context, half int) error {
	if !st.ahead[half] {
		st.takeHalf(ctx, half)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(st.failed) > 0 {
		if err := st.settle(ctx); err != nil {
			return err
		}
	}
	st.taking[half], st.ahead[half] = nil, false
	first, end := st.part(half)
	clear(st.todo[first:end])
	return nil
}

// takeHalf waits for a half's step and takes it over.
func (st *stepper) takeHalf(ctx context.Context, half int) {
	s := st.taking[half]
	for _, of := range st.servers {
		for h := range of.halves {
			if of.halves[h].turn == half && of.posted[h] != 0 && !st.down[of] {
				st.take(ctx, of, h, s, st.observations(s))
			}
		}
	}
	st.ahead[half] = true
}

// settle takes over the steps that halves are taking, before they are waited for, and recovers from failures.
func (st *stepper) settle(ctx context.Context) error {
	var s *envs.Step
	for half := range 2 {
		if st.taking[half] == nil {
			continue
		}
		if s = st.taking[half]; !st.ahead[half] {
			st.takeHalf(ctx, half)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failed := st.errors()
	if len(failed) == 0 {
		return nil
	}
	return st.recover(ctx, s, failed)
}
