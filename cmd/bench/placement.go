package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// placements are cases of [256, 256] networks with few episodes each, in every placement that a device may support,
// and a comparison of the default placement with the fastest.
func placements() []Case {
	var all []Case
	for _, environments := range []int{1, 4, 16} {
		name := func(p envs.Placement) string { return fmt.Sprintf("placement/e%d/%v", environments, p) }
		for _, p := range envs.Placements() {
			if p == envs.PlacementOwn {
				continue // does not fit in the lanes of any device
			}
			all = append(all, Case{
				Name: name(p), Unit: "env steps/s", Rank: 2, run: placed(p, environments),
				Summary: fmt.Sprintf("swing-up with a [256, 256] network for every %d environments, its weights placed: %v", environments, p),
			})
		}
		all = append(all, Case{
			Name: name(envs.Automatic), Unit: "env steps/s", Rank: 2, run: placed(envs.Automatic, environments),
			Summary: "the same, placed as a search has it by default; the limit is the fastest of them",
		})
	}
	return all
}

// placed measures environment steps with networks in the given placement. What Automatic chooses was measured before, unless that case was not selected.
func placed(placement envs.Placement, environments int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		env, err := envs.Lookup("CartPoleSwingUp-easy")
		if err != nil {
			return figure{}, err
		}
		s := b.eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		mlp := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: []int{256, 256}, Activation: nn.Tanh}
		row := nn.Align(mlp.Size() + mlp.Out)
		members, horizon := 16, 25
		if info := b.eng.Device().Info(); info.Type.GPU() {
			members, horizon = min(1024, int(info.Limits.MaxStorageRange)/(4*row)), 250
		}
		policy := &envs.Policy{Network: mlp, Head: env.Action.Head(), Placement: placement}
		ro, err := envs.NewRollout(ctx, s, env, envs.RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Mode: true, Begin: true, Options: envs.Options{AutoReset: envs.Disabled},
			Policy: policy,
		})
		if err != nil {
			return figure{}, err
		}
		params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", row))
		if err := s.Zero(ctx); err != nil { // zero networks: no episode ends, since the cart hardly moves
			return figure{}, err
		}
		policy.Params = params
		chosen, err := ro.Placement(policy, b.eng.Device().Info())
		if err != nil {
			if errors.Is(err, nn.ErrNoRoom) {
				err = errSkip
			}
			return figure{}, err
		}
		rates := b.placed[environments]
		if rates == nil {
			rates = map[envs.Placement]float64{}
			b.placed[environments] = rates
		}
		if rates[chosen] == 0 {
			p, err := b.eng.Record("rollout", func(r *engine.Recorder) { ro.Record(r, clock, policy) })
			if err != nil {
				return figure{}, err
			}
			defer p.Free()
			if rates[chosen], err = b.rate(ctx, float64(members*environments*horizon), submitted(ctx, p)); err != nil {
				return figure{}, err
			}
		}
		if placement == envs.Automatic {
			return figure{value: rates[chosen], limit: slices.Max(slices.Collect(maps.Values(rates)))}, nil
		}
		return figure{value: rates[chosen]}, nil
	}
}
