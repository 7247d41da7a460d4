package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Policy acts for n players together: for what they observe, obs [n, O], it writes actions [n, D], of a discrete space [n] with the index.
type Policy func(ctx context.Context, n int, obs, actions []float32) error

// SparringConfig configures a Sparring.
type SparringConfig struct {
	Batch    int           // players for which the policy acts together at most; 0: 64
	Deadline time.Duration // how long the first of them waits for others; 0: not at all
}

// Sparring lets players act by a policy that does not learn, such as an opponent's, in a loop of its own: nothing that they do is recorded, and learners do not
// wait for them. It is safe for concurrent use.
type Sparring struct {
	sizes
	act   Policy
	cfg   SparringConfig
	queue chan *Player
	ctx   context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// NewSparring begins the loop. Close ends it.
//
// Errors: no policy, a negative configuration, spaces without elements.
func NewSparring(spec envs.Spec, act Policy, cfg SparringConfig) (*Sparring, error) {
	s := &Sparring{sizes: sizesOf(spec), act: act, cfg: cfg}
	switch {
	case act == nil:
		return nil, fmt.Errorf("controller: %w", &engine.NilError{What: "policy of a sparring"})
	case cfg.Batch < 0 || cfg.Deadline < 0:
		return nil, fmt.Errorf("controller: a sparring with batch %d and deadline %v; want at least 0", cfg.Batch, cfg.Deadline)
	case s.sizes.obs < 1 || s.sizes.action < 1:
		return nil, errors.New("controller: a sparring whose Spec has no observations or no actions; want both")
	}
	if s.cfg.Batch == 0 {
		s.cfg.Batch = 64
	}
	s.queue = make(chan *Player, s.cfg.Batch)
	s.ctx, s.end = context.WithCancel(context.Background())
	s.done.Go(s.loop)
	return s, nil
}

// Player returns a player for an episode.
func (s *Sparring) Player() *Player {
	return &Player{sparring: s, sizes: s.sizes, answer: make(chan answer, 1)}
}

// Close ends the loop. Players that wait get an error.
func (s *Sparring) Close() error {
	s.end()
	s.done.Wait()
	return nil
}

func (s *Sparring) ask(p *Player) error {
	select {
	case s.queue <- p:
		return nil
	case <-s.ctx.Done():
		return errClosed
	}
}

func (s *Sparring) answer(ctx context.Context, p *Player) ([]float32, error) {
	select {
	case a := <-p.answer:
		return a.action, a.err
	case <-ctx.Done():
		p.over = true // an answer may still come
		return nil, context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, errClosed
	}
}

// loop answers the players that ask, in batches.
func (s *Sparring) loop() {
	for {
		batch := s.gather()
		if len(batch) == 0 {
			return
		}
		obs, actions := make([]float32, 0, len(batch)*s.sizes.obs), make([]float32, len(batch)*s.sizes.action)
		for _, p := range batch {
			obs = append(obs, p.obs...)
		}
		err := s.act(s.ctx, len(batch), obs, actions)
		for i, p := range batch {
			if err != nil {
				p.answer <- answer{err: fmt.Errorf("controller: the policy of a sparring: %w", err)}
				continue
			}
			p.answer <- answer{action: actions[i*s.sizes.action : (i+1)*s.sizes.action : (i+1)*s.sizes.action]}
		}
	}
}

// gather waits for the next players; there are none when the loop ends.
func (s *Sparring) gather() (batch []*Player) {
	select {
	case p := <-s.queue:
		batch = append(batch, p)
	case <-s.ctx.Done():
		return nil
	}
	var late <-chan time.Time
	if s.cfg.Deadline > 0 {
		t := time.NewTimer(s.cfg.Deadline)
		defer t.Stop()
		late = t.C
	}
	for len(batch) < s.cfg.Batch {
		if late == nil {
			select {
			case p := <-s.queue:
				batch = append(batch, p)
				continue
			default:
				return batch
			}
		}
		select {
		case p := <-s.queue:
			batch = append(batch, p)
		case <-late:
			return batch
		case <-s.ctx.Done():
			return nil
		}
	}
	return batch
}
