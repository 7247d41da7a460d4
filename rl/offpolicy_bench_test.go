package rl

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// BenchmarkOffPolicyUpdate is one update of a population by preloaded random transitions of HalfCheetah's shapes: sampling, critics, and the actors'
// share (A. Flajolet et al., "Fast Population-Based Reinforcement Learning on a Single Machine", 2022, figure 2).
func BenchmarkOffPolicyUpdate(b *testing.B) {
	for _, algorithm := range []string{"td3", "sac"} {
		for _, size := range []struct{ units, batch int }{{64, 64}, {256, 256}} {
			for _, members := range []int{1, 10, 40} {
				b.Run(fmt.Sprintf("%s/[%d,%d]/batch=%d/members=%d", algorithm, size.units, size.units, size.batch, members), func(b *testing.B) {
					benchmarkUpdate(b, algorithm, size.units, size.batch, members)
				})
			}
		}
	}
}

func benchmarkUpdate(b *testing.B, algorithm string, units, batch, members int) {
	const block = 10 // updates of a submission
	o := newPreloaded(b, algorithm, units, batch, members)
	defer o.State().Close()
	program, err := o.State().Engine().Record("updates", o.RecordUpdates)
	if err != nil {
		b.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	before, n := o.State().Engine().Device().Counters().Dispatches, 0
	for b.Loop() {
		if err := program.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		n += block
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(n), "ms/update")
	b.ReportMetric(float64(o.State().Engine().Device().Counters().Dispatches-before)/float64(n), "dispatches/update")
	b.ReportMetric(0, "ns/op")
}

// newPreloaded is a learner without environments, whose replay is full of random transitions.
func newPreloaded(b *testing.B, algorithm string, units, batch, members int) *OffPolicy {
	b.Helper()
	const rows = 4096
	bounds := make([]float32, 6)
	for i := range bounds {
		bounds[i] = 1
	}
	env := spaces(17, envs.Symmetric(bounds...))
	common := OffPolicyConfig{Members: members, Environments: 1, RolloutLength: 10, UpdatesPerStep: 1}
	o := &OffPolicy{Base: engine.NewBase(engine.New(open(b, vk.Validate(false))), members, maxMetrics), env: env, cfg: common}
	o.discount = o.Hyper().Add("discount", 0.99)
	parts := learnerParts{env: env, batch: batch, optimizer: optim.DefaultAdam, rewardScale: o.Hyper().Add("reward_scale", 1)}
	var err error
	if algorithm == "sac" {
		parts.network = DefaultSACNetwork()
		parts.network.Hidden = []int{units, units}
		o.learner, err = newSAC(o, parts, DefaultSAC())
	} else {
		parts.network = DefaultOffPolicyNetwork()
		parts.network.Hidden = []int{units, units}
		o.learner, err = newDeterministic(o, parts, deterministicConfig{
			twins: 2, actorRate: 3e-4, criticRate: 3e-4, tau: 0.005, delay: 2, smooths: true, targetNoise: 0.2, noiseClip: 0.5,
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	dims := []engine.Dim{engine.Time(10), engine.Members(members), engine.Environments(1)}
	tensor := func(name string, typ engine.DType, more ...engine.Dim) *engine.Tensor {
		return o.State().Sub("rollout").Scratch(name, typ, append(append([]engine.Dim(nil), dims...), more...)...)
	}
	o.replay, err = NewReplay(o.State().Sub("replay"), envs.Trajectory{
		Obs: tensor("obs", engine.Float32, engine.Axis("feature", 17)), NextObs: tensor("next_obs", engine.Float32, engine.Axis("feature", 17)),
		Action: tensor("action", engine.Float32, engine.Axis("action", 6)), Reward: tensor("reward", engine.Float32), Done: tensor("done", engine.Uint32),
	}, ReplayConfig{Capacity: rows, Batch: batch, Steps: 1, Save: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := o.State().Zero(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := o.Hyper().Init(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := o.learner.init(b.Context()); err != nil {
		b.Fatal(err)
	}
	rng := engine.NewRng(1, 2, 3, 4, 5)
	for _, x := range []*engine.Tensor{o.replay.obs, o.replay.nextObs, o.replay.action, o.replay.reward} {
		values := make([]float64, x.Len())
		for i := range values {
			values[i] = float64(2*rng.Uniform() - 1)
		}
		write(b, x, values)
	}
	head := make([]float64, 2*members)
	for m := range members {
		head[2*m+1] = rows
	}
	write(b, o.replay.head, head)
	return o
}
