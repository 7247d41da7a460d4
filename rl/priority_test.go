package rl

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// prioritized is a replay with priorities, and what its kernels read.
type prioritized struct {
	c                        replayCase
	eng                      *engine.Engine
	state                    *engine.State
	tr                       envs.Trajectory
	replay                   *Replay
	clock                    engine.Clock
	discount, update, errors *engine.Tensor
	first                    *engine.Tensor // errors of new rows, [M, T · E]; nil: these get the largest priority
	firsts                   int            // priorities by them
	alpha, beta              []float64
	model                    *replayModel
}

const annealed = 400 // environment steps of a member

func newPrioritized(t *testing.T, c replayCase) *prioritized {
	t.Helper()
	cfg := c.config()
	cfg.Prioritized, cfg.Save, cfg.PriorityEpsilon, cfg.ImportanceAnnealSteps = true, true, 0.01, annealed
	f := &prioritized{c: c}
	f.eng, f.state, f.tr, f.replay = newReplayOf(t, c, cfg)
	f.clock = engine.NewClock(f.state)
	p, b := engine.Members(c.members), engine.Axis("transition", c.batch)
	f.discount, f.update = f.state.Scratch("discount", engine.Float32, p), f.state.Scratch("update", engine.Uint32, engine.Axis("count", 1))
	f.errors = f.state.Scratch("errors", engine.Float32, p, b)
	if err := f.state.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for m := range c.members {
		f.alpha, f.beta = append(f.alpha, 1/float64(m+1)), append(f.beta, float64(float32(0.4))*float64(m%3))
	}
	write(t, f.replay.priorities.alpha, f.alpha)
	write(t, f.replay.priorities.beta, f.beta)
	f.model = newReplayModel(c, f.replay)
	return f
}

// byErrors makes new rows have priorities by errors that the test gives.
func (f *prioritized) byErrors(t *testing.T) {
	t.Helper()
	f.first = f.state.Scratch("first", engine.Float32, engine.Members(f.c.members), engine.Axis("transition", f.replay.own.slots.Len()/f.c.members))
	f.replay.prioritize(f.state.Sub("new"), f.discount, func(*engine.Recorder, nn.Weights, ReplayBatch) *engine.Tensor { return f.first })
	f.replay.initial.by = &envs.Policy{Weights: nn.Weights{Params: f.discount}}
	if err := f.state.Allocate(); err != nil {
		t.Fatal(err)
	}
}

// someErrors draws errors, some of which are not finite.
func someErrors(dice *rand.Rand, n int) []float64 {
	errors := make([]float64, n)
	for i := range errors {
		errors[i] = float64(float32(math.Exp(3*dice.NormFloat64()) * dice.NormFloat64()))
		switch dice.IntN(20) {
		case 0:
			errors[i] = math.NaN()
		case 1:
			errors[i] = math.Inf(-1)
		case 2:
			errors[i] = 1e30
		case 3:
			errors[i] = 0
		}
	}
	return errors
}

// byError is the priority of an error, in its unit; false: the error is not finite.
func (f *prioritized) byError(member int, err float64) (priority float64, ok bool) {
	e := math.Abs(err)
	return min(max(math.Pow(e+float64(float32(0.01)), f.alpha[member])*(1<<16), 1), 1<<31), e <= math.MaxFloat32
}

// words reads the priorities of a member, without what fills them up.
func (f *prioritized) words(t *testing.T, member int) []uint64 {
	t.Helper()
	q := f.replay.priorities
	all := read(t, q.priority)[member*q.rows : (member+1)*q.rows]
	out := make([]uint64, f.c.rows)
	for i, v := range all {
		if i < f.c.rows {
			out[i] = uint64(v)
		} else if v != 0 {
			t.Fatalf("member %d: row %d, beyond the capacity %d, has the priority %v", member, i, f.c.rows, v)
		}
	}
	return out
}

// checkSums compares every sum with the priorities below it.
func (f *prioritized) checkSums(t *testing.T) {
	t.Helper()
	q := f.replay.priorities
	priorities, sums := read(t, q.priority), read(t, q.sums)
	for m := range f.c.members {
		below, at := make([]uint64, q.rows), m*q.nodes
		for i := range below {
			below[i] = uint64(priorities[m*q.rows+i])
		}
		for at < (m+1)*q.nodes {
			above := make([]uint64, (len(below)/32+31)/32*32)
			for i, v := range below {
				above[i/32] += v
			}
			for i, want := range above {
				if got := uint64(sums[2*(at+i)]) | uint64(sums[2*(at+i)+1])<<32; got != want {
					t.Fatalf("member %d: sum %d of %d is %d; want %d", m, at+i-m*q.nodes, q.nodes, got, want)
				}
			}
			below, at = above, at+len(above)
		}
		if at != (m+1)*q.nodes || len(below) != 32 {
			t.Fatalf("%d rows have %d sums, the highest level %d", q.rows, q.nodes, len(below))
		}
	}
}

// append appends a trajectory and checks the priorities of its rows.
func (f *prioritized) append(t *testing.T, dice *rand.Rand) {
	t.Helper()
	var before [][]uint64
	for m := range f.c.members {
		before = append(before, f.words(t, m))
	}
	from := append([]int(nil), f.model.at...)
	f.model.append(t, f.c, f.tr, dice, false)
	poison(t, f.replay.priorities.weight)
	var first []float64
	if f.first != nil {
		first = someErrors(dice, f.first.Len())
		write(t, f.first, first)
		b := f.replay.initial.batch
		poison(t, b.Obs, b.NextObs, b.Reward, b.Factor)
	}
	run(t, f.eng, func(r *engine.Recorder) { f.replay.Append(r, f.tr, false) })
	slots := read(t, f.replay.own.slots)
	for m := range f.c.members {
		byErrors := map[int]float64{}
		for i := range len(first) / f.c.members {
			at := m*len(first)/f.c.members + i
			if q, ok := f.byError(m, first[at]); ok && slots[at] < float64(f.c.rows) {
				byErrors[int(slots[at])] = q
			}
		}
		ring, top := m%f.replay.rings, uint64(0)
		for _, v := range before[m] {
			top = max(top, v)
		}
		if top == 0 {
			top = 1 << 16
		}
		for i := from[ring]; i < f.model.at[ring]; i++ {
			before[m][i%f.c.rows] = top
		}
		for back := f.model.held(f.c, ring); back < min(f.model.at[ring], f.c.rows); back++ { // dropped
			before[m][(f.model.at[ring]-1-back)%f.c.rows] = 0
		}
		for i, got := range f.words(t, m) {
			if want, ok := byErrors[i]; ok && before[m][i] != 0 {
				if f.firsts++; !(math.Abs(float64(got)-want) <= 0.51+5e-6*want) {
					t.Fatalf("member %d: row %d has the first priority %d; want %g", m, i, got, want)
				}
			} else if got != before[m][i] {
				t.Fatalf("member %d: row %d has the priority %d; want %d", m, i, got, before[m][i])
			}
		}
	}
	f.checkSums(t)
}

// draw draws an update's batch and checks its rows and weights.
func (f *prioritized) draw(t *testing.T, update, steps int) []float64 {
	t.Helper()
	q := f.replay.priorities
	write(t, f.update, []float64{float64(update)})
	write(t, f.clock.Tensor(), []float64{7, float64(steps)})
	poison(t, q.weight)
	zero(t, q.drawn)
	run(t, f.eng, func(r *engine.Recorder) { f.replay.Sample(r, f.clock, f.update, f.discount) })
	index, weight := read(t, f.replay.batch.Index), read(t, q.weight)
	for m := range f.c.members {
		words, total := f.words(t, m), uint64(0)
		for _, v := range words {
			total += v
		}
		least := uint64(math.MaxUint64)
		rows := index[m*f.c.batch : (m+1)*f.c.batch]
		for b, got := range rows {
			w := engine.Philox([2]uint32{5, f.replay.stream}, [4]uint32{uint32(m), uint32(b), 7, uint32(update)})[0]
			high, low := bits.Mul64(total, (uint64(b)<<32|uint64(w))/uint64(f.c.batch))
			at, want := high<<32|low>>32, 0
			for at >= words[want] {
				at -= words[want]
				want++
			}
			if int(got) != want {
				t.Fatalf("update %d, member %d: row %d of the batch is row %v of the ring; want %d", update, m, b, got, want)
			}
			least = min(least, words[want])
		}
		beta := f.beta[m] + (1-f.beta[m])*min(1, float64(steps*f.c.environments)/annealed)
		for b, row := range rows {
			want := math.Pow(float64(least)/float64(words[int(row)]), beta)
			if got := weight[m*f.c.batch+b]; !(math.Abs(got-want) <= 2e-6) {
				t.Fatalf("update %d, member %d: weight %g; want (%d / %d)^%g = %g", update, m, got, least, words[int(row)], beta, want)
			}
		}
	}
	return index
}

// reprioritize gives the rows of the last batch errors of their own, some not finite, and checks what
// their priorities become.
func (f *prioritized) reprioritize(t *testing.T, dice *rand.Rand, index []float64) {
	t.Helper()
	var before [][]uint64
	for m := range f.c.members {
		before = append(before, f.words(t, m))
	}
	errors := someErrors(dice, len(index))
	write(t, f.errors, errors)
	run(t, f.eng, func(r *engine.Recorder) { f.replay.batch.Reprioritize(r, f.errors) })
	for m := range f.c.members {
		want := map[int]float64{}
		for b, row := range index[m*f.c.batch : (m+1)*f.c.batch] {
			if q, ok := f.byError(m, errors[m*f.c.batch+b]); ok {
				want[int(row)] = max(want[int(row)], q)
			}
		}
		for i, got := range f.words(t, m) {
			w, changed := want[i]
			if !changed {
				w = float64(before[m][i])
			}
			if !(math.Abs(float64(got)-w) <= 0.51+5e-6*w) || !changed && float64(got) != w {
				t.Fatalf("member %d: row %d has the priority %d after %d; want %g", m, i, got, before[m][i], w)
			}
		}
	}
	f.checkSums(t)
}

var priorityCases = append(replayCases, replayCase{"three levels", 67, 1, 37, 1, 1, 40007, false, 1, 130, false, Float32, 0, 0.3, nn.Floats, false})

// TestPriorities appends, draws and reprioritizes until the rings have gone round, and compares everything with a
// model of whole numbers.
func TestPriorities(t *testing.T) {
	for i, c := range append(priorityCases, priorityCases...) {
		byErrors := i >= len(priorityCases)
		if byErrors && (c.shared || c.ends == 1) { // a part of the cases, to save time
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := newPrioritized(t, c)
			if byErrors {
				f.byErrors(t)
			}
			dice := rand.New(rand.NewPCG(4, uint64(c.rows)))
			for turn := range 5 {
				f.append(t, dice)
				f.reprioritize(t, dice, f.draw(t, 2*turn, 20*turn))
				f.draw(t, 2*turn+1, 20*turn)
			}
			if byErrors && f.firsts == 0 {
				t.Error("no new row has a priority by its error")
			}
		})
	}
}

// TestPriorityFrequencies compares how often rows are drawn with their priorities, by χ² with a bound that a fair
// independent draw exceeds once in a million times. Rows that are not held have none; the last row has its share.
func TestPriorityFrequencies(t *testing.T) {
	c := replayCase{"frequencies", 10, 2, 4, 1, 1, 107, false, 1, maxPrioritized, false, Float32, 0, 1, nn.Floats, false}
	f := newPrioritized(t, c)
	dice := rand.New(rand.NewPCG(4, 9))
	q := f.replay.priorities
	words, total := make([]float64, q.priority.Len()), make([]float64, c.members)
	for i := range words {
		if row := i % q.rows; row < 100 || row == c.rows-1 {
			words[i] = float64(1 + dice.IntN(100000))
			total[i/q.rows] += words[i]
		}
	}
	write(t, q.priority, words)
	sums := make([]float64, q.sums.Len()) // one level; its sums fit one word
	for i, v := range words {
		sums[2*(i/q.rows*q.nodes+i%q.rows/32)] += v
	}
	write(t, q.sums, sums)
	const updates = 8
	counts := make([]float64, len(words))
	for u := range updates {
		write(t, f.update, []float64{float64(u)})
		run(t, f.eng, func(r *engine.Recorder) { f.replay.Sample(r, f.clock, f.update, f.discount) })
		for i, row := range read(t, f.replay.batch.Index) {
			counts[i/c.batch*q.rows+int(row)]++
		}
	}
	bound := distuv.ChiSquared{K: 100}.Quantile(1 - 1e-6)
	for m := range c.members {
		sum := 0.0
		for row := range q.rows {
			want, n := updates*float64(c.batch)*words[m*q.rows+row]/total[m], counts[m*q.rows+row]
			if want == 0 && n != 0 {
				t.Errorf("member %d: row %d is not held and was drawn %g times", m, row, n)
			} else if want != 0 {
				sum += (n - want) * (n - want) / want
			}
		}
		t.Logf("member %d: χ² %.1f; the last row was drawn %g times", m, sum, counts[m*q.rows+c.rows-1])
		if !(sum <= bound) {
			t.Errorf("member %d: χ² is %g; want at most %g", m, sum, bound)
		}
	}
}

// TestPrioritiesResume: a replay that was saved draws what the other goes on to draw, and a rerun ends with the same
// bits.
func TestPrioritiesResume(t *testing.T) {
	c := priorityCases[2]
	digest := func(f *prioritized) string {
		t.Helper()
		d, err := f.state.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	turn := func(f *prioritized, i int) {
		dice := rand.New(rand.NewPCG(6, uint64(i)))
		f.append(t, dice)
		f.reprioritize(t, dice, f.draw(t, i, 10*i))
	}
	var ends []string
	dir := t.TempDir()
	for range 2 {
		f := newPrioritized(t, c)
		for i := range 4 {
			if i == 2 {
				if _, err := f.state.Save(t.Context(), dir, 2); err != nil {
					t.Fatal(err)
				}
			}
			turn(f, i)
		}
		ends = append(ends, digest(f))
	}
	f := newPrioritized(t, c)
	for i := range 2 { // of the model
		f.model.append(t, c, f.tr, rand.New(rand.NewPCG(6, uint64(i))), false)
	}
	reload(t, f.state, filepath.Join(dir, "00000002"))
	for i := 2; i < 4; i++ {
		turn(f, i)
	}
	if ends = append(ends, digest(f)); ends[0] != ends[1] || ends[0] != ends[2] {
		t.Errorf("digests of a run, of a rerun and of a resumed one: %q; want them equal", ends)
	}
}
