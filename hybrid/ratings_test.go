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
		if slope := points(wins, ratings, i); math.Abs(slope) > 1e-6 {
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

// neighbours are the wins of players of whom each has met the next few in 100 games each, of which player j won a share against player i before it.
func neighbours(players, met int, share func(i, j int) float64) [][]float64 {
	wins := make([][]float64, players)
	for i := range wins {
		wins[i] = make([]float64, players)
	}
	for i := range wins {
		for j := i + 1; j < min(players, i+1+met); j++ {
			wins[i][j] = math.Round(100 * (1 - share(i, j)))
			wins[j][i] = 100 - wins[i][j]
		}
	}
	return wins
}

// TestRatingsOfNeighbours: ratings of long chains of players, who met their neighbours only, are as far apart as the results say.
func TestRatingsOfNeighbours(t *testing.T) {
	for _, c := range []struct {
		players int
		share   float64
	}{{101, 0.6}, {101, 1}, {1000, 0.6}, {2, 0.6}} {
		ratings := Ratings(neighbours(c.players, 1, func(i, j int) float64 { return c.share }))
		won := 100*c.share + 0.5
		for i := 1; i < c.players; i++ {
			if got, want := ratings[i]-ratings[i-1], 400*math.Log10(won/(101-won)); !(math.Abs(got-want) < 1e-5) {
				t.Fatalf("%d players, of whom the next one wins %g: player %d is %g above the one before; want %g", c.players, c.share, i, got, want)
			}
		}
	}
	// With loops: the ratings are those at which the likelihood is greatest.
	dice := rand.New(rand.NewPCG(3, 4))
	wins := neighbours(101, 3, func(i, j int) float64 { return 0.7 + 0.3*dice.Float64() })
	ratings := Ratings(wins)
	for i := range wins {
		if slope := points(wins, ratings, i); !(math.Abs(slope) < 1e-6) {
			t.Fatalf("player %d: %g points more than its rating says; want none", i, slope)
		}
	}
}

// points returns the derivative of the results' logarithmic likelihood by a player's strength: its points minus those that are expected.
func points(wins [][]float64, ratings []float64, i int) (slope float64) {
	for j := range wins {
		if n := wins[i][j] + wins[j][i]; i != j && n > 0 {
			slope += wins[i][j] + 0.5 - (n+1)/(1+math.Pow(10, (ratings[j]-ratings[i])/400))
		}
	}
	return slope
}

// TestRatingsApart: players whom no games connect with most of the others have no rating.
func TestRatingsApart(t *testing.T) {
	wins := neighbours(6, 1, func(i, j int) float64 { return 0.6 })
	wins[1][2], wins[2][1] = 0, 0 // 0 and 1 are apart
	for i, got := range Ratings(wins) {
		if want := float64(i) - 3.5; i < 2 != math.IsNaN(got) || i >= 2 && !(math.Abs(got-want*400*math.Log10(60.5/40.5)) < 1e-5) {
			t.Errorf("player %d has rating %g; want NaN for 0 and 1, and of the others %g differences of neighbours", i, got, want)
		}
	}
	for i, got := range Ratings(make([][]float64, 0)) {
		t.Errorf("player %d of none has rating %g", i, got)
	}
	for i, got := range Ratings([][]float64{{0, 0}, {0, 0}}) {
		if !math.IsNaN(got) {
			t.Errorf("without games player %d has rating %g; want NaN", i, got)
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
