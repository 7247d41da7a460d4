package rl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestRewardScale compares scaled rewards of several iterations with float64: rewards are divided by the deviation of all discounted returns so far,
// of each member by its own discount, and clipped; the returns go on over iterations and begin anew with every episode. Steps that are no transitions, as of
// seats that others play, have no part in the deviation.
func TestRewardScale(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {7, 3, 5}, {130, 17, 1}, {3, 2, 67}} {
		horizon, members, environments := size[0], size[1], size[2]
		eng := engine.New(open(t))
		s := eng.NewState()
		defer s.Close()
		tpe := []engine.Dim{engine.Time(horizon), engine.Members(members), engine.Environments(environments)}
		trajectory := &envs.Trajectory{Reward: s.Scratch("reward", engine.Float32, tpe...), Done: s.Scratch("done", engine.Uint32, tpe...)}
		discount := s.Tensor("discount", engine.Float32, engine.Members(members))
		const limit = 1.5
		scale := newRewardScale(s, lookup(t, "Pendulum-v1"), discount, limit, ofSizes(members, environments, horizon))
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := scale.init(t.Context()); err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(3, uint64(horizon)))
		discounts := make([]float64, members)
		for m := range discounts {
			discounts[m] = 0.9 + 0.099*dice.Float64()
		}
		write(t, discount, discounts)
		carried := make([]float64, members*environments)
		seen := make([][]float64, members)
		worst, clipped := 0.0, 0
		for iteration := range 3 {
			n := trajectory.Reward.Len()
			rewards, done := make([]float64, n), make([]float64, n)
			for i := range n {
				m := i / environments % members
				rewards[i] = float64(float32(float64(3*m+1) + (0.5+20*float64(m))*dice.NormFloat64()))
				if dice.IntN(9) == 0 {
					done[i] = float64(1 + dice.IntN(3)) // terminated, truncated, or both
				}
				if iteration > 0 && dice.IntN(5) == 0 { // the first is whole, so that every member has some
					done[i] += float64(envs.Void)
					rewards[i] *= 7
				}
			}
			write(t, trajectory.Reward, rewards)
			write(t, trajectory.Done, done)
			poison(t, scale.sums)
			run(t, eng, func(r *engine.Recorder) { scale.Record(r, trajectory) })
			for i, reward := range rewards {
				at := i % (members * environments)
				m := at / environments
				carried[at] = discounts[m]*carried[at] + reward
				if envs.Done(done[i])&envs.Void == 0 {
					seen[m] = append(seen[m], carried[at])
				}
				if done[i] != 0 {
					carried[at] = 0
				}
			}
			got := read(t, trajectory.Reward)
			for m := range members {
				_, variance := moments(seen[m])
				deviation := max(math.Sqrt(variance), 1e-6)
				for i := range got {
					if i/environments%members != m {
						continue
					}
					want := rewards[i] / deviation
					if math.Abs(want) > limit {
						want = math.Copysign(limit, want)
						clipped++
					}
					worst = max(worst, math.Abs(got[i]-want))
				}
			}
		}
		t.Logf("%d steps, %d members, %d environments: largest deviation %.1e, %d clipped", horizon, members, environments, worst, clipped)
		if !(worst <= 2e-5) || clipped == 0 {
			t.Errorf("%d steps, %d members, %d environments: scaled rewards deviate by %g, want at most 2e-5; %d are clipped, want some",
				horizon, members, environments, worst, clipped)
		}
	}
}

// TestRewardScaleRefuses: a trajectory of another shape is an error of the recording.
func TestRewardScaleRefuses(t *testing.T) {
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	scale := newRewardScale(s, lookup(t, "Pendulum-v1"), s.Tensor("discount", engine.Float32, engine.Members(2)), 10, ofSizes(2, 3, 4))
	reward := s.Scratch("reward", engine.Float32, engine.Time(4), engine.Members(2), engine.Environments(5))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Record("refused", func(r *engine.Recorder) { scale.Record(r, &envs.Trajectory{Reward: reward}) }); err == nil {
		t.Error("no error")
	}
}

// TestRewardScaleCopied: the returns of unfinished episodes go along with a copied member where its episodes do.
func TestRewardScaleCopied(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		env := lookup(t, "Pendulum-v1")
		if keeps {
			env = newStayEcho(t).env
		}
		s := engine.New(open(t)).NewState()
		defer s.Close()
		scale := newRewardScale(s, env, s.Tensor("discount", engine.Float32, engine.Members(2)), 10, ofSizes(2, 3, 4))
		if copied := slices.Contains(s.Inherited(), scale.carried); env.KeepsEpisodes() != keeps || copied == keeps {
			t.Errorf("%s keeps its episodes: %v; their returns are copied: %v", env.Name, env.KeepsEpisodes(), copied)
		}
	}
}

// ofSizes are settings of given numbers of members, environments and steps.
func ofSizes(members, environments, steps int) onPolicyConfig {
	return onPolicyConfig{OnPolicyConfig: OnPolicyConfig{Members: members, Environments: environments, RolloutLength: steps}}
}
