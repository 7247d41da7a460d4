package envs

import (
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
)

// meanEpisodes returns each world's mean return over the seats that took part in its episode, and the longest of their
// episodes, from all seats' returns and episodes.
func meanEpisodes(returns []float32, words []uint32, seats int) ([]float32, []uint32) {
	if seats == 1 {
		return returns, words
	}
	means, lengths := make([]float32, len(words)/seats), make([]uint32, len(words)/seats)
	for i := range means {
		means[i], lengths[i] = meanSeats(returns[i*seats:(i+1)*seats], words[i*seats:(i+1)*seats])
	}
	return means, lengths
}

// ownEpisodes returns the return and the episode of the seat that each world's member plays itself, by the rows of all seats, and the largest return of
// the others.
func ownEpisodes(returns []float32, words, rows []uint32, seats, environments int) (own, others []float32, lengths []uint32) {
	own, others, lengths = make([]float32, len(words)/seats), make([]float32, len(words)/seats), make([]uint32, len(words)/seats)
	for i := range own {
		others[i] = float32(math.Inf(-1))
		for seat := range seats {
			if at := i*seats + seat; int(rows[at]) == i/environments {
				own[i], lengths[i] = returns[at], words[at]
			} else {
				others[i] = max(others[i], returns[at])
			}
		}
	}
	return own, others, lengths
}

// seatReturns returns the returns of all seats, NaN for a seat that took no part in its episode.
func seatReturns(returns []float32, words []uint32) []float32 {
	out := slices.Clone(returns)
	for i, w := range words {
		if EpisodeWord(w).Steps() == 0 {
			out[i] = float32(math.NaN())
		}
	}
	return out
}

// meanSeats is meanEpisodes for one world; the word belongs to the longest episode.
func meanSeats(returns []float32, words []uint32) (mean float32, word uint32) {
	sum, n := float32(0), float32(0)
	for seat, w := range words {
		if EpisodeWord(w).Steps() == 0 {
			continue // it took no part
		}
		sum, n = sum+returns[seat], n+1
		if EpisodeWord(w).Steps() > EpisodeWord(word).Steps() {
			word = w
		}
	}
	return sum / max(n, 1), word
}

// recordMeans records the mean [M·E] over the seats of each world of the returns of episodes that ended.
func (ro *Rollout) recordMeans(r *engine.Recorder, means *engine.Tensor) {
	worlds, seat := engine.Members(ro.cfg.Members*ro.cfg.Environments), engine.Axis("seat", ro.env.Seats())
	engine.Mean(r, means.View(worlds), ro.finished.Index(1).View(worlds, seat), ro.finished.Index(0).View(worlds, seat), 1)
}

// RecordSeatReturns records the mean return [A] of the episodes that ended in the last recording, of each seat over all
// members and environments; NaN for a seat if none of its episodes ended. With one agent there is one seat.
func (ro *Rollout) RecordSeatReturns(r *engine.Recorder, returns *engine.Tensor) {
	worlds, seats := engine.Environments(ro.cfg.Members*ro.cfg.Environments), engine.Members(ro.env.Seats())
	engine.Mean(r, returns.View(seats), ro.finished.Index(1).View(worlds, seats), ro.finished.Index(0).View(worlds, seats), 1)
}

// developSeats makes an episode of several agents from what was recorded, each [T, …].
func developSeats(env *Environment, states, returns, actions []float32, words, flags []uint32) *Episode {
	seats, size, width := env.Seats(), env.StateSize(), env.ActionWords()
	_, longest := meanSeats(returns[:seats], words)
	var before float32
	e := &Episode{States: [][]float32{states[:size]}, Steps: EpisodeWord(longest).Steps(), Done: EpisodeWord(longest).Done()}
	for t := range len(flags) / seats {
		at, over := t*seats, true
		var action []float32
		for seat := range seats {
			over = over && Done(flags[at+seat]).Over()
			action = append(action, env.Action.unscaled(actions[(at+seat)*width:(at+seat+1)*width])...)
		}
		sums := returns[at+seats : at+2*seats]
		mean, _ := meanSeats(sums, words)
		e.States = append(e.States, states[(t+1)*size:(t+2)*size])
		e.Actions, e.Rewards = append(e.Actions, action), append(e.Rewards, mean-before)
		e.Returns, e.Seats = append(e.Returns, mean), append(e.Seats, sums)
		if before = mean; over {
			break
		}
	}
	return e
}
