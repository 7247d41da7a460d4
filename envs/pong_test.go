package envs

import (
	"math"
	"testing"
)

// Elements of Pong's state, and its actions.
const (
	pongX, pongY, pongVX, pongVY, pongScore, pongTime, pongRound = 5, 9, 10, 11, 12, 14, 15
	pongUp, pongStay, pongDown                                   = 0, 1, 2
)

// pongState is a state with bats at these tops and the ball at a place with a velocity.
func pongState(bat0, bat1, x, y, vx, vy float64) []float64 {
	return []float64{bat0, bat1, x, x, x, x, y, y, y, y, vx, vy, 0, 0, 7, 3}
}

// TestPongDuel: bounces, scores and ends computed by hand.
func TestPongDuel(t *testing.T) {
	late := func(s []float64, element int, v float64) []float64 {
		s[element] = v
		return s
	}
	cases := []struct {
		name    string
		state   []float64
		actions [2]int
		want    map[int]float64 // elements after the step
		reward  float64
		over    bool
	}{
		{"flies", pongState(107, 107, 78, 112, 4, 1.5), [2]int{pongStay, pongStay}, map[int]float64{pongX: 82, pongY: 113.5, 4: 78, 8: 112, pongTime: 8}, 0, false},
		{"the wall above", pongState(107, 107, 78, 35, 4, -3), [2]int{pongStay, pongStay}, map[int]float64{pongX: 82, pongY: 34, pongVY: 3}, 0, false},
		{"the wall below", pongState(107, 107, 78, 188, 4, 3), [2]int{pongStay, pongStay}, map[int]float64{pongX: 82, pongY: 190, pongVY: -3}, 0, false},
		{"the left bat", pongState(107, 107, 24, 110, -4, 2), [2]int{pongStay, pongStay}, map[int]float64{pongX: 21, pongY: 111.5, pongVX: 4, pongVY: 2}, 0, false},
		{"the left bat goes down", pongState(107, 107, 24, 110, -4, 2), [2]int{pongDown, pongStay},
			map[int]float64{0: 111, pongX: 21, pongY: 111.5, pongVX: 4, pongVY: 4.8}, 0, false},
		{"the right bat goes up", pongState(107, 107, 134, 110, 4, 2), [2]int{pongStay, pongUp},
			map[int]float64{1: 103, pongX: 135, pongY: 110.5, pongVX: -4, pongVY: -0.8}, 0, false},
		{"the wall comes before the bat", pongState(34, 107, 24, 35, -4, -2), [2]int{pongStay, pongStay},
			map[int]float64{pongX: 20, pongY: 34, pongVX: -4, pongVY: 2}, 0, false},
		{"behind the bat", pongState(107, 107, 20, 110, -4, 0), [2]int{pongStay, pongStay}, map[int]float64{pongX: 16, pongVX: -4}, 0, false},
		{"past the bat", pongState(130, 107, 24, 110, -4, 2), [2]int{pongStay, pongStay}, map[int]float64{pongX: 20, pongVX: -4}, 0, false},
		{"whole numbers overlap", pongState(107.5, 107, 24, 101.9, -4, 1.6), [2]int{pongStay, pongStay}, map[int]float64{pongX: 20, pongVX: -4}, 0, false},
		{"whole numbers overlap by one", pongState(107.5, 107, 24, 102.9, -4, 1.6), [2]int{pongStay, pongStay}, map[int]float64{pongX: 21, pongVX: 4}, 0, false},
		{"a bat stops at the edge", pongState(36, 178, 78, 112, 4, 1), [2]int{pongUp, pongDown}, map[int]float64{0: 34, 1: 179}, 0, false},
		{"right scores", pongState(150, 107, 3, 110, -4, 1), [2]int{pongStay, pongStay},
			map[int]float64{13: 1, pongTime: 0, pongRound: 4, pongX: 78, 2: 78, 0: 150}, -1, false},
		{"left scores", pongState(107, 150, 153, 110, 4, 1), [2]int{pongStay, pongStay},
			map[int]float64{12: 1, pongTime: 0, pongRound: 4, pongX: 78, pongY: 112}, 1, false},
		{"no score yet", pongState(107, 150, 152, 110, 4, 1), [2]int{pongStay, pongStay}, map[int]float64{12: 0, pongX: 156, pongRound: 3}, 0, false},
		{"a void round", late(pongState(107, 107, 78, 112, 4, 1), pongTime, 999), [2]int{pongStay, pongStay},
			map[int]float64{12: 0, 13: 0, pongTime: 0, pongRound: 4, pongX: 78}, 0, false},
		{"the last round", late(pongState(107, 150, 153, 110, 4, 1), pongRound, 19), [2]int{pongStay, pongStay}, map[int]float64{12: 1, pongRound: 20}, 1, true},
	}
	env := lookup(t, "PongDuel-v0")
	g := newGiven(t, open(t), env, len(cases))
	var states [][]float64
	var actions []int
	for _, c := range cases {
		states, actions = append(states, c.state), append(actions, c.actions[:]...)
	}
	g.set(states)
	g.act(actions)
	after, reward, done, obs := g.states(), g.floats(g.ro.Reward), g.words(g.ro.Done), g.floats(g.ro.NextObs)
	for e, c := range cases {
		for i, want := range c.want {
			if d := math.Abs(float64(after[e][i]) - want); d > 2e-5 {
				t.Errorf("%s: %s is %v; want %v", c.name, env.State[i], after[e][i], want)
			}
		}
		if v := math.Abs(float64(after[e][pongVY])); after[e][pongTime] == 0 && !(v >= 1.2 && v <= 4 && math.Abs(float64(after[e][pongVX])) == 4) {
			t.Errorf("%s: served with %v, %v", c.name, after[e][pongVX], after[e][pongVY])
		}
		if float64(reward[2*e]) != c.reward || float64(reward[2*e+1]) != -c.reward || (Done(done[2*e]) == Terminated) != c.over {
			t.Errorf("%s: rewards %v, flags %v; want %v, %t", c.name, reward[2*e:2*e+2], done[2*e], c.reward, c.over)
		}
		s := after[e]
		for seat := range 2 {
			want := []float32{s[seat], s[1-seat]}
			for k := range 4 {
				x := s[2+k]
				if seat == 1 {
					x = 156 - x
				}
				want = append(want, x, s[6+k])
			}
			for k, w := range want {
				if k < 2 || k%2 == 1 {
					w -= 34
				}
				if got := obs[(2*e+seat)*10+k]; math.Abs(float64(got-w/160)) > 1e-6 {
					t.Errorf("%s: seat %d sees %v at %d; want %v", c.name, seat, got, k, w/160)
				}
			}
		}
	}
}

// TestPong: the script follows the ball, the rest is as in the duel, and a game of random play against it is lost.
func TestPong(t *testing.T) {
	env := lookup(t, "Pong-v0")
	step := func(env *Environment, n int, states [][]float64, action float64) [][]float32 {
		var actions [][]float64
		for range n {
			actions = append(actions, []float64{action})
		}
		after, _, _ := poolStep(t, open(t), env, states, actions)
		return after
	}
	for bat, want := range map[float64]float64{100: 104, 106: 110, 107: 103, 120: 116, 106.5: 102.5} { // the ball's middle is 114
		if got := step(env, 1, [][]float64{pongState(107, bat, 78, 112, 4, 1)}, pongStay)[0][1]; float64(got) != want {
			t.Errorf("a bat at %v goes to %v; want %v", bat, got, want)
		}
	}
	random, err := env.With(PongScriptOptions{Rounds: 1, Random: 1})
	if err != nil {
		t.Fatal(err)
	}
	var states [][]float64
	for range 300 {
		states = append(states, pongState(107, 100, 78, 112, 4, 1))
	}
	ways := map[float32]int{}
	for _, s := range step(random, len(states), states, pongStay) {
		ways[s[1]]++
	}
	if ways[96] < 70 || ways[100] < 70 || ways[104] < 70 || len(ways) != 3 {
		t.Errorf("a random opponent goes to %v", ways)
	}
	const n = 16
	b := newBatch(t, open(t), "Pong-v0", 1, n, Options{AutoReset: Disabled})
	if _, err := b.Reset(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	over, scores := 0, 0.0
	for k := 0; over < n && k < 20000; k++ {
		actions := make([][]float64, n)
		for e := range actions {
			actions[e] = []float64{float64((7*k + 5*e) % 11 % 3)}
		}
		got, err := act(t.Context(), b, actions)
		if err != nil {
			t.Fatal(err)
		}
		for e, d := range got.Done {
			if d&Void == 0 {
				scores += float64(got.Reward[e])
			}
			if d&Void == 0 && d.Over() {
				over++
			}
		}
	}
	if scores /= n; over != n || !(scores < -10) {
		t.Errorf("%d games ended with a mean score of %v; want %d and a loss", over, scores, n)
	}
	t.Logf("play that does not look: %.1f of %d rounds", scores, pongRounds)
}
