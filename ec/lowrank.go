package ec

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// LowRankStrategy is a Strategy whose candidates may differ from one row by matrices of low rank, so that evaluating all of them is one product with
// shared weights: B. Sarkar et al., "Evolution Strategies at the Hyperscale", 2025 (EGGROLL).
type LowRankStrategy interface {
	Strategy
	// LowRank returns the layout of the candidates' draws; nil: candidates are rows of their own.
	LowRank() *nn.LowRank
	// NewPerturbation makes the tensors of count candidates of each member in s.
	NewPerturbation(s *engine.State, count int) *nn.Perturbation
	// Perturb records drawing count candidates, from index first on, and returns their weights.
	Perturb(r *engine.Recorder, first int, into *nn.Perturbation) nn.Weights
}

// LowRankProblem is a Problem whose candidates are networks that can be evaluated as low-rank perturbations of one.
type LowRankProblem interface {
	Problem
	// CheckLowRank returns an error if candidates cannot be evaluated so. It needs no device.
	CheckLowRank() error
	// NewLowRank is New for candidates with draws of the given layout.
	NewLowRank(ctx context.Context, s *engine.State, clock engine.Clock, members, population int, of *nn.LowRank) (LowRankEvaluation, error)
}

// LowRankEvaluation evaluates candidates of low rank.
type LowRankEvaluation interface {
	Evaluation
	// RecordLowRank is Record for candidates that are perturbed networks.
	RecordLowRank(r *engine.Recorder, candidates nn.Weights, first int, fitness *engine.Tensor)
}

// ranked is the configuration of an algorithm that may draw candidates of low rank.
type ranked interface{ rank() int }

// Rank returns the rank of an algorithm's perturbations; 0: candidates have noise of their own in every parameter.
func Rank(a Algorithm) int {
	if of, ok := a.(ranked); ok {
		return of.rank()
	}
	return 0
}

// CheckLowRank returns an error if an algorithm draws candidates of low rank and the problem cannot evaluate them. It needs no device.
func CheckLowRank(a Algorithm, problem Problem) error {
	if Rank(a) == 0 {
		return nil
	}
	of, ok := problem.(LowRankProblem)
	if !ok {
		return fmt.Errorf("rank %d is for networks; %s has other candidates: want 0", Rank(a), problem.Name())
	}
	if err := of.CheckLowRank(); err != nil {
		return fmt.Errorf("rank %d: %w", Rank(a), err)
	}
	return nil
}

// RankError is the error of what takes whole candidates, and not those of low rank.
type RankError struct {
	Algorithm string
	Rank      int
}

// Error implements error.
func (e *RankError) Error() string {
	return fmt.Sprintf("ec: %s with rank %d draws candidates that are evaluated as perturbations of one network; want rank 0 for what takes their rows",
		e.Algorithm, e.Rank)
}

// CheckRows returns a *RankError if an algorithm draws candidates of low rank, for what takes their rows.
func CheckRows(a Algorithm) error {
	if rank := Rank(a); rank > 0 {
		return &RankError{a.Name(), rank}
	}
	return nil
}

// lowRank makes the candidates of a Noise differ from their mean by matrices of low rank. A pair's noise is a draw: numbers by counters as for whole
// candidates, of which the first are factors and the others the noise of vectors.
type lowRank struct {
	*nn.LowRank
	vectors *engine.Tensor // [floats] u32: where in a row each float of the vectors is
	places  *engine.Tensor // [row, 2] u32: see shaders/ec/low_rank_form.comp
	factors *engine.Tensor // [M, chunk, rank, component]: of draws whose sum is being computed
	chunk   int            // draws
	splits  int            // parts of a chunk's sum
	reuse   uint32         // generations in a row that use the same draws, at least 1

	// For sums of squares, of candidates with deviations of their own in every matrix.
	squares  *engine.Tensor // [M, chunk, matrices, rank]: mean squares of matrices' noise, component by component; nil: there are no such sums
	shapes   *engine.Tensor // [matrices, 4] u32: see shaders/ec/low_rank_squares.comp
	elements *engine.Tensor // [matrices, 2] u32: see shaders/ec/low_rank_square_sums.comp
}

// perturbed is the part of strategies whose candidates are mean + deviation · noise. It implements what LowRankStrategy has beyond a Strategy.
type perturbed struct {
	noise     *Noise
	mean, std *engine.Tensor // [M, row], [M] or [M, row]
}

// LowRank implements LowRankStrategy.
func (d *perturbed) LowRank() *nn.LowRank { return d.noise.LowRank() }

// NewPerturbation implements LowRankStrategy.
func (d *perturbed) NewPerturbation(s *engine.State, count int) *nn.Perturbation {
	return nn.NewPerturbation(s, d.LowRank(), d.noise.space.Members, count, d.std, d.noise.mirrored)
}

// Perturb implements LowRankStrategy.
func (d *perturbed) Perturb(r *engine.Recorder, first int, into *nn.Perturbation) nn.Weights {
	return d.noise.Perturb(r, d.mean, first, into)
}

// checkRank checks the rank of an algorithm against a space of candidates; 0: none.
func checkRank(rank int, space Space) error {
	if rank == 0 {
		return nil
	}
	_, err := space.lowRank(rank)
	return err
}

// UseRank makes candidates mean + deviation · A Bᵀ / √rank in every matrix of the space; vectors keep noise of their own. deviation is [M], or [M, row] with
// the same one in all elements of a matrix. Rank 0 changes nothing.
//
// Errors: a space without matrices.
func (n *Noise) UseRank(s *engine.State, rank int) error {
	if rank == 0 {
		return nil
	}
	layout, err := n.space.lowRank(rank)
	if err != nil {
		return err
	}
	of := &lowRank{LowRank: layout, reuse: 1}
	const none = math.MaxUint32
	row := n.space.Row()
	of.vectors = engine.Constant(s, "vector_places", func() []uint32 {
		places := slices.Repeat([]uint32{none}, max(layout.Floats, 4))
		for _, v := range layout.Vectors {
			for j := range v.Columns {
				places[v.Offset+j] = uint32(v.At + j)
			}
		}
		return places
	}, engine.Axis("float", max(layout.Floats, 4)))
	of.places = engine.Constant(s, "factor_places", func() []uint32 {
		places := slices.Repeat([]uint32{none}, 2*row)
		for _, m := range layout.Matrices {
			for k := range m.Len() {
				places[2*(m.At+k)], places[2*(m.At+k)+1] = uint32(m.A+k/m.Columns), uint32(m.B+k%m.Columns)
			}
		}
		for _, v := range layout.Vectors {
			for j := range v.Columns {
				places[2*(v.At+j)] = uint32(layout.Rank*layout.Component + v.Offset + j)
			}
		}
		return places
	}, engine.Axis("parameter", row), engine.Axis("place", 2))
	of.divide(n.pairs(), n.space.Members)
	of.factors = s.Scratch("weighted_factors", engine.Float32, engine.Members(n.space.Members), engine.Axis("draw", of.chunk),
		engine.Axis("component", rank), engine.Axis("float", layout.Component))
	n.lowRank = of
	return s.Err()
}

// reuse makes so many generations in a row use the same draws of candidates of low rank; 0 and 1: each has its own.
func (n *Noise) reuse(generations int) {
	if n.lowRank != nil {
		n.lowRank.reuse = uint32(max(1, generations))
	}
}

// lowRank returns the layout of perturbations of a space's candidates.
func (s Space) lowRank(rank int) (*nn.LowRank, error) {
	if s.Parameters == nil || s.Closed() {
		return nil, fmt.Errorf("ec: candidates of rank %d in a space without matrices, or with bounds; want a network's", rank)
	}
	dim := 0
	for _, p := range s.Parameters {
		dim += p.Len()
	}
	if dim != s.Dim {
		return nil, fmt.Errorf("ec: a space of %d dimensions with matrices and vectors of %d numbers; want as many", s.Dim, dim)
	}
	return nn.NewLowRank(s.Parameters, rank)
}

// form returns the noise of every parameter, A Bᵀ / √r in matrices, from the numbers of a draw.
func (of *lowRank) form(draw []float64, dim int) []float64 {
	out := make([]float64, dim)
	for _, m := range of.Matrices {
		for k := range m.Len() {
			for q := range of.Rank {
				component := draw[q*of.Component:]
				out[m.At+k] += of.Scale() * component[m.A+k/m.Columns] * component[m.B+k%m.Columns]
			}
		}
	}
	for _, v := range of.Vectors {
		copy(out[v.At:v.At+v.Columns], draw[of.Rank*of.Component+v.Offset:])
	}
	return out
}

// divide chooses how many draws are summed at once, and in how many parts, by sizes alone: not by the device, nor by how candidates are evaluated.
func (of *lowRank) divide(draws, members int) {
	const (
		most  = 4 << 20 // floats of factors
		least = 512     // products of a part
		parts = 8
	)
	// The sum over the noise of vectors has as many parts, each a loop (maxPairs).
	chunk := max(1, min(draws, most/(members*of.Rank*of.Component)))
	of.chunk = (draws + (draws+chunk-1)/chunk - 1) / ((draws + chunk - 1) / chunk)
	of.splits = max(1, min(parts, of.chunk*of.Rank/least), (of.chunk+maxPairs-1)/maxPairs)
}

// chunks returns in how many chunks draws are summed.
func (of *lowRank) chunks(draws int) int { return (draws + of.chunk - 1) / of.chunk }

// pairs returns the number of draws of a generation.
func (n *Noise) pairs() int {
	if n.mirrored {
		return (n.population + 1) / 2
	}
	return n.population
}

// LowRank returns the layout of candidates of low rank; nil: they have noise of their own in every parameter.
func (n *Noise) LowRank() *nn.LowRank {
	if n.lowRank == nil {
		return nil
	}
	return n.lowRank.LowRank
}

// Perturb records drawing candidates of low rank, from index first on, and returns their weights. mean is [M, row].
func (n *Noise) Perturb(r *engine.Recorder, mean *engine.Tensor, first int, into *nn.Perturbation) nn.Weights {
	of, members := n.lowRank, n.space.Members
	draw := first
	if n.mirrored {
		draw = first / 2
	}
	n.recordFactors(r, into.Factors, lowRankFactorsKernel{First: uint32(draw)})
	count := into.Vectors.Size(nn.NetworkAxis)
	k := lowRankVectorsKernel{
		Mean: mean.Range(), Deviation: into.Deviation.Range(), Place: of.vectors.Range(), Vectors: into.Vectors.Range(), Clock: n.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(of.Draw()), Size: uint32(of.Rank * of.Component), Floats: uint32(of.vectors.Len()),
		Row: uint32(n.space.Row()), Count: uint32(count), First: uint32(first), Mirrored: n.mirrored, Reuse: of.reuse, Diagonal: into.Deviation.Len() == mean.Len(),
	}
	groups, size := n.shared(r, count*of.vectors.Len()/4)
	k.LocalSizeX = size
	r.Dispatch(k.call(groups, uint32(members), 1))
	at := *into
	at.First = first
	return nn.Weights{Params: mean, Perturbation: &at}
}

// shared returns a number of workgroups of each member to share elements, and their size.
func (n *Noise) shared(r *engine.Recorder, elements int) (groups, size uint32) {
	groups = r.Share(n.space.Members, elements)
	return groups, r.WorkgroupFor(elements / int(groups))
}

// recordFactors records drawing factors [M, draws, rank, component] by a kernel with its first draw and its weights, if any.
func (n *Noise) recordFactors(r *engine.Recorder, into *engine.Tensor, k lowRankFactorsKernel) {
	of, members := n.lowRank, n.space.Members
	k.Factors, k.Clock, k.Mirrored = into.Range(), n.clock.Tensor().Range(), n.mirrored
	k.Seed, k.Stream, k.Dim, k.Population = r.Engine().Seed(), n.stream, uint32(of.Draw()), uint32(n.population)
	k.Size, k.Component, k.Left, k.Capacity = uint32(of.Rank*of.Component), uint32(of.Component), uint32(of.Left), uint32(into.Size("draw"))
	groups, size := n.shared(r, into.Len()/members/4)
	k.LocalSizeX, k.Reuse = size, of.reuse
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// lowRankCandidates is Candidates of low rank.
func (n *Noise) lowRankCandidates(r *engine.Recorder, mean, deviation *engine.Tensor, pick Pick, into *engine.Tensor) {
	of, members, row := n.lowRank, n.space.Members, n.space.Row()
	if deviation.Len() != members && deviation.Len() != members*row {
		r.Fail(fmt.Errorf("ec: candidates of rank %d with deviations %v; want one for each of %d members or parameters", of.Rank, deviation, members))
		return
	}
	k := lowRankFormKernel{
		Mean: mean.Range(), Deviation: deviation.Range(), Place: of.places.Range(), Candidates: into.Range(), Clock: n.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(of.Draw()), Row: uint32(row), Count: uint32(into.Len() / row / members),
		First: uint32(pick.First), Rank: uint32(of.Rank), Component: uint32(of.Component), Scale: float32(of.Scale()), Mirrored: n.mirrored,
		Reuse: of.reuse, Diagonal: deviation.Len() != members,
	}
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	elements := into.Len() / members
	groups := max(n.groupsOf(r, elements*of.Rank), r.Share(members, elements))
	k.LocalSizeX = r.WorkgroupFor(elements * of.Rank / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// groupsOf returns enough workgroups for so many loop iterations of all invocations.
func (n *Noise) groupsOf(r *engine.Recorder, iterations int) uint32 {
	const most = 1024 // of an invocation
	return uint32(iterations/(most*int(r.Workgroup()))) + 1
}

// lowRankSum is Sum of candidates of low rank: for every matrix scale · Σ weight A Bᵀ / √r, the product of all draws' factors side by side. Its second sum is
// that of the elements' mean square, for all elements.
func (n *Noise) lowRankSum(r *engine.Recorder, weight *engine.Tensor, scale float64, deviation, first, second *engine.Tensor) {
	of, members, row := n.lowRank, n.space.Members, n.space.Row()
	for chunk := range of.chunks(n.pairs()) {
		k := lowRankFactorsKernel{Weight: weight.Range(), First: uint32(chunk * of.chunk), Scale: float32(scale * of.Scale())}
		if deviation != nil {
			k.Deviation = deviation.Range()
		}
		if second != nil {
			n.lowRankSquares(r, weight, scale, chunk, second)
		}
		n.recordFactors(r, of.factors, k)
		for _, m := range of.Matrices {
			factors := nn.Matrix{Tensor: of.factors, Stride: of.factors.Len() / members, Row: of.Component}
			a, b := factors, factors
			a.At, b.At = m.A, m.B
			nn.Gemm{
				Members: members, M: m.Rows, N: m.Columns, K: of.chunk * of.Rank, A: a, B: b, TransposeA: true,
				C:      nn.Matrix{Tensor: first, At: chunk*of.splits*members*row + m.At, Stride: row, Row: m.Columns},
				Splits: of.splits, SplitStride: members * row,
			}.Record(r)
		}
	}
	if of.Floats == 0 {
		return
	}
	k := lowRankVectorSumsKernel{
		Weight: weight.Range(), Place: of.vectors.Range(), First: first.Range(), Clock: n.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: n.stream, Dim: uint32(of.Draw()), Size: uint32(of.Rank * of.Component), Floats: uint32(of.Floats),
		Row: uint32(row), Population: uint32(n.population), Scale: float32(scale), Mirrored: n.mirrored, Reuse: of.reuse, LocalSizeX: r.Workgroup(),
	}
	if deviation != nil {
		k.Deviation = deviation.Range()
	}
	if second != nil {
		k.Second = second.Range()
	}
	groups := (uint32(of.Floats/4) + k.LocalSizeX - 1) / k.LocalSizeX
	r.Dispatch(k.call(groups, uint32(first.Len()/(members*row)), uint32(members)))
}
