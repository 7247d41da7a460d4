package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// scoreCases are the cases of the suite score, all in environment steps per second. A relative change of each has a
// fixed weight in the score.
var scoreCases = []string{"cartpole/mlp", "hopper/mlp", "ppo/p256"}

// score is a short suite for a single figure. It has cases of other suites, by name, and two of its own.
func score() (cases []Case) {
	for _, c := range append(core(), physics()...) {
		if slices.Contains(scoreCases, c.Name) {
			c.Rank = 0
			cases = append(cases, c)
		}
	}
	return append(cases,
		Case{Name: "openes/64x64/p2048/steps", Summary: "OpenES on CartPoleSwingUp-easy, generations of 2048 candidates with [64, 64] networks", Unit: "env steps/s",
			Least: 3 * time.Second, run: generationSteps([]int{64, 64}, 2048)},
		Case{Name: "td3/64x64/p16/steps", Summary: "TD3 on Pendulum-v1, 16 members with [64, 64] networks, an update of a batch of 64 for each of their steps",
			Unit: "env steps/s", Least: 3 * time.Second, run: offPolicySteps},
	)
}

// generationSteps is generationTime in environment steps per second.
func generationSteps(hidden []int, population int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		f, err := generationTime(hidden, population, 0)(ctx, b)
		if err != nil {
			return figure{}, err
		}
		steps := float64(population) * episodeSteps
		return figure{value: steps / f.value, limit: steps / f.limit, kernels: f.kernels}, nil
	}
}

// offPolicySteps measures the environment steps per second of TD3 after its warm-up.
func offPolicySteps(ctx context.Context, b *bench) (figure, error) {
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		return figure{}, err
	}
	cfg, network, replay := rl.DefaultTD3(), rl.DefaultOffPolicyNetwork(), rl.DefaultReplay()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep = 16, 1, 50, 200, 1
	network.Hidden, replay.Capacity, replay.Batch = []int{64, 64}, 10000, 64
	w, err := rl.NewTD3(ctx, b.eng, env, cfg, rl.Network(network), rl.Replays(replay))
	if err != nil {
		return figure{}, err
	}
	defer w.Close()
	if err := w.Init(ctx); err != nil {
		return figure{}, err
	}
	one := step(ctx, w)
	for range cfg.LearningStarts/cfg.RolloutLength + 1 { // the warm-up makes no updates
		if err := one(); err != nil {
			return figure{}, err
		}
	}
	rate, err := b.rate(ctx, float64(w.Describe().StepsPerIter), eachWaited(one))
	return figure{value: rate}, err
}

// Score returns the geometric mean of the suite score's figures, in environment steps per second.
//
// Errors: a result that lacks one of the suite's cases.
func (r *Result) Score() (float64, error) {
	sum, n := 0.0, 0
	for _, c := range score() {
		at := slices.IndexFunc(r.Cases, func(m Measurement) bool { return m.Case == c.Name })
		if at < 0 || !(r.Cases[at].Value > 0) {
			return 0, fmt.Errorf("bench: no score without the case %s", c.Name)
		}
		sum += math.Log(r.Cases[at].Value)
		n++
	}
	return math.Exp(sum / float64(n)), nil
}
