package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/evorl/evorl/envs"
)

// take waits for a half and takes over what its environments did.
func (st *stepper) take(ctx context.Context, of *server, h int, s *envs.Step, obs rows) {
	done := of.until(ctx, of.latest(h, st.cfg.Timeout))
	count, err := of.receive(h, messageDone)
	done()
	if err != nil {
		st.drop(ctx, of, err)
		return
	}
	half := &of.halves[h]
	var faults map[int]string
	if count > 0 {
		faults = half.faults()
	}
	for i := 0; i < half.n; i += st.seats {
		if err := st.takeWorld(of, half, i, s, obs, faults); err != nil {
			for e := half.first + i; e < half.first+i+st.seats; e++ {
				st.failed[e], st.good[e] = err, false
				if s != nil {
					s.Reward[e], s.Terminated[e], s.Truncated[e] = 0, false, false
				}
			}
		}
	}
}

// takeWorld takes over what a world did, whose agents are from number first of the half on.
func (st *stepper) takeWorld(of *server, half *halfView, first int, s *envs.Step, obs rows, faults map[int]string) error {
	over := s != nil && !s.Stay
	for i := first; i < first+st.seats; i++ {
		e := half.first + i
		if half.command[i] == 0 {
			continue
		}
		if half.status[i] != 0 {
			if text := faults[i]; text != "" {
				return errors.New(text)
			}
			return errors.New("the server says that it failed, and not why")
		}
		if err := st.takeOne(of, half, i, e, s, obs.of(e)); err != nil {
			return err
		}
		over = over && st.todo[e]&15 == commandStep && s.Ended(e)
	}
	if !over || st.seats == 1 {
		return nil
	}
	for i := first; i < first+st.seats; i++ { // agents that had left are in the new episode, too
		if half.command[i] == 0 && st.steps(half.first+i) {
			copy(obs.of(half.first+i), of.observation(half.obs, i))
			copy(st.last.of(half.first+i), obs.of(half.first+i))
		}
	}
	return nil
}

// takeOne takes over what an environment did.
func (st *stepper) takeOne(of *server, half *halfView, i, e int, s *envs.Step, obs []byte) error {
	if s == nil || st.todo[e]&15 != commandStep {
		copy(obs, of.observation(half.obs, i))
		if v, k := st.last.notFinite(obs); k >= 0 {
			return fmt.Errorf("the first observation of an episode has %v as its element %d; want finite numbers", v, k)
		}
		copy(st.last.of(e), obs)
		return nil
	}
	reward := half.reward[i]
	if !finite(reward) {
		return fmt.Errorf("its reward is %v; want a finite number", reward)
	}
	ended := half.ended[i]
	over := ended != 0 || s.Last[e]
	if over {
		final := st.finals(s).of(e)
		copy(final, of.observation(half.final, i))
		if v, k := st.last.notFinite(final); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", v, k)
		}
	}
	if !over || !s.Stay {
		copy(obs, of.observation(half.obs, i))
		if v, k := st.last.notFinite(obs); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", v, k)
		}
		copy(st.last.of(e), obs)
	}
	st.good[e] = true
	s.Reward[e], s.Terminated[e], s.Truncated[e] = reward, ended&endTerminated != 0, ended&endTruncated != 0
	return nil
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// faults returns what a server says of environments that failed, by their number in the half.
func (h *halfView) faults() map[int]string {
	text, _, _ := strings.Cut(string(h.fault), "\x00")
	of := map[int]string{}
	for line := range strings.Lines(text) {
		number, cause, ok := strings.Cut(strings.TrimSpace(line), "\t")
		var i int
		if _, err := fmt.Sscan(number, &i); ok && err == nil {
			of[i] = strings.ToValidUTF8(cause, "?")
		}
	}
	return of
}
