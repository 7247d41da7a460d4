package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Player plays one seat of a game for one episode. It belongs to one goroutine.
type Player struct {
	sizes
	c        *Controller // nil: of a Sparring
	place    *place      // nil: by the script; guarded by c.mu
	sparring *Sparring   // nil: of a Controller
	lost     chan struct{}
	answer   chan answer

	seed   uint32
	obs    []float32 // what was asked with
	asked  bool      // and not answered
	reward float32   // since the last action
	over   bool
}

type answer struct {
	action []float32
	err    error
}

// Learning reports whether a learner acts for the player, and records what it does.
func (p *Player) Learning() bool {
	if p.c == nil {
		return false
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return p.place != nil
}

// Seed is a seed for what is random in the episode: it follows from the run's seed, from the learner's place and from the episodes there. Runs are
// repeatable if the game is, and its players claim places in the same order. 0 without a learner.
func (p *Player) Seed() uint32 { return p.seed }

// Act asks for an action, [D] in the environment's units, or [1] with the index of a discrete one, for what the player observes [O], and waits for it.
// It is Ask and Answer: a goroutine that plays several seats asks for all before it waits for any, since a learner acts for all of its players together.
func (p *Player) Act(ctx context.Context, obs []float32) (action []float32, err error) {
	if err := p.Ask(obs); err != nil {
		return nil, err
	}
	return p.Answer(ctx)
}

// Reward adds to the reward of the last action. Before the first one it is not counted.
func (p *Player) Reward(r float32) { p.reward += r }

// Ask asks for an action for what the player observes [O].
//
// Errors: another number of elements, numbers that are not finite, ErrOrder. The episode is cut off then.
func (p *Player) Ask(obs []float32) error {
	err := p.check(obs)
	switch {
	case p.over || p.asked:
		return fmt.Errorf("controller: %w", ErrOrder)
	case err == nil && !finite(p.reward):
		err = fmt.Errorf("a reward of %v; want a finite number", p.reward)
	}
	if err != nil {
		p.Leave()
		return fmt.Errorf("controller: %w", err)
	}
	p.obs, p.asked = append(p.obs[:0], obs...), true
	reward := p.reward
	p.reward = 0
	switch {
	case p.sparring != nil:
		return p.sparring.ask(p)
	default:
		p.c.mu.Lock()
		defer p.c.mu.Unlock()
		if p.place != nil {
			p.place.ask(obs, reward)
		}
	}
	return nil
}

// Answer waits for the action that Ask asked for. The result belongs to the caller.
//
// Errors: ctx's, after which the player has left; ErrNoLearner; ErrOrder; what a Sparring's policy returned.
func (p *Player) Answer(ctx context.Context) (action []float32, err error) {
	if p.over || !p.asked {
		return nil, fmt.Errorf("controller: %w", ErrOrder)
	}
	p.asked = false
	if p.sparring != nil {
		return p.sparring.answer(ctx, p)
	}
	if !p.Learning() && len(p.answer) == 0 {
		return p.scripted()
	}
	var impatient <-chan time.Time
	if p.c.cfg.Patience > 0 {
		t := time.NewTimer(p.c.cfg.Patience)
		defer t.Stop()
		impatient = t.C
	}
	select {
	case a := <-p.answer:
		return a.action, a.err
	case <-p.lost:
		select {
		case a := <-p.answer: // before the episode was cut off
			return a.action, a.err
		default:
			return p.scripted()
		}
	case <-impatient:
		if a, ok := p.release(); ok {
			return a.action, a.err
		}
		return p.scripted()
	case <-ctx.Done():
		p.Leave()
		return nil, context.Cause(ctx)
	}
}

// scripted returns the script's action.
func (p *Player) scripted() ([]float32, error) {
	if p.c.cfg.Script == nil {
		return nil, fmt.Errorf("controller: %w", ErrNoLearner)
	}
	action := make([]float32, p.sizes.action)
	p.c.cfg.Script(slices.Clone(p.obs), action)
	return action, nil
}

// End ends the episode, at what the player observes after its last action [O]. terminated: it ended by itself, and has no future; false: it was cut off, as
// by a time limit. Without an action before, nothing is recorded. After Leave, End and cuts it does nothing.
//
// Errors: as Ask. A place in which an episode ended is free for the next player.
func (p *Player) End(obs []float32, terminated bool) error {
	switch err := p.check(obs); {
	case p.over:
		return nil
	case p.asked:
		p.Leave()
		return fmt.Errorf("controller: the end between a question and its answer: %w", ErrOrder)
	case err == nil && !finite(p.reward):
		p.Leave()
		return fmt.Errorf("controller: a reward of %v; want a finite number", p.reward)
	case err != nil:
		p.Leave()
		return fmt.Errorf("controller: %w", err)
	}
	p.over = true
	if p.c == nil {
		return nil
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if pl := p.place; pl != nil {
		p.place = nil
		pl.end(obs, p.reward, terminated)
	}
	return nil
}

// Leave ends the episode where it is, if it has not ended: it is cut off at what was observed last.
func (p *Player) Leave() {
	p.over = true
	if p.c != nil {
		p.release()
	}
}

// release gives the player's place back, unless it has been answered.
func (p *Player) release() (a answer, answered bool) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	select {
	case a = <-p.answer:
		if !p.over {
			return a, true
		}
	default:
	}
	if pl := p.place; pl != nil {
		p.place = nil
		pl.leave()
	}
	return a, false
}

var errClosed = errors.New("controller: the sparring is closed")
