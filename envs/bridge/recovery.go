package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/evorl/evorl/envs"
)

// check counts failures; too many are an error.
func (st *stepper) check(failed map[int]error) error {
	counted := map[error]bool{}
	for i := range st.at {
		err, ok := failed[i]
		if !ok || counted[err] {
			continue
		}
		counted[err] = true // a process that fails is one failure of all its environments
		if st.fails.add(Failure{Environment: i, Err: err}) > st.cfg.Restarts {
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
func (st *stepper) renew(ctx context.Context, obs []float32, failed map[int]error) error {
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
		}
		if err := st.exchange(ctx, nil, nil, obs); err != nil {
			return err
		}
		failed = st.errors()
	}
	return nil
}

// drop notes that a server failed, with all its environments that are not idle.
func (st *stepper) drop(ctx context.Context, of *server, err error) {
	if ctx.Err() != nil {
		return // the run ends, not the server
	}
	err = of.explainAnswer(ctx, err, st.cfg)
	if at := of.at(); at >= 0 {
		err = fmt.Errorf("process %d of environments %d to %d, at environment %d: %w", of.command.Process.Pid, of.first, of.first+of.n-1, of.first+at, err)
	} else {
		err = fmt.Errorf("process %d of environments %d to %d: %w", of.command.Process.Pid, of.first, of.first+of.n-1, err)
	}
	of.kill()
	err = fmt.Errorf("%w%s", err, of.said())
	st.down[of] = true
	for i := of.first; i < of.first+of.n; i++ {
		if st.todo[i] != 0 {
			st.failed[i] = err
		}
	}
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
		if slices.ContainsFunc(st.todo[of.first:of.first+of.n], func(command byte) bool { return command&15 == commandStep }) {
			st.drop(ctx, of, io.EOF)
			continue
		}
		begun, err := st.begin(ctx, of.first, of.n)
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
