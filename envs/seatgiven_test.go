package envs

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// games are worlds of agents that play with or against others, and the seconds that a step takes to see.
var games = map[string]float64{
	"KuhnPoker-v0": 0.5, "LeducPoker-v0": 0.5,
	"OvercookedCrampedRoom-v0": 0.1,
	"Pong-v0":                  1. / 30, "PongDuel-v0": 1. / 30, "PongImage-v0": 1. / 30,
	"PufferPong-v0":            4. / 60,
	"SimpleSpeakerListener-v4": 0.1, "SimpleSpread-v3": 0.1, "SimpleTag-v3": 0.1,
	"SlimeVolley-v0": 1. / 30, "SlimeVolleyDuel-v0": 1. / 30,
	"WaterWorld-v0": 0.02, "WaterWorldMulti-v0": 0.02,
}

// gameStates are recorded states of a game, or given ones.
func gameStates(t testing.TB, name string) [][]float64 {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "Pong"):
		return [][]float64{pongState(107, 107, 78, 112, 4, 1), pongState(34, 179, 0, 34, -4, -5)}
	case name == "KuhnPoker-v0":
		return [][]float64{{0, 2, 0}, {1, 0, 7}}
	case name == "LeducPoker-v0":
		return [][]float64{{0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, {1, 0, 1, 1, 2, 1, 0, 0, 2, 2, 0, 0, 7, 11}}
	case name == "SlimeVolley-v0":
		return readArrays(t, "SlimeVolley")["before.npy"]
	case name == "SlimeVolleyDuel-v0":
		s := slimeState([3]float64{-12, 1.5}, [3]float64{12, 1.5}, [4]float64{0, 12, 3, 4})
		s[slimeLeftLives] = 2
		return [][]float64{s, s}
	case name == "PufferPong-v0", strings.HasPrefix(name, "WaterWorld"):
		return readArrays(t, name)["before.npy"]
	}
	return readSeats(t, name).state
}

// given steps worlds of several agents by given discrete actions from given states.
type given struct {
	*fixture
	worlds int
}

func newGiven(t testing.TB, dev *vk.Device, env *Environment, worlds int) *given {
	t.Helper()
	cfg := RolloutConfig{Members: 1, Environments: worlds, Horizon: 1, Trajectory: true, Mode: true, Options: Options{AutoReset: Disabled}}
	return &given{fixtureIn(t, engine.New(dev, engine.Seed(5)), env, cfg, small, func(p *Policy) { p.Normalizer, p.Placement = nil, PlacementStepped }), worlds}
}

// set begins episodes in the states of the worlds.
func (g *given) set(states [][]float64) {
	g.t.Helper()
	g.begin()
	all := make([]float32, g.env.StateSize()*g.worlds)
	for e, s := range states {
		for i, v := range s {
			all[i*g.worlds+e] = float32(v)
		}
	}
	if err := g.ro.state.WriteFloat32(g.t.Context(), all); err != nil {
		g.t.Fatal(err)
	}
	g.dispatch(0)
}

// states returns the states of the worlds.
func (g *given) states() [][]float32 {
	all := g.floats(g.ro.state)
	out := make([][]float32, g.worlds)
	for e := range out {
		out[e] = column(all, g.worlds, e)
	}
	return out
}

// act takes the actions of all seats of all worlds, [worlds, seats]. Transitions are then in the rollout's tensors.
func (g *given) act(actions []int) {
	g.t.Helper()
	outputs := make([]float32, len(actions)*g.env.Action.N)
	for i, a := range actions {
		outputs[i*g.env.Action.N+a] = 1
	}
	if err := g.ro.stepped.outputs.WriteFloat32(g.t.Context(), outputs); err != nil {
		g.t.Fatal(err)
	}
	g.dispatch(1)
	for i, a := range g.floats(g.ro.Action) {
		if int(a) != actions[i] {
			g.t.Fatalf("place %d takes the action %v; want %d", i, a, actions[i])
		}
	}
}

// dispatch runs the kernel for a step, or for none: then it observes.
func (g *given) dispatch(steps uint32) {
	g.t.Helper()
	g.run(func(r *engine.Recorder) {
		k, err := g.ro.seated.kernel(r, g.clock, g.policy, 0)
		if err != nil {
			r.Fail(err)
			return
		}
		size, groups := r.Invocations(g.worlds)
		k.LocalSizeX, k.Steps, k.Step = size, steps, steps > 0
		r.Dispatch(k.call(g.ro.seated.shader, groups, 1, 1))
		g.clock.Tick(r, 1, int(steps))
	})
}
