package envs

import (
	"math"
	"slices"
	"testing"
)

// TestPokerTrees plays every play of the trees on the device: what a seat sees in its turn, what it is paid, and when the play is over.
func TestPokerTrees(t *testing.T) {
	for name, plays := range map[string]int{"KuhnPoker-v0": 30, "LeducPoker-v0": 24 * 253} {
		t.Run(name, func(t *testing.T) {
			env := lookup(t, name)
			tree, sum := env.Tree(), 0.0
			var all []played
			var states [][]float64
			for _, d := range tree.Deals {
				sum += d.Probability
				state := make([]float64, len(d.State))
				for i, v := range d.State {
					state[i] = float64(v)
				}
				for _, p := range ends(d.Play, nil) {
					all, states = append(all, p), append(states, state)
				}
			}
			if math.Abs(sum-1) > 1e-12 || len(all) != plays {
				t.Errorf("%d plays with a probability of %g; want %d and 1", len(all), sum, plays)
			}
			playTree(t, env, all, states)
		})
	}
}

// TestPokerDeals: cards are dealt as often as the trees say.
func TestPokerDeals(t *testing.T) {
	const worlds = 40000
	for _, name := range []string{"KuhnPoker-v0", "LeducPoker-v0"} {
		g := newGiven(t, open(t), lookup(t, name), worlds)
		g.begin()
		states, tree := g.states(), g.env.Tree()
		seen := 0
		for _, d := range tree.Deals {
			n := 0
			for _, s := range states {
				if slices.Equal(s, d.State) {
					n++
				}
			}
			seen += n
			want, deviation := worlds*d.Probability, math.Sqrt(worlds*d.Probability*(1-d.Probability))
			if math.Abs(float64(n)-want) > 5*deviation {
				t.Errorf("%s: %d of %d worlds begin with %v; want %.0f", name, n, worlds, d.State, want)
			}
		}
		if seen != worlds {
			t.Errorf("%s: %d of %d worlds begin with a deal of the tree", name, seen, worlds)
		}
	}
}

// played is a play from beginning to end, by the actions of the seats in their turns.
type played struct {
	turns   []*Play // the last one is the end
	actions []int
}

// ends returns all plays that go on from one.
func ends(p *Play, before []*Play) (all []played) {
	turns := append(slices.Clone(before), p)
	if p.Next == nil {
		return []played{{turns: turns}}
	}
	for action, next := range p.Next {
		for _, of := range ends(next, turns) {
			of.actions = append([]int{action}, of.actions...)
			all = append(all, of)
		}
	}
	return all
}

// playTree plays in as many worlds. The seat whose turn it is not does one thing or another. Worlds whose play is over stand still.
func playTree(t *testing.T, env *Environment, all []played, states [][]float64) {
	t.Helper()
	g := newGiven(t, open(t), env, len(all))
	g.set(states)
	n, width, actions := env.Action.N, env.ObsSize(), make([]int, 2*len(all))
	for step := range env.MaxSteps {
		for w, p := range all {
			if step < len(p.actions) {
				actions[2*w], actions[2*w+1] = (w+step)%n, (w/n+step)%n
				actions[2*w+p.turns[step].Seat] = p.actions[step]
			}
		}
		g.act(actions)
		obs, rewards, done := g.floats(g.ro.Obs), g.floats(g.ro.Reward), g.words(g.ro.Done)
		for w, p := range all {
			if step >= len(p.actions) {
				continue
			}
			turn, after := p.turns[step], p.turns[step+1]
			for seat := range 2 {
				own := obs[(2*w+seat)*width:][:width]
				if seat == turn.Seat && !slices.Equal(own, turn.Observation) {
					t.Fatalf("play %v, turn %d: seat %d sees %v; want %v", p.actions, step, seat, own, turn.Observation)
				}
				if own[width-1] != turn.Observation[width-1]*float32(1-(seat^turn.Seat)) {
					t.Fatalf("play %v, turn %d of seat %d: seat %d is told otherwise", p.actions, step, turn.Seat, seat)
				}
				want := float32(after.Return)
				if seat == 1 {
					want = -want
				}
				if got := rewards[2*w+seat]; got != want || (done[2*w+seat] != 0) != (after.Next == nil) {
					t.Fatalf("play %v, turn %d: seat %d is paid %v, ended %v; want %v, %v", p.actions, step, seat, got, done[2*w+seat], want, after.Next == nil)
				}
			}
		}
	}
}
