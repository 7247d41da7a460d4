package hybrid

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl"
)

// BenchmarkIndependentSeeds compares PBT and PBT-CSO with PPO given the same time, on five seeds: M members that search hyperparameters
// between them, and M independent members with the default ones. The first are scored by their best member, the second by the
// median.
//
//	go test ./hybrid -run '^$' -bench IndependentSeeds -benchtime 1x -timeout 2h -v
func BenchmarkIndependentSeeds(b *testing.B) {
	const members, seeds = 32, 5
	ppo, network := rl.DefaultPPO(), rl.Network(rl.DefaultNetwork())
	ppo.Members = members
	cfg := overPPO()
	cfg.Warmup, cfg.Interval = 10, 5
	for _, env := range []string{"CartPole-v1", "Acrobot-v1"} {
		b.Run(env, func(b *testing.B) {
			for range b.N {
				wins := 0
				for seed := range uint32(seeds) {
					alone := learned(b, newPPO(b, seed, env, ppo, network))
					line := fmt.Sprintf("seed %d: PPO %v", seed, alone)
					for _, kind := range kinds {
						s := learned(b, kind.over(b, newPPO(b, seed, env, ppo, network), cfg))
						line += fmt.Sprintf("; %s %v", kind.name, s)
						if s.best >= alone.median {
							wins++
						}
					}
					b.Log(line)
				}
				b.ReportMetric(float64(wins)/float64(seeds*len(kinds)), "wins/run")
			}
		})
	}
}

// standing is how the members of a run stand at its end.
type standing struct{ best, median float64 }

func (s standing) String() string { return fmt.Sprintf("best %.1f, median %.1f", s.best, s.median) }

// learned trains for 60 iterations. The best member is chosen by 100 episodes, and all are evaluated by 100 others.
func learned(b *testing.B, w engine.Workflow) standing {
	defer w.Close()
	if err := engine.Learn(b.Context(), w, engine.Iterations(60)); err != nil {
		b.Fatal(err)
	}
	e, err := w.Evaluate(b.Context(), 200)
	if err != nil {
		b.Fatal(err)
	}
	choice, judgement := e, e
	choice.Returns, judgement.Returns = nil, nil
	for _, returns := range e.Returns {
		choice.Returns, judgement.Returns = append(choice.Returns, returns[:100]), append(judgement.Returns, returns[100:])
	}
	chosen, means := choice.Means(), judgement.Means()
	s := standing{best: means[slices.Index(chosen, slices.Max(chosen))]}
	slices.Sort(means)
	n := len(means)
	s.median = (means[(n-1)/2] + means[n/2]) / 2
	return s
}
