package rl

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestReplaySources appends trajectories of two shapes in turns: one whose episodes go on, one of whole episodes and three times as many members.
func TestReplaySources(t *testing.T) {
	for _, of := range []struct {
		shared bool
		ends   float64
	}{{false, 1}, {true, 1}, {false, 0.2}, {true, 0.2}} {
		shared := of.shared
		c := replayCase{"sources", 7, 2, 3, 4, 2, 300, shared, 3, 40, false, Float32, 0, of.ends, nn.Floats, false}
		other := c
		other.horizon, other.environments = 5, 3*2 // three members of two environments lie as one of six does
		if shared {
			c.rows, other.rows = 600, 600
		}
		eng, s, tr, y := newReplayCase(t, c)
		episodes := other.trajectory(s.Sub("episodes"))
		view := func(x *engine.Tensor) *engine.Tensor {
			dims := append([]engine.Dim{engine.Time(5), engine.Members(6), engine.Environments(2)}, x.Dims()[3:]...)
			return x.View(dims...)
		}
		given := envs.Trajectory{
			Obs: view(episodes.Obs), NextObs: view(episodes.NextObs), Action: view(episodes.Action), Reward: view(episodes.Reward), Done: view(episodes.Done),
		}
		from, err := y.NewSource(s.Sub("source"), given)
		if err != nil {
			t.Fatal(err)
		}
		clock := engine.NewClock(s)
		discount, update := s.Scratch("discount", engine.Float32, engine.Members(c.members)), s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		shareBatches(t, y)
		gammas := []float64{float64(float32(0.9)), float64(float32(0.95))}
		write(t, discount, gammas)
		m := newReplayModel(c, y)
		whole := &replayModel{rows: m.rows, at: m.at, running: map[[2]int]int{}, latest: map[[2]int]int{}, last: map[int][]float64{}, whole: true, ends: m.ends}
		dice := rand.New(rand.NewPCG(7, 1))
		for turn := range 8 {
			m.append(t, c, tr, dice, false)
			whole.append(t, other, episodes, dice, true)
			write(t, update, []float64{float64(turn)})
			b := y.batch
			poison(t, b.Obs, b.NextObs, b.Action, b.Reward, b.Factor)
			run(t, eng, func(r *engine.Recorder) {
				y.Append(r, tr, false)
				from.Append(r, given)
				y.Sample(r, clock, update, discount)
			})
			m.check(t, c, y, gammas, uint32(turn))
		}
	}
}

// TestReplaySourceErrors: a source that does not fit the replay is refused.
func TestReplaySourceErrors(t *testing.T) {
	c := replayCase{"own", 7, 2, 3, 4, 2, 100, false, 1, 4, false, Float32, 0, 1, nn.Floats, false}
	_, s, _, y := newReplayCase(t, c)
	for want, change := range map[string]func(*replayCase){
		"a multiple of the rings": func(c *replayCase) { c.members = 3 },
		"of the same size":        func(c *replayCase) { c.features = 5 },
		"an iteration appends 51": func(c *replayCase) { c.horizon = 10 },
	} {
		of := c
		of.rows = 1000
		change(&of)
		if _, err := y.NewSource(s.Sub(want), of.trajectory(s.Sub(want))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
}
