package hybrid

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRatings: two players have the rating of their win rate with a virtual draw; many have those at which the likelihood is greatest; the order of players
// does not matter.
func TestRatings(t *testing.T) {
	two := Ratings([][]float64{{0, 7.5}, {1.5, 0}})
	if got, want := two[0]-two[1], 400*math.Log10(8/2.); math.Abs(got-want) > 1e-6 {
		t.Errorf("8 of 10 points are %g; want %g", got, want)
	}
	const players = 7
	dice := rand.New(rand.NewPCG(1, 2))
	wins := make([][]float64, players)
	for i := range wins {
		wins[i] = make([]float64, players)
		for j := range i {
			if i < players-1 { // the last has not played
				wins[i][j], wins[j][i] = float64(dice.IntN(40))/2, float64(dice.IntN(20))/2
			}
		}
	}
	ratings := Ratings(wins)
	if !math.IsNaN(ratings[players-1]) {
		t.Errorf("a player without games has rating %g; want NaN", ratings[players-1])
	}
	sum := 0.0
	for i := range players - 1 {
		sum += ratings[i]
		slope := 0.0 // of the logarithmic likelihood: points minus expected ones
		for j := range players - 1 {
			if n := wins[i][j] + wins[j][i]; i != j && n > 0 {
				slope += wins[i][j] + 0.5 - (n+1)/(1+math.Pow(10, (ratings[j]-ratings[i])/400))
			}
		}
		if math.Abs(slope) > 1e-6 {
			t.Errorf("player %d: %g points more than its rating says; want none", i, slope)
		}
	}
	if math.Abs(sum) > 1e-6 {
		t.Errorf("the mean rating is %g; want 0", sum/(players-1))
	}
	backwards := make([][]float64, players)
	for i := range wins {
		backwards[players-1-i] = slices.Clone(wins[i])
		slices.Reverse(backwards[players-1-i])
	}
	again := Ratings(backwards)
	for i := range players - 1 {
		if math.Abs(again[players-1-i]-ratings[i]) > 1e-6 {
			t.Errorf("player %d has rating %g; in another order %g", i, ratings[i], again[players-1-i])
		}
	}
}

// TestPoolOf: opponents are in the order of their entries, with the games of either side.
func TestPoolOf(t *testing.T) {
	const capacity = 3
	payoff := make([]uint32, (capacity+1)*capacity*3)
	set := func(row, column int, won, drew, lost uint32) {
		copy(payoff[(row*capacity+column)*3:], []uint32{won, drew, lost})
	}
	set(2, 0, 6, 2, 2) // number 5 against number 4
	set(3, 0, 9, 0, 1) // the learner against number 4
	set(3, 2, 4, 2, 4)
	pool := poolOf(payoff, []uint32{4, 0, 5}, []uint32{30, 0, 70})
	if n := len(pool.Opponents); n != 2 || pool.Opponents[0].Number != 4 || pool.Opponents[1].Number != 5 {
		t.Fatalf("opponents %+v; want numbers 4 and 5", pool.Opponents)
	}
	if got := pool.Opponents[1].Results; got != (Results{4, 2, 4}) {
		t.Errorf("results %+v; want 4, 2, 4", got)
	}
	want := Ratings([][]float64{{0, 3, 1}, {7, 0, 5}, {9, 5, 0}})
	for i, got := range []float64{pool.Opponents[0].Rating, pool.Opponents[1].Rating, pool.Learner} {
		if got != want[i] {
			t.Errorf("rating %d is %g; want %g", i, got, want[i])
		}
	}
	clear(payoff[capacity*capacity*3:]) // the learner has just entered
	if pool := poolOf(payoff, []uint32{4, 0, 5}, []uint32{30, 0, 70}); math.IsNaN(pool.Learner) || pool.Learner != pool.Opponents[1].Rating {
		t.Errorf("a learner without games has rating %g; want that of its last entry, %g", pool.Learner, pool.Opponents[1].Rating)
	}
}
