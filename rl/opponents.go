package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Opponents are pools of parameter rows, one for each member, which play the other seat of its worlds: opponents of its episodes and of its
// evaluations. The pools are part of the state. An enclosing method lets members enter, and sets the weights by which opponents are drawn.
type Opponents struct {
	members, size int
	league        bool
	agent         *Agent
	rows          *engine.Tensor // [M + M·n, row]: the members' own rows, then each member's pool
	normalizers   *engine.Tensor // [M + M·n, 2, O]; nil: none
	filled        *engine.Tensor // [M, n]; in a league [M, M + M·n]
	matches       *envs.Matches
	policy        *envs.Policy
	evaluation    envs.Player
}

func newOpponents(s *engine.State, env *envs.Environment, a *Agent, c onPolicyConfig, with settings) (*Opponents, error) {
	if env.Seats() != 2 {
		return nil, fmt.Errorf("a pool of opponents in %q, whose episodes have %d seats; want two", env.Name, env.Seats())
	}
	pool := with.pool
	o := &Opponents{members: c.Members, size: pool.Opponents, league: pool.League, agent: a, evaluation: pool.Evaluation}
	all := engine.Members(c.Members + c.Members*o.size)
	s.OnInherit(o.inherit) // copied members take over their sources' rows and pools
	o.rows = s.Tensor("rows", engine.Float32, all, engine.Axis("parameter", a.Actor().Size("parameter"))).Own()
	if a.normalizer != nil {
		o.normalizers = s.Tensor("normalizers", engine.Float32, all, engine.Axis("moment", 2), engine.Axis("feature", env.ObsSize())).Own()
	}
	matches := o.among()
	matches.Members, matches.Environments, matches.Seat, matches.Results = c.Members, c.Environments/env.Seats(), envs.AnySeat, true
	if !o.league {
		matches.Alone, matches.Peers, matches.Scripted, matches.Random = pool.Alone, pool.Peers, pool.Scripted, pool.Random
	}
	o.filled = s.Tensor("filled", engine.Float32, engine.Members(c.Members), engine.Axis("row", matches.Count))
	var err error
	o.matches, err = envs.NewMatches(s, env, matches)
	if err != nil {
		return nil, err
	}
	o.policy = a.Policy()
	o.policy.Params, o.policy.Normalizer, o.policy.Rows, o.policy.Matches = o.rows, o.normalizers, o.matches.Rows(), o.matches
	return o, s.Err()
}

// among returns the rows among which opponents are drawn by weights.
func (o *Opponents) among() envs.MatchConfig {
	if o.league {
		return envs.MatchConfig{Count: o.members * (1 + o.size), Weighted: true}
	}
	return envs.MatchConfig{First: o.members, Count: o.size, Apart: true, Weighted: true}
}

// evaluate makes evaluations run against all opponents of the pools alike, or against a player without parameters.
func (o *Opponents) evaluate(ev *envs.Evaluator) {
	matches := o.among()
	matches.Given = o.filled
	ev.Against(o.policy, o.evaluation.Alone(matches))
}

// Scores returns an engine.Fitness: the members' scores (envs.Evaluator.Scores) in games against each other as they were at the end of the last iteration,
// with an opponent drawn uniformly for each of the given number of episodes per member. Its tensors are made in s.
//
// Errors: a single member.
func (o *Opponents) Scores(ctx context.Context, ev *envs.Evaluator, s *engine.State, clock engine.Clock, episodes int) (engine.Fitness, error) {
	return ev.Scores(ctx, s, clock, episodes, o.policy, envs.MatchConfig{Count: o.members, Peers: 1})
}

// Size returns the number of places in a member's pool.
func (o *Opponents) Size() int { return o.size }

// Policy returns the policy of the rows of Rows, with their moments of observations.
func (o *Opponents) Policy() *envs.Policy { return o.policy }

// Rows returns the parameters [M + M·n, row]: the members' own, as at the last Refresh, which ends each iteration, then those of each member's pool.
func (o *Opponents) Rows() *engine.Tensor { return o.rows }

// Matches returns the draws of opponents, with their weights and the results of games.
func (o *Opponents) Matches() *envs.Matches { return o.matches }

// Filled returns [M, n]: 1 for the places of the pools that evaluations play against, 0 for others; in a league [M, M + M·n], of all its rows.
func (o *Opponents) Filled() *engine.Tensor { return o.filled }

// Enter records that every member, as it is now, takes a place of its pool, places [M] u32; n stands for none. Games in progress against the opponent that
// was there are not counted.
func (o *Opponents) Enter(r *engine.Recorder, places *engine.Tensor) {
	o.matches.RecordForget(r, places)
	o.copy(r, places)
}

// EnterAmong is Enter in a league, whose rows gone [M + M·n] u32 that are not 0 are about to be other players: games in progress of these are not counted,
// whoever plays them.
func (o *Opponents) EnterAmong(r *engine.Recorder, places, gone *engine.Tensor) {
	o.matches.RecordLeave(r, gone)
	o.copy(r, places)
}

// Differ records which members, as they are now, differ by any bit from the opponents at places of their pools, [M] u32, to differs [M] u32: 1 or 0.
func (o *Opponents) Differ(r *engine.Recorder, places, differs *engine.Tensor) {
	r.Fill(differs, 0)
	for _, t := range o.copied() {
		width := t.from.Len() / o.members
		r.Dispatch(opponentsDifferKernel{
			From: t.from.Range(), Places: places.Range(), Rows: t.to.Range(), Differs: differs.Range(),
			Members: uint32(o.members), Size: uint32(o.size), Width: uint32(width), Workgroup: r.WorkgroupFor(width),
		}.call(uint32(o.members), 1, 1))
	}
}

// copied returns the members' tensors that opponents are made of, with those of the rows.
func (o *Opponents) copied() (of []struct{ from, to *engine.Tensor }) {
	of = append(of, struct{ from, to *engine.Tensor }{o.agent.Actor(), o.rows})
	if o.normalizers != nil {
		of = append(of, struct{ from, to *engine.Tensor }{o.agent.normalizerValues(), o.normalizers})
	}
	return of
}

// Refresh records that the members' own rows, by which they act, are as they are now. A method that changes members between iterations records it after.
func (o *Opponents) Refresh(r *engine.Recorder) { o.copy(r, nil) }

// inherit records that copied members take over the rows and pools of their sources, [M] u32.
func (o *Opponents) inherit(r *engine.Recorder, source *engine.Tensor) {
	for _, of := range o.copied() {
		t := of.to
		each := t.Len() / o.members // words of a member
		groups := r.Share(o.members, each)
		r.Dispatch(opponentsInheritKernel{
			Source: source.Range(), Rows: t.Range(), Members: uint32(o.members), Size: uint32(o.size), Width: uint32(each / (1 + o.size)),
			LocalSizeX: r.WorkgroupFor(each / int(groups)),
		}.call(groups, uint32(o.members), 1))
	}
}

// copy records copying the members' rows, to places of their pools or, if these are nil, to the members' own.
func (o *Opponents) copy(r *engine.Recorder, places *engine.Tensor) {
	for _, t := range o.copied() {
		width := t.from.Len() / o.members
		size, groups := r.Invocations(width)
		k := opponentsEnterKernel{
			From: t.from.Range(), Rows: t.to.Range(), Members: uint32(o.members), Size: uint32(o.size), Width: uint32(width), LocalSizeX: size,
		}
		if places != nil {
			k.Places = places.Range()
		}
		r.Dispatch(k.call(groups, uint32(o.members), 1))
	}
}
