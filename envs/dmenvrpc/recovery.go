package dmenvrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
)

// fail notes that environment i failed, if it did.
func (st *stepper) fail(i int, err error) {
	if err == nil {
		return
	}
	st.failed[i], st.lost[i] = err, err
	if l := st.links[i]; l != nil {
		l.cancel(err)
	}
}

// counts reports whether the failure of environment i is one of its own. A server that is gone is one failure, of all environments that had joined before,
// although those that it had answered notice only when they ask again; and so are all that it does not answer in one call.
func (st *stepper) counts(i int, silent *bool) bool {
	var late *timeoutError
	switch err := st.failed[i]; {
	case gone(err):
		if st.links[i].epoch < st.epoch {
			return false
		}
		st.epoch++
	case errors.As(err, &late):
		if *silent {
			return false
		}
		*silent = true
	}
	return true
}

// count counts the failures of a call; too many are an error.
func (st *stepper) count() error {
	silent := false
	for i, err := range st.failed {
		if err == nil || !st.counts(i, &silent) {
			continue
		}
		if st.fails.Add(bridge.Failure{Environment: i, Err: err}) > st.cfg.Restarts {
			more := fmt.Sprintf("[%s] restarts is 0", Section)
			if st.cfg.Restarts > 0 {
				more = fmt.Sprintf("after %d restarts, as many as [%s] restarts allows", st.cfg.Restarts, Section)
			}
			return &envs.OutsideError{Environment: i, Err: fmt.Errorf("%w (%s)", err, more)}
		}
	}
	return nil
}

// rejoinLost joins the worlds of those of the chosen environments anew whose streams were given up, and waits for the server.
func (st *stepper) rejoinLost(ctx context.Context, chosen []bool) error {
	for i, l := range st.links {
		var late *timeoutError
		if chosen[i] && l != nil && errors.As(st.lost[i], &late) {
			if err := st.renew(i, l.conn); err != nil {
				return &envs.OutsideError{Environment: i, Err: err}
			}
		}
	}
	err := st.rejoinAll(ctx, func(i int) bool { return chosen[i] && st.lost[i] != nil }, true)
	var of *envs.OutsideError
	if errors.As(err, &of) {
		of.Err = fmt.Errorf("joining its world anew: %w", of.Err)
	}
	return errors.Join(err, st.retire(st.links))
}

// recover joins the worlds of environments that failed anew, and begins sequences in them.
func (st *stepper) recover(ctx context.Context, obs []float32) error {
	for {
		if err := st.count(); err != nil {
			return err
		}
		again := false
		for i, err := range st.failed {
			st.failed[i], st.begins[i] = nil, err != nil
			again = again || err != nil
		}
		if !again {
			return nil
		}
		if err := st.rejoinLost(ctx, st.begins); err != nil {
			return err
		}
		err := st.each(ctx, func(first, end int) {
			for i := first; i < end; i++ {
				if st.begins[i] {
					st.fail(i, st.sendBegin(st.links[i], false, nil))
				}
			}
			st.receiveBegins(first, end, obs)
		})
		if err != nil {
			return err
		}
	}
}
