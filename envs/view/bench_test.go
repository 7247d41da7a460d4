package view

import (
	"testing"

	"github.com/evorl/evorl/envs"
)

// BenchmarkDraw draws a frame of a moving picture.
func BenchmarkDraw(b *testing.B) {
	for _, name := range []string{"CartPole-v1", "HalfCheetah-v5", "Ant-v5"} {
		b.Run(name, func(b *testing.B) {
			s := still(b, name)
			for b.Loop() {
				s.Draw(0, 480, 320, movingSamples)
			}
		})
	}
}

// still is an episode of one step in which nothing moves.
func still(tb testing.TB, name string) *Show {
	tb.Helper()
	env, err := envs.Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	state := make([]float32, env.StateSize())
	e := &envs.Episode{
		States: [][]float32{state, state}, Actions: [][]float32{make([]float32, env.ActionWords())}, Rewards: []float32{0}, Returns: []float32{0}, Steps: 1,
	}
	s, err := New(env, e, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
