package envs

import (
	"errors"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestSeen: the sums over observations agree with the trajectory's transitions, however episodes are reset.
func TestSeen(t *testing.T) {
	const members, environments, horizon = 2, 3, 70 // random actions end CartPole's episodes after some 20 steps
	for _, mode := range []AutoReset{Normal, Fast, Disabled} {
		eng := engine.New(open(t), engine.Seed(3))
		s := eng.NewState()
		clock := engine.NewClock(s)
		ro, err := NewRollout(t.Context(), s, lookup(t, "CartPole-v1"), RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Begin: true, Seen: true,
			Options: Options{AutoReset: mode},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{s.Zero(t.Context()), s.Poison(t.Context())} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p, err := eng.Record("seen", func(r *engine.Recorder) { ro.Record(r, clock, nil) })
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs, err1 := ro.Trajectory.Obs.ReadFloat32(t.Context())
		done, err2 := ro.Trajectory.Done.ReadUint32(t.Context())
		seen, err3 := ro.Seen().ReadFloat32(t.Context())
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		features := len(obs) / len(done)
		want, ended := make([]float64, len(seen)), 0
		for i, flags := range done { // [T, M, E]
			at, all := i%(members*environments), members*environments
			if Done(flags)&Void != 0 {
				continue
			}
			if flags != 0 {
				ended++
			}
			want[at]++
			for k := range features {
				x := float64(obs[i*features+k])
				want[(1+k)*all+at] += x
				want[(1+features+k)*all+at] += x * x
			}
		}
		if ended < members*environments {
			t.Errorf("%v: %d episodes ended; want at least one an environment", mode, ended)
		}
		for i, w := range want {
			if math.Abs(float64(seen[i])-w) > 1e-5*math.Max(1, math.Abs(w)) {
				t.Errorf("%v: sum %d is %v, want %v", mode, i, seen[i], w)
			}
		}
		p.Free()
		s.Close()
	}
}
