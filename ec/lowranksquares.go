package ec

import (
	"github.com/evorl/evorl/engine"
)

// UseSquares makes Sum compute second sums of candidates of low rank, for strategies with a deviation for every matrix: an element of a matrix then has the
// mean over the matrix. It follows UseRank, and changes nothing without a rank.
func (n *Noise) UseSquares(s *engine.State) error {
	of := n.lowRank
	if of == nil {
		return nil
	}
	matrices := engine.Axis("matrix", len(of.Matrices))
	of.shapes = engine.Constant(s, "factor_shapes", func() (all []uint32) {
		for _, m := range of.Matrices {
			all = append(all, uint32(m.A), uint32(m.Rows), uint32(m.B), uint32(m.Columns))
		}
		return all
	}, matrices, engine.Axis("shape", 4))
	of.elements = engine.Constant(s, "matrix_elements", func() (all []uint32) {
		for _, m := range of.Matrices {
			all = append(all, uint32(m.At), uint32(m.Len()))
		}
		return all
	}, matrices, engine.Axis("place", 2))
	of.squares = s.Scratch("squares", engine.Float32, engine.Members(n.space.Members), engine.Axis("draw", of.chunk), matrices,
		engine.Axis("component", of.Rank))
	return s.Err()
}

// useRankAndSquares is UseRank for strategies with a deviation for every parameter, or every matrix of low rank.
func (n *Noise) useRankAndSquares(s *engine.State, rank int) error {
	if err := n.UseRank(s, rank); err != nil {
		return err
	}
	return n.UseSquares(s)
}

// lowRankSquares records the second sums of a chunk's matrices into its parts of second: scale · Σ weight ‖A Bᵀ‖² / (r a b) for a matrix of a × b.
func (n *Noise) lowRankSquares(r *engine.Recorder, weight *engine.Tensor, scale float64, chunk int, second *engine.Tensor) {
	of, members, row := n.lowRank, n.space.Members, n.space.Row()
	n.recordFactors(r, of.factors, lowRankFactorsKernel{First: uint32(chunk * of.chunk)})
	longest, largest := 0, 0
	for _, m := range of.Matrices {
		longest, largest = max(longest, m.Rows+m.Columns), max(largest, m.Len())
	}
	k := lowRankSquaresKernel{
		Factors: of.factors.Range(), Shape: of.shapes.Range(), Squares: of.squares.Range(),
		Component: uint32(of.Component), Matrices: uint32(len(of.Matrices)), Draws: uint32(of.chunk), Rank: uint32(of.Rank), LocalSizeX: r.Workgroup(),
	}
	count := of.squares.Len() / members
	r.Dispatch(k.call(max(r.Share(members, count), n.groupsOf(r, count*of.Rank*(longest+8)/4)), uint32(members), 1))
	const most = 1024 // loop iterations of an invocation
	sums := lowRankSquareSumsKernel{
		Weight: weight.Range(), Squares: of.squares.Range(), Place: of.elements.Range(), Second: second.Range(),
		Matrices: k.Matrices, Pieces: uint32(largest/(most*int(r.Workgroup())) + 1), Draws: k.Draws, First: uint32(chunk * of.chunk),
		Population: uint32(n.population), Row: uint32(row), SecondAt: uint32(chunk * of.splits * members * row), Scale: float32(scale),
		Rank: k.Rank, Mirrored: n.mirrored, Workgroup: r.Workgroup(),
	}
	r.Dispatch(sums.call(sums.Matrices*sums.Pieces, uint32(of.splits), uint32(members)))
}
