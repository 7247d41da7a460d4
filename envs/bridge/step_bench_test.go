package bridge

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/evorl/evorl/envs"
)

// BenchmarkStep is the time of a step of all environments, without a device: of Gymnasium's, and of Atari's Pong, beside tools/peers/vector_env.py.
func BenchmarkStep(b *testing.B) {
	for _, of := range []struct {
		id         string
		obs, words int
	}{{"CartPole-v1", 4, 1}, {"LunarLander-v3", 8, 1}, {"Ant-v5", 105, 8}} {
		for _, n := range []int{8, 64} {
			b.Run(fmt.Sprintf("%s/environments=%d", of.id, n), func(b *testing.B) {
				cfg := gymConfig(b)
				if out, err := exec.Command(cfg.Python, "-c", "import gymnasium; gymnasium.make('"+of.id+"')").CombinedOutput(); err != nil {
					b.Skipf("%s: %v: %s", cfg.Python, err, out) // Box2D and MuJoCo are packages of their own
				}
				s := newStep(n, of.obs, of.words)
				benchmarkStep(b, open(b, "gymnasium:"+of.id, cfg, nil, n), s, func(st *stepper) error {
					return st.Reset(b.Context(), nil, seedsOf(n), s.Obs)
				})
			})
		}
	}
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("Pong/environments=%d", n), func(b *testing.B) {
			cfg := atariConfig(b)
			cfg.Atari = Atari2015
			s := framedStep(n, 84*84)
			benchmarkStep(b, open(b, "gymnasium:ALE/Pong-v5", cfg, nil, n), s, func(st *stepper) error {
				return st.ResetFrames(b.Context(), nil, seedsOf(n), s.Frames)
			})
		})
	}
}

func benchmarkStep(b *testing.B, st *stepper, s *envs.Step, reset func(*stepper) error) {
	if err := reset(st); err != nil {
		b.Fatal(err)
	}
	n, rng := len(st.at), rand.New(rand.NewPCG(1, 2))
	actions := make([][]float32, 64) // drawn beforehand
	for k := range actions {
		actions[k] = make([]float32, len(s.Action))
		for i := range actions[k] {
			if count := st.hello.Action.N; count > 0 {
				actions[k][i] = float32(rng.IntN(count))
			} else {
				actions[k][i] = 2*rng.Float32() - 1
			}
		}
	}
	for k := 0; b.Loop(); k++ {
		clear(s.Terminated)
		clear(s.Truncated)
		copy(s.Action, actions[k%len(actions)])
		if err := st.Step(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/step")
}
