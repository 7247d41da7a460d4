package envs

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Evaluator runs whole episodes of every member, all members × episodes in one batch, without auto-reset and with the
// mode of the policy's distribution as action, or with Options.DrawEvaluations drawn ones. Rewards are the environment's own; reward scale and sparsity of the
// training options are ignored. In a world of several agents a member's policy plays all seats, and an episode's return
// is the mean over the seats; against a pool of opponents (Against) it plays one, and the return is that seat's.
type Evaluator struct {
	eng     *engine.Engine
	env     *Environment
	options Options
	policy  *Policy
	members int
	against *opposed // nil: a member plays all seats

	runs map[int]*evaluation // by episodes per member
}

type evaluation struct {
	state   *engine.State
	rollout *Rollout
	acts    *Policy
	program *engine.Program
}

// opposed says who plays other seats than a member's.
type opposed struct {
	policy  *Policy
	matches MatchConfig
}

// NewEvaluator makes an evaluator of a policy. Its tensors are made when a number of episodes is first requested, and
// are not saved. Errors: an environment without a time limit, DrawEvaluations of a policy whose head has no distribution (nn.Head.Draws).
func NewEvaluator(ctx context.Context, s *engine.State, env *Environment, options Options, policy *Policy) (*Evaluator, error) {
	if err := engine.Require(map[string]any{"state": s, "environment": env, "policy": policy}); err != nil {
		return nil, fmt.Errorf("envs: an evaluator: %w", err)
	}
	options.AutoReset, options.RewardScale, options.SparseReward = Disabled, 1, false
	resolved, err := options.resolved(env.Spec)
	if err != nil {
		return nil, err
	}
	if resolved.TimeLimit == NoTimeLimit {
		return nil, fmt.Errorf("envs: evaluating in %q without a time limit might never end; set one", env.Name)
	}
	if options.DrawEvaluations && !policy.Head.Draws() {
		return nil, fmt.Errorf("envs: drawn actions of a policy with a %v head, which has no distribution to draw from", policy.Head.Kind)
	}
	return &Evaluator{
		eng: s.Engine(), env: env, options: resolved, policy: policy,
		members: policy.Params.Size(engine.MemberAxis), runs: map[int]*evaluation{},
	}, nil
}

// steps returns the maximum length of an episode, in actions.
func (ev *Evaluator) steps() int {
	return (ev.options.TimeLimit + ev.options.ActionRepeat - 1) / ev.options.ActionRepeat
}

// Against makes every member play one seat, drawn anew for each episode, against rows of a pool in the others: policy has the members' rows and the
// pool's, and cfg says which play, except for the sizes and the seat. Call it before the first evaluation.
func (ev *Evaluator) Against(policy *Policy, cfg MatchConfig) { ev.against = &opposed{policy, cfg} }

// Policy returns the evaluated policy.
func (ev *Evaluator) Policy() *Policy { return ev.policy }

// Fitness returns an engine.Fitness: the mean return over the given number of episodes per member, or the return of
// each episode. Its tensors are made in the workflow's state s.
func (ev *Evaluator) Fitness(ctx context.Context, s *engine.State, clock engine.Clock, episodes int) (engine.Fitness, error) {
	if err := engine.Require(map[string]any{"state": s}); err != nil {
		return nil, fmt.Errorf("envs: the fitness of a policy: %w", err)
	}
	rollout, acts, err := ev.newRollout(ctx, s, episodes, ev.against, !ev.options.DrawEvaluations)
	if err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		rollout.Record(r, clock, acts)
		if ev.against != nil && fitness.Len() != ev.members {
			r.Fail(fmt.Errorf("envs: the returns %v of single episodes against opponents; want the mean of each of %d members", fitness, ev.members))
			return
		}
		if (rollout.seated != nil || ev.env.Seats() > 1) && fitness.Len() == rollout.cfg.Members*rollout.cfg.Environments {
			rollout.recordMeans(r, fitness)
			return
		}
		if fitness.Len() == rollout.ret.Len() {
			r.Copy(fitness, rollout.ret) // every environment runs one episode
			return
		}
		rollout.RecordReturns(r, fitness, nil)
	}, nil
}

// Scores is Fitness of games of two seats against rows of a policy, which cfg says as in Against: a member scores 1 in a game in which its return is
// greater than the opponent's, 1/2 if they are equal, else 0. Its fitness is its mean score, or that of each episode.
func (ev *Evaluator) Scores(
	ctx context.Context, s *engine.State, clock engine.Clock, episodes int, policy *Policy, cfg MatchConfig,
) (engine.Fitness, error) {
	if err := engine.Require(map[string]any{"state": s, "policy": policy}); err != nil {
		return nil, fmt.Errorf("envs: the scores of a policy: %w", err)
	}
	if n := ev.env.Seats(); n != 2 {
		return nil, fmt.Errorf("envs: scores in %q, whose episodes have %d seats; want two", ev.env.Name, n)
	}
	rollout, acts, err := ev.newRollout(ctx, s, episodes, &opposed{policy, cfg}, !ev.options.DrawEvaluations)
	if err != nil {
		return nil, err
	}
	scores := s.Scratch("scores", engine.Float32, engine.Members(ev.members), engine.Environments(episodes))
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		rollout.Record(r, clock, acts)
		acts.Matches.recordScores(r, rollout.ret, scores)
		if fitness.Len() == scores.Len() {
			r.Copy(fitness, scores)
			return
		}
		engine.Mean(r, fitness, scores, nil, 1)
	}, s.Err()
}

// newRollout makes a rollout of the given number of episodes per member, with tensors in s, and what acts in it. against may be nil. mode takes the
// most likely actions instead of samples.
func (ev *Evaluator) newRollout(ctx context.Context, s *engine.State, episodes int, against *opposed, mode bool) (*Rollout, *Policy, error) {
	acts := ev.policy
	if against != nil {
		cfg := against.matches
		cfg.Members, cfg.Environments, cfg.Seat, cfg.begins = ev.members, episodes, AnySeat, true
		m, err := NewMatches(s, ev.env, cfg)
		if err != nil {
			return nil, nil, err
		}
		with := *against.policy
		with.Rows, with.Matches = m.Rows(), m
		acts = &with
	}
	rollout, err := NewRollout(ctx, s, ev.env, RolloutConfig{
		Members: ev.members, Environments: episodes, Horizon: ev.steps(), Options: ev.options, Mode: mode, Begin: true, Evaluation: true,
		Policy: acts,
	})
	return rollout, acts, err
}

// Run runs the given number of episodes of every member. Their random numbers depend on the clock's count, so that
// the same run at the same iteration sees the same episodes.
func (ev *Evaluator) Run(ctx context.Context, clock engine.Clock, episodes int) (engine.Evaluation, error) {
	if err := ev.Prepare(ctx, clock, episodes); err != nil {
		return engine.Evaluation{}, err
	}
	run := ev.runs[episodes]
	if err := run.program.Run(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	returns, err := run.rollout.ret.ReadFloat32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	words, err := run.rollout.step.ReadUint32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	seats := ev.env.Seats()
	var all, others []float32
	if ev.against == nil {
		all = seatReturns(returns, words)
		returns, words = meanEpisodes(returns, words, seats)
	} else {
		rows, err := run.acts.Rows.ReadUint32(ctx)
		if err != nil {
			return engine.Evaluation{}, err
		}
		returns, others, words = ownEpisodes(returns, words, rows, seats, episodes)
	}
	out := engine.Evaluation{Returns: make([][]float32, ev.members), Lengths: make([][]float32, ev.members)}
	for p := range ev.members {
		if all != nil && seats > 1 {
			out.Seats = append(out.Seats, all[p*episodes*seats:(p+1)*episodes*seats])
		}
		if others != nil {
			out.Others = append(out.Others, others[p*episodes:(p+1)*episodes])
		}
		out.Returns[p] = returns[p*episodes : (p+1)*episodes]
		out.Lengths[p] = make([]float32, episodes)
		for e := range episodes {
			out.Lengths[p][e] = float32(EpisodeWord(words[p*episodes+e]).Steps())
		}
	}
	return out, nil
}

// Prepare makes the tensors and the program of Run for the given number of episodes, if that has not been done.
//
// Errors: less than one episode, *vk.OutOfMemoryError.
func (ev *Evaluator) Prepare(ctx context.Context, clock engine.Clock, episodes int) error {
	if ev.runs[episodes] != nil {
		return nil
	}
	failed := func(err error) error {
		return fmt.Errorf("envs: evaluating %d episodes of %d members in %q: %w", episodes, ev.members, ev.env.Name, err)
	}
	if err := engine.CheckEpisodes(episodes); err != nil {
		return failed(err)
	}
	run := &evaluation{state: ev.eng.NewState()}
	if err := run.build(ctx, ev, clock, episodes); err != nil {
		run.close()
		return failed(err)
	}
	ev.runs[episodes] = run
	return nil
}

func (run *evaluation) build(ctx context.Context, ev *Evaluator, clock engine.Clock, episodes int) (err error) {
	if run.rollout, run.acts, err = ev.newRollout(ctx, run.state, episodes, ev.against, !ev.options.DrawEvaluations); err != nil {
		return err
	}
	if err := run.state.Zero(ctx); err != nil {
		return err
	}
	run.program, err = ev.eng.Record("evaluate", func(r *engine.Recorder) { run.rollout.Record(r, clock, run.acts) })
	return err
}

func (run *evaluation) close() {
	run.program.Free()
	run.state.Close()
}

// Close frees the memory of evaluations. Calling it twice, or on nil, is allowed.
func (ev *Evaluator) Close() {
	if ev == nil {
		return
	}
	for _, run := range ev.runs {
		run.close()
	}
	clear(ev.runs)
}
