package envs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestSeats compares every transition of worlds with several agents with an emulation in Go, and the log-probabilities
// with networks in float64: ends, time limits, agents that leave, reset modes, networks evaluated by the kernel and before it.
func TestSeats(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	sample, drift, crowd := sampleWorld(t), driftWorld(t), crowdWorld(t)
	gaussian := func(p *Policy) { p.Head.Squash = true; p.Normalizer = nil }
	for i, c := range []struct {
		world   seatWorld
		options Options
		policy  func(*Policy)
		actions ActionForm
	}{
		{sample, Options{}, func(*Policy) {}, Sampled},
		{sample, Options{TimeLimit: 7, ActionRepeat: 2, RewardScale: 0.5}, func(p *Policy) { p.Normalizer = nil }, Sampled},
		{sample, Options{TimeLimit: 6, AutoReset: Fast, SparseReward: true}, valueOutputs(0, false), Sampled},
		{sample, Options{TimeLimit: 12, AutoReset: Disabled}, func(*Policy) {}, Sampled},
		{sample, Options{TimeLimit: 9, ActionRepeat: 2}, func(*Policy) {}, Sampled},
		{drift, Options{}, gaussian, Applied},
		{drift, Options{TimeLimit: 10, ActionRepeat: 3}, func(*Policy) {}, Sampled},
		{drift, Options{AutoReset: Disabled}, stateDependent, Sampled},
		{crowd, Options{TimeLimit: 9}, func(*Policy) {}, Sampled},
		{crowd, Options{TimeLimit: 8, AutoReset: Disabled, ActionRepeat: 2}, func(*Policy) {}, Sampled},
	} {
		placement := []Placement{PlacementStream, PlacementStepped}[i%2]
		if c.world.env.stored {
			placement = PlacementStepped // no other has room for its state
		}
		t.Run(fmt.Sprintf("%s/%+v/%v", c.world.env.Name, c.options, placement), func(t *testing.T) {
			cfg := RolloutConfig{Members: 3, Environments: 11, Horizon: 20, Options: c.options, Trajectory: true, Actions: c.actions}
			f := fixtureIn(t, eng, c.world.env, cfg, small, c.policy, func(p *Policy) { p.Placement = placement })
			if got, err := f.ro.Placement(f.policy, eng.Device().Info()); got != placement || err != nil {
				t.Fatalf("its placement is %v (%v); want %v", got, err, placement)
			}
			e := emulate(f, c.world)
			for range 3 {
				f.advance()
				e.compare()
			}
			e.compareSeats()
			if c.world.env.Name != drift.env.Name && !(e.left > 3) || !(e.ended > 3) {
				t.Errorf("%d episodes ended, %d agents left; want a test of more", e.ended, e.left)
			}
		})
	}
}

// TestSeatsRandom compares random actions, of which a dispatch takes many steps, with the emulation, and without trajectories what is left of them.
func TestSeatsRandom(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	sample, drift, crowd := sampleWorld(t), driftWorld(t), crowdWorld(t)
	for _, c := range []struct {
		world   seatWorld
		options Options
		horizon int
	}{
		{sample, Options{TimeLimit: 7, ActionRepeat: 2, RewardScale: 0.5}, 20},
		{sample, Options{TimeLimit: 6, AutoReset: Fast, SparseReward: true}, 500},
		{sample, Options{TimeLimit: 12, AutoReset: Disabled}, 20},
		{drift, Options{}, 20},
		{drift, Options{AutoReset: Disabled}, 20},
		{crowd, Options{AutoReset: Fast, SparseReward: true}, 20},
	} {
		t.Run(fmt.Sprintf("%s/%+v", c.world.env.Name, c.options), func(t *testing.T) {
			cfg := RolloutConfig{Members: 3, Environments: 11, Horizon: c.horizon, Options: c.options, Trajectory: true}
			f := fixtureIn(t, eng, c.world.env, cfg, nil)
			cfg.Trajectory = false
			without := fixtureIn(t, eng, c.world.env, cfg, nil)
			most := f.ro.dispatchSteps(eng.Device().Info(), nil, f.ro.seatIterations())
			if c.horizon > 20 && most >= c.horizon {
				t.Fatalf("%d steps are a single dispatch, of up to %d", c.horizon, most)
			}
			e := emulate(f, c.world)
			for range 2 {
				f.advance()
				e.compare()
				without.advance()
				for what, of := range map[string]func(*Rollout) *engine.Tensor{
					"state": func(ro *Rollout) *engine.Tensor { return ro.state }, "return": func(ro *Rollout) *engine.Tensor { return ro.ret },
					"finished": func(ro *Rollout) *engine.Tensor { return ro.finished }, "observed": func(ro *Rollout) *engine.Tensor { return ro.seated.observed },
				} {
					if want, got := f.floats(of(f.ro)), without.floats(of(without.ro)); !slices.Equal(got, want) {
						t.Errorf("%s is another one without trajectories", what)
					}
				}
				if !slices.Equal(without.words(without.ro.step), f.words(f.ro.step)) || !slices.Equal(without.words(without.ro.seated.world), f.words(f.ro.seated.world)) {
					t.Error("steps are others without trajectories")
				}
			}
			if !(e.ended > 3) {
				t.Errorf("%d episodes ended; want a test of more", e.ended)
			}
		})
	}
}

// emulation is the Go form of a rollout in worlds of several agents, driven by the actions of trajectories.
type emulation struct {
	*fixture
	seatWorld
	worlds      []emulated // [M, E]
	ended, left int
}

type emulated struct {
	state []float32
	step  int
	done  Done
	seats []struct {
		step int
		ret  float32
		done Done
	}
}

func emulate(f *fixture, w seatWorld) *emulation {
	e := &emulation{fixture: f, seatWorld: w, worlds: make([]emulated, f.ro.cfg.Members*f.ro.cfg.Environments)}
	for i := range e.worlds {
		e.worlds[i].state = w.reset(e.rng(i, 0))
		e.worlds[i].begin(w)
	}
	return e
}

func (e *emulation) rng(world, step int) *engine.Rng {
	n := e.ro.cfg.Environments
	return engine.NewRng(e.eng.Seed(), e.ro.stream, uint32(world/n), uint32(world%n), uint32(step))
}

func (w *emulated) begin(of seatWorld) {
	*w = emulated{state: w.state, seats: slices.Repeat(w.seats[:0:0], 0)}
	for seat := range of.env.Seats() {
		w.seats = append(w.seats, struct {
			step int
			ret  float32
			done Done
		}{})
		if !of.alive(w.state, seat) {
			w.seats[seat].done = Terminated
		}
	}
}

// observed is what a seat acts on: 0 after its agent left.
func (e *emulation) observed(w *emulated, seat int) []float32 {
	if w.seats[seat].done != 0 {
		return make([]float32, e.env().ObsSize())
	}
	return e.observe(w.state, seat)
}

func (e *emulation) env() *Environment { return e.fixture.env }

// compare compares the last recording.
func (e *emulation) compare() {
	t, env, o, c := e.t, e.env(), e.ro.options, e.ro.cfg
	t.Helper()
	obs, next, action, logProb, reward := e.floats(e.ro.Obs), e.floats(e.ro.NextObs), e.floats(e.ro.Action), e.floats(e.ro.LogProb), e.floats(e.ro.Reward)
	done := e.words(e.ro.Done)
	var global, nextGlobal []float32
	if env.Global > 0 {
		global, nextGlobal = e.floats(e.ro.Global), e.floats(e.ro.NextGlobal)
	}
	seats, size, width := env.Seats(), env.ObsSize(), env.ActionWords()
	places := len(e.worlds) * seats
	finished := make([]float64, 4*places)
	for step := range c.Horizon {
		for i := range e.worlds {
			w := &e.worlds[i]
			what := fmt.Sprintf("step %d of world %d", e.steps-c.Horizon+step, i)
			over := w.done != 0
			first := (step*len(e.worlds) + i) * seats
			if over && o.AutoReset == Disabled {
				for seat := range seats {
					if got, want := Done(done[first+seat]), w.seats[seat].done|Void; got != want {
						t.Fatalf("%s: seat %d: flags %d; want %d", what, seat, got, want)
					}
				}
				continue
			}
			if over {
				w.begin(e.seatWorld)
			}
			if env.Global > 0 {
				e.near(what+": global", global[(step*len(e.worlds)+i)*env.Global:][:env.Global], e.global(w.state))
			}
			acted, actions := make([]bool, seats), make([][]float32, seats)
			for seat := range seats {
				at := first + seat
				e.near(what+": observation", obs[at*size:][:size], e.observed(w, seat))
				acted[seat] = w.seats[seat].done == 0
				a := action[at*width:][:width]
				actions[seat] = make([]float32, width)
				if !env.Action.IsDiscrete() {
					actions[seat] = env.Action.unscaled(make([]float32, width))
				}
				if !acted[seat] {
					e.near(what+": action and log-probability of none", append(slices.Clone(a), logProb[at]), make([]float32, width+1))
					continue
				}
				y := make([]float64, env.Action.Size()) // of random actions
				if e.policy != nil {
					y = e.outputs(i/c.Environments, obs[at*size:][:size])
				}
				e.checkAction(what, i, seat, step, y, a, float64(logProb[at]))
				actions[seat] = e.unscale(a)
			}
			rewards, ended := make([]float32, seats), make([]Done, seats)
			rng := e.rng(i, e.steps-c.Horizon+step+1)
			e.advanceWorld(w, actions, rewards, rng)
			if env.Global > 0 {
				e.near(what+": next global", nextGlobal[(step*len(e.worlds)+i)*env.Global:][:env.Global], e.global(w.state))
			}
			final := slices.Clone(w.state)
			for seat := range seats {
				if acted[seat] {
					w.seats[seat].ret += rewards[seat]
					w.seats[seat].done |= w.done
					ended[seat] = w.seats[seat].done
				}
			}
			flags := make([]Done, seats)
			for seat := range seats {
				if flags[seat] = w.seats[seat].done; !acted[seat] {
					flags[seat] |= Void
				}
				paid := rewards[seat] * o.RewardScale
				if o.SparseReward {
					if paid = 0; ended[seat] != 0 {
						paid = w.seats[seat].ret * o.RewardScale
					}
				}
				if got := Done(done[first+seat]); got != flags[seat] {
					t.Fatalf("%s: seat %d: flags %d; want %d", what, seat, got, flags[seat])
				}
				e.near(what+": reward", reward[first+seat:][:1], []float32{paid})
				if ended[seat] != 0 {
					e.ended++
					if w.done == 0 {
						e.left++
					}
					for k, v := range []float64{1, float64(w.seats[seat].ret), float64(w.seats[seat].step), 0} {
						finished[k*places+i*seats+seat] += v
					}
				}
			}
			resets := w.done != 0 && o.AutoReset != Disabled
			following := emulated{state: w.state, seats: w.seats}
			if resets {
				if o.AutoReset == Fast {
					rng = e.rng(i, 0)
				}
				w.state = e.reset(rng)
				following.state = w.state
				following.begin(e.seatWorld)
			}
			for seat := range seats {
				want := e.observe(final, seat)
				if !acted[seat] {
					want = e.observed(&following, seat)
				}
				e.near(what+": next observation", next[(first+seat)*size:][:size], want)
			}
		}
	}
	e.compareState(finished)
}

// advanceWorld takes an action, repeated.
func (e *emulation) advanceWorld(w *emulated, actions [][]float32, rewards []float32, rng *engine.Rng) {
	for range e.ro.options.ActionRepeat {
		r, terminated := e.step(w.state, actions, rng)
		w.step++
		left := true
		for seat := range w.seats {
			if s := &w.seats[seat]; s.done == 0 {
				rewards[seat] += r[seat]
				s.step++
				if !e.alive(w.state, seat) {
					s.done = Terminated
				}
				left = left && s.done != 0
			}
		}
		if terminated || left {
			w.done |= Terminated
		}
		if w.step >= e.ro.options.TimeLimit {
			w.done |= Truncated
		}
		if w.done != 0 {
			return
		}
	}
}

// compareState compares what is carried over to the next recording, and the sums over finished episodes.
func (e *emulation) compareState(finished []float64) {
	e.t.Helper()
	state, words, returns, worlds := e.floats(e.ro.state), e.words(e.ro.step), e.floats(e.ro.ret), e.words(e.ro.seated.world)
	sums := e.floats(e.ro.finished)
	for i := range finished {
		if math.Abs(float64(sums[i])-finished[i]) > max(1e-4, 2e-5*math.Abs(finished[i])) {
			e.t.Fatalf("finished[%d] is %g; want %g", i, sums[i], finished[i])
		}
	}
	for i, w := range e.worlds {
		for k, v := range w.state {
			e.near("state", state[k*len(e.worlds)+i:][:1], []float32{v})
		}
		if got := EpisodeWord(worlds[i]); got.Steps() != w.step || got.Done() != w.done {
			e.t.Fatalf("world %d: step %d, flags %d; want %d, %d", i, got.Steps(), got.Done(), w.step, w.done)
		}
		for seat, s := range w.seats {
			at := i*len(w.seats) + seat
			if got := EpisodeWord(words[at]); got.Steps() != s.step || got.Done() != s.done {
				e.t.Fatalf("world %d, seat %d: step %d, flags %d; want %d, %d", i, seat, got.Steps(), got.Done(), s.step, s.done)
			}
			e.near("return", returns[at:][:1], []float32{s.ret})
		}
	}
}

// compareSeats compares the mean return of each seat over all worlds with the finished episodes' mean.
func (e *emulation) compareSeats() {
	e.t.Helper()
	seats, sums := e.env().Seats(), e.floats(e.ro.finished)
	returns := e.state().Scratch("seat_returns", engine.Float32, engine.Axis("seat", seats))
	e.run(func(r *engine.Recorder) { e.ro.RecordSeatReturns(r, returns) })
	places, got := len(sums)/4, e.floats(returns)
	for seat := range seats {
		ended, sum := 0.0, 0.0
		for i := seat; i < places; i += seats {
			ended, sum = ended+float64(sums[i]), sum+float64(sums[places+i])
		}
		if want := sum / ended; ended > 0 && math.Abs(float64(got[seat])-want) > 1e-4 {
			e.t.Errorf("seat %d returns %g; want %g", seat, got[seat], want)
		}
	}
}

func (e *emulation) state() *engine.State { return e.fixture.state }

// checkAction compares an action and its log-probability with the network's outputs y, and a categorical one with the
// draw of its random number.
func (e *emulation) checkAction(what string, world, seat, step int, y []float64, action []float32, logProb float64) {
	e.t.Helper()
	c, h := e.ro.cfg, e.env().Action.Head()
	if e.policy != nil {
		h = e.policy.Head
	}
	member, environment := world/c.Environments, world%c.Environments
	if h.Kind == nn.Categorical {
		rng := engine.NewRng(e.eng.Seed(), e.ro.actionStream, uint32(member), uint32(environment*e.env().Seats()+seat), uint32(e.steps-c.Horizon+step))
		u, below, sum := float64(rng.Uniform()), 0.0, 0.0
		for _, l := range y {
			sum += math.Exp(l)
		}
		for a := range y {
			above := below + math.Exp(y[a])/sum
			if a == int(action[0]) && (u < below-1e-5 || u > above+1e-5) {
				e.t.Fatalf("%s: seat %d: action %d at %g; want it from %g to %g", what, seat, a, u, below, above)
			}
			below = above
		}
	}
	if c.Actions == Applied {
		return // the sample is not stored
	}
	if e.policy == nil {
		for k, a := range action {
			if h.Kind != nn.Categorical && !(a >= -1 && a < 1) {
				e.t.Fatalf("%s: seat %d: random action %d is %g; want it from -1 to 1", what, seat, k, a)
			}
		}
		return
	}
	if want := e.logProb(member, y, action); math.Abs(logProb-want) > 2e-4*(1+math.Abs(want)) {
		e.t.Fatalf("%s: seat %d: log-probability %g; want %g", what, seat, logProb, want)
	}
}

// unscale returns what the environment receives for an action of a trajectory.
func (e *emulation) unscale(action []float32) []float32 {
	if e.env().Action.IsDiscrete() {
		return action
	}
	applied := slices.Clone(action)
	for i, u := range applied {
		if e.ro.cfg.Actions == Sampled && e.policy != nil && e.policy.Head.Squash {
			applied[i] = float32(math.Tanh(float64(u)))
		}
	}
	return e.env().Action.unscaled(applied)
}

func (e *emulation) near(what string, got, want []float32) {
	e.t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= 2e-5*(1+math.Abs(float64(want[i])))) {
			e.t.Fatalf("%s: element %d is %g; want %g", what, i, got[i], want[i])
		}
	}
}
