package envs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// What checkpoints have of an environment whose Stepper is a Saver: these words, the observation to act on next, and the Stepper's bytes.
const (
	savedBegun   = iota // 1: there is an episode
	savedEpisode        // an EpisodeWord
	savedReturn         // bits of the return so far
	savedSeed           // of the last Reset
	savedCount          // episodes since then
	savedHead           // their number
)

// newSaved makes the tensor of what checkpoints have of the environments, and says what happens when a run is saved and resumed. It is each
// member's own: what a copied member takes along is the business of hostedCopies.
func (h *hosted) newSaved(s *engine.State) {
	c, env := h.ro.cfg, h.ro.env
	if c.Begin || env.Saved == 0 {
		if !c.Begin {
			s.Lose(fmt.Sprintf("the environments of %q are not in checkpoints: new episodes begin in them, so that it does not continue exactly", env.Name))
		}
		s.OnResume(func(context.Context) error {
			h.begun = false // checkpoints do not hold what is outside
			return nil
		})
		return
	}
	policies := max(c.Policies, 1)
	h.saved = s.Tensor("outside", engine.Uint32, engine.Members(c.Members/policies), engine.Environments(c.Environments*policies),
		engine.Axis("word", savedHead+env.ObsSize()+(env.Saved+3)/4)).Own()
	h.copies = newCopies(s, c.Members/policies)
	s.OnSave(h.failing(h.save))
	s.OnResume(h.failing(h.load))
}

// save writes the environments to their tensor.
func (h *hosted) save(ctx context.Context) error {
	words := make([]uint32, h.saved.Len())
	if !h.begun {
		return h.saved.WriteUint32(ctx, words)
	}
	state := make([]byte, (h.ro.env.Saved+3)/4*4)
	for i, e := range h.episodes {
		row := h.savedRow(words, i)
		row[savedBegun], row[savedEpisode], row[savedReturn], row[savedSeed], row[savedCount] = 1, e.word(), math.Float32bits(e.ret), h.seeds[i], e.count
		obs := row[savedHead:]
		for k, v := range h.obs.row(i) {
			obs[k] = math.Float32bits(v)
		}
		clear(state)
		if err := h.stepper.(Saver).Save(i, state[:h.ro.env.Saved]); err != nil {
			return &OutsideError{Environment: i, Err: fmt.Errorf("saving it: %w", err)}
		}
		for k := range len(state) / 4 {
			obs[h.ro.env.ObsSize()+k] = binary.LittleEndian.Uint32(state[4*k:])
		}
	}
	return h.saved.WriteUint32(ctx, words)
}

// load continues the environments from their tensor.
func (h *hosted) load(ctx context.Context) error {
	h.begun = false
	words, err := h.saved.ReadUint32(ctx)
	if err != nil || words[savedBegun] == 0 {
		return err
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	state := make([]byte, (h.ro.env.Saved+3)/4*4)
	for i := range h.episodes {
		row := h.savedRow(words, i)
		word := EpisodeWord(row[savedEpisode])
		h.episodes[i] = hostedEpisode{steps: word.Steps(), ret: math.Float32frombits(row[savedReturn]), done: word.Done(), count: row[savedCount]}
		h.seeds[i], h.words[i], h.returns[i] = row[savedSeed], uint32(word), h.episodes[i].ret
		obs := row[savedHead:]
		for k := range h.obs.row(i) {
			h.obs.row(i)[k] = math.Float32frombits(obs[k])
		}
		for k := range len(state) / 4 {
			binary.LittleEndian.PutUint32(state[4*k:], obs[h.ro.env.ObsSize()+k])
		}
		if err := h.stepper.(Saver).Load(i, h.seeds[i], row[savedCount], state[:h.ro.env.Saved]); err != nil {
			return &OutsideError{Environment: i, Err: fmt.Errorf("loading it: %w", err)}
		}
	}
	h.begun = true
	return h.flush()
}

// trySave finds out at the beginning of a run, instead of at its first checkpoint, whether environments can be saved.
func (h *hosted) trySave() error {
	if h.saved == nil {
		return nil
	}
	if err := h.stepper.(Saver).Save(0, make([]byte, h.ro.env.Saved)); err != nil {
		return &OutsideError{Environment: 0, Err: fmt.Errorf("saving it: %w", err)}
	}
	return nil
}

// savedRow returns environment i's words.
func (h *hosted) savedRow(words []uint32, i int) []uint32 {
	n := len(words) / len(h.episodes)
	return words[i*n : (i+1)*n]
}

// in adds to an error where it is of: a step or another part of a recording and, if it is that of one environment, whose.
func (h *hosted) in(err error, where string) error {
	if err == nil || errors.Is(err, engine.ErrEndBlock) {
		return err
	}
	var one *OutsideError
	if !errors.As(err, &one) || one.Environment < 0 || one.Environment >= len(h.episodes) {
		return fmt.Errorf("%s: %w", where, err)
	}
	perMember, seats := h.ro.places()*max(h.ro.cfg.Policies, 1), h.ro.env.Seats()
	return fmt.Errorf("%s, environment %d of member %d, after %d steps of its episode: %w", where,
		one.Environment%perMember/seats, one.Environment/perMember, h.episodes[one.Environment].steps, err)
}
