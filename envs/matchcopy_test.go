package envs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestMatchesPeers: other members' rows play in their share of the episodes, alike; these games are not counted.
func TestMatchesPeers(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	w := sampleWorld(t)
	const members, each, alone, peers = 3, 2, 0.25, 0.5
	f := pooled(t, eng, w.env, members, members+members*each, Options{TimeLimit: 3, AutoReset: Fast},
		MatchConfig{First: members, Count: each, Apart: true, Seat: AnySeat, Alone: alone, Peers: peers, Results: true}, nil)
	m, worlds := f.policy.Matches, members*f.ro.cfg.Environments
	facing := f.state.Lookup("match_facing")
	var mirrored, pool int
	met := map[[2]int]int{}
	for range 30 {
		f.advance()
		rows, faced := f.words(m.Rows()), f.words(facing)
		for i := range worlds {
			member := i / f.ro.cfg.Environments
			own := slices.Index(rows[2*i:2*i+2], uint32(member))
			if own < 0 {
				t.Fatalf("world %d: rows %v play; want one of member %d", i, rows[2*i:2*i+2], member)
			}
			switch other := int(rows[2*i+1-own]); {
			case other == member:
				mirrored++
			case other < members:
				met[[2]int{member, other}]++
			case other < members+member*each || other >= members+(member+1)*each:
				t.Fatalf("world %d of member %d: row %d plays", i, member, other)
			default:
				pool++
				if want := uint32(1 + 2*(other-members-member*each) + own); faced[i] != want {
					t.Errorf("world %d: facing %d; want %d", i, faced[i], want)
				}
				continue
			}
			if faced[i] != 0 {
				t.Errorf("world %d: facing %d in a game against a member; want 0", i, faced[i])
			}
		}
	}
	total := float64(30 * worlds)
	among := 0
	for a := range members {
		for b := range members {
			if n := met[[2]int{a, b}]; a != b && math.Abs(float64(n)/total-peers/members/(members-1)) > 0.04 {
				t.Errorf("member %d meets member %d in %d of %g games; want a share of %.3f", a, b, n, total, float64(peers)/members/(members-1))
			}
			among += met[[2]int{a, b}]
		}
	}
	for what, c := range map[string][2]float64{
		"alone": {float64(mirrored), alone}, "among members": {float64(among), peers}, "against the pool": {float64(pool), 1 - alone - peers},
	} {
		if math.Abs(c[0]/total-c[1]) > 0.08 {
			t.Errorf("%g of %g games %s; want a share of %g", c[0], total, what, c[1])
		}
	}
}

// TestMatchesInherit: copies go on with the same opponents, in the rows of their own pools.
func TestMatchesInherit(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	w := sampleWorld(t)
	for _, apart := range []bool{true, false} {
		const members, environments, first, each = 7, 5, 9, 3
		s := eng.NewState()
		t.Cleanup(func() { _ = s.Close() })
		m, err := NewMatches(s, w.env, MatchConfig{Members: members, Environments: environments, First: first, Count: each, Apart: apart, Seat: AnySeat})
		if err != nil {
			t.Fatal(err)
		}
		source := s.Scratch("source", engine.Uint32, engine.Members(members))
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		parents := []uint32{0, 0, 2, 6, 2, 2, 6}
		dice := rand.New(rand.NewPCG(1, 2))
		rows := make([]uint32, m.rows.Len())
		for i := range rows {
			member := uint32(i / (2 * environments))
			switch dice.IntN(4) {
			case 3:
				rows[i] = rowScript + dice.Uint32N(2)
			case 0:
				rows[i] = member
			case 1:
				rows[i] = dice.Uint32N(members)
			default:
				if rows[i] = first + dice.Uint32N(each); apart {
					rows[i] += member * each
				}
			}
		}
		if err := source.WriteUint32(t.Context(), parents); err != nil {
			t.Fatal(err)
		}
		if err := m.rows.WriteUint32(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		p, err := eng.Record("inherit", func(r *engine.Recorder) { s.Inherit(r, source) })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := m.rows.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range got {
			member := i / (2 * environments)
			parent := parents[member]
			want := rows[int(parent)*2*environments+i%(2*environments)]
			switch {
			case want == parent:
				want = uint32(member)
			case apart && want >= first && want < rowScript:
				want = first + uint32(member)*each + (want-first)%each
			}
			if row != want {
				t.Errorf("apart %v: seat %d of member %d, a copy of %d, is played by row %d; want %d", apart, i%(2*environments), member, parent, row, want)
			}
		}
	}
}

// TestMatchesScores compares scores with the rule in Go.
func TestMatchesScores(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	w := sampleWorld(t)
	const members, environments, poison = 3, 43, float32(-1)
	s := eng.NewState()
	defer s.Close()
	m, err := NewMatches(s, w.env, MatchConfig{Members: members, Environments: environments, Count: members, Seat: AnySeat, Peers: 1})
	if err != nil {
		t.Fatal(err)
	}
	returns := s.Scratch("returns", engine.Float32, engine.Members(members), engine.Environments(environments), engine.Axis("seat", 2))
	scores := s.Scratch("scores", engine.Float32, engine.Members(members), engine.Environments(environments))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	gained, rows, want := make([]float32, returns.Len()), make([]uint32, returns.Len()), make([]float32, scores.Len())
	for i := range want {
		own := dice.IntN(2)
		gained[2*i], gained[2*i+1] = float32(dice.IntN(3)), float32(dice.IntN(3))
		broken := [2]bool{i%11 == 3 || i%11 == 5, i%11 == 4 || i%11 == 5} // the member's policy, the other one's
		for k, seat := range []int{own, 1 - own} {
			if broken[k] {
				gained[2*i+seat] = float32(math.NaN())
			}
		}
		rows[2*i+own], rows[2*i+1-own] = uint32(i/environments), uint32(i/environments+1)%members
		switch mine, other := gained[2*i+own], gained[2*i+1-own]; {
		case broken[0]:
			want[i] = poison
		case broken[1] || mine > other:
			want[i] = 1
		case mine == other:
			want[i] = 0.5
		}
	}
	for _, err := range []error{
		returns.WriteFloat32(t.Context(), gained), m.rows.WriteUint32(t.Context(), rows), scores.Fill(t.Context(), -2),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := eng.Record("scores", func(r *engine.Recorder) { m.recordScores(r, returns, scores) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := scores.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, score := range got {
		if score != want[i] && !(want[i] == poison && math.IsNaN(float64(score))) {
			t.Errorf("score %d of returns %v is %g; want %g, %g for NaN", i, gained[2*i:2*i+2], score, want[i], float64(poison))
		}
	}
}
