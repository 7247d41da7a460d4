package hybrid

import (
	"context"
	"math"
)

// Pool is what is known of a member's opponents: the results of the games that were played in training.
type Pool struct {
	Opponents []Opponent // oldest first
	// Learner is the member's rating since its last entry, in the scale of the opponents'; before its first game since then that of the entry. NaN: neither
	// has played anybody.
	Learner float64
}

// Opponent is an earlier version of a member.
type Opponent struct {
	Number  int     // of its entry, from 1
	Rating  float64 // by Ratings of all games that are known; NaN: it has played nobody
	Results Results // of the learner's games against it since the learner's last entry
}

// Results count games.
type Results struct{ Won, Drew, Lost int }

// points returns the points of the side that won, draws half.
func (r Results) points() float64 { return float64(r.Won) + float64(r.Drew)/2 }

func (r Results) reversed() Results { return Results{r.Lost, r.Drew, r.Won} }

// Pools reads the members' pools. An opponent's games are those that the learner played while it was becoming that opponent, from one entry to the next, and
// those that later learners played against it.
func (p *SelfPlay) Pools(ctx context.Context) ([]Pool, error) {
	payoff, err := p.payoff.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	serial, err := p.serial.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	c, pools := p.cfg.Capacity, make([]Pool, p.members)
	for m := range pools {
		pools[m] = poolOf(payoff[m*(c+1)*c*3:][:(c+1)*c*3], serial[m*c:][:c])
	}
	return pools, nil
}

// poolOf makes a pool of a member's payoff matrix [C + 1, C, 3] and its numbers of entries [C].
func poolOf(payoff, serial []uint32) Pool {
	capacity := len(serial)
	players := []int{} // rows of the matrix, oldest first, the learner last
	for place, n := range serial {
		if n == 0 {
			continue
		}
		at := 0
		for at < len(players) && serial[players[at]] < n {
			at++
		}
		players = append(players[:at], append([]int{place}, players[at:]...)...)
	}
	players = append(players, capacity)
	between := func(i, j int) Results { // of the games of row i against column j
		if j == capacity {
			return Results{}
		}
		n := payoff[(i*capacity+j)*3:][:3]
		return Results{int(n[0]), int(n[1]), int(n[2])}
	}
	wins := make([][]float64, len(players))
	for a, i := range players {
		wins[a] = make([]float64, len(players))
		for b, j := range players {
			wins[a][b] = between(i, j).points() + between(j, i).reversed().points()
		}
	}
	ratings := Ratings(wins)
	pool := Pool{Learner: ratings[len(ratings)-1]}
	for a, place := range players[:len(players)-1] {
		pool.Opponents = append(pool.Opponents, Opponent{Number: int(serial[place]), Rating: ratings[a], Results: between(capacity, place)})
	}
	if last := len(pool.Opponents) - 1; last >= 0 && math.IsNaN(pool.Learner) {
		pool.Learner = pool.Opponents[last].Rating
	}
	return pool
}

// Standings returns by how much each member's rating is above that of the oldest opponent in its pool; NaN before their first games.
func (p *SelfPlay) Standings(ctx context.Context) ([]float64, error) {
	pools, err := p.Pools(ctx)
	if err != nil {
		return nil, err
	}
	standings := make([]float64, len(pools))
	for m, pool := range pools {
		standings[m] = pool.Learner - pool.Opponents[0].Rating
	}
	return standings, nil
}
