package hybrid

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
)

// Pool is what is known of a member's opponents: the results of the games that were played in training. In a league these are the past players that descend
// from the member, and the ratings of all members' pools are of one scale.
type Pool struct {
	Opponents []Opponent // oldest first; in a league a member begins with none unless it is a main agent
	// Learner is the member's rating since its last entry, in the scale of the opponents'; before the first game since then that compares it with them, that
	// of the entry. NaN: neither has a rating.
	Learner float64
}

// Opponent is an earlier version of a member.
type Opponent struct {
	Number  int     // of its entry, from 1
	Entered int     // iterations after which it entered
	Rating  float64 // by Ratings of all games that are known; NaN: these do not compare it with most others
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
	var read [3][]uint32
	for i, of := range []*engine.Tensor{p.payoff, p.serial, p.entered} {
		var err error
		if read[i], err = of.ReadUint32(ctx); err != nil {
			return nil, err
		}
	}
	return poolsOf(p.members, read[0], read[1], read[2]), nil
}

// Entered returns, for each member, the rows of the opponents in its pool among those of rl.Opponents.Policy, oldest first.
func (p *SelfPlay) Entered(ctx context.Context) ([][]int, error) {
	serial, err := p.serial.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	rows, c := make([][]int, p.members), p.cfg.Capacity
	for m := range rows {
		own := serial[m*c:][:c]
		for place, n := range own {
			if n > 0 {
				rows[m] = append(rows[m], p.members+m*c+place)
			}
		}
		slices.SortFunc(rows[m], func(a, b int) int { return cmp.Compare(own[a-p.members-m*c], own[b-p.members-m*c]) })
	}
	return rows, nil
}

// selfPlayScope is the scope of self-play's tensors.
const selfPlayScope = "self_play"

// StoredPools reads the members' pools from a checkpoint of self-play, or of PBT over it, without a device; nil if it is of another workflow.
//
// Errors: a *checkpoint.CorruptError, and tensors that do not fit each other.
func StoredPools(c *checkpoint.Checkpoint) ([]Pool, error) {
	var payoff, serial, entered []uint32
	members := 0
	err := c.Load(func(t checkpoint.Tensor) error {
		to := map[string]*[]uint32{selfPlayScope + "/payoff": &payoff, selfPlayScope + "/serial": &serial, selfPlayScope + "/entered": &entered}[t.Name]
		if to == nil {
			_, err := io.Copy(io.Discard, t.Data)
			return err
		}
		size, err := t.Bytes()
		if err != nil {
			return err
		}
		if t.DType != checkpoint.U32 || len(t.Shape) < 2 {
			return fmt.Errorf("hybrid: %v elements in %d axes; want U32, and members first", t.DType, len(t.Shape))
		}
		if *to = make([]uint32, size/4); to == &serial {
			members = t.Shape[0]
		}
		return binary.Read(t.Data, binary.LittleEndian, *to)
	})
	if err != nil || serial == nil {
		return nil, err
	}
	size := len(serial) / max(members, 1)
	if size == 0 || len(entered) != len(serial) || len(payoff) != members*(size+1)*size*3 && !ofLeague(members, payoff, serial) {
		return nil, fmt.Errorf("hybrid: %s: results of %d and entries of %d and %d elements do not fit %d members",
			c.Path, len(payoff), len(serial), len(entered), members)
	}
	return poolsOf(members, payoff, serial, entered), nil
}

// poolsOf makes pools of payoff matrices [M, C + 1, C, 3], and of the entries' numbers and iterations [M, C].
func poolsOf(members int, payoff, serial, entered []uint32) []Pool {
	if ofLeague(members, payoff, serial) {
		return leaguePools(members, payoff, serial, entered)
	}
	c, pools := len(serial)/members, make([]Pool, members)
	for m := range pools {
		pools[m] = poolOf(payoff[m*(c+1)*c*3:][:(c+1)*c*3], serial[m*c:][:c], entered[m*c:][:c])
	}
	return pools
}

// poolOf makes a pool of a member's payoff matrix [C + 1, C, 3], and of its entries' numbers and iterations [C].
func poolOf(payoff, serial, entered []uint32) Pool {
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
	ratings := ratingsOf(players, between)
	pool := Pool{Learner: ratings[len(ratings)-1]}
	for a, place := range players[:len(players)-1] {
		pool.Opponents = append(pool.Opponents, Opponent{
			Number: int(serial[place]), Entered: int(entered[place]), Rating: ratings[a], Results: between(capacity, place),
		})
	}
	if last := len(pool.Opponents) - 1; last >= 0 && math.IsNaN(pool.Learner) {
		pool.Learner = pool.Opponents[last].Rating
	}
	return pool
}

// ratingsOf returns the ratings of players by the results of those in the rows of a payoff matrix against those in its columns.
func ratingsOf(players []int, between func(row, column int) Results) []float64 {
	wins := make([][]float64, len(players))
	for a, i := range players {
		wins[a] = make([]float64, len(players))
		for b, j := range players {
			wins[a][b] = between(i, j).points() + between(j, i).reversed().points()
		}
	}
	return Ratings(wins)
}

// Standings returns by how much each member's rating is above that of the oldest opponent in its pool; NaN if no games compare them yet, see Ratings.
func (p *SelfPlay) Standings(ctx context.Context) ([]float64, error) {
	pools, err := p.Pools(ctx)
	if err != nil {
		return nil, err
	}
	standings := make([]float64, len(pools))
	for m, pool := range pools {
		if standings[m] = math.NaN(); len(pool.Opponents) > 0 {
			standings[m] = pool.Learner - pool.Opponents[0].Rating
		}
	}
	return standings, nil
}
