package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// core measures what all algorithms use.
func core() []Case {
	return append([]Case{
		{Name: "fma_peak", Summary: "float32 products and sums in registers", Unit: "GFLOP/s", run: fmaPeak},
		{Name: "copy_bandwidth", Summary: "a copy within device memory, bytes read and written", Unit: "GB/s", run: copyBandwidth},
		{Name: "submit_latency", Summary: "from the submission of the least program to its end", Unit: "µs", run: submitLatency},
		{Name: "gemm/p64", Summary: "products of 256 × 64 by 64 × 64 matrices, one for each of 64 members", Unit: "GFLOP/s",
			run: gemm(nn.Gemm{Members: 64, M: 256, N: 64, K: 64})},
		{Name: "gemm/p1", Summary: "a product of two 512 × 512 matrices", Unit: "GFLOP/s", Rank: 1, run: gemm(nn.Gemm{Members: 1, M: 512, N: 512, K: 512})},
		{Name: "gemm/p16", Summary: "products of two 256 × 256 matrices, one for each of 16 members", Unit: "GFLOP/s", Rank: 2,
			run: gemm(nn.Gemm{Members: 16, M: 256, N: 256, K: 256})},
		{Name: "gemm/p16/inputs", Summary: "the same, the second stored transposed, as for gradients at inputs", Unit: "GFLOP/s", Rank: 2,
			run: gemm(nn.Gemm{Members: 16, M: 256, N: 256, K: 256, TransposeB: true})},
		{Name: "gemm/p16/weights", Summary: "the same, the first stored transposed, as for gradients of weights", Unit: "GFLOP/s", Rank: 2,
			run: gemm(nn.Gemm{Members: 16, M: 256, N: 256, K: 256, TransposeA: true})},
		{Name: "gemm/p16/odd", Summary: "products of 257 × 255 by 255 × 253 matrices, one for each of 16 members", Unit: "GFLOP/s", Rank: 2,
			run: gemm(nn.Gemm{Members: 16, M: 257, N: 253, K: 255})},
		{Name: "gemm/p256", Summary: "products of two 1024 × 1024 matrices, one for each of 256 members", Unit: "GFLOP/s", GPU: true,
			run: gemm(nn.Gemm{Members: 256, M: 1024, N: 1024, K: 1024})},
		{Name: "cartpole/random", Summary: "CartPole-v1 with random actions, 4096 environments", Unit: "env steps/s", Rank: 1,
			run: rollout("CartPole-v1", 128, 32, 128, false, envs.ByDevice)},
		{Name: "cartpole/random/p2048", Summary: "the same, 524,288 environments", Unit: "env steps/s", GPU: true, Rank: 1,
			run: rollout("CartPole-v1", 2048, 256, 128, false, envs.ByDevice)},
		{Name: "cartpole/mlp", Summary: "CartPole-v1 with a [64, 64] network for each of 128 members × 32 environments", Unit: "env steps/s",
			run: rollout("CartPole-v1", 128, 32, 128, true, envs.ByDevice)},
		{Name: "cartpole/mlp/p2048", Summary: "the same, 2048 members × 64 environments", Unit: "env steps/s", GPU: true,
			run: rollout("CartPole-v1", 2048, 64, 128, true, envs.ByDevice)},
		{Name: "ppo/p1", Summary: "PPO on CartPole-v1, one member of 4 environments × 128 steps", Unit: "env steps/s", run: ppo(1)},
		{Name: "ppo/p256", Summary: "the same, 256 members", Unit: "env steps/s", Least: 15 * time.Second, run: ppo(256)},
		{Name: "ppo/p2048", Summary: "the same, 2048 members", Unit: "env steps/s", GPU: true, run: ppo(2048)},
		{Name: "ppo/p256/start", Summary: "from opening the device to the end of the first iteration, no pipeline cached", Unit: "s", Rank: 1,
			Least: 20 * time.Second, run: start(256)},
		{Name: "pbt/p32", Summary: "an iteration of PBT over PPO with an exchange, 32 members", Unit: "s", Rank: 1, Least: 10 * time.Second, run: pbt(32)},
	}, convolutions()...)
}

func cartPole() (*envs.Environment, error) { return envs.Lookup("CartPole-v1") }

// rollout measures environment steps with uniformly random actions or a network's. horizon is the number of steps per recording.
func rollout(name string, members, environments, horizon int, network bool, mapping envs.Mapping) func(context.Context, *bench) (figure, error) {
	return rolloutPlaced(name, members, environments, horizon, network, mapping, func(envs.Placement) bool { return true }, envs.Automatic)
}

// rolloutPlaced is rollout with a network in a requested placement; where the device chooses one that is not wanted, there is no figure.
func rolloutPlaced(name string, members, environments, horizon int, network bool, mapping envs.Mapping, wanted func(envs.Placement) bool,
	placement envs.Placement,
) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		env, err := envs.Lookup(name)
		if err != nil {
			return figure{}, err
		}
		s := b.eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		var policy *envs.Policy
		var params []float32
		if network {
			mlp := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: []int{64, 64}, Activation: nn.Tanh}
			row := nn.Align(mlp.Size() + mlp.Out)
			policy = &envs.Policy{Network: mlp, Head: env.Action.Head(), Placement: placement, Weights: nn.Weights{
				Params: s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", row)),
			}}
			params = make([]float32, members*row)
			for p := range members {
				mlp.Init(params[p*row:], nn.Orthogonal, 1, 1, engine.NewRng(1, engine.Stream("init"), uint32(p), 0, 0))
			}
		}
		ro, err := envs.NewRollout(ctx, s, env, envs.RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Options: envs.Options{Mapping: mapping}, Policy: policy,
		})
		if err != nil {
			return figure{}, err
		}
		if network {
			if chosen, err := ro.Placement(policy, b.eng.Device().Info()); err != nil || !wanted(chosen) {
				return figure{}, cmp.Or(err, errSkip)
			}
		}
		if err := s.Zero(ctx); err != nil {
			return figure{}, err
		}
		if network {
			if err := policy.Params.WriteFloat32(ctx, params); err != nil {
				return figure{}, err
			}
		}
		first, err := b.eng.Record("first episodes", func(r *engine.Recorder) { ro.RecordFirst(r, clock) })
		if err != nil {
			return figure{}, err
		}
		defer first.Free()
		if err := first.Run(ctx); err != nil {
			return figure{}, err
		}
		p, err := b.eng.Record("rollout", func(r *engine.Recorder) {
			ro.Record(r, clock, policy)
			clock.Tick(r, 1, horizon)
		})
		if err != nil {
			return figure{}, err
		}
		defer p.Free()
		var rate, limit float64
		measure := func() error {
			rate, err = b.rate(ctx, float64(members*environments*horizon), submitted(ctx, p))
			return err
		}
		if network {
			limit, err = b.around(ctx, measure)
			limit /= forward(env, env.Action.Size())
		} else {
			err = measure()
		}
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.kernels(ctx, p)
		return figure{value: rate, limit: limit, kernels: kernels}, err
	}
}

// forward returns the operations of a [64, 64] network's forward pass for one observation.
func forward(env *envs.Environment, out int) float64 {
	return 2 * float64(env.ObsSize()*64+64*64+64*out)
}

// smallTraining returns the operations of PPO's [64, 64] networks per environment step.
func smallTraining(env *envs.Environment, cfg rl.PPOConfig) float64 {
	return training(forward(env, env.Action.Size()), forward(env, 1), cfg)
}

func newPPO(ctx context.Context, eng *engine.Engine, members int) (*rl.PPO, rl.PPOConfig, error) {
	env, err := cartPole()
	if err != nil {
		return nil, rl.PPOConfig{}, err
	}
	cfg := rl.DefaultPPO()
	cfg.Members = members
	p, err := rl.NewPPO(ctx, eng, env, cfg)
	return p, cfg, err
}

// ppo measures PPO training on CartPole-v1.
func ppo(members int) func(context.Context, *bench) (figure, error) {
	return learning(func(ctx context.Context, eng *engine.Engine) (*rl.PPO, float64, error) {
		p, cfg, err := newPPO(ctx, eng, members)
		if err != nil {
			return nil, 0, err
		}
		return p, smallTraining(p.Environment(), cfg), nil
	})
}

// steps returns a function that submits the next iteration.
func steps(ctx context.Context, w engine.Workflow) func() (waiter, error) {
	done := 0
	return func() (waiter, error) {
		t, err := w.Step(ctx, done)
		done++
		return t, err
	}
}

// step returns a function that runs the next iteration.
func step(ctx context.Context, w engine.Workflow) func() error {
	next := steps(ctx, w)
	return func() error {
		t, err := next()
		if err != nil {
			return err
		}
		return t.Wait(ctx)
	}
}

// start measures the time until the end of the first iteration, including compilation.
func start(members int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (_ figure, err error) {
		begin := time.Now()
		dev, err := b.uncached()
		if err != nil {
			return figure{}, err
		}
		defer dev.Close()
		p, _, err := newPPO(ctx, engine.New(dev), members)
		if err != nil {
			return figure{}, err
		}
		defer p.Close()
		if err := p.Init(ctx); err != nil {
			return figure{}, err
		}
		if err := step(ctx, p)(); err != nil {
			return figure{}, err
		}
		return figure{value: time.Since(begin).Seconds()}, nil
	}
}

// uncached opens the device again without pipeline caches, neither evorl's nor the driver's.
func (b *bench) uncached() (dev *vk.Device, err error) {
	err = withoutDriverCaches(func() error {
		dev, err = vk.Open(vk.Index(b.eng.Device().Info().Index), vk.CacheDir(""))
		return err
	})
	return dev, err
}

// withoutDriverCaches calls f with the caches of Mesa's and NVIDIA's drivers off, unless the environment sets them.
func withoutDriverCaches(f func() error) error {
	for _, of := range []struct{ variable, value string }{{"MESA_SHADER_CACHE_DISABLE", "true"}, {"__GL_SHADER_DISK_CACHE", "0"}} {
		if _, set := os.LookupEnv(of.variable); set {
			continue
		}
		if err := os.Setenv(of.variable, of.value); err != nil {
			return err
		}
		defer func() { _ = os.Unsetenv(of.variable) }()
	}
	return f()
}

// cached opens the device again with pipeline caches, as evorl run does.
func (b *bench) cached() (*vk.Device, error) { return vk.Open(vk.Index(b.eng.Device().Info().Index)) }

// pbt measures an iteration with an exchange.
func pbt(members int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		inner, cfg, err := newPPO(ctx, b.eng, members)
		if err != nil {
			return figure{}, err
		}
		every := hybrid.DefaultPBT()
		every.Warmup, every.Interval = 0, 1
		p, err := hybrid.NewPBT(ctx, inner, every)
		if err != nil {
			return figure{}, err
		}
		defer p.Close()
		if err := p.Init(ctx); err != nil {
			return figure{}, err
		}
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, 1, eachWaited(step(ctx, p)))
			return err
		})
		if err != nil {
			return figure{}, err
		}
		if rate == 0 {
			return figure{}, fmt.Errorf("no iteration")
		}
		// Evaluation episodes have no fixed length, so the limit excludes them.
		least := smallTraining(inner.Environment(), cfg) * float64(inner.Describe().StepsPerIter) / peak
		kernels, err := b.recorded(ctx, "iteration", func(r *engine.Recorder) { inner.Record(r, nil) }) // the exchange is not profiled
		return figure{value: 1 / rate, limit: least, kernels: kernels}, err
	}
}
