package envs

// Tree is a game of two seats as a list of all its plays. What one seat wins the other loses. All that chance does is drawn before the first turn, though
// seats may see it later. A seat remembers: its observations in its turns tell apart what it has seen and done, so that a best response to a policy can be
// computed exactly.
type Tree struct {
	Deals []Deal // probabilities add up to 1
}

// Deal is what chance may draw at the beginning.
type Deal struct {
	Probability float64
	State       []float32 // the environment's, at the beginning
	Play        *Play
}

// Play is a play of a game so far.
type Play struct {
	Seat        int       // whose turn it is
	Observation []float32 // [ObsSize], of that seat
	Next        []*Play   // after each action of that seat; nil: the play is over
	Return      float64   // then: of seat 0, in rewards; seat 1 has the negative one
}
