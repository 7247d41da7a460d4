package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/evorl/evorl/envs"
)

// check counts failures; too many are an error.
func (st *stepper) check(failed map[int]error) error {
	for i := range st.at {
		err, ok := failed[i]
		if !ok || st.counted[err] {
			continue
		}
		st.counted[err] = true // a process that fails is one failure of all its environments
		if st.fails.Add(Failure{Environment: i / st.seats, Err: err}) > st.cfg.Restarts {
			more := "[bridge] restarts is 0"
			if st.cfg.Restarts > 0 {
				more = fmt.Sprintf("after %d restarts, as many as [bridge] restarts allows", st.cfg.Restarts)
			}
			return &envs.OutsideError{Environment: i, Err: fmt.Errorf("%w (%s)", err, more)}
		}
	}
	return nil
}

// renew begins new episodes in environments that failed, made anew.
func (st *stepper) renew(ctx context.Context, obs rows, failed map[int]error) error {
	for len(failed) > 0 {
		if err := st.check(failed); err != nil {
			return err
		}
		clear(st.todo)
		for i := range failed {
			if st.todo[i] = commandAnew; st.down[st.servers[st.at[i]]] {
				st.todo[i] = commandReset // in a new process it is new
			}
			st.renewed[i]++
			st.lost[i] = nil
		}
		if err := st.exchange(ctx, nil, nil, obs); err != nil {
			return err
		}
		failed = st.errors()
	}
	return nil
}

// drop notes that a server failed, with all its environments that have a command. The others fail at their next step.
func (st *stepper) drop(ctx context.Context, of *server, err error) {
	if ctx.Err() != nil {
		return // the run ends, not the server
	}
	err = st.ended(ctx, of, err)
	st.down[of], of.dropped = true, true
	for i := range of.n {
		if e := of.number(i); st.commanded(e) {
			st.failed[e] = err
		} else {
			st.lost[e] = err
		}
	}
}

// ended ends a server that failed, and says how.
func (st *stepper) ended(ctx context.Context, of *server, err error) error {
	err = of.explainAnswer(ctx, err, st.cfg)
	if at := of.at(); at >= 0 {
		err = fmt.Errorf("process %d of environments %v, at environment %d: %w", of.command.Process.Pid, of.portion, at/st.seats, err)
	} else {
		err = fmt.Errorf("process %d of environments %v: %w", of.command.Process.Pid, of.portion, err)
	}
	of.kill()
	return fmt.Errorf("%w%s", err, of.said())
}

// explainAnswer says what was wrong with an answer.
func (s *server) explainAnswer(ctx context.Context, err error, cfg Config) error {
	var wrong *answerError
	if errors.As(err, &wrong) {
		return err
	}
	return s.explain(ctx, err, cfg.Timeout, "answered")
}

// restart starts servers that have ended anew, unless there are environments in them that were to go on: these failed.
func (st *stepper) restart(ctx context.Context) error {
	for k, of := range st.servers {
		select {
		case <-of.exited:
		default:
			continue
		}
		if st.stepping(of) {
			st.drop(ctx, of, io.EOF)
			continue
		}
		if !of.dropped { // none of its environments had anything to do
			st.drop(ctx, of, io.EOF)
			delete(st.down, of)
			for i := range of.n { // those that are to be reset are not lost
				delete(st.failed, of.number(i))
			}
		}
		begun, err := st.begin(ctx, of.portion)
		if err != nil {
			return fmt.Errorf("restarting: %w", err)
		}
		if err := of.free(); err != nil {
			return errors.Join(err, begun.close())
		}
		st.servers[k] = begun
	}
	return nil
}

// stepping reports whether environments of a server have a step to take.
func (st *stepper) stepping(of *server) bool {
	for i := range of.n {
		if e := of.number(i); st.steps(e) && st.lost[e] == nil {
			return true
		}
	}
	return false
}

// commanded reports whether the world of agent i has a command.
func (st *stepper) commanded(i int) bool {
	for _, command := range st.todo[i/st.seats*st.seats : (i/st.seats+1)*st.seats] {
		if command != 0 {
			return true
		}
	}
	return false
}
