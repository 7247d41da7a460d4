// Package controller is for games that drive: the game's own loop decides when time passes, and asks for actions where its players act. Everywhere else in
// evorl a learner steps an environment; here the game calls.
//
//	c, err := controller.New(spec, controller.Config{Script: script})
//	go func() { // the game
//		for {
//			player, err := c.Claim(ctx) // a learner wants a player
//			if err != nil {
//				return
//			}
//			go match(ctx, player)
//		}
//	}()
//	ppo, err := rl.NewPPO(ctx, eng, c.Environment(), rl.DefaultPPO())
//
// and in the match, at every tick,
//
//	action, err := player.Act(ctx, observation) // waits until the learner has acted
//	…                                           // the game goes on
//	player.Reward(1)
//	player.End(observation, true)               // once
//
// A learner acts for all of its players together: it waits until each has asked, or until Config.Deadline. Players of a Sparring act by a policy that does
// not learn, in a loop of their own.
package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Config configures a Controller. The zero value is ready: it waits for players without a limit, and has no script.
type Config struct {
	// Script plays for players without a learner: those of Join where no learner wants one, and those whose episode was cut off. It writes an action,
	// [D] or [1] with the index of a discrete one, for what a player observes. It is called by the players' goroutines. nil: they get ErrNoLearner.
	Script func(obs, action []float32)
	// Deadline is how long a learner that has acted waits for its players to ask again. Late ones' episodes are cut off: truncated, without a reward, at what
	// they observed last; the players go on by Script, and others take their place. 0: it waits.
	Deadline time.Duration
	// ClaimTimeout is how long a learner waits for a player to claim a free place and to ask; after it the run ends with an error. 0: it waits.
	ClaimTimeout time.Duration
	// Patience is how long a player waits for an action, such as while the learner computes its updates. After it the player's episode is cut off as by Deadline,
	// and it goes on by Script. 0: it waits.
	Patience time.Duration
}

// Errors of players.
var (
	ErrNoLearner = errors.New("no learner acts for this player, and there is no script")
	ErrOrder     = errors.New("a player asks, is answered, and asks again until it ends")
)

// Controller is where a game's players meet learners. It is safe for concurrent use.
type Controller struct {
	spec envs.Spec
	cfg  Config
	env  *envs.Environment

	mu      sync.Mutex
	open    []*place  // free places of learners, in the order in which they became free
	waiters []*waiter // who waits for one
}

type waiter struct{ given chan *Player }

// New makes a controller of players with the observations and actions of spec, which describes one player, and as envs.NewOutside takes it: without Saved,
// Agents and Halves.
//
// Errors: as envs.NewOutside; negative durations.
func New(spec envs.Spec, cfg Config) (*Controller, error) {
	if cfg.Deadline < 0 || cfg.ClaimTimeout < 0 || cfg.Patience < 0 {
		return nil, fmt.Errorf("controller: deadline %v, claim timeout %v, patience %v; want at least 0", cfg.Deadline, cfg.ClaimTimeout, cfg.Patience)
	}
	if spec.Saved != 0 || spec.Agents > 1 || spec.Halves != envs.AtOnce {
		return nil, errors.New("controller: the Spec has Saved, Agents or Halves; want none: it describes one player of a game that goes on by itself")
	}
	c := &Controller{spec: spec, cfg: cfg}
	var err error
	c.env, err = envs.NewOutside(spec, func(_ context.Context, n int, _ uint32) (envs.Stepper, error) { return newStepper(c, n), nil })
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	return c, nil
}

// Environment returns what agents and searches learn in: each of its copies is a place for a player, an episode at a time. Training, and evaluations of every
// size, have places of their own, and evaluations act while players of the training wait.
func (c *Controller) Environment() *envs.Environment { return c.env }

// Claim waits until a learner has a free place, and returns a player for an episode in it. Call its Leave or End at the end.
//
// Errors: ctx's.
func (c *Controller) Claim(ctx context.Context) (*Player, error) {
	c.mu.Lock()
	if len(c.open) > 0 {
		defer c.mu.Unlock()
		return c.take(), nil
	}
	w := &waiter{given: make(chan *Player, 1)}
	c.waiters = append(c.waiters, w)
	c.mu.Unlock()
	select {
	case p := <-w.given:
		return p, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	c.waiters = slices.DeleteFunc(c.waiters, func(x *waiter) bool { return x == w })
	c.mu.Unlock()
	select {
	case p := <-w.given: // in the meantime
		p.Leave()
	default:
	}
	return nil, context.Cause(ctx)
}

// Join returns a player in a learner's free place, or, without one, a player by Script. It does not wait.
func (c *Controller) Join() *Player {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) > 0 {
		return c.take()
	}
	return c.player(nil)
}

// take gives the place that has been free for the longest time to a player.
func (c *Controller) take() *Player {
	pl := c.open[0]
	c.open = c.open[1:]
	return pl.seat()
}

// offer makes a place free.
func (c *Controller) offer(pl *place) {
	pl.state, pl.since, pl.player = free, time.Now(), nil
	pl.episode++
	if len(c.waiters) == 0 {
		c.open = append(c.open, pl)
		return
	}
	w := c.waiters[0]
	c.waiters = c.waiters[1:]
	w.given <- pl.seat()
}

func (c *Controller) player(pl *place) *Player {
	return &Player{c: c, place: pl, sizes: sizesOf(c.spec), answer: make(chan answer, 1), lost: make(chan struct{})}
}

// seedOf returns the seed of an episode.
func seedOf(seed, episode uint32) uint32 {
	return engine.Philox([2]uint32{seed, episode}, [4]uint32{})[0]
}

// sizes are the elements of an observation, and the numbers of an action.
type sizes struct{ obs, action int }

func sizesOf(spec envs.Spec) sizes {
	s := sizes{spec.Observation.Size(), spec.Action.Size()}
	if spec.Action.IsDiscrete() {
		s.action = 1
	}
	return s
}

// check checks an observation.
func (s sizes) check(obs []float32) error {
	if len(obs) != s.obs {
		return fmt.Errorf("an observation of %d elements; want %d", len(obs), s.obs)
	}
	for i, v := range obs {
		if !finite(v) {
			return fmt.Errorf("an observation with %v as its element %d; want finite numbers", v, i)
		}
	}
	return nil
}

func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
