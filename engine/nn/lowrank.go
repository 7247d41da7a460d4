package nn

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// LowRank is the layout of low-rank perturbations of parameters in a row (B. Sarkar et al., "Evolution Strategies at the Hyperscale", 2025). A network's
// matrix is W + σ A Bᵀ / √r, with A [Rows, r], B [Columns, r] and standard normal elements; its vectors, such as biases, have normal noise of deviation σ.
//
// All random numbers of a network are a draw: Rank components and the noise of the vectors. A component holds the columns of every matrix's A,
// then those of every B. Each part begins at a multiple of four floats.
type LowRank struct {
	Rank      int
	Matrices  []LowRankMatrix
	Vectors   []LowRankVector
	Left      int // floats of a component's A's; its B's follow
	Component int // floats of a component
	Floats    int // floats of the vectors
}

// LowRankMatrix is a matrix with the offsets of its A and B in a component.
type LowRankMatrix struct {
	Parameter
	A, B int
}

// LowRankVector is a vector with its offset among the vectors.
type LowRankVector struct {
	Parameter
	Offset int
}

// MaxRank is the largest rank of perturbations.
const MaxRank = 32

// NewLowRank lays out perturbations of the given rank of a row's parameters.
//
// Errors: a rank out of range, parameters without a matrix.
func NewLowRank(parameters []Parameter, rank int) (*LowRank, error) {
	if rank < 1 || rank > MaxRank {
		return nil, fmt.Errorf("nn: perturbations of rank %d; want 1 to %d", rank, MaxRank)
	}
	p := &LowRank{Rank: rank}
	for _, of := range parameters {
		if of.Rows > 0 {
			p.Matrices = append(p.Matrices, LowRankMatrix{Parameter: of, A: p.Left})
			p.Left += Align(of.Rows)
			continue
		}
		p.Vectors = append(p.Vectors, LowRankVector{of, p.Floats})
		p.Floats += Align(of.Columns)
	}
	if len(p.Matrices) == 0 {
		return nil, fmt.Errorf("nn: perturbations of rank %d of parameters without a matrix", rank)
	}
	p.Component = p.Left
	for i := range p.Matrices {
		p.Matrices[i].B = p.Component
		p.Component += Align(p.Matrices[i].Columns)
	}
	return p, nil
}

// Draw returns the floats of a draw.
func (p *LowRank) Draw() int { return p.Rank*p.Component + p.Floats }

// Scale returns 1 / √r.
func (p *LowRank) Scale() float64 { return 1 / math.Sqrt(float64(p.Rank)) }

// last returns the first parameter of the last matrix.
func (p *LowRank) last() (last int) {
	for _, m := range p.Matrices {
		last = max(last, m.At)
	}
	return last
}

// matrix returns the matrix that begins at float `at` of a row.
func (p *LowRank) matrix(at int) (LowRankMatrix, error) {
	for _, m := range p.Matrices {
		if m.At == at {
			return m, nil
		}
	}
	return LowRankMatrix{}, fmt.Errorf("nn: a perturbation of rank %d has no matrix at %d", p.Rank, at)
}

// Vector returns the offset among the vectors of the one that begins at float `at` of a row; ok is false if there is none.
func (p *LowRank) Vector(at int) (offset int, ok bool) {
	for _, v := range p.Vectors {
		if v.At == at {
			return v.Offset, true
		}
	}
	return 0, false
}

// drawsOf returns how many draws a number of consecutive networks may have; if mirrored, a pair shares one.
func drawsOf(networks int, mirrored bool) int {
	if mirrored {
		return networks/2 + 1 // the first may be the second of its pair
	}
	return networks
}

// Perturbation makes networks of every member from one row of weights. The networks are some of a population, from index First on.
type Perturbation struct {
	Layout    *LowRank
	Factors   *engine.Tensor // [M, draws, rank, component]: of the networks' draws, from First's on
	Vectors   *engine.Tensor // [M, S, floats]: each network's, whole: mean and noise
	Deviation *engine.Tensor // [M], or [M, parameter], where a matrix has that of its first element: σ
	First     int
	Mirrored  bool // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign
}

// NewPerturbation makes the tensors of a perturbation of the given number of networks of every member; deviation is [M] or [M, parameter].
func NewPerturbation(s *engine.State, layout *LowRank, members, networks int, deviation *engine.Tensor, mirrored bool) *Perturbation {
	m := engine.Members(members)
	return &Perturbation{
		Layout: layout, Deviation: deviation, Mirrored: mirrored,
		Factors: s.Scratch("factors", engine.Float32, m, engine.Axis("draw", drawsOf(networks, mirrored)), engine.Axis("component", layout.Rank),
			engine.Axis("float", layout.Component)),
		Vectors: s.Scratch("vectors", engine.Float32, m, Networks(networks), engine.Axis("float", max(layout.Floats, 4))),
	}
}

// Draws returns the draws of each member.
func (p *Perturbation) Draws() int { return p.Factors.Size("draw") }

// deviation returns where the deviations of a matrix are: floats from member to member, and the first member's.
func (p *Perturbation) deviation(m LowRankMatrix) (stride, at uint32) {
	each := p.Deviation.Len() / p.Factors.Size(engine.MemberAxis)
	if each == 1 {
		return 1, 0
	}
	return uint32(each), uint32(m.At)
}

// Check returns an error unless a perturbation is of so many networks of every member.
func (p *Perturbation) Check(network fmt.Stringer, members, networks int) error {
	switch f := p.Factors; {
	case f.Size(engine.MemberAxis) != members || f.Len() != members*p.Draws()*p.Layout.Rank*p.Layout.Component || p.Draws() < drawsOf(networks, p.Mirrored):
		return fmt.Errorf("nn: %v: factors %v; want [member %d, draw %d, component %d, %d]", network, f, members, drawsOf(networks, p.Mirrored),
			p.Layout.Rank, p.Layout.Component)
	case p.Vectors.Size(engine.MemberAxis) != members || p.Vectors.Size(NetworkAxis) != networks:
		return fmt.Errorf("nn: %v: vectors %v; want those of %d networks of %d members", network, p.Vectors, networks, members)
	case p.Deviation.Len() != members && (p.Deviation.Len()%members != 0 || p.Deviation.Len()/members <= p.Layout.last()):
		return fmt.Errorf("nn: %v: deviation %v; want one for each of %d members, or for each of their parameters", network, p.Deviation, members)
	}
	return nil
}
