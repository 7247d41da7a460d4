package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/rl"
)

// smallLeague has two main agents among the members, a main exploiter and the others, who enter often.
func smallLeague(members, capacity int) SelfPlayConfig {
	c := DefaultSelfPlay()
	c.League, c.MainExploiters, c.LeagueExploiters, c.Capacity, c.Latest, c.Checked = true, 1, members-3, capacity, 0.35, 0.15
	c.AppendAfter, c.AppendSamples, c.AppendWinRate, c.ResetShare = 24, 72, 0.7, 0.5
	return c
}

// TestResumeLeague: a league that is cut has the bits of one that is not: past players, results, draws and what exploiters begin with are part of the state.
func TestResumeLeague(t *testing.T) {
	env := signs(t)
	resumes(t, func() engine.Workflow { return newSelfPlay(t, 3, env, small(5), smallLeague(5, 2)) }, 11)
}

// TestLeagueStaysOnDevice: an iteration is one submission, and nothing crosses the bus.
func TestLeagueStaysOnDevice(t *testing.T) {
	staysOnDevice(t, newSelfPlay(t, 3, signs(t), small(5), smallLeague(5, 2)))
}

// leagueModel is what is known of a league, in Go.
type leagueModel struct {
	members, capacity, mains, mainExploiters int

	recent  []float32
	serial  []uint32
	payoff  []uint32
	players int
}

// known reads a league.
func known(t *testing.T, p *SelfPlay) *leagueModel {
	t.Helper()
	return &leagueModel{
		members: p.members, capacity: p.cfg.Capacity, mains: p.league.mains, mainExploiters: p.league.mainExploiters, players: p.players(),
		recent: numbers(t, p.recent), serial: words(t, p.serial), payoff: words(t, p.payoff),
	}
}

// rate is the win rate of a member against a player.
func (l *leagueModel) rate(m, player int) float64 {
	if at := 2 * (m*l.players + player); l.recent[at+1] > 0 {
		return float64(l.recent[at]) / float64(l.recent[at+1])
	}
	return 0.5
}

// past lists the past players of the members from q to the one before end, oldest first.
func (l *leagueModel) past(q, end int) (players []int) {
	for ; q < end; q++ {
		at := len(players)
		for c := range l.capacity {
			if l.serial[q*l.capacity+c] > 0 {
				players = append(players, l.members+q*l.capacity+c)
			}
		}
		slices.SortFunc(players[at:], func(a, b int) int { return int(l.serial[a-l.members]) - int(l.serial[b-l.members]) })
	}
	return players
}

func (l *leagueModel) rates(m int, players []int) []float64 {
	of := make([]float64, len(players))
	for i, player := range players {
		of[i] = l.rate(m, player)
	}
	return of
}

// weights are the probabilities of a member's opponents, branch by branch as in AlphaStar's pseudocode.
func (l *leagueModel) weights(m int, latest, checked float64) []float64 {
	out := make([]float64, l.players)
	meet := func(share float64, players []int, weigh func(float64) float64) {
		sum := 0.0
		for _, x := range l.rates(m, players) {
			sum += weigh(x)
		}
		for _, player := range players {
			p := 1 / float64(len(players))
			if sum >= 1e-10 {
				p = weigh(l.rate(m, player)) / sum
			}
			out[player] += share * p
		}
	}
	squared := func(x float64) float64 { return (1 - x) * (1 - x) }
	variance := func(x float64) float64 { return x * (1 - x) }
	main := func(share float64, q int, bound float64) {
		if l.rate(m, q) > bound {
			out[q] += share
			return
		}
		meet(share, l.past(q, q+1), variance)
	}
	verify := func(share float64, q int) {
		exploiters := l.past(l.mains, l.mains+l.mainExploiters)
		if len(exploiters) > 0 && slices.Min(l.rates(m, exploiters)) < 0.3 {
			meet(share, exploiters, squared)
			return
		}
		old := l.past(q, q+1)
		x := l.rates(m, old)
		kept := 0
		for i := len(x) - 1; i > 0; i-- {
			if x[i-1] < x[i] {
				kept = i + 1
				break
			}
		}
		if kept > 0 && slices.Min(x[:kept]) < 0.7 {
			meet(share, old[:kept], squared)
			return
		}
		main(share, q, 0.3)
	}
	everybody := l.past(0, l.members)
	for q := range l.mains {
		each := 1 / float64(l.mains)
		switch {
		case m < l.mains:
			main(latest*each, q, 0.3)
			verify(checked*each, q)
		case m < l.mains+l.mainExploiters:
			main(each, q, 0.1)
		}
	}
	switch {
	case m < l.mains:
		meet(1-latest-checked, everybody, squared)
	case m >= l.mains+l.mainExploiters:
		meet(1, everybody, func(x float64) float64 { return min(0.5, 1-x) })
	}
	return out
}

// TestLeagueWeights compares the probabilities of opponents, and the metrics, with float64: of leagues in which main agents beat their exploiters and forget,
// in which they do neither, and with pools that are full, partly filled and empty.
func TestLeagueWeights(t *testing.T) {
	const members, capacity = 9, 5
	p := newSelfPlay(t, 1, signs(t), small(members), smallLeague(members, capacity))
	initialized(t, p)
	for kind := range 6 {
		dice := rand.New(rand.NewPCG(9, uint64(kind)))
		writeWords(t, p.serial, func(i int) uint32 {
			switch q, c := i/capacity, i%capacity; {
			case q == 2 && kind < 2, q >= 2 && c >= kind: // no past main exploiters, or pools that are not full
				return 0
			default:
				return uint32(1 + (c+q)%capacity) // the oldest is not the first
			}
		})
		writeFloats(t, p.recent, func(int) float32 { return 0 })
		recent := numbers(t, p.recent)
		for i := 0; i < len(recent); i += 2 {
			games, x := 30*dice.Float32(), dice.Float32()
			switch {
			case kind == 5:
				x = 0.75 + x/4 // nobody is beaten
			case kind%2 == 1:
				x = 0.35 + 0.3*x
			}
			if kind == 4 || dice.IntN(8) == 0 {
				x = 0
			}
			if dice.IntN(5) == 0 {
				games = 0
			}
			recent[i], recent[i+1] = x*games, games
		}
		if err := p.recent.WriteFloat32(t.Context(), recent); err != nil {
			t.Fatal(err)
		}
		outputs := []*engine.Tensor{p.opponents.Matches().Weights(), p.opponents.Filled(), p.winRate, p.worst, p.size}
		for _, of := range outputs {
			writeFloats(t, of, func(int) float32 { return float32(math.NaN()) })
		}
		recordedBy(t, p, p.recordWeights)
		l, got := known(t, p), make([][]float32, len(outputs))
		for i, of := range outputs {
			got[i] = numbers(t, of)
		}
		everybody := l.past(0, members)
		for m := range members {
			sum, rates, worst := 0.0, []float64(nil), math.NaN()
			for player, want := range l.weights(m, 0.35, 0.15) {
				w := float64(got[0][m*l.players+player])
				if sum += w; !(math.Abs(w-want) < 1e-6) {
					t.Errorf("league %d: member %d meets player %d with %g; want %g", kind, m, player, w, want)
				}
				past := slices.Contains(everybody, player)
				if is := got[1][m*l.players+player]; past != (is == 1) || !past && is != 0 {
					t.Errorf("league %d: player %d is filled by %g; want %v", kind, player, is, past)
				}
				if past && l.recent[2*(m*l.players+player)+1] > 0 {
					rates = append(rates, l.rate(m, player))
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("league %d: the probabilities of member %d are %g together", kind, m, sum)
			}
			mean := math.NaN()
			if len(rates) > 0 {
				mean, worst = 0, slices.Min(rates)
				for _, x := range rates {
					mean += x / float64(len(rates))
				}
			}
			for k, want := range []float64{mean, worst, float64(len(l.past(m, m+1)))} {
				if x := float64(got[2+k][m]); math.IsNaN(x) != math.IsNaN(want) || math.Abs(x-want) > 1e-5 {
					t.Errorf("league %d: metric %d of member %d is %g; want %g", kind, k, m, x, want)
				}
			}
		}
	}
}

// TestLeagueTally compares an iteration's results with sums in integers and float64.
func TestLeagueTally(t *testing.T) {
	const members, capacity, environments = 5, 3, 3
	cfg := smallLeague(members, capacity)
	cfg.Keep = 0.9
	p := newSelfPlay(t, 1, signs(t), small(members), cfg)
	initialized(t, p)
	dice, players := rand.New(rand.NewPCG(5, 6)), p.players()
	results := writeWords(t, p.opponents.Matches().Results(), func(int) uint32 { return dice.Uint32N(4) * dice.Uint32N(2) })
	payoff := writeWords(t, p.payoff, func(int) uint32 { return dice.Uint32N(1000) })
	recent := writeFloats(t, p.recent, func(int) float32 { return 20 * dice.Float32() })
	recordedBy(t, p, p.recordTally)
	gotRecent := numbers(t, p.recent)
	of := func(member, player int) (n [3]uint32) {
		for e := range environments {
			for k := range n {
				n[k] += results[((member*environments+e)*players+player)*3+k]
			}
		}
		return n
	}
	for m := range members {
		for player := range players {
			n, at := of(m, player), 2*(m*players+player)
			games, score := 0.0, 0.0
			if m != player {
				for k := range n {
					payoff[(m*players+player)*3+k] += n[k]
				}
				if player < members {
					other := of(player, m)
					n[0], n[1], n[2] = n[0]+other[2], n[1]+other[1], n[2]+other[0]
				}
				games, score = float64(n[0]+n[1]+n[2]), float64(n[0])+float64(n[1])/2
			}
			faded := math.Pow(0.9, games)
			for k, add := range []float64{score, games} {
				if want := float64(recent[at+k])*faded + add; math.Abs(float64(gotRecent[at+k])-want) > 1e-4 {
					t.Errorf("member %d, player %d: recent %g; want %g", m, player, gotRecent[at+k], want)
				}
			}
		}
	}
	if got := words(t, p.payoff); !slices.Equal(got, payoff) {
		t.Errorf("payoff %v; want %v", got, payoff)
	}
}

// TestLeagueEntries compares entries, what becomes of results, and who begins anew, with the rules in Go, word by word.
func TestLeagueEntries(t *testing.T) {
	const members, capacity, iteration = 9, 3, 41
	cfg := smallLeague(members, capacity)
	cfg.AppendAfter, cfg.AppendSamples = 60, 100
	p := newSelfPlay(t, 1, signs(t), small(members), cfg)
	initialized(t, p)
	agent := p.learner.(*rl.PPO).Agent()
	beginning := map[*engine.Tensor][]byte{}
	for _, of := range p.league.first {
		data, err := of.first.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		beginning[of.now] = data
	}
	if beginning[agent.Actor()] == nil {
		t.Fatalf("the actors' parameters are not among the %d tensors of those that begin anew", len(beginning))
	}
	dice, l := rand.New(rand.NewPCG(7, 8)), known(t, p)
	l.payoff = writeWords(t, p.payoff, func(i int) uint32 {
		if row, column := i/3/l.players, i/3%l.players; row == column {
			return 0 // nobody's games against itself are counted
		}
		return dice.Uint32N(6)
	})
	l.recent = writeFloats(t, p.recent, func(int) float32 { return 0 })
	for i := 0; i < len(l.recent); i += 2 {
		m, games := i/2/l.players, 1+20*dice.Float32()
		x := 0.6 + 0.4*dice.Float32() // mostly one of many is not beaten
		if m%3 == 0 || m == 2 {
			x = 0.75 + 0.25*dice.Float32()
		}
		l.recent[i], l.recent[i+1] = x*games, games
	}
	if err := p.recent.WriteFloat32(t.Context(), l.recent); err != nil {
		t.Fatal(err)
	}
	l.serial = writeWords(t, p.serial, func(i int) uint32 {
		if q, c := i/capacity, i%capacity; q%4 == 1 && c > 0 {
			return 0 // empty
		}
		return uint32(4 + (i+i/capacity)%capacity)
	})
	entries := writeWords(t, p.entries, func(int) uint32 { return 7 })
	entered := writeWords(t, p.entered, func(i int) uint32 { return uint32(i) })
	since := writeWords(t, p.since, func(i int) uint32 { return []uint32{50, 20, 40, 80, 10, 76, 36, 75, 90}[i] })
	writeWords(t, p.Clock().Tensor(), func(i int) uint32 { return iteration - (iteration-1)*uint32(i) })
	facing := p.State().Lookup("opponents/match_facing")
	faced := writeWords(t, facing, func(int) uint32 { return dice.Uint32N(uint32(2*l.players + 1)) })
	now := map[*engine.Tensor][]byte{}
	for of := range beginning {
		data := make([]byte, 4*of.Len())
		for i := range data {
			data[i] = byte(dice.UintN(100))
		}
		if err := of.WriteBytes(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		now[of] = data
	}
	rows := writeFloats(t, p.opponents.Rows(), func(int) float32 { return -1 })
	for _, scratch := range []*engine.Tensor{p.places, p.league.resets, p.league.gone} {
		writeWords(t, scratch, func(int) uint32 { return math.MaxUint32 })
	}
	actors := numbers(t, agent.Actor())
	width := len(actors) / members
	recordedBy(t, p, func(r *engine.Recorder) { p.recordEntries(r, false) })

	places, gone, kinds := make([]int, members), make([]bool, l.players), map[string]int{}
	everybody := l.past(0, members)
	resets := make([]bool, members)
	for m := range members {
		since[m] += 24 // 8 steps of 3 environments
		against := everybody
		exploiter := m >= l.mains && m < l.mains+l.mainExploiters
		if exploiter {
			against = []int{0, 1}
		}
		beats := slices.Min(l.rates(m, against)) > 0.7
		places[m] = capacity
		if since[m] < 60 || !beats && since[m] < 100 {
			kinds["waits"]++
			continue
		}
		if since[m] < 100 {
			kinds["beats"]++
		}
		places[m] = 0
		for c := range capacity {
			if l.serial[m*capacity+c] < l.serial[m*capacity+places[m]] {
				places[m] = c
			}
		}
		gone[members+m*capacity+places[m]] = true
		draw := engine.NewRng(1, engine.Stream("self_play/reset"), uint32(m), 0, iteration).Uniform()
		if resets[m] = exploiter || m > l.mains && draw < 0.5; resets[m] {
			gone[m] = true
			kinds["begins anew"]++
		}
		kinds["enters"]++
	}
	if kinds["enters"] < 3 || kinds["waits"] == 0 || kinds["beats"] == 0 || kinds["begins anew"] == 0 || kinds["begins anew"] == kinds["enters"] {
		t.Errorf("members are %v; want a test of all", kinds)
	}
	cell := func(row, column int) []uint32 { return l.payoff[(row*l.players+column)*3:][:3] }
	for q, place := range places { // columns, then rows
		player := members + q*capacity + place
		for row := range l.players {
			if place < capacity {
				copy(cell(row, player), cell(row, q))
				clear(cell(row, q))
			}
		}
	}
	for q, place := range places {
		if place == capacity {
			continue
		}
		player := members + q*capacity + place
		for column := range l.players {
			copy(cell(player, column), cell(q, column))
			clear(cell(q, column))
		}
		for m := range members {
			clear(l.recent[2*(m*l.players+player):][:2])
		}
		since[q], entries[q] = 0, entries[q]+1
		l.serial[q*capacity+place], entered[q*capacity+place] = 8, iteration+1
		copy(rows[player*width:][:width], actors[q*width:][:width])
	}
	for world, f := range faced {
		if f != 0 && (gone[(f-1)/2] || gone[world/3]) {
			faced[world] = 0
		}
	}
	for m, place := range words(t, p.places) {
		if int(place) != places[m] {
			t.Errorf("member %d enters at %d; want %d", m, place, places[m])
		}
	}
	for _, c := range []struct {
		of   *engine.Tensor
		want []uint32
	}{{p.payoff, l.payoff}, {p.since, since}, {p.serial, l.serial}, {p.entered, entered}, {p.entries, entries}, {facing, faced}} {
		if got := words(t, c.of); !slices.Equal(got, c.want) {
			t.Errorf("%v is %v; want %v", c.of, got, c.want)
		}
	}
	if !slices.Equal(numbers(t, p.recent), l.recent) {
		t.Error("recent scores differ from the rules'")
	}
	copy(rows, numbers(t, agent.Actor())) // members act as they are, those that begin anew too
	got := numbers(t, p.opponents.Rows())
	for i := range got { // contents are any bits
		if math.Float32bits(got[i]) != math.Float32bits(rows[i]) {
			t.Fatalf("rows differ from the rules' at %d of row %d", i%width, i/width)
		}
	}
	moments, own := numbers(t, agent.Policy().Normalizer), numbers(t, p.State().Lookup("opponents/normalizers"))
	if !slices.Equal(own[:len(moments)], moments) {
		t.Error("members act by other moments of observations than they have")
	}
	for of, data := range now {
		after, err := of.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		outer, n, inner, ok := of.Split(engine.MemberAxis)
		if !ok || n != members {
			t.Fatalf("%v has no axis of %d members", of, members)
		}
		for m := range members {
			want := data
			if resets[m] {
				want = beginning[of]
			}
			for o := range outer {
				if at := 4 * (o*n + m) * inner; !slices.Equal(after[at:at+4*inner], want[at:at+4*inner]) {
					t.Errorf("%v of member %d, which begins anew: %v, differs from the rules'", of, m, resets[m])
				}
			}
		}
	}
}

// TestLeagueBegins: the untrained main agents are the first past players, and nobody else.
func TestLeagueBegins(t *testing.T) {
	p := newSelfPlay(t, 3, signs(t), small(5), smallLeague(5, 2))
	initialized(t, p)
	if got, want := words(t, p.serial), []uint32{1, 0, 1, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("entries %v; want %v", got, want)
	}
	if got, want := words(t, p.entries), []uint32{1, 1, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v entries; want %v", got, want)
	}
	rows, actors := numbers(t, p.opponents.Rows()), numbers(t, p.learner.(*rl.PPO).Agent().Actor())
	width := len(actors) / 5
	for q := range 2 {
		if player := 5 + 2*q; !slices.Equal(rows[player*width:][:width], actors[q*width:][:width]) {
			t.Errorf("past player %d is not main agent %d", player, q)
		}
	}
}

// TestLeaguePools: a league's matrix gives all members ratings of one scale, and pools of their own past players, in a checkpoint, too. The games are those of
// players of known strengths.
func TestLeaguePools(t *testing.T) {
	p, dir := newSelfPlay(t, 3, signs(t), small(4), smallLeague(4, 2)), t.TempDir()
	initialized(t, p)
	serial := writeWords(t, p.serial, func(i int) uint32 { return []uint32{4, 3, 0, 0, 1, 0, 0, 0}[i] })
	entered := writeWords(t, p.entered, func(i int) uint32 { return uint32(10 * i) })
	strengths := map[int]float64{0: 2, 1: 0.5, 2: 4, 3: 1, 4: 1, 5: 0.25, 8: 0.5} // of the players that there are
	payoff := writeWords(t, p.payoff, func(i int) uint32 {
		row, column, result := i/3/12, i/3%12, i%3
		a, b := strengths[row], strengths[column]
		if a == 0 || b == 0 || row >= column {
			return 0
		}
		return uint32([]float64{math.Round(1e4 * a / (a + b)), 0, math.Round(1e4 * b / (a + b))}[result])
	})
	pools := poolsOf(4, payoff, serial, entered)
	of := func(rating float64) float64 { return rating - pools[3].Learner } // whose strength is 1
	for m, want := range [][]int{{5, 4}, {}, {8}, {}} {
		if len(pools[m].Opponents) != len(want) {
			t.Fatalf("member %d has the past players %+v; want %v", m, pools[m].Opponents, want)
		}
		for i, player := range want {
			o := pools[m].Opponents[i]
			if o.Number != int(serial[player-4]) || o.Entered != 10*(player-4) || !(math.Abs(of(o.Rating)-400*math.Log10(strengths[player])) < 1) {
				t.Errorf("member %d: past player %+v, rated %g above member 3; want player %d", m, o, of(o.Rating), player)
			}
			if n := payoff[(m*12+player)*3:]; o.Results != (Results{int(n[0]), 0, int(n[2])}) {
				t.Errorf("member %d: results %+v against player %d; want %v", m, o.Results, player, n[:3])
			}
		}
		if !(math.Abs(of(pools[m].Learner)-400*math.Log10(strengths[m])) < 1) {
			t.Errorf("member %d is rated %g above member 3; want the strengths %v", m, of(pools[m].Learner), strengths)
		}
	}
	if _, err := p.State().Save(t.Context(), dir, 1); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(checkpoint.Path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := StoredPools(c); err != nil || fmt.Sprint(stored) != fmt.Sprint(pools) {
		t.Errorf("the checkpoint has %v, %v; want %v", stored, err, pools)
	}
	if standings, err := p.Standings(t.Context()); err != nil || !math.IsNaN(standings[1]) || !(math.Abs(standings[0]-400*math.Log10(2/0.25)) < 1) {
		t.Errorf("standings %v, %v; want those above the oldest own player", standings, err)
	}
}
