package rl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// stacked is a lane of an environment whose observations are stacks of frames.
type stacked struct{ frames [][]float64 }

// observe appends a frame, or begins an episode with it, and returns the observation of the given shape: frames along the last axis, oldest first.
func (s *stacked) observe(frame []float64, begins bool, frames, channels int) []float64 {
	if begins {
		s.frames = slices.Repeat([][]float64{frame}, frames)
	} else {
		s.frames = append(slices.Clone(s.frames[1:]), frame)
	}
	var obs []float64
	for at := 0; at < len(frame); at += channels {
		for _, f := range s.frames {
			obs = append(obs, f[at:at+channels]...)
		}
	}
	return obs
}

// TestReplayFrames: a replay that stores the newest frame of each observation gives back whole stacks, those at the ends of episodes and of
// trajectories too, when its rings have gone round several times. Large ones
// are read by a kernel of their own, and stacks whose frames are in two parts by two of its dispatches.
func TestReplayFrames(t *testing.T) {
	for _, of := range []struct {
		replayCase
		frames, channels int
	}{
		{replayCase{"floats", 5, 2, 3, 3 * 2 * 5, 2, 67, false, 3, 40, true, Float32, 0, 0.6, nn.Floats, false}, 3, 2},
		{replayCase{"bytes", 7, 2, 3, 4 * 3 * 1, 1, 101, true, 1, 60, false, Float32, 0, 0.5, nn.Bytes, false}, 4, 1},
		{replayCase{"bits in parts", 7, 2, 3, 2 * 5 * 7, 1, 151, true, 2, 60, false, Float32, 4 * 2 * 60, 0.5, nn.Bits, false}, 2, 5},
		{replayCase{"single steps", 1, 2, 2, 4 * 3, 1, 37, false, 1, 33, false, Float32, 0, 0.6, nn.Bytes, true}, 4, 1},
		{replayCase{"large bytes", 7, 2, 3, 4 * 65, 1, 101, true, 1, 60, false, Float32, 68 * 40, 0.5, nn.Bytes, false}, 4, 1},
		{replayCase{"large floats", 5, 2, 3, 2 * 3 * 44, 2, 67, false, 3, 40, true, Float32, 2 * 4 * 3 * 44 * 40, 0.6, nn.Floats, false}, 2, 3},
	} {
		t.Run(of.name, func(t *testing.T) {
			c := of.replayCase
			eng := engine.New(open(t), engine.Seed(5))
			s := eng.NewState()
			t.Cleanup(func() { s.Close() })
			tr := c.trajectory(s.Sub("t"))
			tr.Space.Axes = nn.Shape{c.features / of.frames / of.channels, of.frames * of.channels}
			tr.Space.Frames = of.frames
			most := c.most
			if most == 0 {
				most = 1 << 27
			}
			y, err := newReplay(s.Sub("replay"), engine.NewHyper(s, c.members), tr, c.config(), most)
			if err != nil {
				t.Fatal(err)
			}
			if words := y.parts[0].obs.Size("feature"); words != c.element.Words(c.features/of.frames) {
				t.Fatalf("an observation takes %d words; want one frame", words)
			}
			q, err := y.NewSequences(s.Sub("sequences"), tr, SequenceConfig{BurnIn: 2, Steps: 4})
			if err != nil {
				t.Fatal(err)
			}
			clock := engine.NewClock(s)
			discount, update := s.Scratch("discount", engine.Float32, engine.Members(c.members)), s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			write(t, discount, slices.Repeat([]float64{0.5}, c.members))
			write(t, y.share, slices.Repeat([]float64{1}, c.members))
			dice, lanes := rand.New(rand.NewPCG(3, 4)), make([]stacked, c.members*c.environments)
			frame := func() []float64 {
				out := make([]float64, c.features/of.frames)
				for i := range out {
					out[i] = float64(dice.IntN(map[nn.Element]int{nn.Floats: 10, nn.Bytes: 256, nn.Bits: 2}[c.element]))
				}
				return out
			}
			now := make([][]float64, len(lanes))
			for lane := range lanes {
				now[lane] = lanes[lane].observe(frame(), true, of.frames, of.channels)
			}
			drawn, m := 0, make([][]replayRow, y.rings) // every row ever appended
			for turn := range 30 {
				var obs, next, done []float64
				for at := range c.horizon * len(lanes) {
					lane := at % len(lanes)
					ring, row := 0, replayRow{obs: now[lane], next: lanes[lane].observe(frame(), false, of.frames, of.channels), action: []float64{float64(lane)}}
					if !c.shared {
						ring = lane / c.environments
					}
					now[lane] = row.next
					if dice.Float64() < 0.25 {
						row.done = envs.Done(1 + dice.IntN(2))
						now[lane] = lanes[lane].observe(frame(), true, of.frames, of.channels)
					}
					obs, next, done = append(obs, row.obs...), append(next, row.next...), append(done, float64(row.done))
					m[ring] = append(m[ring], row)
				}
				write(t, tr.Obs, c.written(obs))
				write(t, tr.NextObs, c.written(next))
				write(t, tr.Done, done)
				write(t, tr.Action, make([]float64, tr.Action.Len()))
				write(t, tr.Reward, make([]float64, tr.Reward.Len()))
				write(t, update, []float64{float64(turn)})
				poison(t, y.batch.Obs, y.batch.NextObs)
				q.poison(t)
				run(t, eng, func(r *engine.Recorder) {
					y.Append(r, tr, false)
					y.Sample(r, clock, update, discount)
					q.Sample(r, clock, update)
				})
				drawn += checkFrameSequences(t, c, q, m, fmt.Sprint("turn ", turn))
				checkFrames(t, c, y, m, fmt.Sprint("turn ", turn))
			}
			if drawn < 500 {
				t.Errorf("%d sequences drawn; want more", drawn)
			}
		})
	}
}

// checkFrames compares a batch with the rows that were appended.
func checkFrames(t *testing.T, c replayCase, y *Replay, m [][]replayRow, when string) {
	t.Helper()
	index, obs, next, head := read(t, y.batch.Index), read(t, y.batch.Obs), read(t, y.batch.NextObs), read(t, y.head)
	for at, slot := range index {
		ring := at / c.batch % y.rings
		rows, held := m[ring], int(head[2*ring+1])
		if most := c.rows - y.margin(); held > most || len(rows) > 3*c.rows && held < most/3 {
			t.Fatalf("%s: the ring holds %d rows; want at most %d", when, held, most)
		}
		first := -1
		for back := range min(held, len(rows)) {
			if number := len(rows) - 1 - back; number%c.rows == int(slot) {
				first = number
			}
		}
		if first < 0 {
			t.Fatalf("%s: row %g was drawn, which the ring does not hold", when, slot)
		}
		last, lanes := first, c.environments
		if c.shared {
			lanes *= c.members
		}
		for range c.steps - 1 {
			if rows[last].done.Over() || last+lanes >= len(rows) {
				break
			}
			last += lanes
		}
		for what, pair := range map[string][2][]float64{
			"observation": {obs[at*c.features:][:c.features], c.kept(rows[first].obs)}, "next observation": {next[at*c.features:][:c.features], c.kept(rows[last].next)},
		} {
			if !slices.Equal(pair[0], pair[1]) {
				t.Fatalf("%s: %s of row %g is %v; want %v", when, what, slot, pair[0], pair[1])
			}
		}
	}
}

// checkFrameSequences compares the observations of sequences with the rows that were appended, and returns how many sequences there are.
func checkFrameSequences(t *testing.T, c replayCase, q *ReplaySequences, m [][]replayRow, when string) (drawn int) {
	t.Helper()
	y, b := q.replay, q.batch
	index, burn, learn := read(t, b.Index), read(t, b.BurnIn.Obs), read(t, b.Learn.Obs)
	for i, slot := range index {
		if slot >= float64(c.rows) {
			continue
		}
		drawn++
		p, k := i/y.cfg.Batch, i%y.cfg.Batch
		rows := m[p%y.rings]
		number := len(rows) - 1
		for number%c.rows != int(slot) {
			number--
		}
		var want [][]float64
		for len(want) < q.cfg.BurnIn+q.cfg.Steps+1 {
			if number >= len(rows) { // the last observation, after the newest row
				want = append(want, rows[number-y.own.lanes].next)
				break
			}
			if want = append(want, rows[number].obs); rows[number].done == envs.Truncated {
				want = append(want, rows[number].next)
			}
			number += y.own.lanes
		}
		for at, obs := range want[:q.cfg.BurnIn+q.cfg.Steps] {
			got, steps, in := burn, q.cfg.BurnIn, at
			if at >= q.cfg.BurnIn {
				got, steps, in = learn, q.cfg.Steps+1, at-q.cfg.BurnIn
			}
			if g := got[((p*steps+in)*y.cfg.Batch+k)*c.features:][:c.features]; !slices.Equal(g, c.kept(obs)) {
				t.Fatalf("%s: step %d of sequence %d is %v; want %v", when, at, i, g, c.kept(obs))
			}
		}
	}
	return drawn
}
