package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/envs"
)

// state is what the player of a place does.
type state int

const (
	closed   state = iota // no episode follows
	free                  // the place wants a player
	claimed               // it has one, which has not asked yet
	asked                 // the player waits for an action, or has left while it waited
	answered              // the player has an action
)

// place is a copy of the environment, in which players act one after the other. Its fields are guarded by the controller's mutex.
type place struct {
	st      *stepper
	i       int
	state   state
	since   time.Time // when it became free
	player  *Player
	last    []float32 // what was observed last
	seed    uint32    // of the last reset
	episode uint32    // since then
}

// stepper makes steps of what players do: a step is over when every player has asked again, or has ended and the next one has asked. It is an envs.Stepper.
type stepper struct {
	c       *Controller
	places  []*place
	step    *envs.Step    // the present one; nil: of a reset
	obs     []float32     // [E, O]: where observations go
	missing int           // places without an observation to act on
	full    chan struct{} // closed when there are none
}

func newStepper(c *Controller, n int) *stepper {
	st := &stepper{c: c}
	for i := range n {
		st.places = append(st.places, &place{st: st, i: i, last: make([]float32, c.spec.Observation.Size())})
	}
	return st
}

func (st *stepper) Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error {
	st.c.mu.Lock()
	st.begin(nil, obs)
	for i := range st.places {
		if which == nil || which[i] {
			st.missing++
		}
	}
	for i, pl := range st.places {
		if which == nil || which[i] {
			pl.cut()
			pl.seed, pl.episode = seeds[i], 0
			st.c.offer(pl)
		}
	}
	st.c.mu.Unlock()
	return st.gather(ctx, 0)
}

func (st *stepper) Step(ctx context.Context, s *envs.Step) error {
	words := len(s.Action) / len(st.places)
	st.c.mu.Lock()
	st.begin(s, s.Obs)
	for i, pl := range st.places {
		if !s.Idle[i] {
			s.Reward[i] = 0
			st.missing++
			if pl.state != asked {
				st.c.mu.Unlock()
				return &envs.OutsideError{Environment: i, Err: errors.New("a step without an episode; want a reset before")}
			}
		}
	}
	for i, pl := range st.places {
		switch {
		case s.Idle[i]:
		case pl.player == nil: // it left while it waited
			pl.cutOff()
		default:
			pl.state = answered
			pl.player.answer <- answer{action: append([]float32(nil), s.Action[i*words:(i+1)*words]...)}
		}
	}
	st.c.mu.Unlock()
	return st.gather(ctx, st.c.cfg.Deadline)
}

// begin makes ready for observations.
func (st *stepper) begin(s *envs.Step, obs []float32) {
	st.step, st.obs, st.missing, st.full = s, obs, 0, make(chan struct{})
}

// gather waits until there is an observation in every place. After the deadline, 0 for none, the episodes of late players are cut off.
func (st *stepper) gather(ctx context.Context, deadline time.Duration) error {
	st.c.mu.Lock()
	full, missing := st.full, st.missing
	st.c.mu.Unlock()
	if missing == 0 {
		return nil
	}
	var late, claims <-chan time.Time
	if deadline > 0 {
		t := time.NewTimer(deadline)
		defer t.Stop()
		late = t.C
	}
	if limit := st.c.cfg.ClaimTimeout; limit > 0 {
		t := time.NewTicker(max(limit/8, time.Millisecond))
		defer t.Stop()
		claims = t.C
	}
	for {
		select {
		case <-full:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			late = nil
			st.c.mu.Lock()
			for _, pl := range st.places {
				if pl.state == answered {
					pl.lose()
					pl.cutOff()
				}
			}
			st.c.mu.Unlock()
		case <-claims:
			if err := st.unclaimed(); err != nil {
				return err
			}
		}
	}
}

// unclaimed returns an error if a place has had no player who asks for too long.
func (st *stepper) unclaimed() error {
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	limit := st.c.cfg.ClaimTimeout
	for i, pl := range st.places {
		if time.Since(pl.since) < limit {
			continue
		}
		switch pl.state {
		case free:
			return &envs.OutsideError{Environment: i, Err: fmt.Errorf(
				"no player has claimed its place within %v; want as many players at once as there are environments, %d", limit, len(st.places))}
		case claimed:
			return &envs.OutsideError{Environment: i, Err: fmt.Errorf("a player has claimed its place, and has not asked for an action within %v", limit)}
		}
	}
	return nil
}

// Close cuts all episodes off.
func (st *stepper) Close() error {
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	for _, pl := range st.places {
		pl.cut()
		pl.state = closed
	}
	return nil
}

// row returns a place's observation.
func (pl *place) row(of []float32) []float32 {
	n := len(pl.last)
	return of[pl.i*n : (pl.i+1)*n]
}

// seat gives the place to a player.
func (pl *place) seat() *Player {
	p := pl.st.c.player(pl)
	p.seed = seedOf(pl.seed, pl.episode)
	pl.state, pl.player = claimed, p
	return p
}

// arrived notes that there is an observation to act on, or that none follows.
func (pl *place) arrived() {
	if pl.st.missing--; pl.st.missing == 0 {
		close(pl.st.full)
	}
}

// ask takes what the player observes: the first observation of an episode, or that after its action.
func (pl *place) ask(obs []float32, reward float32) {
	copy(pl.last, obs)
	s := pl.st.step
	if pl.state == answered {
		s.Reward[pl.i] = reward
		if s.Last[pl.i] { // a time limit of the rollout's
			copy(pl.row(s.Final), obs)
			pl.lose()
			pl.next()
			return
		}
	}
	copy(pl.row(pl.st.obs), obs)
	pl.state = asked
	pl.arrived()
}

// end takes the end of an episode.
func (pl *place) end(obs []float32, reward float32, terminated bool) {
	if pl.state != answered {
		pl.leave()
		return
	}
	s := pl.st.step
	copy(pl.row(s.Final), obs)
	s.Reward[pl.i], s.Terminated[pl.i], s.Truncated[pl.i] = reward, terminated, !terminated
	pl.next()
}

// leave gives up what the player was doing.
func (pl *place) leave() {
	pl.player = nil
	switch pl.state {
	case claimed:
		pl.st.c.offer(pl)
	case answered:
		pl.cutOff()
	}
}

// cutOff ends the episode within a step, at what was observed last.
func (pl *place) cutOff() {
	s := pl.st.step
	copy(pl.row(s.Final), pl.last)
	s.Truncated[pl.i] = true
	pl.next()
}

// next makes the place free after an episode, if another one follows.
func (pl *place) next() {
	pl.player = nil
	if pl.st.step.Stay {
		pl.state = closed
		pl.arrived()
		return
	}
	pl.st.c.offer(pl)
}

// lose tells the player that it has lost the place.
func (pl *place) lose() {
	if p := pl.player; p != nil {
		p.place, pl.player = nil, nil
		close(p.lost)
	}
}

// cut takes the place from its player, and from those that are free.
func (pl *place) cut() {
	pl.lose()
	if pl.state == free {
		c := pl.st.c
		for k, of := range c.open {
			if of == pl {
				c.open = append(c.open[:k:k], c.open[k+1:]...)
				break
			}
		}
	}
}
