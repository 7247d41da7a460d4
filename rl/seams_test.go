package rl

import (
	"context"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// The calls by which methods and tasks that evorl does not have yet will reach the seam between acting and learning.

// see learns from images.
func see(ctx context.Context, eng *engine.Engine, images *envs.Environment) (*PPO, error) {
	net := DefaultNetwork()
	net.Hidden, net.Layers = nil, []nn.LayerConfig{
		{Kind: nn.Convolution, Channels: 16, Kernel: 3}, {Kind: nn.Dense, Units: 128}, // each with the network's activation
	}
	return NewPPO(ctx, eng, images, DefaultPPO(), Network(net))
}

// playTogether lets a member's row and a pool's rows play the seats of a world.
func playTogether(ctx context.Context, s *engine.State, world *envs.Environment, policy *envs.Policy, pool, members, environments int) (*envs.Rollout, error) {
	matches, err := envs.NewMatches(s, world, envs.MatchConfig{
		Members: members, Environments: environments, First: members, Count: pool, Seat: envs.AnySeat, Weighted: true,
	})
	if err != nil {
		return nil, err
	}
	policy.Matches = matches
	return envs.NewRollout(ctx, s, world, envs.RolloutConfig{Members: members, Environments: environments, Horizon: 64, Policy: policy, Trajectory: true})
}

// outside learns in an environment that another process, or Go, steps.
func outside(ctx context.Context, eng *engine.Engine, spec envs.Spec, connect envs.MakeStepper) (*OffPolicy, error) {
	env, err := envs.NewOutside(spec, connect)
	if err != nil {
		return nil, err
	}
	return NewSAC(ctx, eng, env, DefaultSAC())
}

// elsewhere has a part of a step computed by another device, or another machine.
func elsewhere(r *engine.Recorder, parameters, fitness *engine.Tensor, compute func(context.Context, []float32) ([]float32, error)) {
	r.Host("slices of other devices", func(ctx context.Context) error {
		rows, err := parameters.ReadFloat32(ctx)
		if err != nil {
			return err
		}
		values, err := compute(ctx, rows)
		if err != nil {
			return err
		}
		return fitness.WriteFloat32(ctx, values)
	})
}

var _, _, _, _ = see, playTogether, outside, elsewhere

// Learning with memory: act, go over the trajectory from the memory at its start, and back, and step. The loss is half the sum of the squared outputs,
// so that its gradient is the outputs themselves.
func TestRecurrentGradientStep(t *testing.T) {
	const members, environments, horizon = 2, 3, 16
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(4))
	s := eng.NewState()
	t.Cleanup(func() { _ = s.Close() })
	clock, p := engine.NewClock(s), engine.Members(members)
	model := nn.Recurrent{In: 4, Out: 2, Before: []int{8}, Cell: nn.GRU, Units: 8, Activation: nn.Tanh}
	rate := s.Tensor("learning_rate", engine.Float32, p)
	adam := optim.New(s, optim.DefaultAdam, rate, nn.Align(model.Size()))
	weights := nn.Weights{Params: adam.Params()}
	policy := &envs.Policy{Weights: weights, Network: model, Head: env.Action.Head()}
	rollout, err := envs.NewRollout(t.Context(), s, env, envs.RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(s.Sub("learner"), model, members, environments)
	if err != nil {
		t.Fatal(err)
	}
	sequence, err := net.NewSequence(s.Sub("learner"), horizon, environments)
	if err != nil {
		t.Fatal(err)
	}
	outputs := s.Scratch("outputs", engine.Float32, engine.Time(horizon), p, engine.Environments(environments), engine.Axis("output", 2))
	gradient := s.Scratch("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", sequence.Splits())}, adam.Params().Dims()...)...)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	params := make([]float32, adam.Params().Len())
	for m := range members {
		model.Init(params[m*nn.Align(model.Size()):], nn.Orthogonal, 1, 1, engine.NewRng(4, 0, uint32(m), 0, 0))
	}
	for tensor, values := range map[*engine.Tensor][]float32{adam.Params(): params, rate: {1e-2, 1e-2}} {
		if err := tensor.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
	}
	inputs := nn.Inputs{Parts: []*engine.Tensor{rollout.Obs}, Memory: rollout.Trajectory.Memory}
	program := func(record func(r *engine.Recorder)) {
		t.Helper()
		program, err := eng.Record("test", record)
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	program(func(r *engine.Recorder) {
		rollout.RecordFirst(r, clock)
		rollout.Record(r, clock, policy)
	})
	loss := func() (sum float64) {
		y, err := outputs.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range y {
			sum += float64(v) * float64(v)
		}
		return sum
	}
	losses := []float64{}
	for range 5 {
		program(func(r *engine.Recorder) {
			sequence.Forward(r, weights, inputs, rollout.Done, outputs)
			sequence.Backward(r, outputs, nn.SequenceGradients{Gradients: nn.Gradients{Params: gradient}})
			adam.Step(r, gradient)
		})
		losses = append(losses, loss())
	}
	for i := 1; i < len(losses); i++ {
		if !(losses[i] < losses[i-1]) {
			t.Fatalf("losses after each step: %v; want each below the one before", losses)
		}
	}
}
