package hybrid

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
)

// league is the part of a SelfPlay whose members are a league. A player is a row of the agent's parameters with its pools: the members as they are, then
// the past players of member 0, those of member 1 and so on, P of them. A past player's number says from which member it descends; what is known of it
// is in the matrices of SelfPlay.
type league struct {
	mains, mainExploiters int
	stream                uint32 // of the draws of those that begin anew

	resets *engine.Tensor // [M] u32: the member's number; M: it begins anew
	gone   *engine.Tensor // [P] u32: 1 for players that are about to be others
	first  []beginning
}

// beginning is a tensor of the agents with its contents before the first iteration.
type beginning struct{ now, first *engine.Tensor }

// players returns the number of players, P.
func (p *SelfPlay) players() int { return p.members * (1 + p.cfg.Capacity) }

// opponentsOf returns the number of opponents that a member may meet: the places of its own pool, or all players of a league.
func (p *SelfPlay) opponentsOf() int {
	if p.league != nil {
		return p.players()
	}
	return p.cfg.Capacity
}

// build makes the league's tensors in s, when the agent's are made.
func (l *league) build(p *SelfPlay, s *engine.State) {
	l.mains, l.mainExploiters = p.members-p.cfg.MainExploiters-p.cfg.LeagueExploiters, p.cfg.MainExploiters
	l.stream = s.Stream("reset")
	l.resets = s.Scratch("resets", engine.Uint32, engine.Members(p.members))
	l.gone = s.Scratch("gone", engine.Uint32, engine.Axis("player", p.players()))
	for _, t := range p.State().Inherited() {
		if strings.HasPrefix(t.Name(), agentScope) {
			l.first = append(l.first, beginning{t, s.Sub("first").Tensor(t.Name(), t.Type(), t.Dims()...).Own()})
		}
	}
}

// agentScope begins the names of the tensors that a member learns: parameters, moments of optimizers and of observations.
const agentScope = "agent/"

// begin keeps the members as they are for those that begin anew later.
func (l *league) begin(ctx context.Context, p *SelfPlay) error {
	keep, err := p.State().Engine().Record("league: beginning", func(r *engine.Recorder) {
		for _, t := range l.first {
			r.Copy(t.first, t.now)
		}
	})
	if err != nil {
		return err
	}
	defer keep.Free()
	return keep.Run(ctx)
}

// recordTally records adding an iteration's results to what is known of the players.
func (l *league) recordTally(r *engine.Recorder, p *SelfPlay) {
	size, groups := r.Invocations(p.members * p.players())
	r.Dispatch(leagueTallyKernel{
		Results: p.opponents.Matches().Results().Range(), Payoff: p.payoff.Range(), Recent: p.recent.Range(),
		Members: uint32(p.members), Environments: uint32(p.environments()), Players: uint32(p.players()), Keep: float32(p.cfg.Keep), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// recordEntries records that the members enter for which it is due, or the main agents, if nobody has yet, and that exploiters begin anew.
func (l *league) recordEntries(r *engine.Recorder, p *SelfPlay, first bool) {
	members, capacity := uint32(p.members), uint32(p.cfg.Capacity)
	r.Dispatch(leagueAppendKernel{
		Recent: p.recent.Range(), Serial: p.serial.Range(), Since: p.since.Range(), Entries: p.entries.Range(), Places: p.places.Range(),
		Clock: p.Clock().Tensor().Range(), Entered: p.entered.Range(), Resets: l.resets.Range(), Gone: l.gone.Range(),
		Members: members, Capacity: capacity, Mains: uint32(l.mains), MainExploiters: uint32(l.mainExploiters), Steps: p.stepsEach(),
		Least: uint32(p.cfg.AppendAfter), Most: uint32(p.cfg.AppendSamples), WinRate: float32(p.cfg.AppendWinRate), ResetShare: float32(p.cfg.ResetShare),
		Seed: r.Engine().Seed(), Stream: l.stream, First: first,
	}.call(p.memberGroups(), 1, 1))
	size, groups := r.Invocations(p.players())
	r.Dispatch(leagueSettleKernel{
		Payoff: p.payoff.Range(), Recent: p.recent.Range(), Serial: p.serial.Range(), Entries: p.entries.Range(), Places: p.places.Range(),
		Members: members, Capacity: capacity, LocalSizeX: size,
	}.call(groups, 1, 1))
	p.opponents.EnterAmong(r, p.places, l.gone)
	for _, t := range l.first {
		engine.Renew(r, l.resets, t.now, t.first)
	}
	p.opponents.Refresh(r) // or those that begin anew would act as before in the next iteration
}

// ofLeague returns whether a payoff matrix is that of a league with the given entries: a square one of all players.
func ofLeague(members int, payoff, serial []uint32) bool {
	players := members + len(serial)
	return len(payoff) == players*players*3
}

// leaguePools makes the members' pools of a league's payoff matrix [P, P, 3] and of its entries' numbers and iterations [M, C].
func leaguePools(members int, payoff, serial, entered []uint32) []Pool {
	all, capacity := members+len(serial), len(serial)/members
	var players []int // those of each member oldest first, then the member
	for m := range members {
		at := len(players)
		for player := members + m*capacity; player < members+(m+1)*capacity; player++ {
			if serial[player-members] > 0 {
				players = append(players, player)
			}
		}
		slices.SortFunc(players[at:], func(a, b int) int { return cmp.Compare(serial[a-members], serial[b-members]) })
		players = append(players, m)
	}
	between := func(i, j int) Results {
		n := payoff[(i*all+j)*3:][:3]
		return Results{int(n[0]), int(n[1]), int(n[2])}
	}
	pools, m := make([]Pool, members), 0
	for i, rating := range ratingsOf(players, between) {
		player, pool := players[i], &pools[m]
		if player >= members {
			at := player - members
			pool.Opponents = append(pool.Opponents, Opponent{Number: int(serial[at]), Entered: int(entered[at]), Rating: rating, Results: between(m, player)})
			continue
		}
		if pool.Learner = rating; math.IsNaN(rating) && len(pool.Opponents) > 0 {
			pool.Learner = pool.Opponents[len(pool.Opponents)-1].Rating
		}
		m++
	}
	return pools
}

// recordWeights records the probabilities of the next draws, and the metrics.
func (l *league) recordWeights(r *engine.Recorder, p *SelfPlay) {
	r.Dispatch(leagueWeightsKernel{
		Recent: p.recent.Range(), Serial: p.serial.Range(), Weights: p.opponents.Matches().Weights().Range(), Filled: p.opponents.Filled().Range(),
		WinRate: p.winRate.Range(), Worst: p.worst.Range(), Size: p.size.Range(), Members: uint32(p.members), Capacity: uint32(p.cfg.Capacity),
		Mains: uint32(l.mains), MainExploiters: uint32(l.mainExploiters), Latest: float32(p.cfg.Latest), Checked: float32(p.cfg.Checked),
	}.call(p.memberGroups(), 1, 1))
}
