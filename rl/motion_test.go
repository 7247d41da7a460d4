package rl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestMotion: the steps of a trajectory whose action is not to stay get their member's weight more, but for void ones.
func TestMotion(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {7, 3, 5}, {130, 17, 1}, {3, 2, 67}} {
		horizon, members, environments := size[0], size[1], size[2]
		eng := engine.New(open(t))
		s := eng.NewState()
		defer s.Close()
		tpe := []engine.Dim{engine.Time(horizon), engine.Members(members), engine.Environments(environments)}
		trajectory := &envs.Trajectory{
			Reward: s.Scratch("reward", engine.Float32, tpe...), Done: s.Scratch("done", engine.Uint32, tpe...),
			Action: s.Scratch("action", engine.Float32, append(tpe, engine.Axis("action", 1))...),
		}
		weight := s.Tensor("weight", engine.Float32, engine.Members(members))
		moves := &motion{weight: weight, still: 2}
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(4, uint64(horizon)))
		n := trajectory.Reward.Len()
		weights, rewards, done, actions := make([]float64, members), make([]float64, n), make([]float64, n), make([]float64, n)
		for m := range weights {
			weights[m] = dice.NormFloat64()
		}
		for i := range n {
			rewards[i], done[i], actions[i] = dice.NormFloat64(), float64(dice.IntN(8)), float64(dice.IntN(4))
		}
		write(t, weight, weights)
		write(t, trajectory.Reward, rewards)
		write(t, trajectory.Done, done)
		write(t, trajectory.Action, actions)
		run(t, eng, func(r *engine.Recorder) { moves.Record(r, trajectory) })
		got, err := trajectory.Reward.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range rewards {
			if int(done[i])&4 == 0 && actions[i] != 2 {
				want += weights[i/environments%members]
			}
			if math.Abs(float64(got[i])-want) > 1e-5 {
				t.Fatalf("%v: reward %d is %g; want %g, of action %g and done %g", size, i, got[i], want, actions[i], done[i])
			}
		}
	}
}
