package hybrid

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl"
)

// amongMembers plays games of all three kinds.
func amongMembers() SelfPlayConfig {
	c := smallPool()
	c.Latest, c.Population = 0.25, 0.35
	return c
}

// overSelfPlay is PBT over self-play of four members.
func overSelfPlay(t testing.TB, kind int, seed uint32, cfg PBTConfig) *PBT {
	t.Helper()
	agent, play := small(4), amongMembers()
	agent.Environments = 7
	ppo, err := rl.NewPPO(t.Context(), engine.New(open(t), engine.Seed(seed)), signs(t), agent, network(), play.Pool())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := NewSelfPlay(ppo, play)
	if err != nil {
		t.Fatal(err)
	}
	return kinds[kind].over(t, inner, cfg)
}

// TestResumePBTSelfPlay: a run of PBT over self-play that is cut, with exchanges before and after, has the bits of one that is not.
func TestResumePBTSelfPlay(t *testing.T) {
	for kind := range kinds {
		resumes(t, func() engine.Workflow { return overSelfPlay(t, kind, 9, early()) }, 9)
	}
}

// TestExchangeSelfPlay: in an exchange a replaced member becomes its parent in all that self-play knows, in the numbers of its own rows; others stay as
// they are.
func TestExchangeSelfPlay(t *testing.T) {
	p := overSelfPlay(t, 0, 5, early())
	initialized(t, p)
	steps(t, p, 0, 7)
	before := snapshot(t, p.State())
	run(t, p, p.recordExchange)
	after := snapshot(t, p.State())
	of := p.inner.(*SelfPlay)
	members, size, rows := of.members, of.cfg.Capacity, p.State().Lookup("opponents/match_rows")
	seats, replaced, renumbered := rows.Len()/members, 0, 0
	for member, parent := range after["pbt/parent"] {
		parent := int(parent)
		if parent != member {
			replaced++
		}
		for _, name := range []string{
			"self_play/payoff", "self_play/recent", "self_play/serial", "self_play/entered", "self_play/newest", "self_play/since", "self_play/entries",
			"opponents/filled",
			"opponents/match_facing", "opponents/match_weights", "rollout/env_state", "agent/actor/params", "agent/critic/params",
		} {
			if before[name] == nil {
				t.Fatalf("there is no tensor %s", name)
			}
			outer, n, inner, _ := p.State().Lookup(name).Split(engine.MemberAxis)
			for o := range outer {
				if got, want := after[name][(o*n+member)*inner:][:inner], before[name][(o*n+parent)*inner:][:inner]; !slices.Equal(got, want) {
					t.Errorf("%s of member %d, a copy of %d, is %v; want %v", name, member, parent, got, want)
				}
			}
		}
		row := func(of contents, at int) []uint32 {
			all := of["opponents/rows"]
			width := len(all) / (members + members*size)
			return all[at*width:][:width]
		}
		for place := range size {
			if !slices.Equal(row(after, members+member*size+place), row(before, members+parent*size+place)) {
				t.Errorf("opponent %d of member %d is not that of member %d", place, member, parent)
			}
		}
		if !slices.Equal(row(after, member), row(before, parent)) {
			t.Errorf("member %d plays others by another row than member %d, which it is a copy of", member, parent)
		}
		for seat := range seats {
			was, is := int(before[rows.Name()][parent*seats+seat]), int(after[rows.Name()][member*seats+seat])
			want := was
			switch {
			case was == parent:
				want = member
			case was >= members:
				want = was + (member-parent)*size
			}
			if is != want {
				t.Errorf("seat %d of member %d, a copy of %d, is played by row %d; want %d", seat, member, parent, is, want)
			}
			if is >= members && member != parent {
				renumbered++
			}
		}
	}
	if replaced == 0 || renumbered == 0 {
		t.Errorf("%d members are replaced, %d of whose seats rows of pools play; want both", replaced, renumbered)
	}
	steps(t, p, 7, 9) // it goes on
	for m, x := range numbers(t, of.learner.(*rl.PPO).Agent().Actor()) {
		if math.IsNaN(float64(x)) {
			t.Fatalf("parameter %d is NaN", m)
		}
	}
}

// TestFitnessSelfPlay: fitness is the score against the other members. One that shows every sign right wins all games against others that show none, which
// draw among each other.
func TestFitnessSelfPlay(t *testing.T) {
	cfg := early()
	cfg.Episodes = 24
	for _, exploit := range []Exploit{Truncation, TTest} {
		cfg.Exploit = exploit
		p := overSelfPlay(t, 0, 5, cfg)
		initialized(t, p)
		of := p.inner.(*SelfPlay)
		rows := numbers(t, of.opponents.Rows())
		clear(rows)
		width, layers := len(rows)/(of.members+of.members*of.cfg.Capacity), of.learner.(*rl.PPO).Agent().Policy().Network.Layers()
		for m := range of.members { // hidden unit i has sign i as input; the first member shows that sign, the others the next one
			row := rows[m*width:][:width]
			for i := range 3 {
				row[layers[0].Weight+i*layers[0].Out+i] = 4
				row[layers[1].Weight+i*layers[1].Out+(i+min(m, 1))%3] = 4
			}
		}
		if err := of.opponents.Rows().WriteFloat32(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		run(t, p, func(r *engine.Recorder) { p.ranking.recordFitness(r, p) })
		for m, got := range numbers(t, p.fitness) {
			switch {
			case m == 0 && got != 1:
				t.Errorf("%v: the best member's fitness is %g; want 1", exploit, got)
			case m > 0 && !(got >= 0.1 && got <= 0.5): // it meets the best member in a third of its games
				t.Errorf("%v: the fitness of member %d is %g; want about a third", exploit, m, got)
			}
			if twice := 2 * cfg.Episodes; math.Abs(float64(got)*float64(twice)-math.Round(float64(got)*float64(twice))) > 1e-4 {
				t.Errorf("%v: fitness %g is no mean of %d scores", exploit, got, cfg.Episodes)
			}
		}
	}
}

// TestPBTSelfPlayRefused: what PBT over self-play does not do is said.
func TestPBTSelfPlayRefused(t *testing.T) {
	env := signs(t)
	if err := amongMembers().Check(env, 1, 3); err == nil || !strings.Contains(err.Error(), "a single member has no others") {
		t.Errorf("a population of one member: %v", err)
	}
	wrong := amongMembers()
	wrong.Latest = 0.75
	if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), "latest and population are 0.75 and 0.35") {
		t.Errorf("shares of more than 1: %v", err)
	}
	made := func(members int) *SelfPlay {
		t.Helper()
		ppo, err := rl.NewPPO(t.Context(), engine.New(open(t)), env, small(members), network(), smallPool().Pool())
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewSelfPlay(ppo, smallPool())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, err := NewPBT(t.Context(), made(1), early()); err == nil || !strings.Contains(err.Error(), "want at least 2 members") {
		t.Errorf("a population of one: %v", err)
	}
	policy := early()
	policy.Inherit = PolicyOnly
	if _, err := NewPBT(t.Context(), made(2), policy); err == nil || !strings.Contains(err.Error(), "pbt.inherit") {
		t.Errorf("the policy alone: %v", err)
	}
	alone := made(1)
	defer alone.Close()
	if _, err := alone.Fitness(t.Context(), alone.State().Sub("fitness"), 3); err == nil || !strings.Contains(err.Error(), "want several members") {
		t.Errorf("the fitness of one member: %v", err)
	}
}
