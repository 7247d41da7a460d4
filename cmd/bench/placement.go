package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// placements are cases of networks of [256, 256] with few episodes each: wherever the device has room for them, and what is chosen when
// nobody asks, beside the fastest of the others.
func placements() []Case {
	var all []Case
	for _, environments := range []int{1, 4, 16} {
		name := func(p envs.Placement) string { return fmt.Sprintf("placement/e%d/%v", environments, p) }
		best := new(float64) // of this number of environments
		for _, p := range envs.Placements() {
			if p == envs.InLane {
				continue // no device's lanes have room for it
			}
			all = append(all, Case{
				Name: name(p), Unit: "env steps/s", run: placed(p, environments, best),
				Summary: fmt.Sprintf("swing-up with a [256, 256] network for every %d environments, its weights placed: %v", environments, p),
			})
		}
		all = append(all, Case{
			Name: name(envs.Automatic), Unit: "env steps/s", run: placed(envs.Automatic, environments, best),
			Summary: "the same, placed as a search has it by default; the limit is the fastest of the others",
		})
	}
	return all
}

// placed measures environment steps with networks placed so. best is the highest rate of those placed by hand so far, and the limit of Automatic.
func placed(placement envs.Placement, environments int, best *float64) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		members, horizon := 16, 25
		if b.eng.Device().Info().Type.GPU() {
			members, horizon = 1024, 250
		}
		env, err := envs.Lookup("CartPoleSwingUp-easy")
		if err != nil {
			return figure{}, err
		}
		s := b.eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		ro, err := envs.NewRollout(ctx, s, env, envs.RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Mode: true, Begin: true, Options: envs.Options{AutoReset: envs.Disabled},
		})
		if err != nil {
			return figure{}, err
		}
		mlp := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: []int{256, 256}, Activation: nn.Tanh}
		params := s.Tensor("params", engine.Float32, engine.Population(members), engine.Axis("parameter", nn.Align(mlp.Size())))
		if err := s.Zero(ctx); err != nil { // networks of zeros: no episode ends, the cart stays near its place
			return figure{}, err
		}
		if err := ro.Init(ctx); err != nil {
			return figure{}, err
		}
		p, err := b.eng.Record("rollout", func(r *engine.Recorder) {
			ro.Record(r, clock, &envs.Policy{Network: mlp, Weights: nn.Weights{Params: params}, Placement: placement})
		})
		if err != nil {
			if placement != envs.Automatic && errors.Is(err, nn.ErrNoRoom) {
				err = errSkip
			}
			return figure{}, err
		}
		defer p.Free()
		rate, err := b.rate(ctx, float64(members*environments*horizon), func() error { return p.Run(ctx) })
		if placement == envs.Automatic {
			return figure{value: rate, limit: *best}, err
		}
		*best = max(*best, rate)
		return figure{value: rate}, err
	}
}
