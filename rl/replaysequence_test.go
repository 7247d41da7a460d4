package rl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// sequenceCase is a replay from which sequences are drawn.
type sequenceCase struct {
	replayCase
	SequenceConfig
	memory int // floats of an environment; 0: none are stored
}

// sequenceStep is a step as an emulation has it.
type sequenceStep struct {
	obs, action []float64
	reward      float64
	done        envs.Done
	ends        bool
}

// walk returns the steps of a sequence from a row on; ok is false if not enough rows follow.
func (m *replayModel) walk(c sequenceCase, ring, number int, truncationEnds bool) (steps []sequenceStep, ok bool) {
	void := func(obs []float64) sequenceStep {
		return sequenceStep{obs: obs, action: make([]float64, c.actions), done: envs.Void, ends: true}
	}
	for all := c.BurnIn + c.Steps + 1; ; {
		row := m.row(c.replayCase, ring, number)
		if len(steps) == all-1 {
			return append(steps, void(row.obs)), true
		}
		step := sequenceStep{obs: row.obs, action: row.action, reward: row.reward, done: row.done}
		if truncationEnds && row.done.Over() {
			step.done = envs.Terminated
		}
		step.ends = step.done&envs.Terminated != 0
		steps = append(steps, step)
		switch {
		case row.link >= 0:
			number = row.link
			continue
		case len(steps) == all-1:
			return append(steps, void(row.next)), true
		case !row.done.Over():
			return nil, false
		case !step.ends:
			steps = append(steps, void(row.next))
		}
		if number = row.after; number < 0 {
			return nil, false
		}
	}
}

// start is a row with the memory that acted there.
type start struct {
	number int // -1: it was no transition
	memory []float64
}

// TestReplaySequences appends trajectories until the rings have gone round, with steps that are no transitions and members that become copies of others,
// and compares every element of the sequences drawn with an emulation.
func TestReplaySequences(t *testing.T) {
	for _, c := range []sequenceCase{
		{
			replayCase:     replayCase{"one member", 5, 1, 1, 3, 1, 61, false, 1, 7, false, Float32, 0, 1, nn.Floats, false},
			SequenceConfig: SequenceConfig{Steps: 3},
		},
		{
			replayCase:     replayCase{"own rings", 7, 3, 5, 4, 2, 223, false, 1, 33, true, Float32, 0, 0.8, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 3, Steps: 6},
		},
		{
			replayCase:     replayCase{"few ends", 7, 3, 5, 4, 2, 223, false, 1, 33, true, Float32, 0, 0.2, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 1, Steps: 2},
		},
		{
			replayCase:     replayCase{"shared ring", 7, 3, 5, 11, 3, 431, true, 1, 70, true, Float32, 0, 0.7, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 2, Steps: 5},
		},
		{
			replayCase:     replayCase{"in parts", 7, 3, 5, 4, 2, 223, false, 1, 33, true, Float32, 3 * 4 * 4 * 30, 0.7, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 4, Steps: 7},
		},
		{
			replayCase:     replayCase{"float16 in parts, truncation ends", 7, 3, 5, 5, 2, 211, true, 1, 33, false, Float16, 4 * 3 * 50, 0.9, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 2, Steps: 4},
		},
		{
			replayCase:     replayCase{"single steps", 1, 3, 5, 4, 2, 97, false, 1, 33, true, Float32, 0, 0.9, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 1, Steps: 3},
		},
		{
			replayCase:     replayCase{"bits", 7, 2, 5, 67, 1, 223, false, 1, 33, false, Float32, 0, 0.8, nn.Bits, false},
			SequenceConfig: SequenceConfig{BurnIn: 3, Steps: 6},
		},
		{
			replayCase:     replayCase{"bytes of floats", 7, 3, 5, 9, 2, 421, true, 1, 33, true, Float32, 0, 0.5, nn.Bytes, true},
			SequenceConfig: SequenceConfig{Steps: 6},
		},
		{
			replayCase:     replayCase{"stored", 4, 3, 5, 4, 2, 223, false, 1, 33, true, Float32, 0, 0.8, nn.Floats, false},
			SequenceConfig: SequenceConfig{BurnIn: 3, Steps: 6, Stored: true},
			memory:         7,
		},
		{
			replayCase:     replayCase{"stored, shared", 3, 2, 5, 33, 1, 331, true, 1, 33, true, Float32, 4 * 2 * 200, 0.8, nn.Bits, false},
			SequenceConfig: SequenceConfig{BurnIn: 2, Steps: 4, Stored: true},
			memory:         5,
		},
	} {
		t.Run(c.name, c.run)
	}
}

func (c sequenceCase) run(t *testing.T) {
	eng, s, tr, y := newReplayCase(t, c.replayCase)
	if c.memory > 0 {
		tr.Memory = s.Scratch("memory", engine.Float32, engine.Members(c.members), engine.Environments(c.environments), engine.Axis("float", c.memory))
	}
	q, err := y.NewSequences(s.Sub("sequences"), tr, c.SequenceConfig)
	if err != nil {
		t.Fatal(err)
	}
	clock, update := engine.NewClock(s), s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
	n := c.normalizer(s)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, dice := newReplayModel(c.replayCase, y), rand.New(rand.NewPCG(3, uint64(c.rows)))
	if c.normalizes {
		y.Normalize(n, 1.5)
		for range n.Values().Len() {
			m.normalizer = append(m.normalizer, float64(float32(0.5+dice.Float64())))
		}
		write(t, n.Values(), m.normalizer)
	}
	starts := make([][]start, y.rings) // of the chunks held, oldest first
	drawn, crossed, void := 0, 0, 0
	for turn := range 2*c.rows/(c.horizon*y.own.lanes) + 2 {
		if turn%7 == 6 { // the last member becomes a copy of the first
			owner := read(t, y.own.newest.owner)
			m.left = map[[2]int]bool{}
			for e := range c.environments {
				owner[len(owner)-1-e] = 1
				m.left[[2]int{y.rings - 1, y.own.lanes - 1 - e}] = c.members > 1
			}
			write(t, y.own.newest.owner, owner)
		}
		before := slices.Clone(m.at)
		m.append(t, c.replayCase, tr, dice, turn == 4)
		c.startEpisodes(t, tr, m, before, starts, dice)
		write(t, update, []float64{float64(turn)})
		q.poison(t)
		run(t, eng, func(r *engine.Recorder) {
			y.Append(r, tr, turn == 4)
			q.Sample(r, clock, update)
		})
		d, x, v := c.check(t, m, y, q, starts, uint32(turn))
		drawn, crossed, void = drawn+d, crossed+x, void+v
	}
	t.Logf("%d sequences, %d of which go over ends; %d void", drawn, crossed, void)
	if drawn < 100 || void > 2*drawn || crossed < drawn/4 {
		t.Errorf("%d sequences, %d of which go over ends, %d void: too few to compare", drawn, crossed, void)
	}
}

// poison fills the tensors that drawing writes.
func (q *ReplaySequences) poison(t *testing.T) {
	t.Helper()
	b := q.batch
	all := []*engine.Tensor{q.row, q.place, b.Index, b.Learn.Obs, b.Learn.Action, b.Learn.Reward, b.Learn.Done, b.Learn.Ends}
	if b.Memory != nil {
		all = append(all, b.Memory, q.stored.drawn)
	}
	if b.Begins != nil {
		all = append(all, b.Begins, b.BurnIn.Obs, b.BurnIn.Action, b.BurnIn.Reward, b.BurnIn.Done, b.BurnIn.Ends)
	}
	poison(t, all...)
}

// startEpisodes draws the memories with which a trajectory begins, and notes the rows of its first steps.
func (c sequenceCase) startEpisodes(t *testing.T, tr envs.Trajectory, m *replayModel, before []int, starts [][]start, dice *rand.Rand) {
	t.Helper()
	if c.memory == 0 {
		return
	}
	values := make([]float64, tr.Memory.Len())
	for i := range values {
		values[i] = float64(float32(dice.NormFloat64()))
	}
	write(t, tr.Memory, values)
	done, lanes := read(t, tr.Done), len(values)/c.memory/len(starts)
	for ring := range starts {
		number := before[ring]
		for lane := range lanes {
			at := ring*lanes + lane
			s := start{-1, values[at*c.memory:][:c.memory]}
			if row := m.row(c.replayCase, ring, number); envs.Done(done[at])&envs.Void == 0 && number < m.at[ring] && c.same(t, tr, at, row) {
				s.number = number
				number++
			}
			starts[ring] = append(starts[ring], s)
		}
		chunks := c.rows / (c.horizon * lanes)
		starts[ring] = starts[ring][max(0, len(starts[ring])-chunks*lanes):]
	}
}

// same reports whether a row has an element of a trajectory, which is a transition unless it has numbers that are not finite.
func (c sequenceCase) same(t *testing.T, tr envs.Trajectory, at int, row *replayRow) bool {
	t.Helper()
	return slices.Equal(read(t, tr.Action)[at*c.actions:][:c.actions], row.action)
}

// check compares sequences with the emulation, and returns how many there are, how many of them go over ends, and how many are void.
func (c sequenceCase) check(t *testing.T, m *replayModel, y *Replay, q *ReplaySequences, starts [][]start, update uint32) (drawn, crossed, voids int) {
	t.Helper()
	b := q.batch
	index := read(t, b.Index)
	parts := []SequenceSteps{b.Learn}
	if c.BurnIn > 0 {
		parts = []SequenceSteps{b.BurnIn, b.Learn}
	}
	read1 := func(x *engine.Tensor) []float64 {
		if x == nil {
			return nil
		}
		return read(t, x)
	}
	memory, begins := read1(b.Memory), read1(b.Begins)
	var values [2][5][]float64
	for i, p := range parts {
		for k, x := range []*engine.Tensor{p.Obs, p.Action, p.Reward, p.Done, p.Ends} {
			values[i][k] = read(t, x)
		}
	}
	for p := range c.members {
		ring := p % y.rings
		size := m.held(c.replayCase, ring)
		oldest := m.at[ring] - size
		for i := range c.batch {
			where := fmt.Sprintf("update %d, member %d, sequence %d", update, p, i)
			var steps []sequenceStep
			first, from := -1, start{memory: make([]float64, c.memory)}
			for try := 0; try < q.tries() && first < 0 && size > 0; try++ {
				word := engine.Philox([2]uint32{5, q.stream}, [4]uint32{uint32(p), uint32(i + c.batch*(try/4)), 0, update})[try%4]
				var number int
				if c.memory > 0 {
					// The ring of chunks begins with the oldest one only until it is full.
					lanes := y.own.lanes
					k := int(uint64(word) * uint64(len(starts[ring])) >> 32)
					chunks, appended := c.rows/(c.horizon*lanes), int(update)+1
					if appended > chunks {
						k = ((k/lanes-appended)%chunks+chunks)%chunks*lanes + k%lanes
					}
					if from = starts[ring][k]; from.number < oldest {
						continue
					}
					number = from.number
				} else {
					number = oldest + int(uint64(word)*uint64(size)>>32)
				}
				if walked, ok := m.walk(c, ring, number, y.cfg.TruncationEnds); ok {
					first, steps = number, walked
				}
			}
			at := p*c.batch + i
			want := float64(1<<32 - 1)
			if first >= 0 {
				want = float64(first % c.rows)
				drawn++
			} else {
				voids++
				from.memory = make([]float64, c.memory)
				steps = slices.Repeat([]sequenceStep{{make([]float64, c.features), make([]float64, c.actions), 0, envs.Void, true}}, c.BurnIn+c.Steps+1)
			}
			if float64(uint32(index[at])) != want {
				t.Fatalf("%s begins at row %v; want %v", where, index[at], want)
			}
			if slices.ContainsFunc(steps[:len(steps)-1], func(s sequenceStep) bool { return s.ends }) && first >= 0 {
				crossed++
			}
			for k, step := range steps {
				part, count, in := 0, len(steps), k
				if c.BurnIn > 0 {
					if count = c.BurnIn; k >= c.BurnIn {
						part, count, in = 1, c.Steps+1, k-c.BurnIn
					}
				}
				element := (p*count+in)*c.batch + i
				got := values[part]
				obs := step.obs
				if first >= 0 {
					obs = m.normalized(p, obs)
				}
				if g := got[0][element*c.features:][:c.features]; !slices.Equal(g, obs) {
					t.Fatalf("%s, step %d: observation %v; want %v", where, k, g, obs)
				}
				if g := got[1][element*c.actions:][:c.actions]; !slices.Equal(g, step.action) {
					t.Fatalf("%s, step %d: action %v; want %v", where, k, g, step.action)
				}
				if r, d, e := got[2][element], envs.Done(got[3][element]), got[4][element] != 0; r != step.reward || d != step.done || e != step.ends {
					t.Fatalf("%s, step %d: reward %v, flags %v, ends %t; want %v, %v, %t", where, k, r, d, e, step.reward, step.done, step.ends)
				}
			}
			if begins != nil && (begins[at] != 0) != steps[c.BurnIn-1].ends {
				t.Fatalf("%s: the first step to learn from begins an episode: %v; want %t", where, begins[at], steps[c.BurnIn-1].ends)
			}
			if c.memory > 0 && !slices.Equal(memory[at*c.memory:][:c.memory], from.memory) {
				t.Fatalf("%s: memory %v; want %v", where, memory[at*c.memory:][:c.memory], from.memory)
			}
		}
	}
	return drawn, crossed, voids
}

func TestSequenceErrors(t *testing.T) {
	c := replayCases[1]
	ok := SequenceConfig{BurnIn: 2, Steps: 3}
	for want, change := range map[string]func(replay *ReplayConfig, tr *envs.Trajectory, cfg *SequenceConfig){
		`"steps" is 0`:               func(_ *ReplayConfig, _ *envs.Trajectory, cfg *SequenceConfig) { cfg.Steps = 0 },
		"drawn uniformly":            func(replay *ReplayConfig, _ *envs.Trajectory, _ *SequenceConfig) { replay.Prioritized = true },
		"want at least 85":           func(_ *ReplayConfig, _ *envs.Trajectory, cfg *SequenceConfig) { cfg.Steps = 14 },
		"want a policy with memory":  func(_ *ReplayConfig, _ *envs.Trajectory, cfg *SequenceConfig) { cfg.Stored = true },
		"3 floats for each":          nil, // below
		"another source of a replay": nil,
	} {
		replay, cfg := c.config(), ok
		replay.Batch = 4
		if change == nil {
			cfg.Stored, replay.Capacity = true, 200
		}
		eng := engine.New(open(t), engine.Seed(5))
		s := eng.NewState()
		t.Cleanup(func() { s.Close() })
		tr := c.trajectory(s.Sub("t"))
		given := tr
		if change == nil {
			given.Memory = s.Scratch("memory", engine.Float32, engine.Members(c.members), engine.Environments(c.environments), engine.Axis("float", 3))
		} else {
			change(&replay, &tr, &cfg)
		}
		y, err := NewReplay(s.Sub("replay"), engine.NewHyper(s, c.members), tr, replay)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = y.NewSequences(s.Sub("sequences"), given, cfg); err == nil && strings.HasPrefix(want, "another") {
			_, err = y.NewSource(s.Sub("source"), tr)
		} else if err == nil {
			_, err = eng.Record("append", func(r *engine.Recorder) { y.Append(r, tr, false) })
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
