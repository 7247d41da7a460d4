package rl

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// replayModel is the replay in Go: rows of a ring in the order of appending, the oldest dropped.
type replayModel struct {
	normalizer []float64         // [M, 2, O]; nil: none
	rows       [][]replayRow     // of each ring
	at         []int             // rows appended to each ring since the beginning
	running    map[[2]int]int    // the number of the newest row of an episode that goes on, by ring and lane
	latest     map[[2]int]int    // the number of the newest row of a lane, of the last trajectory
	left       map[[2]int]bool   // lanes that have become copies of others since
	whole      bool              // all trajectories begin with new episodes
	last       map[int][]float64 // the next observation by which a lane of all was left, if its episode goes on
	ends       *replayEndsModel
}

// replayEndsModel are the slots of rows that no row follows.
type replayEndsModel struct {
	slots  int
	rows   [][]int // numbers of each ring's rows that have a slot, oldest first
	oldest []int   // of each ring: the number of the oldest row that is not dropped
}

func newReplayModel(c replayCase, y *Replay) *replayModel {
	m := &replayModel{at: make([]int, y.rings), running: map[[2]int]int{}, latest: map[[2]int]int{}, last: map[int][]float64{}}
	for range y.rings {
		m.rows = append(m.rows, make([]replayRow, c.rows))
	}
	lanes := c.environments
	if c.shared {
		lanes *= c.members
	}
	slots := max(int(math.Ceil(c.ends*float64(c.rows))), lanes)
	m.ends = &replayEndsModel{slots: slots, rows: make([][]int, y.rings), oldest: make([]int, y.rings)}
	return m
}

// end gives a row a slot, and drops the row that had it with all older ones.
func (e *replayEndsModel) end(ring, number int) {
	e.rows[ring] = append(e.rows[ring], number)
	if len(e.rows[ring]) > e.slots {
		e.oldest[ring] = max(e.oldest[ring], e.rows[ring][0]+1)
		e.rows[ring] = e.rows[ring][1:]
	}
}

// held is the number of rows of a ring.
func (m *replayModel) held(c replayCase, ring int) int {
	return min(m.at[ring], c.rows, m.at[ring]-m.ends.oldest[ring])
}

type replayRow struct {
	obs, next, action []float64
	reward            float64
	done              envs.Done
	number, link      int // link: the number of the next row of the episode, -1
	after             int // likewise of the lane, whether the episode goes on or not
}

// replayCase is a replay with a trajectory to append.
type replayCase struct {
	name                                                    string
	horizon, members, environments, features, actions, rows int
	shared                                                  bool
	steps, batch                                            int
	normalizes                                              bool
	format                                                  ReplayFormat
	most                                                    uint64  // bytes of a tensor of observations or actions; 0: as many as the device sees
	ends                                                    float64 // share of ends
	element                                                 nn.Element
	floats                                                  bool // trajectories have packed observations as floats
}

var replayCases = []replayCase{
	{"one member", 5, 1, 1, 3, 1, 11, false, 1, 7, false, Float32, 0, 1, nn.Floats, false},
	{"own rings", 7, 3, 5, 4, 2, 83, false, 3, 33, true, Float32, 0, 0.8, nn.Floats, false},
	{"few ends", 7, 3, 5, 4, 2, 83, false, 3, 33, true, Float32, 0, 0.2, nn.Floats, false},
	{"fewest ends", 7, 3, 5, 4, 2, 83, false, 2, 33, true, Float32, 0, 0, nn.Floats, false},
	{"shared ring", 7, 3, 5, 11, 3, 211, true, 5, 70, true, Float32, 0, 0.7, nn.Floats, false},
	{"several chunks", 67, 2, 37, 2, 1, 5003, false, 2, 40, false, Float32, 0, 0.7, nn.Floats, false},
	{"several chunks, few ends", 67, 2, 37, 2, 1, 5003, false, 2, 40, false, Float32, 0, 0.05, nn.Floats, false},
	{"in parts", 7, 3, 5, 4, 2, 83, false, 3, 33, true, Float32, 3 * 4 * 4 * 30, 0.7, nn.Floats, false},
	{"shared, in parts of four rows", 3, 2, 2, 3, 4, 29, true, 4, 70, false, Float32, 4 * 4 * 4, 0.3, nn.Floats, false},
	{"float16", 7, 3, 5, 7, 2, 83, false, 3, 33, true, Float16, 0, 1, nn.Floats, false},
	{"float16, in parts", 7, 3, 5, 5, 2, 211, true, 2, 33, false, Float16, 4 * 3 * 50, 0.9, nn.Floats, false},
	{"single steps", 1, 3, 5, 4, 2, 29, false, 3, 33, true, Float32, 0, 0.9, nn.Floats, false},
	{"bits", 7, 2, 5, 67, 1, 83, false, 3, 33, false, Float32, 0, 0.8, nn.Bits, false},
	{"bits, in parts", 7, 2, 3, 33, 1, 97, true, 1, 33, true, Float32, 4 * 2 * 30, 0.2, nn.Bits, false},
	{"bytes", 7, 3, 5, 9, 2, 83, false, 3, 33, true, Float32, 0, 0.8, nn.Bytes, false},
	{"bits of floats", 7, 2, 5, 67, 1, 83, false, 3, 33, false, Float32, 0, 0.8, nn.Bits, true},
	{"bytes of floats", 7, 3, 5, 9, 2, 221, true, 3, 33, true, Float32, 0, 0.2, nn.Bytes, true},
	{"large", 7, 3, 5, 260, 2, 83, false, 3, 33, true, Float32, 0, 0.8, nn.Floats, false},
	{"large, in parts", 7, 3, 5, 264, 2, 211, true, 2, 33, true, Float32, 264 * 4 * 50, 0.7, nn.Floats, false},
	{"large, float16", 7, 3, 5, 260, 2, 211, true, 2, 33, true, Float16, 260 * 2 * 50, 0.9, nn.Floats, false},
	{"large, bits", 7, 2, 3, 292, 1, 97, true, 1, 33, true, Float32, 4 * 10 * 30, 0.2, nn.Bits, false},
	{"large, bytes", 7, 3, 5, 268, 2, 83, false, 3, 33, false, Float32, 3 * 268 * 30, 0.8, nn.Bytes, false},
}

func newReplayCase(t *testing.T, c replayCase) (*engine.Engine, *engine.State, envs.Trajectory, *Replay) {
	t.Helper()
	return newReplayOf(t, c, c.config())
}

func (c replayCase) config() ReplayConfig {
	return ReplayConfig{
		Capacity: c.rows, Shared: c.shared, Batch: c.batch, BatchShare: 1, Steps: c.steps, Observations: c.format, EndShare: c.ends,
		TruncationEnds: c.format == Float16,
	}
}

func newReplayOf(t *testing.T, c replayCase, cfg ReplayConfig) (*engine.Engine, *engine.State, envs.Trajectory, *Replay) {
	t.Helper()
	eng := engine.New(open(t), engine.Seed(5))
	s := eng.NewState()
	t.Cleanup(func() { s.Close() })
	tr := c.trajectory(s.Sub("t"))
	most := c.most
	if most == 0 {
		most = eng.Device().Info().Limits.MaxStorageRange
	}
	y, err := newReplay(s.Sub("replay"), engine.NewHyper(s, c.members), tr, cfg, most)
	if err != nil {
		t.Fatal(err)
	}
	return eng, s, tr, y
}

// trajectory makes what is appended.
func (c replayCase) trajectory(s *engine.State) envs.Trajectory {
	dims := []engine.Dim{engine.Time(c.horizon), engine.Members(c.members), engine.Environments(c.environments)}
	tensor := func(name string, typ engine.DType, more ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, typ, append(append([]engine.Dim(nil), dims...), more...)...)
	}
	o, a := engine.Axis("feature", c.given().Words(c.features)), engine.Axis("action", c.actions)
	space := envs.Symmetric(make([]float32, c.features)...)
	space.Element = c.element
	return envs.Trajectory{
		Obs: tensor("obs", c.given().Word(), o), NextObs: tensor("next_obs", c.given().Word(), o), Space: space, Action: tensor("action", engine.Float32, a),
		Reward: tensor("reward", engine.Float32), Done: tensor("done", engine.Uint32),
	}
}

// append draws a trajectory, writes it and appends it to the model.
func (m *replayModel) append(t *testing.T, c replayCase, tr envs.Trajectory, dice *rand.Rand, fresh bool) {
	t.Helper()
	draw := func(n int, f func() float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(float32(f()))
		}
		return values
	}
	fill := func(to *engine.Tensor, f func() float64) []float64 {
		values := draw(to.Len(), f)
		write(t, to, values)
		return values
	}
	odd := func() float64 { // some are not finite
		if x := dice.IntN(max(300, 100*c.features)); x < 3 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[x]
		}
		return dice.NormFloat64()
	}
	seen := func() float64 { // of every size, and zeros
		switch x := odd(); {
		case c.element.Packed():
			return float64(dice.IntN(c.element.Levels()))
		case c.format == Float32:
			return x
		case dice.IntN(4) == 0:
			return 0
		default:
			return x * math.Exp2(float64(dice.IntN(44)-26))
		}
	}
	features := tr.Reward.Len() * c.features
	obs, next, action, reward := draw(features, seen), draw(features, seen), fill(tr.Action, odd), fill(tr.Reward, odd)
	done := fill(tr.Done, func() float64 {
		if dice.Float64() < 0.6 {
			return 0
		}
		return float64(dice.IntN(8)) // terminated, truncated, void and all there is of them together
	})
	lasts, latest := maps.Clone(m.running), map[[2]int]int{}
	if fresh {
		clear(m.running)
		clear(m.last)
	}
	m.follow(c, obs, next, done)
	write(t, tr.Obs, c.written(obs))
	write(t, tr.NextObs, c.written(next))
	before := slices.Clone(m.at)
	rings, lanes := c.members, c.environments
	if c.shared {
		rings, lanes = 1, c.members*c.environments
	}
	for i := range c.horizon * c.members * c.environments {
		// Of one ring, elements of [T, M, E] are in the order of appending.
		lane := i % (c.members * c.environments)
		ring, in := lane/lanes%rings, lane%lanes
		d := envs.Done(done[i])
		whole := func(values []float64) bool {
			return !slices.ContainsFunc(values, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
		}
		if d&envs.Void != 0 || !whole(obs[i*c.features:][:c.features]) || !whole(next[i*c.features:][:c.features]) ||
			!whole(action[i*c.actions:][:c.actions]) || !whole(reward[i:i+1]) {
			delete(m.running, [2]int{ring, in})
			continue
		}
		row := replayRow{
			obs: c.kept(obs[i*c.features : (i+1)*c.features]), next: c.kept(next[i*c.features : (i+1)*c.features]), action: action[i*c.actions : (i+1)*c.actions],
			reward: reward[i], done: d, number: m.at[ring], link: -1, after: -1,
		}
		key := [2]int{ring, in}
		if newest, ok := m.running[key]; ok && !m.left[key] {
			m.row(c, ring, newest).link = row.number
		}
		if newest, ok := m.latest[key]; ok && !m.left[key] {
			m.row(c, ring, newest).after = row.number
		}
		delete(m.left, key)
		m.latest[key], latest[key] = row.number, row.number
		m.rows[ring][row.number%c.rows] = row
		m.at[ring]++
		delete(m.running, key)
		if !d.Over() {
			m.running[key] = row.number
		}
	}
	m.latest, m.left = latest, nil
	m.end(c, lasts, before)
}

// given is how trajectories have observations.
func (c replayCase) given() nn.Element {
	if c.floats {
		return nn.Floats
	}
	return c.element
}

// written are the words of observations in trajectories.
func (c replayCase) written(obs []float64) []float64 {
	e, features := c.element, c.features
	switch {
	case !e.Packed():
		return obs
	case c.floats:
		return c.kept(obs)
	}
	var words []float64
	each := map[nn.Element]int{nn.Bytes: 4, nn.Bits: 32}[e]
	for row := range slices.Chunk(obs, features) {
		for of := range slices.Chunk(row, each) {
			word := uint32(0)
			for i, x := range of {
				word |= uint32(x) << (32 / each * i)
			}
			words = append(words, float64(word))
		}
	}
	return words
}

// follow makes observations those that the steps before led to, as long as an episode goes on.
func (m *replayModel) follow(c replayCase, obs, next, done []float64) {
	all := c.members * c.environments
	for i := range c.horizon * all {
		if last, ok := m.last[i%all]; ok {
			copy(obs[i*c.features:], last)
		}
		if delete(m.last, i%all); !envs.Done(done[i]).Over() {
			m.last[i%all] = next[i*c.features:][:c.features]
		}
	}
}

// end gives slots to the rows that no row follows: those by which the lanes were left before, then those since.
func (m *replayModel) end(c replayCase, lasts map[[2]int]int, before []int) {
	for ring := range m.at {
		for lane := range c.members * c.environments {
			if number, ok := lasts[[2]int{ring, lane}]; ok && !m.whole && m.row(c, ring, number).link < 0 {
				m.ends.end(ring, number)
			}
		}
		goes := map[int]bool{}
		for key, number := range m.running {
			goes[number] = goes[number] || key[0] == ring
		}
		for number := before[ring]; number < m.at[ring]; number++ {
			if m.row(c, ring, number).link < 0 && (m.whole || !goes[number]) {
				m.ends.end(ring, number)
			}
		}
	}
}

// kept are observations as the replay's format has them.
func (c replayCase) kept(obs []float64) []float64 {
	out := append([]float64(nil), obs...)
	for i, x := range out {
		switch {
		case c.element == nn.Bytes:
			out[i] = float64(float32(x) * (float32(1) / 255))
		case c.format == Float16:
			_, e := math.Frexp(x)
			unit := math.Ldexp(1, max(e-11, -24)) // of the last place
			out[i] = min(max(math.RoundToEven(x/unit)*unit, -65504), 65504)
		}
	}
	return out
}

// normalizer makes the normalizer of cases that have one.
func (c replayCase) normalizer(s *engine.State) *nn.Normalizer {
	if !c.normalizes {
		return nil
	}
	return nn.NewNormalizer(s, c.members, c.features)
}

func (m *replayModel) row(c replayCase, ring, number int) *replayRow {
	return &m.rows[ring][number%c.rows]
}

// TestReplay appends trajectories, with steps that are no transitions, until the rings have gone round, and compares every batch with a
// model in Go.
func TestReplay(t *testing.T) {
	for _, c := range replayCases {
		t.Run(c.name, func(t *testing.T) {
			eng, s, tr, y := newReplayCase(t, c)
			clock := engine.NewClock(s)
			discount, update := s.Scratch("discount", engine.Float32, engine.Members(c.members)), s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
			n := c.normalizer(s)
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			gammas := make([]float64, c.members)
			for p := range gammas {
				gammas[p] = float64(float32(0.9 + 0.01*float64(p)))
			}
			write(t, discount, gammas)
			shareBatches(t, y)
			again := y.newBatch(s.Sub("again"), c.batch, engine.Members(c.members))
			chosen := s.Scratch("chosen", engine.Uint32, engine.Members(c.members), engine.Axis("transition", c.batch))
			m := newReplayModel(c, y)
			dice := rand.New(rand.NewPCG(2, uint64(c.rows)))
			if c.normalizes {
				y.Normalize(n, 1.5)
				for range n.Values().Len() {
					m.normalizer = append(m.normalizer, float64(float32(0.5+dice.Float64())))
				}
				write(t, n.Values(), m.normalizer)
			}
			for turn := range 6 {
				fresh := turn == 3
				m.append(t, c, tr, dice, fresh)
				write(t, update, []float64{float64(turn)})
				b := y.batch
				poison(t, b.Obs, b.NextObs, b.Action, b.Reward, b.Factor)
				run(t, eng, func(r *engine.Recorder) {
					y.Append(r, tr, fresh)
					y.Sample(r, clock, update, discount)
				})
				m.check(t, c, y, gammas, uint32(turn))
				checkRows(t, eng, y, discount, chosen, again)
			}
		})
	}
}

// checkRows: reading the rows of a batch, in reverse order, gives what sampling them gave.
func checkRows(t *testing.T, eng *engine.Engine, y *Replay, discount, chosen *engine.Tensor, to ReplayBatch) {
	t.Helper()
	index, rows := read(t, y.batch.Index), y.batch.Index.Size("transition")
	for of := range slices.Chunk(index, rows) { // members keep their rows
		slices.Reverse(of)
	}
	write(t, chosen, index)
	poison(t, to.Obs, to.NextObs, to.Action, to.Reward, to.Factor)
	run(t, eng, func(r *engine.Recorder) { y.readRows(r, chosen, discount, to) })
	for name, x := range map[string][2]*engine.Tensor{
		"observations": {y.batch.Obs, to.Obs}, "next observations": {y.batch.NextObs, to.NextObs}, "actions": {y.batch.Action, to.Action},
		"rewards": {y.batch.Reward, to.Reward}, "factors": {y.batch.Factor, to.Factor}, "rows": {y.batch.Index, to.Index},
	} {
		want, got := read(t, x[0]), read(t, x[1])
		size := len(want) / len(index)
		for i := range len(index) {
			p, b := i/rows, i%rows
			for k := range size {
				if g, w := got[(p*rows+rows-1-b)*size+k], want[i*size+k]; g != w {
					t.Fatalf("member %d, row %d: %s read as %g; want %g", p, b, name, g, w)
				}
			}
		}
	}
}

// normalized is an observation as a member's networks take it.
func (m *replayModel) normalized(member int, obs []float64) []float64 {
	if m.normalizer == nil {
		return obs
	}
	out, values := make([]float64, len(obs)), m.normalizer[2*member*len(obs):]
	for i, x := range obs {
		out[i] = float64(min(max(float32(x-values[i])*float32(values[len(obs)+i]), -1.5), 1.5))
	}
	return out
}

// batchShares are how much of their batches members draw, in turn.
var batchShares = []float64{1, 0.3, 0.001}

func shareBatches(t *testing.T, y *Replay) {
	t.Helper()
	shares := make([]float64, y.share.Len())
	for p := range shares {
		shares[p] = batchShares[p%3]
	}
	write(t, y.share, shares)
}

// check compares the batch of an update with the model.
func (m *replayModel) check(t *testing.T, c replayCase, y *Replay, gammas []float64, update uint32) {
	t.Helper()
	b := y.batch
	obs, next, action := read(t, b.Obs), read(t, b.NextObs), read(t, b.Action)
	reward, factor, index := read(t, b.Reward), read(t, b.Factor), read(t, b.Index)
	head := read(t, y.head)
	equal := func(what string, p, i int, got, want []float64) {
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("update %d, member %d, row %d: %s %v; want %v", update, p, i, what, got, want)
			}
		}
	}
	for p := range c.members {
		ring := p % y.rings
		size := m.held(c, ring)
		oldest := 0 // of the rows that are drawn, as a row of the ring
		if size < c.rows {
			oldest = m.at[ring] - size
		}
		if head[2*ring] != float64(m.at[ring]%c.rows) || head[2*ring+1] != float64(size) {
			t.Fatalf("ring %d holds %v rows, the next one at %v; want %d, %d", ring, head[2*ring+1], head[2*ring], size, m.at[ring]%c.rows)
		}
		for i := range c.batch {
			at := p*c.batch + i
			drawn := max(int(math.Round(batchShares[p%3]*float64(c.batch))), 1)
			word := engine.Philox([2]uint32{5, y.stream}, [4]uint32{uint32(p), uint32(i % drawn), 0, update})[0]
			slot := (oldest + int(uint64(word)*uint64(size)>>32)) % c.rows
			if index[at] != float64(slot) {
				t.Fatalf("update %d, member %d, row %d is row %v of the ring; want %d", update, p, i, index[at], slot)
			}
			first := m.rows[ring][slot]
			last, sum, size, power := first, first.reward, math.Abs(first.reward), gammas[p]
			for range c.steps - 1 {
				if last.done.Over() || last.link < 0 {
					break
				}
				last = *m.row(c, ring, last.link)
				sum += power * last.reward
				size += power * math.Abs(last.reward)
				power *= gammas[p]
			}
			if last.done&envs.Terminated != 0 || y.cfg.TruncationEnds && last.done.Over() {
				power = 0
			}
			equal("observation", p, i, obs[at*c.features:(at+1)*c.features], m.normalized(p, first.obs))
			equal("next observation", p, i, next[at*c.features:(at+1)*c.features], m.normalized(p, last.next))
			equal("action", p, i, action[at*c.actions:(at+1)*c.actions], first.action)
			if !(math.Abs(reward[at]-sum) <= 1e-6*size && math.Abs(factor[at]-power) <= 1e-6) {
				t.Fatalf("update %d, member %d, row %d: reward %g, factor %g; want %g, %g", update, p, i, reward[at], factor[at], sum, power)
			}
		}
	}
}

// TestReplayUniform compares how often rows are drawn with the uniform distribution, by χ² with a bound that a fair draw exceeds once in a
// million times.
func TestReplayUniform(t *testing.T) {
	c := replayCase{"uniform", 10, 2, 4, 1, 1, 100, false, 1, 1 << 15, false, Float32, 0, 1, nn.Floats, false}
	eng, s, tr, y := newReplayCase(t, c)
	clock := engine.NewClock(s)
	discount, update := s.Scratch("discount", engine.Float32, engine.Members(c.members)), s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, y.share, []float64{1, 1})
	counts := make([][]float64, c.members)
	for p := range counts {
		counts[p] = make([]float64, c.rows)
	}
	run(t, eng, func(r *engine.Recorder) {
		for range 3 { // 120 of 100 rows
			y.Append(r, tr, false)
		}
	})
	const updates = 8
	for u := range updates {
		write(t, update, []float64{float64(u)})
		run(t, eng, func(r *engine.Recorder) { y.Sample(r, clock, update, discount) })
		for i, row := range read(t, y.batch.Index) {
			counts[i/c.batch][int(row)]++
		}
	}
	bound := distuv.ChiSquared{K: float64(c.rows - 1)}.Quantile(1 - 1e-6)
	for p := range counts {
		want, sum := float64(updates*c.batch)/float64(c.rows), 0.0
		for _, n := range counts[p] {
			sum += (n - want) * (n - want) / want
		}
		t.Logf("member %d: χ² %.1f", p, sum)
		if !(sum <= bound) {
			t.Errorf("member %d: χ² is %g; want at most %g", p, sum, bound)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	c := replayCases[1]
	_, s, tr, _ := newReplayCase(t, c)
	for name, cfg := range map[string]ReplayConfig{
		`"capacity" is 0`:          {Capacity: 0, Batch: 1, BatchShare: 1, Steps: 1},
		`"batch" is 0`:             {Capacity: 100, Batch: 0, BatchShare: 1, Steps: 1},
		`"steps" is 0`:             {Capacity: 100, Batch: 1, BatchShare: 1},
		"an iteration appends 35":  {Capacity: 69, Batch: 1, BatchShare: 1, Steps: 1},
		"want at most 8192":        {Capacity: 100, Batch: 8193, BatchShare: 1, Steps: 1, Prioritized: true},
		`"batch_share" is 0`:       {Capacity: 100, Batch: 1, Steps: 1},
		"drawn whole":              {Capacity: 100, Batch: 9, BatchShare: 0.5, Steps: 1, Prioritized: true},
		"an iteration appends 105": {Capacity: 209, Shared: true, Batch: 1, BatchShare: 1, Steps: 1},
	} {
		if _, err := NewReplay(s.Sub(fmt.Sprint("bad/", name)), nil, tr, cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v; want %s", err, name)
		}
	}
	// Parts of ten observations of four features in three rings; five lanes have slots and tails.
	cfg := ReplayConfig{Capacity: 631, Batch: 1, BatchShare: 1, Steps: 1}
	if _, err := newReplay(s.Sub("large"), nil, tr, cfg, 480); err == nil || !strings.Contains(err.Error(), "want at most 630 transitions") {
		t.Errorf("error %v; want one that says how many transitions there is room for", err)
	}
	cfg.Capacity = 630
	if _, err := newReplay(s.Sub("just"), engine.NewHyper(s.Sub("just"), c.members), tr, cfg, 480); err != nil {
		t.Error(err)
	}
	cfg.Observations = Float16
	bits := c
	bits.element = nn.Bits
	if _, err := NewReplay(s.Sub("bits"), nil, bits.trajectory(s.Sub("bits/t")), cfg); err == nil || !strings.Contains(err.Error(), "stored as such") {
		t.Errorf("error %v; want one that says that bits are stored as such", err)
	}
}
