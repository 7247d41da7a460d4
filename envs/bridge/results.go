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
func (st *stepper) take(ctx context.Context, of *server, h int, s *envs.Step, obs []float32) {
	done := of.limit(ctx, st.cfg.Timeout)
	count, err := of.receive(h, messageDone)
	done()
	if err != nil {
		st.drop(ctx, of, err)
		return
	}
	half, size := &of.halves[h], st.size()
	var faults map[int]string
	if count > 0 {
		faults = half.faults()
	}
	for i := range half.n {
		command := half.command[i]
		e := half.first + i
		if command == 0 {
			continue
		}
		if half.status[i] != 0 {
			text := faults[i]
			if text == "" {
				text = "the server says that it failed, and not why"
			}
			st.failed[e] = errors.New(text)
			continue
		}
		if err := st.takeOne(of, half, i, e, s, obs[e*size:(e+1)*size]); err != nil {
			st.failed[e] = err
		}
	}
}

// takeOne takes over what an environment did.
func (st *stepper) takeOne(of *server, half *halfView, i, e int, s *envs.Step, obs []float32) error {
	size := st.size()
	last := st.last[e*size : (e+1)*size]
	if s == nil || st.todo[e]&15 != commandStep {
		of.decode(obs, half.obs, i)
		if k := notFinite(obs); k >= 0 {
			return fmt.Errorf("the first observation of an episode has %v as its element %d; want finite numbers", obs[k], k)
		}
		copy(last, obs)
		return nil
	}
	reward := half.reward[i]
	if !finite(reward) {
		return fmt.Errorf("its reward is %v; want a finite number", reward)
	}
	ended := half.ended[i]
	over := ended != 0 || s.Last[e]
	if over {
		final := s.Final[e*size : (e+1)*size]
		of.decode(final, half.final, i)
		if k := notFinite(final); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", final[k], k)
		}
	}
	if !over || !s.Stay {
		of.decode(obs, half.obs, i)
		if k := notFinite(obs); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", obs[k], k)
		}
		copy(last, obs)
	}
	st.good[e] = true
	s.Reward[e], s.Terminated[e], s.Truncated[e] = reward, ended&endTerminated != 0, ended&endTruncated != 0
	return nil
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// notFinite returns the place of a number that is not finite; -1: there is none.
func notFinite(row []float32) int {
	var sum float32
	for _, v := range row {
		sum += v - v
	}
	if sum == 0 {
		return -1
	}
	for k, v := range row {
		if !finite(v) {
			return k
		}
	}
	return -1
}

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
