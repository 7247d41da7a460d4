package envs

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Moves is Fitness that also measures in what share of an episode's steps the action is not the one that is to stay, from 0 to 1: it returns what records the
// returns and these shares of the given number of episodes per member, [M, episodes] each. still is that action's number. Actions are sampled, as in
// training. The episodes' transitions are kept in memory.
//
// Errors: actions that are not discrete, or no such action; several seats; *vk.OutOfMemoryError.
func (ev *Evaluator) Moves(
	ctx context.Context, s *engine.State, clock engine.Clock, episodes, still int,
) (record func(r *engine.Recorder, returns, moves *engine.Tensor), err error) {
	switch n := ev.env.Action.N; {
	case !ev.env.Action.IsDiscrete() || still < 0 || still >= n:
		return nil, fmt.Errorf("envs: moves in %q, whose action to stay is to be %d of %d; want discrete actions and one of them", ev.env.Name, still, n)
	case ev.env.Seats() > 1:
		return nil, fmt.Errorf("envs: moves in %q, which has %d seats; want one", ev.env.Name, ev.env.Seats())
	}
	if most, steps := s.Engine().Device().Info().Limits.MaxLoopIterations, ev.steps(); most > 0 && steps > int(most) {
		return nil, fmt.Errorf("envs: moves in %q, whose episodes have up to %d steps; this device's driver allows %d: want a shorter time limit",
			ev.env.Name, steps, most)
	}
	rollout, err := NewRollout(ctx, s, ev.env, RolloutConfig{
		Members: ev.members, Environments: episodes, Horizon: ev.steps(), Options: ev.options, Begin: true, Evaluation: true, Trajectory: true,
		Policy: ev.policy,
	})
	if err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, returns, moves *engine.Tensor) {
		if returns.Len() != rollout.ret.Len() || moves.Len() != rollout.ret.Len() {
			r.Fail(fmt.Errorf("envs: returns %v and moves %v; want those of %d episodes of %d members", returns, moves, episodes, ev.members))
			return
		}
		rollout.Record(r, clock, ev.policy)
		r.Copy(returns, rollout.ret)
		size, groups := r.Invocations(moves.Len())
		r.Dispatch(movesKernel{
			Action: rollout.Action.Range(), Done: rollout.Done.Range(), Moves: moves.Range(),
			Steps: uint32(ev.steps()), All: uint32(moves.Len()), Still: uint32(still), LocalSizeX: size,
		}.call(groups, 1, 1))
	}, s.Err()
}
