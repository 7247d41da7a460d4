package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// SelfPlay trains an agent in a world of two seats against earlier versions of itself. Every member has a pool of its own, in which its untrained policy
// is the first opponent. Who plays whom is drawn when an episode begins, by counters; pools, results and draws stay on the device and are part of the
// state, so that a run resumes exactly.
//
// Evaluations are games against all opponents of the pool alike, or against the player that the configuration names, with the returns of the member's
// seat. Fitness, by which PBT compares members, is the score
// in games against the other members, draws half: pools differ. A member that PBT replaces takes over all of its parent: policy, pool, results of its
// opponents, and the games in progress, against the same opponents.
//
// With LeagueConfig.League the members have roles, and all pools are one (LeagueConfig).
type SelfPlay struct {
	learner
	cfg       SelfPlayConfig
	opponents *rl.Opponents
	members   int
	league    *league // nil: members play against their own pools

	// payoff [M, C + 1, C, 3] u32 are the games that the row won, drew and lost against the column; row C is the learner since its last entry. In a league
	// it is [P, P, 3] of all players (see league), with the games in the worlds of the row's member.
	payoff  *engine.Tensor
	recent  *engine.Tensor // [M, C, 2]: the learner's recent score against each opponent, and its games; in a league [M, P, 2]
	serial  *engine.Tensor // [M, C] u32: number of the entry, from 1; 0: empty
	entered *engine.Tensor // [M, C] u32: iterations after which it was made
	since   *engine.Tensor // [M] u32: environment steps since the last entry
	entries *engine.Tensor // [M] u32: entries so far
	newest  *engine.Tensor // [M] u32: the newest opponent's place
	places  *engine.Tensor // [M] u32: the place that a member enters; C: none
	differs *engine.Tensor // [M] u32: 1; 0: the member is its newest opponent, bit by bit

	winRate, worst, size, count *engine.Tensor // metrics [M]
	step                        *engine.Program
}

// learner is an agent with pools of opponents (rl.Pool).
type learner interface {
	engine.Trainable
	Evaluator() *envs.Evaluator
	Opponents() *rl.Opponents
}

// NewSelfPlay makes self-play of an agent, which it owns: it is closed with the self-play, or here if there is an error. The agent has the option
// cfg.Pool().
//
// Errors: settings out of range, an agent without a pool, or with one of another size.
func NewSelfPlay(agent *rl.PPO, cfg SelfPlayConfig) (*SelfPlay, error) {
	if err := engine.Require(map[string]any{"agent": agent}); err != nil {
		return nil, fmt.Errorf("hybrid: self-play: %w", err)
	}
	p := &SelfPlay{learner: agent, cfg: cfg, opponents: agent.Opponents(), members: agent.Describe().Members}
	if err := p.build(agent); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: self-play of %s: %w", agent.Describe().Workflow, err), p.Close())
	}
	return p, nil
}

// Pool returns the option with which the agent is made.
func (c SelfPlayConfig) Pool() rl.Option {
	return rl.Pool(rl.PoolConfig{
		Opponents: c.Capacity, Alone: c.Latest, Peers: c.Population, Scripted: c.Scripted, Random: c.Random, Evaluation: c.Evaluation, League: c.League,
	})
}

func (p *SelfPlay) build(agent *rl.PPO) error {
	if err := config.Check(p.cfg); err != nil {
		return err
	}
	if p.opponents == nil || p.opponents.Size() != p.cfg.Capacity {
		return fmt.Errorf("the agent has no pool of %d opponents; want it made with the option SelfPlayConfig.Pool", p.cfg.Capacity)
	}
	if err := p.cfg.Check(agent.Environment(), p.members, p.environments()); err != nil {
		return err
	}
	s, n, c := p.State().Sub(selfPlayScope), engine.Members(p.members), p.cfg.Capacity
	opponent := engine.Axis("opponent", c)
	if p.cfg.League {
		p.league = &league{}
		p.league.build(p, s)
		p.payoff = s.Tensor("payoff", engine.Uint32, engine.Axis("player", p.players()), engine.Axis("opponent", p.players()), engine.Axis("result", 3))
	} else {
		p.payoff = s.Tensor("payoff", engine.Uint32, n, engine.Axis("player", c+1), opponent, engine.Axis("result", 3))
	}
	p.recent = s.Tensor("recent", engine.Float32, n, engine.Axis("opponent", p.opponentsOf()), engine.Axis("score", 2))
	p.serial = s.Tensor("serial", engine.Uint32, n, opponent)
	p.entered = s.Tensor("entered", engine.Uint32, n, opponent)
	p.since = s.Tensor("since", engine.Uint32, n)
	p.entries = s.Tensor("entries", engine.Uint32, n)
	p.newest = s.Tensor("newest", engine.Uint32, n)
	p.places = s.Scratch("places", engine.Uint32, n)
	p.differs = s.Scratch("differs", engine.Uint32, n)
	m := p.Metrics()
	p.winRate, p.worst = m.Row(WinRateMetric), m.Row("opponents/worst")
	p.size, p.count = m.Row("opponents/pool"), m.Row("opponents/entered")
	return s.Allocate()
}

// WinRateMetric is the metric of a member's recent win rate, draws half, as the mean over the opponents of its pool.
const WinRateMetric = "opponents/win_rate"

// environments returns the environments of a member.
func (p *SelfPlay) environments() int { return p.opponents.Matches().Rows().Dims()[1].Size }

// Record implements engine.Trainable: an iteration of the agent against the drawn opponents, then the results of its games, entries into the pools and
// the weights of the next draws.
func (p *SelfPlay) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	p.opponents.Matches().RecordClear(r)
	p.learner.Record(r, func(r *engine.Recorder) {
		p.recordTally(r)
		p.recordEntries(r, false)
		p.recordWeights(r)
		engine.CopyCounts(r, p.count, p.entries)
		if rows != nil {
			rows(r)
		}
	})
}

// recordTally records adding an iteration's results to what is known of the opponents.
func (p *SelfPlay) recordTally(r *engine.Recorder) {
	if p.league != nil {
		p.league.recordTally(r, p)
		return
	}
	size, groups := r.Invocations(p.members * p.cfg.Capacity)
	r.Dispatch(selfPlayTallyKernel{
		Results: p.opponents.Matches().Results().Range(), Payoff: p.payoff.Range(), Recent: p.recent.Range(),
		Members: uint32(p.members), Environments: uint32(p.environments()), Capacity: uint32(p.cfg.Capacity), Keep: float32(p.cfg.Keep), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// recordEntries records that the members enter their pools for which it is due, or all, if these are empty.
func (p *SelfPlay) recordEntries(r *engine.Recorder, first bool) {
	if p.league != nil {
		p.league.recordEntries(r, p, first)
		return
	}
	p.opponents.Differ(r, p.newest, p.differs)
	k := selfPlayAppendKernel{
		Payoff: p.payoff.Range(), Recent: p.recent.Range(), Serial: p.serial.Range(), Since: p.since.Range(), Entries: p.entries.Range(),
		Places: p.places.Range(), Clock: p.Clock().Tensor().Range(), Entered: p.entered.Range(),
		Differs: p.differs.Range(), Newest: p.newest.Range(), Difference: float32(p.cfg.AppendDifference),
		Members: uint32(p.members), Capacity: uint32(p.cfg.Capacity), Steps: p.stepsEach(),
		Samples: uint32(p.cfg.AppendSamples), WinRate: float32(p.cfg.AppendWinRate), Games: uint32(p.cfg.AppendGames), First: first,
	}
	r.Dispatch(k.call(p.memberGroups(), 1, 1))
	p.opponents.Enter(r, p.places)
}

// seatsOfDuel is the number of seats of a game. An agent's steps count those of all seats.
const seatsOfDuel = 2

// stepsEach returns the environment steps of a member's worlds in an iteration.
func (p *SelfPlay) stepsEach() uint32 {
	d := p.Describe()
	return uint32(d.StepsPerIter / d.Members / seatsOfDuel)
}

// recordWeights records the weights of the next draws, and the metrics.
func (p *SelfPlay) recordWeights(r *engine.Recorder) {
	if p.league != nil {
		p.league.recordWeights(r, p)
		return
	}
	k := selfPlayWeightsKernel{
		Recent: p.recent.Range(), Serial: p.serial.Range(), Weights: p.opponents.Matches().Weights().Range(), Filled: p.opponents.Filled().Range(),
		WinRate: p.winRate.Range(), Worst: p.worst.Range(), Size: p.size.Range(),
		Members: uint32(p.members), Capacity: uint32(p.cfg.Capacity), Opponents: uint32(p.cfg.Opponents),
	}
	r.Dispatch(k.call(p.memberGroups(), 1, 1))
}

// memberGroups returns the workgroups of kernels with an invocation for each member.
func (p *SelfPlay) memberGroups() uint32 { return uint32(p.members+7) / 8 }

// record records the program of Step, once.
func (p *SelfPlay) record() (err error) {
	if err := p.State().Err(); err != nil || p.step != nil {
		return err
	}
	p.step, err = p.State().Engine().Record("self-play", func(r *engine.Recorder) { p.Record(r, nil) })
	return err
}

// Fitness implements engine.Trainable: the members' mean scores in games against each other, see rl.Opponents.Scores.
//
// Errors: a single member.
func (p *SelfPlay) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	return p.opponents.Scores(ctx, p.Evaluator(), s, p.Clock(), episodes)
}

// Describe implements engine.Workflow.
func (p *SelfPlay) Describe() engine.Description {
	d := p.learner.Describe()
	d.Workflow = "self-play"
	return d
}

// Init implements engine.Workflow: the untrained members are the first opponents of their pools; in a league the main agents alone.
func (p *SelfPlay) Init(ctx context.Context) error {
	if err := p.learner.Init(ctx); err != nil {
		return err
	}
	if p.league != nil {
		if err := p.league.begin(ctx, p); err != nil {
			return err
		}
	}
	begin, err := p.State().Engine().Record("self-play: first opponents", func(r *engine.Recorder) {
		p.recordEntries(r, true)
		p.recordWeights(r)
	})
	if err != nil {
		return err
	}
	defer begin.Free()
	return begin.Run(ctx)
}

// Step implements engine.Workflow.
func (p *SelfPlay) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := p.record(); err != nil {
		return nil, err
	}
	if err := p.State().Advance(ctx, iteration); err != nil {
		return nil, err
	}
	return p.step.Submit(ctx)
}

// Prepare implements engine.Workflow.
func (p *SelfPlay) Prepare(ctx context.Context, episodes int) error {
	if err := p.record(); err != nil {
		return err
	}
	if err := p.Evaluations().Prepare(ctx, p.Clock(), episodes); err != nil {
		return err
	}
	return p.step.Build()
}

// Close implements engine.Workflow.
func (p *SelfPlay) Close() error {
	p.step.Free()
	return p.learner.Close()
}
