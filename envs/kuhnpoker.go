package envs

// kuhnPoker is poker with three cards (shaders/envs/kuhn_poker.glsl has the rules). Whoever plays it best returns -1/18 from the first seat, and 1/18 from
// the second.
func kuhnPoker() Spec {
	return Spec{
		Name: "KuhnPoker-v0", Summary: "play poker with three cards for one or two chips", Source: "Kuhn 1950", Observation: Box(make([]float32, 8), ones(8)),
		Action: Discrete(2), State: []string{"card_0", "card_1", "play"}, Agents: 2, MaxSteps: 3, Tree: kuhnTree, Geometry: pokerGeometry(
			[]string{"pass", "bet"}, func(s []float32) pokerTable {
				paid := [][2]int{{1, 1}, {1, 1}, {2, 1}, {1, 2}, {1, 1}, {2, 1}, {2, 2}, {1, 2}, {2, 2}}[min(max(int(s[2]), 0), 8)]
				return pokerTable{cards: [3]int{int(s[0]), int(s[1]), -1}, paid: paid}
			}),
	}
}

// kuhnTurn is a turn of Kuhn's poker: whose it is, and how the play goes on after a pass and a bet; or how it ends.
type kuhnTurn struct {
	seat int
	next [2]int
	won  float64 // by seat 0, if its card is the higher one
	lost float64 // if it is the lower one
}

// kuhnPlays are the plays by the numbers that the GLSL gives them: nothing, pass, bet, pass-bet; ends.
var kuhnPlays = [9]kuhnTurn{
	{seat: 0, next: [2]int{1, 2}}, {seat: 1, next: [2]int{4, 3}}, {seat: 1, next: [2]int{5, 6}}, {seat: 0, next: [2]int{7, 8}},
	{won: 1, lost: 1}, {won: 1, lost: -1}, {won: 2, lost: 2}, {won: -1, lost: 1}, {won: 2, lost: 2},
}

// kuhnTree lists Kuhn's poker: six deals of five plays each.
func kuhnTree() *Tree {
	t := &Tree{}
	for first := range 3 {
		for second := range 3 {
			if first == second {
				continue
			}
			cards := [2]int{first, second}
			t.Deals = append(t.Deals, Deal{
				Probability: 1. / 6, State: []float32{float32(first), float32(second), 0}, Play: kuhnPlay(cards, 0),
			})
		}
	}
	return t
}

// kuhnPlay lists how a play goes on.
func kuhnPlay(cards [2]int, number int) *Play {
	of := kuhnPlays[number]
	if of.next == [2]int{} {
		if cards[0] > cards[1] {
			return &Play{Return: of.won}
		}
		return &Play{Return: -of.lost}
	}
	p := &Play{Seat: of.seat, Observation: make([]float32, 8)}
	p.Observation[cards[of.seat]], p.Observation[3+number], p.Observation[7] = 1, 1, 1
	for _, next := range of.next {
		p.Next = append(p.Next, kuhnPlay(cards, next))
	}
	return p
}
