package ec

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Noise is the standard normal noise of a population's candidates, dim numbers each. It is computed from counters
// wherever it is needed and never stored, so that memory does not grow with the population; see
// shaders/ec/noise.glsl.
type Noise struct {
	space      Space
	clock      engine.Clock
	stream     uint32
	population int
	mirrored   bool
	table      *engine.Tensor // [numbers]; nil: none
	stored     *engine.Tensor // [M, N, row]: noise of changed candidates; nil: noise is drawn
	lowRank    *lowRank       // nil: every parameter has noise of its own
}

// NewNoise makes the noise of a population, from the stream "noise" of s. With mirrored, candidate 2 q + 1 has the
// negative noise of candidate 2 q.
func NewNoise(s *engine.State, clock engine.Clock, space Space, population int, mirrored bool) *Noise {
	return &Noise{space: space, clock: clock, stream: s.Stream("noise"), population: population, mirrored: mirrored}
}

// UseTable reads the noise from a shared table of the given size, which is drawn once, instead of drawing each number
// (T. Salimans et al., 2017, section 2.1).
func (n *Noise) UseTable(s *engine.State, numbers int) error {
	if err := checkTable(numbers, n.space); err != nil {
		return err
	}
	fours, seed, stream := numbers/4, s.Engine().Seed(), s.Stream("noise_table")
	n.table = engine.Constant(s, "noise_table", func() []float32 {
		values := make([]float32, 4*fours)
		for i := range fours {
			z := normals(engine.Philox([2]uint32{seed, stream}, [4]uint32{uint32(i), 0, 0, 0}))
			copy(values[4*i:], z[:])
		}
		return values
	}, engine.Axis("number", 4*fours))
	return s.Err()
}

func checkTable(numbers int, space Space) error {
	if least := 2 * space.Row(); numbers < least {
		return fmt.Errorf("ec: a noise table of %d numbers for candidates of %d; want at least %d", numbers, space.Dim, least)
	}
	return nil
}

// Candidates records forming mean + deviation · noise into [M · count, row]. mean is [M, row], deviation [M] or [M,
// row].
func (n *Noise) Candidates(r *engine.Recorder, mean, deviation *engine.Tensor, pick Pick, into *engine.Tensor) {
	if n.lowRank != nil {
		n.lowRankCandidates(r, mean, deviation, pick, into)
		return
	}
	members, row := n.space.Members, n.space.Row()
	k := sampleKernel{
		Mean: mean.Range(), Deviation: deviation.Range(),
		Candidates: into.Range(), Clock: n.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(n.space.Dim), Row: uint32(row), Count: uint32(into.Len() / row / members),
		First: uint32(pick.First), Diagonal: deviation.Len() == mean.Len(),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = n.source()
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	count := int(k.Count) * row / 4
	groups := r.Share(members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// source returns the kernel fields that select where noise is read from.
func (n *Noise) source() (mirrored bool, stored uint32, table vk.Range, fours uint32) {
	switch {
	case n.stored != nil:
		return n.mirrored, uint32(n.population), n.stored.Range(), 0
	case n.table != nil:
		return n.mirrored, 0, n.table.Range(), uint32(n.table.Len() / 4)
	}
	return n.mirrored, 0, vk.Range{}, 0
}

// Of records computing the noise of given candidates: (x - mean) / deviation for changed ones, shortened to limit (0:
// no limit), and the drawn noise for the others. mean is [M, row], deviation [M] or [M, row]. The noise overwrites
// the proposed candidates.
func (n *Noise) Of(r *engine.Recorder, injected Injection, mean, deviation *engine.Tensor, limit float64) *Noise {
	if n.lowRank != nil {
		r.Fail(fmt.Errorf("ec: the noise of changed candidates, which are not of rank %d; want the candidates proposed", n.lowRank.Rank))
		return n
	}
	row := n.space.Row()
	k := whitenKernel{
		Mean: mean.Range(), Deviation: deviation.Range(),
		Given: injected.Candidates.Range(), Changed: injected.Changed.Range(), Noise: injected.Proposed.Range(),
		Clock: n.clock.Tensor().Range(), Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(n.space.Dim), Row: uint32(row),
		Population: uint32(n.population), Limit: float32(limit), Diagonal: deviation.Len() == mean.Len(), Workgroup: r.WorkgroupFor(row / 4 * 2),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = n.source()
	r.Dispatch(k.call(rowGroups(r, n.space.Members, n.population), uint32(n.space.Members), 1))
	return n.from(injected)
}

// from returns the noise stored in place of the proposed candidates.
func (n *Noise) from(injected Injection) *Noise {
	stored := *n
	stored.stored, stored.mirrored, stored.table = injected.Proposed, false, nil
	return &stored
}

// stepLimit is the maximum length of the noise of changed candidates in strategies that adapt their steps to its
// length: √n + 2 n / (n + 2) (N. Hansen, "Injecting External Solutions Into CMA-ES", 2011).
func (s Space) stepLimit() float64 {
	n := float64(s.Dim)
	return math.Sqrt(n) + 2*n/(n+2)
}

// rowGroups returns a good number of workgroups for kernels in which each workgroup loops over candidates of a
// member, in at most 1024 iterations per candidate.
func rowGroups(r *engine.Recorder, members, candidates int) uint32 {
	const most = 32 // candidates per workgroup: Mesa's software driver leaves an invocation's loops after 65535 iterations
	return max(r.Share(members, candidates*int(r.Workgroup())), uint32(candidates+most-1)/most)
}

// Splits returns a good number of partial sums of noise: the first axis of what Sum writes.
func (n *Noise) Splits(dev *vk.Device) int { return n.splits(dev.Info()) }

func (n *Noise) splits(info vk.Info) int {
	if of := n.lowRank; of != nil {
		return of.chunks(n.pairs()) * of.splits
	}
	pairs, fours, lanes := n.pairs(), n.space.Row()/4, int(info.SubgroupSize)
	want := 16 // subgroups' worth of invocations, to fill a software driver's cores
	if info.Type.GPU() {
		want = 4096
	}
	busy := n.space.Members * ((fours + lanes - 1) / lanes)
	least := (pairs + maxPairs - 1) / maxPairs
	return max(1, least, min((want+busy-1)/busy, (pairs+7)/8))
}

// Sums makes a tensor [splits, M, row] for the results of Sum.
func (n *Noise) Sums(s *engine.State, name string) *engine.Tensor {
	tensor := s.Scratch
	if n.lowRank != nil {
		tensor = s.Cleared // sums of matrices and vectors leave out what is behind them
	}
	return tensor(name, engine.Float32, engine.Axis("split", n.Splits(s.Engine().Device())), engine.Members(n.space.Members),
		engine.Axis("parameter", n.space.Row()))
}

// maxPairs is the most pairs that one invocation may sum on Mesa's software driver (vk.Limits.MaxLoopIterations).
const maxPairs = 16384

// Sum records scale · Σ weight · noise over the candidates into first [splits, M, row], to be added over the splits,
// divided by deviation [M] if that is not nil. If second is not nil it receives scale · Σ weight · noise². weight is
// [M, N]. Of candidates of low rank, all elements of a matrix have the mean of its noise².
func (n *Noise) Sum(r *engine.Recorder, weight *engine.Tensor, scale float64, deviation, first, second *engine.Tensor) {
	if n.lowRank != nil {
		if second != nil && n.lowRank.squares == nil {
			r.Fail(fmt.Errorf("ec: sums of squares of noise of rank %d without UseSquares", n.lowRank.Rank))
			return
		}
		n.lowRankSum(r, weight, scale, deviation, first, second)
		return
	}
	members, row := n.space.Members, n.space.Row()
	splits := first.Len() / (members * row)
	k := noiseSumsKernel{
		Weight: weight.Range(), First: first.Range(),
		Clock: n.clock.Tensor().Range(), Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(n.space.Dim), Row: uint32(row),
		Population: uint32(n.population), Scale: float32(scale), LocalSizeX: r.Workgroup(),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = n.source()
	if deviation != nil {
		k.Deviation = deviation.Range()
	}
	if second != nil {
		k.Second = second.Range()
	}
	// One vec4 per invocation, which loops over candidates.
	groups := (uint32(row/4) + k.LocalSizeX - 1) / k.LocalSizeX
	r.Dispatch(k.call(groups, uint32(splits), uint32(members)))
}

// Draw returns candidate c's noise as the device draws it, except for rounding. It does not support tables.
func (n *Noise) Draw(seed uint32, member, candidate, generation int) []float64 {
	pair, sign := candidate, 1.0
	if n.mirrored {
		pair = candidate / 2
		sign = 1 - 2*float64(candidate%2)
	}
	out := make([]float64, n.space.Dim)
	if n.lowRank != nil {
		out = make([]float64, n.lowRank.Draw())
		generation /= int(n.lowRank.reuse)
	}
	for i := range out {
		z := normals(engine.Philox([2]uint32{seed, n.stream}, [4]uint32{uint32(member), uint32(pair), uint32(generation), uint32(i / 4)}))
		out[i] = float64(z[i%4])
	}
	if n.lowRank != nil {
		out = n.lowRank.form(out, n.space.Dim)
	}
	for i := range out {
		out[i] *= sign
	}
	return out
}

// normals returns the four standard normal numbers of four random words, by the Box-Muller method.
func normals(w [4]uint32) (z [4]float32) {
	for i := 0; i < 4; i += 2 {
		u := float64(w[i]>>8+1) / (1 << 24)
		sin, cos := math.Sincos(2 * math.Pi * float64(w[i+1]>>8) / (1 << 24))
		radius := math.Sqrt(-2 * math.Log(u))
		z[i], z[i+1] = float32(radius*cos), float32(radius*sin)
	}
	return z
}
