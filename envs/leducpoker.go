package envs

import "slices"

// leducPoker is poker with six cards and two rounds (shaders/envs/leduc_poker.glsl has the rules).
func leducPoker() Spec {
	state := []string{"card_0", "card_1", "board", "round"}
	for _, round := range []string{"0", "1"} {
		for _, action := range []string{"0", "1", "2", "3"} {
			state = append(state, "round_"+round+"_action_"+action)
		}
	}
	return Spec{
		Name: "LeducPoker-v0", Summary: "play poker with six cards and two rounds of bets", Source: "Southey et al. 2005; OpenSpiel's rules",
		Observation: Box(make([]float32, 23), ones(23)), Action: Discrete(3), State: append(state, "paid_0", "paid_1"), Agents: 2,
		MaxSteps: 8, Tree: leducTree, Geometry: pokerGeometry([]string{"fold", "call", "raise"}, func(s []float32) pokerTable {
			board := -1
			if s[3] > 0 {
				board = int(s[2])
			}
			return pokerTable{cards: [3]int{int(s[0]), int(s[1]), board}, paid: [2]int{int(s[12]), int(s[13])}}
		}),
	}
}

// ones are the upper bounds of observations of zeros and ones.
func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }

// leducTree lists Leduc poker: the deals by the ranks of three cards, of which there are two each.
func leducTree() *Tree {
	t := &Tree{}
	for deal := range 27 {
		cards, left, ways := [3]int{deal / 9, deal / 3 % 3, deal % 3}, [3]int{2, 2, 2}, 1
		state := make([]float32, 14)
		for i, rank := range cards {
			ways *= left[rank]
			left[rank]--
			state[i] = float32(rank)
		}
		state[12], state[13] = 1, 1
		if ways > 0 {
			begin := leducPlay{cards: cards, rounds: [][]bool{{}}, paid: [2]int{1, 1}}
			t.Deals = append(t.Deals, Deal{Probability: float64(ways) / (6 * 5 * 4), State: state, Play: begin.list()})
		}
	}
	return t
}

// leducPlay is a play of Leduc poker so far.
type leducPlay struct {
	cards  [3]int   // ranks of the seats' and of the board's
	rounds [][]bool // the actions of each round that has begun, in order: whether it is a raise
	paid   [2]int
}

// list lists how the play goes on.
func (l leducPlay) list() *Play {
	now := l.rounds[len(l.rounds)-1]
	seat := len(now) % 2
	p := &Play{Seat: seat, Observation: l.observation(seat)}
	for action := range 3 {
		p.Next = append(p.Next, l.after(action))
	}
	return p
}

// observation returns what a seat sees in its turn.
func (l leducPlay) observation(seat int) []float32 {
	obs := make([]float32, 23)
	obs[l.cards[seat]] = 1
	if len(l.rounds) > 1 {
		obs[3+l.cards[2]] = 1
	}
	for round, actions := range l.rounds {
		for i, raise := range actions {
			at := 6 + 8*round + 2*i
			if raise {
				at++
			}
			obs[at] = 1
		}
	}
	obs[22] = 1
	return obs
}

// after returns how the play goes on after an action: 0 fold, 1 call, 2 raise.
func (l leducPlay) after(action int) *Play {
	last := len(l.rounds) - 1
	now := l.rounds[last]
	seat := len(now) % 2
	other := 1 - seat
	if action == 0 && l.paid[other] > l.paid[seat] {
		won := [2]float64{-float64(l.paid[0]), float64(l.paid[1])} // of seat 0, if seat 0 folds and if seat 1 does
		return &Play{Return: won[seat]}
	}
	raises := 0
	for _, raise := range now {
		if raise {
			raises++
		}
	}
	raise := action == 2 && raises < 2
	if l.paid[seat] = l.paid[other]; raise {
		l.paid[seat] += 2 + 2*last
	}
	l.rounds = slices.Clone(l.rounds)
	l.rounds[last] = append(slices.Clone(now), raise)
	if raise || len(now) == 0 {
		return l.list()
	}
	if last == 0 {
		l.rounds = append(l.rounds, []bool{})
		return l.list()
	}
	return &Play{Return: float64(l.paid[0] * l.higher())}
}

// higher returns 1 if seat 0's card wins, -1 if seat 1's does, and 0 if neither does.
func (l leducPlay) higher() int {
	switch mine, theirs, board := l.cards[0], l.cards[1], l.cards[2]; {
	case mine == theirs:
		return 0
	case mine == board, theirs != board && mine > theirs:
		return 1
	}
	return -1
}
