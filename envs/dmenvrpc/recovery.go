package dmenvrpc

import (
	"context"
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

// count counts the failures of a call; too many are an error.
func (st *stepper) count() error {
	for i, err := range st.failed {
		if err == nil {
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

// recover joins the worlds of environments that failed anew, and begins sequences in them.
func (st *stepper) recover(ctx context.Context, obs []float32) error {
	for {
		if err := st.count(); err != nil {
			return err
		}
		again := false
		for i, err := range st.failed {
			st.failed[i], st.begins[i] = nil, err != nil
			if err == nil {
				continue
			}
			again = true
			if err := st.rejoin(ctx, i, true); err != nil {
				return &envs.OutsideError{Environment: i, Err: fmt.Errorf("joining its world anew: %w", err)}
			}
		}
		if !again {
			return nil
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
