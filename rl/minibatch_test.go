package rl

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// The stored order of every epoch is the permutation, and the moments of advantages are the same with it and without.
func TestMinibatchOrder(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for _, c := range []onPolicyConfig{
		{OnPolicyConfig: OnPolicyConfig{Members: 1, Environments: 1, RolloutLength: 1}, epochs: 1, minibatches: 1},
		{OnPolicyConfig: OnPolicyConfig{Members: 3, Environments: 5, RolloutLength: 7}, epochs: 2, minibatches: 4}, // minibatches of 8 and 9 transitions
		{OnPolicyConfig: OnPolicyConfig{Members: 2, Environments: 13, RolloutLength: 33}, epochs: 3, minibatches: 2},
	} {
		s := eng.NewState()
		defer s.Close()
		m := newMinibatches(s, engine.NewClock(s), c)
		m.StoreOrder(s)
		m.normalizeAdvantage(s)
		m.Advantage = newEstimates(s, nil, nil, c).advantage
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		const iteration = 9
		write(t, m.Clock.Tensor(), []float64{iteration, 0})
		advantages := make([]float64, m.Advantage.Len())
		for i := range advantages {
			advantages[i] = rand.NormFloat64()
		}
		write(t, m.Advantage, advantages)
		write(t, m.Order, slices.Repeat([]float64{1e9}, m.Order.Len()))
		poison(t, m.Moments)
		run(t, eng, func(r *engine.Recorder) {
			m.recordOrder(r)
			m.recordMoments(r)
		})
		moments, got, n := read(t, m.Moments), read(t, m.Order), c.RolloutLength*c.Environments
		for epoch := range c.epochs {
			for member := range c.Members {
				key := engine.Philox([2]uint32{eng.Seed(), m.Stream}, [4]uint32{uint32(member), 0, iteration, uint32(epoch)})
				for i := range n {
					x := int(engine.Permute(uint32(i), uint32(n), key))
					want := (x/c.Environments*c.Members+member)*c.Environments + x%c.Environments
					if at := (epoch*c.Members+member)*n + i; int(got[at]) != want {
						t.Fatalf("%+v: epoch %d, member %d, transition %d: %v, want %d", c, epoch, member, i, got[at], want)
					}
				}
			}
		}
		m.Order = nil
		poison(t, m.Moments)
		run(t, eng, m.recordMoments)
		if computed := read(t, m.Moments); !slices.Equal(moments, computed) {
			t.Errorf("%+v: moments %v with the stored order, %v without", c, moments, computed)
		}
	}
}
