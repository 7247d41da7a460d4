package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// CriticInput selects what the critic of PPO sees in worlds of several agents. Actors always act by their own observation.
type CriticInput uint32

const (
	// OwnObservation is the observation that the actor has: agents learn independently (IPPO).
	OwnObservation CriticInput = iota
	// WorldState is the observations of all agents of the world, A · O features: a centralised critic (MAPPO; C. Yu et al., "The Surprising Effectiveness
	// of PPO in Cooperative Multi-Agent Games", 2022). Networks with memory and worlds of one agent are refused.
	WorldState
)

var criticInputNames = []string{"own", "world"}

func (c CriticInput) String() string { return config.NameOf(c, criticInputNames) }

// UnmarshalText parses a name: own or world.
func (c *CriticInput) UnmarshalText(text []byte) error {
	return config.UnmarshalName(c, "critic input", criticInputNames, text)
}

// MarshalText returns the name.
func (c CriticInput) MarshalText() ([]byte, error) {
	return config.MarshalName(c, "critic input", criticInputNames)
}

// worldStates are the inputs of critics that see the world: for every seat the observations of all seats of its world side by side, its own first, then
// those of the seats behind it, in a circle, so that one critic tells the seats apart. The observation of an agent that has left is 0. A seat has a row
// of its own, A times the memory of the observations, since copies of transitions take the place of void ones (voids).
type worldStates struct {
	seats  int
	states *engine.Tensor // [T, M, E·A, A·O]: normalized
}

func newWorldStates(s *engine.State, env *envs.Environment, c onPolicyConfig) *worldStates {
	features := env.Seats() * env.ObsSize()
	return &worldStates{
		seats: env.Seats(),
		states: s.Scratch("states", engine.Float32, engine.Time(c.RolloutLength), engine.Members(c.Members), engine.Environments(c.Environments),
			engine.Axis("feature", features)),
	}
}

// inputs returns the states as inputs of critics.
func (w *worldStates) inputs() nn.Inputs { return nn.Inputs{Parts: []*engine.Tensor{w.states}} }

// values is Agent.Values. The states of next observations come first, so that those of the observations stay, for the updates.
func (w *worldStates) values(r *engine.Recorder, a *Agent, t *envs.Trajectory, values, next *engine.Tensor) {
	evaluate := func(obs, ends, to *engine.Tensor) {
		w.record(r, a, obs, ends)
		in := w.inputs()
		in.Ends = ends
		a.critic.Evaluate(r, a.critic.weights(), in, to)
	}
	if next != nil {
		evaluate(t.NextObs, t.Done, next)
	}
	evaluate(t.Obs, nil, values)
}

// record records the states of observations [T, M, E·A, O] or, with done [T, M, E·A], of next observations.
func (w *worldStates) record(r *engine.Recorder, a *Agent, obs, done *engine.Tensor) {
	t, members, each, ok := w.states.Split(engine.MemberAxis)
	if !ok || obs.Len()*w.seats != w.states.Len() {
		r.Fail(fmt.Errorf("rl: observations %v for states %v of %d seats; want [T, M, E·A, O] for [T, M, E·A, A·O]", obs, w.states, w.seats))
		return
	}
	width := w.states.Size("feature")
	size, groups := r.Invocations(each)
	k := worldStatesKernel{
		Obs: obs.Range(), States: w.states.Range(), Places: uint32(each / width), Seats: uint32(w.seats), Features: uint32(width / w.seats),
		ObsLimit: float32(a.cfg.ObsLimit), LocalSizeX: size,
	}
	if done != nil {
		k.Done = done.Range()
	}
	if values := a.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	r.Dispatch(k.call(groups, uint32(members), uint32(t)))
}
