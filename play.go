package evorl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Side is a player in a Match: a member of a restored run, or a player of the world that has no policy, envs.ScriptedPlayer or envs.RandomPlayer.
type Side struct {
	Run    *Restored
	Member int
	Player envs.Player // other than envs.PoolPlayer: this one, without a run
}

// PlayConfig says which games two players play.
type PlayConfig struct {
	Games int    // at least 1
	Seed  uint32 // of the games: the same seed has the same games
	Draw  bool   // policies draw their actions, as in training, instead of taking the most likely ones
}

// Match is the result of games between two players. A game is won by the greater return.
type Match struct {
	Env     string   `json:"env"`
	Seed    uint32   `json:"seed"` // of the games
	Draw    bool     `json:"draw"` // actions were drawn
	Sides   [2]Place `json:"sides"`
	Games   int      `json:"games"`
	Won     int      `json:"won"` // by the first side
	Drew    int      `json:"drew"`
	Lost    int      `json:"lost"`
	WinRate Number   `json:"win_rate"` // of the first side, draws half
	Low     Number   `json:"low"`      // of the win rate's 95 % interval, E. B. Wilson's of 1927; draws make it wider than need be
	High    Number   `json:"high"`

	Return    Number `json:"return"`    // of the first side, mean over the games
	Deviation Number `json:"deviation"` // of its returns
}

// Place says where a policy of a Match is from, or which player of the world it is: "scripted" or "random".
type Place struct {
	Player    string `json:"player,omitempty"`
	Path      string `json:"path"`
	Workflow  string `json:"workflow"`
	Iteration int    `json:"iteration"`
	Member    int    `json:"member"`
}

// Play lets two players play games of a world of two seats. Which of them has the first seat is drawn for each
// game. The first is a run's policy; two runs must have the same world and the same networks. Their states stay as they are.
//
// Errors: a *WorldError, a *MemberError, networks that differ, networks of layers that are not dense, a script that the world does not have, and drawn
// actions of policies without a distribution (ErrNoDistribution).
func Play(ctx context.Context, dev *vk.Device, a, b Side, cfg PlayConfig) (Match, error) {
	if a.Run == nil || a.Player != envs.PoolPlayer || b.Run == nil && b.Player == envs.PoolPlayer {
		return Match{}, errors.New("evorl: a side of a match has no run: want one made by Restore, or as the second side a player of the world")
	}
	if err := errors.Join(checkArguments(dev, a.Run.cfg), engine.CheckEpisodes(cfg.Games), a.Run.check(a.Member), b.check()); err != nil {
		return Match{}, err
	}
	if err := checkWorlds(a.Run, b); err != nil {
		return Match{}, err
	}
	s := engine.New(dev, engine.Seed(cfg.Seed)).NewState()
	defer s.Close()
	ev, clock, err := opposing(ctx, s, a, b, cfg.Draw)
	if err != nil {
		return Match{}, err
	}
	defer ev.Close()
	of, err := ev.Run(ctx, clock, cfg.Games)
	if err != nil {
		return Match{}, err
	}
	m := Match{Env: a.Run.cfg.Run.Env, Seed: cfg.Seed, Draw: cfg.Draw, Games: cfg.Games, Sides: [2]Place{a.place(), b.place()}}
	for i, own := range of.Returns[0] {
		other := of.Others[0][i]
		switch mine, theirs := math.IsNaN(float64(own)), math.IsNaN(float64(other)); { // NaN: the policy is broken, and loses
		case mine == theirs && own > other, theirs && !mine:
			m.Won++
		case mine == theirs && own < other, mine && !theirs:
			m.Lost++
		default:
			m.Drew++
		}
	}
	rate, low, high := winRate(float64(m.Won)+float64(m.Drew)/2, float64(cfg.Games))
	m.WinRate, m.Low, m.High = Number(rate), Number(low), Number(high)
	mean, deviation := meanDeviation(of.Returns[0])
	m.Return, m.Deviation = Number(mean), Number(deviation)
	return m, nil
}

// meanDeviation returns the mean and the standard deviation of returns.
func meanDeviation(returns []float32) (mean, deviation float64) {
	values := make([]float64, len(returns))
	for i, r := range returns {
		values[i] = float64(r)
	}
	return stat.PopMeanStdDev(values, nil)
}

// check returns a *MemberError if the run has no such member.
func (s Side) check() error {
	if s.Player != envs.PoolPlayer {
		return nil
	}
	return s.Run.check(s.Member)
}

func (s Side) place() Place {
	if s.Player != envs.PoolPlayer {
		return Place{Player: s.Player.String()}
	}
	return Place{Path: s.Run.path, Workflow: s.Run.cfg.Run.Workflow, Iteration: s.Run.Iteration(), Member: s.Member}
}

// winRate returns points per game with the Wilson interval of 95 %.
func winRate(points, games float64) (rate, low, high float64) {
	const z = 1.959964
	rate = points / games
	middle := (rate + z*z/(2*games)) / (1 + z*z/games)
	half := z / (1 + z*z/games) * math.Sqrt(rate*(1-rate)/games+z*z/(4*games*games))
	return rate, max(0, middle-half), min(1, middle+half)
}

// WorldError reports two players that cannot play each other, since their worlds differ, are not of two seats or have no script.
type WorldError struct {
	Paths [2]string
	What  string
}

func (e *WorldError) Error() string {
	return fmt.Sprintf("%s and %s cannot play each other: %s", e.Paths[0], e.Paths[1], e.What)
}

// checkWorlds returns a *WorldError if a run cannot play against a side.
func checkWorlds(a *Restored, other Side) error {
	b, paths := other.Run, [2]string{a.path, other.Player.String()}
	if other.Player == envs.PoolPlayer {
		paths[1] = b.path
	} else {
		b = a
	}
	failed := func(format string, args ...any) error { return &WorldError{paths, fmt.Sprintf(format, args...)} }
	if x, y := a.cfg.Run.Env, b.cfg.Run.Env; x != y {
		return failed("their worlds are %q and %q; want one world", x, y)
	}
	env := a.cfg.Env()
	if env == nil || env.Seats() != 2 {
		return failed("%q is no game of two; want a world of two seats, such as \"PongDuel-v0\"", a.cfg.Run.Env)
	}
	if other.Player == envs.ScriptedPlayer && !env.Scripted() {
		return failed("%q has no script; want a world with one, such as \"PongDuel-v0\", or random", a.cfg.Run.Env)
	}
	trained := []string{"environment.auto_reset", "environment.reward_scale", "environment.sparse_reward"} // which evaluations leave out
	var differ []string
	for _, d := range a.cfg.Differences(b.cfg) {
		if a.cfg.OfTask(d.Key) && !slices.Contains(trained, d.Key) {
			differ = append(differ, fmt.Sprintf("%s is %s and %s", d.Key, orNotSet(d.Value), orNotSet(d.Other)))
		}
	}
	if len(differ) > 0 {
		return failed("%s; want one world", strings.Join(differ, ", "))
	}
	return nil
}

// opposing makes an evaluator in which a's policy plays against b's, with tensors in s. draw lets both draw their actions.
func opposing(ctx context.Context, s *engine.State, a, b Side, draw bool) (*envs.Evaluator, engine.Clock, error) {
	clock := engine.NewClock(s)
	if b.Player != envs.PoolPlayer {
		b.Run, b.Member = a.Run, a.Member // this row plays no game
	}
	var policies [2]*envs.Policy
	var rows, moments []float32
	for i, side := range []Side{a, b} {
		from, err := side.Run.evaluator(ctx)
		if err != nil {
			return nil, clock, err
		}
		policies[i] = from.Policy()
		row, normalizer, err := policies[i].Member(ctx, side.Member)
		if err != nil {
			return nil, clock, err
		}
		rows, moments = append(rows, row...), append(moments, normalizer...)
	}
	p, q := policies[0], policies[1]
	if fmt.Sprint(p.Network) != fmt.Sprint(q.Network) || p.Row() != q.Row() || p.Head.Kind != q.Head.Kind || p.Head.Constants() != q.Head.Constants() ||
		(p.Normalizer == nil) != (q.Normalizer == nil) || p.ObsLimit != q.ObsLimit {
		return nil, clock, fmt.Errorf("%s and %s cannot play each other: their networks differ, %v and %v, or how observations are normalized; want the same",
			a.Run.path, b.Run.path, p.Network, q.Network)
	}
	if draw && !p.Head.Draws() {
		return nil, clock, fmt.Errorf("evorl: drawn games of %s, with a %v head: %w", a.Run.path, p.Head.Kind, ErrNoDistribution)
	}
	both := *p
	both.Weights, both.Placement = nn.Weights{Params: s.Tensor("params", engine.Float32, engine.Members(2), engine.Axis("parameter", p.Row()))}, envs.Automatic
	first := both
	first.Params = s.Tensor("first", engine.Float32, engine.Members(1), engine.Axis("parameter", p.Row()))
	both.Head.Noise, first.Head.Noise = nil, nil
	if p.Normalizer != nil {
		both.Normalizer = s.Tensor("normalizers", engine.Float32, engine.Members(2), engine.Axis("moment", 2), engine.Axis("feature", p.Network.Inputs().Size()))
	}
	if err := errors.Join(s.Err(), s.Zero(ctx), both.Params.WriteFloat32(ctx, rows)); err != nil {
		return nil, clock, err
	}
	if p.Normalizer != nil {
		if err := both.Normalizer.WriteFloat32(ctx, moments); err != nil {
			return nil, clock, err
		}
	}
	options := a.Run.cfg.Environment
	options.DrawEvaluations = draw
	ev, err := envs.NewEvaluator(ctx, s, a.Run.cfg.Env(), options, &first)
	if err == nil {
		ev.Against(&both, b.Player.Alone(envs.MatchConfig{First: 1, Count: 1}))
	}
	return ev, clock, err
}
