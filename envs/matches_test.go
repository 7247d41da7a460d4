package envs

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// pooled makes a rollout of members that have their opponents drawn from a pool of rows. The members' own rows are first.
func pooled(t *testing.T, eng *engine.Engine, env *Environment, members, pool int, options Options, cfg MatchConfig, weights []float32) *fixture {
	t.Helper()
	const environments, horizon = 5, 20
	s := eng.NewState()
	f := &fixture{t: t, eng: eng, env: env, state: s, clock: engine.NewClock(s)}
	t.Cleanup(func() { _ = s.Close() })
	net := *small
	net.In, net.Out = env.ObsSize(), env.Action.Size()
	cfg.Members, cfg.Environments = members, environments
	m, err := NewMatches(s, env, cfg)
	if err != nil {
		t.Fatal(err)
	}
	params := s.Tensor("params", engine.Float32, engine.Members(pool), engine.Axis("parameter", nn.Align(net.Size())))
	f.policy = &Policy{
		Network: net, Head: env.Action.Head(), ObsLimit: 1.5, Weights: nn.Weights{Params: params}, Rows: m.Rows(), Matches: m,
		Normalizer: s.Tensor("normalizer", engine.Float32, engine.Members(pool), engine.Axis("moment", 2), engine.Axis("feature", net.In)),
	}
	dice := rand.New(rand.NewPCG(7, 8))
	for range params.Len() {
		f.params = append(f.params, float32(dice.NormFloat64()/2))
	}
	for i := range pool * 2 * net.In {
		f.values = append(f.values, float32(0.5*dice.Float64())+float32(i/net.In%2))
	}
	f.ro, err = NewRollout(t.Context(), s, env, RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Options: options, Trajectory: true, Policy: f.policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.begin()
	if weights != nil {
		if err := m.Weights().WriteFloat32(t.Context(), weights); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestMatches: rows of a pool play each other, each acts as its own network does, the steps of others than the member
// are void, and the rows stay the same within an episode.
func TestMatches(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	w := sampleWorld(t)
	const members, pool = 2, 6
	f := pooled(t, eng, w.env, members, pool, Options{TimeLimit: 9}, MatchConfig{First: 2, Count: 4, Seat: AnySeat, Weighted: true},
		[]float32{1, 0, 2, 1, 0, 3, 0, 1})
	worlds := members * f.ro.cfg.Environments
	drawn := map[[2]uint32]int{}
	for range 4 {
		f.advance()
		obs, action, logProb, done := f.floats(f.ro.Obs), f.floats(f.ro.Action), f.floats(f.ro.LogProb), f.words(f.ro.Done)
		rows := f.words(f.policy.Rows)
		for i := range worlds {
			seats := rows[2*i : 2*i+2]
			if member := uint32(i / f.ro.cfg.Environments); !slices.Contains(seats, member) {
				t.Fatalf("world %d: rows %v play; want one of member %d", i, seats, member)
			}
			for _, row := range seats {
				drawn[[2]uint32{uint32(i / f.ro.cfg.Environments), row}]++
			}
		}
		// The last episode of every world: from its first step on the current rows act.
		for i := range worlds {
			first := 0
			for step := range f.ro.cfg.Horizon - 1 {
				at := (step*worlds + i) * 2
				if Done(done[at]).Over() && Done(done[at+1]).Over() {
					first = step + 1
				}
			}
			for step := first; step < f.ro.cfg.Horizon; step++ {
				for seat := range 2 {
					at, row := (step*worlds+i)*2+seat, int(rows[2*i+seat])
					if own := row == i/f.ro.cfg.Environments; !own && Done(done[at])&Void == 0 {
						t.Fatalf("step %d, world %d, seat %d: row %d plays, flags %d; want void", step, i, seat, row, done[at])
					} else if own && logProb[at] != 0 && Done(done[at])&Void != 0 {
						t.Fatalf("step %d, world %d, seat %d: the member's row plays, flags %d; want none void", step, i, seat, done[at])
					}
					if logProb[at] == 0 {
						continue // it left
					}
					y := f.outputs(row, obs[at*4:][:4])
					if want := f.logProb(row, y, action[at:at+1]); !(want-float64(logProb[at]) < 2e-4 && want-float64(logProb[at]) > -2e-4) {
						t.Fatalf("step %d, world %d, seat %d: log-probability %g; want %g, as row %d acts", step, i, seat, logProb[at], want, row)
					}
				}
			}
		}
	}
	for key, n := range drawn {
		if key == [2]uint32{0, 3} || key == [2]uint32{1, 2} || key == [2]uint32{1, 4} {
			t.Errorf("member %d meets row %d, of weight 0, %d times", key[0], key[1], n)
		}
	}
	for _, key := range [][2]uint32{{0, 2}, {0, 4}, {0, 5}, {1, 3}, {1, 5}} {
		if drawn[key] == 0 {
			t.Errorf("member %d never meets row %d", key[0], key[1])
		}
	}
}

// TestMatchesResume: the state of a rollout, written into a new one, goes on with the same bits; and a member alone has
// the bits that it has among others.
func TestMatchesResume(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	w := sampleWorld(t)
	const pool = 6
	cfg := MatchConfig{First: 2, Count: 4, Seat: 1}
	long, alone := pooled(t, eng, w.env, 2, pool, Options{TimeLimit: 9}, cfg, nil), pooled(t, eng, w.env, 1, pool, Options{TimeLimit: 9}, cfg, nil)
	long.advance()
	alone.advance()
	one, both := alone.floats(alone.ro.Obs), long.floats(long.ro.Obs)
	each := len(one) / long.ro.cfg.Horizon
	for step := range long.ro.cfg.Horizon {
		if !slices.Equal(one[step*each:][:each], both[2*step*each:][:each]) {
			t.Fatalf("step %d: member 0 alone observes something else than beside another", step)
		}
	}
	again := pooled(t, eng, w.env, 2, pool, Options{TimeLimit: 9}, cfg, nil)
	for _, pair := range [][2]*engine.Tensor{
		{long.ro.state, again.ro.state}, {long.ro.ret, again.ro.ret}, {long.ro.step, again.ro.step},
		{long.ro.seated.world, again.ro.seated.world}, {long.policy.Rows, again.policy.Rows}, {long.clock.Tensor(), again.clock.Tensor()},
	} {
		again.run(func(r *engine.Recorder) { r.Copy(pair[1], pair[0]) })
	}
	long.advance()
	again.advance()
	if !slices.Equal(long.everything(), again.everything()) || !slices.Equal(long.words(long.policy.Rows), again.words(again.policy.Rows)) {
		t.Error("a rollout that goes on from its state differs from one that was not cut")
	}
}

// TestMatchesResults: every game is counted once, when the next one begins, for the row that the member faced, unless that row was forgotten or the
// member faced itself. Members have pools of their own.
func TestMatchesResults(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	w := sampleWorld(t)
	const members, each, alone = 2, 3, 0.25
	f := pooled(t, eng, w.env, members, members+members*each, Options{TimeLimit: 9, AutoReset: Fast},
		MatchConfig{First: members, Count: each, Apart: true, Seat: AnySeat, Alone: alone, Results: true}, nil)
	m, environments := f.policy.Matches, f.ro.cfg.Environments
	worlds := members * environments
	want, forgotten := make([]uint32, m.results.Len()), f.state.Scratch("forgotten", engine.Uint32, engine.Members(members))
	if err := f.state.Allocate(); err != nil {
		t.Fatal(err)
	}
	if err := forgotten.WriteUint32(t.Context(), []uint32{1, each}); err != nil { // the second member's has no such row
		t.Fatal(err)
	}
	f.run(func(r *engine.Recorder) { m.RecordClear(r) })
	playing := make([]struct {
		rows      []uint32
		sums      [2]float32
		forgotten bool
		over      bool
		ended     int // 1 + the result's place; 0: no game waits to be counted
	}, worlds)
	games, mirrors := 0, 0
	for step := range 200 {
		f.run(func(r *engine.Recorder) {
			if step%50 == 20 {
				m.RecordForget(r, forgotten)
			}
			f.ro.record(r, f.clock, f.policy, 0, 1, false, 0)
			f.clock.Tick(r, 0, 1)
		})
		rows, reward, done := f.words(f.policy.Rows), f.floats(f.ro.Reward), f.words(f.ro.Done)
		for i := range worlds {
			g, member := &playing[i], i/environments
			forgets := step%50 == 20 && member == 0 && slices.Contains(g.rows, members+1)
			if g.forgotten = g.forgotten || forgets; g.ended > 0 && !g.forgotten {
				want[g.ended-1]++
				games++
			}
			if g.rows == nil || g.over {
				g.rows, g.sums, g.forgotten, g.over, g.ended = slices.Clone(rows[2*i:2*i+2]), [2]float32{}, false, false, 0
			}
			if !slices.Equal(g.rows, rows[2*i:2*i+2]) {
				t.Fatalf("step %d, world %d: rows %v play; want %v until the episode ends", step, i, rows[2*i:2*i+2], g.rows)
			}
			g.sums[0], g.sums[1] = g.sums[0]+reward[2*i], g.sums[1]+reward[2*i+1]
			if !Done(done[2*i]).Over() || !Done(done[2*i+1]).Over() {
				continue
			}
			own := slices.Index(g.rows, uint32(member))
			other := int(g.rows[1-own]) - members - member*each
			switch {
			case own < 0 || other >= each || other < 0 && int(g.rows[1-own]) != member:
				t.Fatalf("world %d of member %d: rows %v play; want its own and one of its pool", i, member, g.rows)
			case other < 0:
				mirrors++
			default: // counted when another one begins
				g.ended = 1 + (i*each+other)*3 + 1 - cmp.Compare(g.sums[own], g.sums[1-own])
			}
			g.over = true
		}
	}
	if got := f.words(m.Results()); !slices.Equal(got, want) {
		t.Errorf("results %v; want %v", got, want)
	}
	if games < 50 || mirrors < games/6 || mirrors > games {
		t.Errorf("%d games, and %d of a row against itself; want more, and a share of %g", games, mirrors, alone)
	}
}

func TestMatchesRefused(t *testing.T) {
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	w := sampleWorld(t)
	for _, c := range []struct {
		env  *Environment
		cfg  MatchConfig
		want string
	}{
		{lookup(t, "CartPole-v1"), MatchConfig{Members: 1, Environments: 1, Count: 1}, "which has one agent"},
		{w.env, MatchConfig{Members: 1, Environments: 1}, "at least one of each"},
		{w.env, MatchConfig{Members: 1, Environments: 1, Count: 1 << 20, Weighted: true}, "rows with weights"},
		{w.env, MatchConfig{Members: 1, Environments: 1, Count: 1, Seat: 2}, "seat 2"},
		{w.env, MatchConfig{Members: 1, Environments: 1, Count: 1, Alone: 1.5}, "probability 1.5"},
		{w.env, MatchConfig{Members: 2, Environments: 1, Count: 1, Alone: 0.5, Peers: 0.75}, "of 0.75; want 0 to 1 together"},
		{w.env, MatchConfig{Members: 1, Environments: 1, Count: 1, Peers: 0.75}, "want several members"},
		{w.env, MatchConfig{Members: 1, Environments: 1, Count: 1, Given: s.Scratch("given", engine.Float32, engine.Members(1))}, "and Weighted"},
	} {
		if _, err := NewMatches(s, c.env, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q in it", c.cfg, err, c.want)
		}
	}
}
