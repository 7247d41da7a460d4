package ec

import (
	"math"
	"math/bits"

	"github.com/evorl/evorl/engine"
)

// The following is the float64 reference of shaders/ec/draw.glsl, crossover.glsl, sbx.glsl, mutation.glsl and
// tournament.glsl, written from the papers' equations.

func words(eng *engine.Engine, stream string, counter ...uint32) [4]uint32 {
	return engine.Philox([2]uint32{eng.Seed(), engine.Stream(stream)}, [4]uint32(counter))
}

func belowOf(word uint32, n int) int {
	high, _ := bits.Mul32(word, uint32(n))
	return int(high)
}

func unit(word uint32) float64 { return float64(word>>8) / (1 << 24) }

func gauss(first, second uint32) float64 {
	u := float64(first>>8+1) / (1 << 24)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*unit(second))
}

// tournamentOf returns the position of the winner.
func tournamentOf(eng *engine.Engine, stream string, search, p, generation, n, size int) int {
	winner := n - 1
	for k := range size {
		w := words(eng, stream, uint32(search), uint32(p), uint32(generation), uint32(k/4))
		winner = min(winner, belowOf(w[k%4], n))
	}
	return winner
}

// sbxOf returns the child of a with the mate b (K. Deb, R. B. Agrawal, 1995; K. Deb, S. Agrawal, 1999).
func sbxOf(a, b, low, high float64, bounded bool, u, index float64) float64 {
	y1, y2 := min(a, b), max(a, b)
	if y1 == y2 {
		return a
	}
	spread := func(beta float64) float64 {
		alpha := 2 - math.Pow(beta, -(index+1))
		if u <= 1/alpha {
			return math.Pow(u*alpha, 1/(index+1))
		}
		return math.Pow(1/(2-u*alpha), 1/(index+1))
	}
	room := math.Inf(1)
	if a < b {
		if bounded {
			room = 1 + 2*(y1-low)/(y2-y1)
		}
		return 0.5 * ((y1 + y2) - spread(room)*(y2-y1))
	}
	if bounded {
		room = 1 + 2*(high-y2)/(y2-y1)
	}
	return 0.5 * ((y1 + y2) + spread(room)*(y2-y1))
}

// polynomialOf applies polynomial mutation (K. Deb, S. Tiwari, 2008); without bounds reach is the largest change.
func polynomialOf(x, low, high float64, bounded bool, reach, u, index float64) float64 {
	d1, d2, width := 1.0, 1.0, reach
	if bounded {
		d1, d2, width = (x-low)/(high-low), (high-x)/(high-low), high-low
	}
	if u < 0.5 {
		return x + width*(math.Pow(2*u+(1-2*u)*math.Pow(1-d1, index+1), 1/(index+1))-1)
	}
	return x + width*(1-math.Pow(2*(1-u)+2*(u-0.5)*math.Pow(1-d2, index+1), 1/(index+1)))
}

// offspringOf returns a child.
func offspringOf(eng *engine.Engine, c VariationConfig, space Space, parents [2][]float64, search, child, generation int) []float64 {
	dim := space.Dim
	a, b := parents[0], parents[1]
	pair := uint32(child / 2)
	whole := words(eng, "ec/crossover", uint32(search), pair, uint32(generation), math.MaxUint32)
	begin, end := 0, 0
	switch c.Crossover {
	case OnePoint:
		begin, end = belowOf(whole[1], 2), dim
		if dim > 1 {
			begin = 1 + belowOf(whole[1], dim-1)
		}
	case TwoPoint:
		begin, end = belowOf(whole[1], dim+1), belowOf(whole[2], dim)
		if end >= begin {
			end++
		}
		begin, end = min(begin, end), max(begin, end)
	}
	crossed := unit(whole[0]) < c.CrossoverRate
	out := make([]float64, dim)
	for i := range out {
		block, k := uint32(i/4), i%4
		u := words(eng, "ec/crossover", uint32(search), pair, uint32(generation), 2*block)[k]
		choice := words(eng, "ec/crossover", uint32(search), pair, uint32(generation), 2*block+1)[k]
		low, high := 0.0, 0.0
		if space.Bounded() {
			low, high = float64(space.Low[i]), float64(space.High[i])
		}
		x := a[i]
		if crossed {
			switch c.Crossover {
			case UniformCrossover:
				if unit(u) < c.ExchangeRate {
					x = b[i]
				}
			case OnePoint, TwoPoint:
				if i >= begin && i < end {
					x = b[i]
				}
			case SBX:
				if unit(choice) < c.ExchangeRate {
					own, mate := a[i], b[i]
					if choice&1 != 0 {
						own, mate = mate, own
					}
					x = sbxOf(own, mate, low, high, space.Closed(), unit(u), c.CrossoverIndex)
				}
			case NeuronCrossover:
				x = neuronOf(eng, a[i], b[i], space, search, child, generation, i)
			case Line:
				x = a[i] + c.LineStd*gauss(whole[1], whole[2])*(b[i]-a[i])
			}
		}
		m := words(eng, "ec/mutation", uint32(search), uint32(child), uint32(generation), 2*block)
		chosen := words(eng, "ec/mutation", uint32(search), uint32(child), uint32(generation), 2*block+1)[k]
		rate := c.MutationRate
		if rate < 0 {
			rate = 1 / float64(dim)
		}
		if c.Mutation == ShareMutation {
			rate *= shareOf(eng, space, search, child, generation, i)
		}
		mutant := words(eng, "ec/mutation", uint32(search), uint32(child), uint32(generation), math.MaxUint32)
		if unit(mutant[0]) < c.MutantRate && float32(unit(chosen)) < float32(rate) {
			switch c.Mutation {
			case GaussianMutation:
				x += c.MutationStd * float64(normals(m)[k])
			case PolynomialMutation:
				reach := c.MutationStd
				if space.Bounded() {
					reach = high - low
				}
				x = polynomialOf(x, low, high, space.Closed(), reach, unit(m[k]), c.MutationIndex)
			case WeightMutation, ShareMutation:
				x = weightOf(eng, x, c.MutationStd, float64(normals(m)[k]), unit(chosen)/rate, c.MutationLimit, space, search, child, generation, i)
			}
		}
		if space.Closed() {
			x = min(max(x, low), high)
		}
		out[i] = x
	}
	return out
}

// shareOf returns the share of the rate with which a weight's matrix mutates.
func shareOf(eng *engine.Engine, space Space, search, child, generation, i int) float64 {
	matrix := uint32(1)
	if space.Matrices != nil {
		matrix = space.Matrices[i]
	}
	return unit(words(eng, "ec/mutation", uint32(search), uint32(child), uint32(generation), math.MaxUint32-matrix)[2])
}

// neuronOf returns a number of a child whose parents exchange neurons: if the neuron is drawn, both children have it of either parent.
func neuronOf(eng *engine.Engine, own, mate float64, space Space, search, child, generation, i int) float64 {
	neuron := 1<<17 + uint32(i)
	if space.Neurons != nil {
		neuron = space.Neurons[i]
	}
	at := func(draw uint32) [4]uint32 {
		return words(eng, "ec/crossover", uint32(search), uint32(child/2), uint32(generation), draw)
	}
	times := 2 * unit(at(math.MaxUint32 - neuron>>17)[0])
	if neuron&(1<<16) != 0 {
		times /= 2
	}
	first := child % 2 // which of the pair's parents is the child's first
	if w := at(neuron); unit(w[0]) < 1-math.Exp(-times) && (unit(w[1]) < 0.5) == (first == 1) {
		return mate
	}
	return own
}

// weightOf returns a mutated weight (S. Khadka, K. Tumer, 2018, algorithm 3): noise is standard normal, kind uniform.
func weightOf(eng *engine.Engine, x, std, noise, kind, limit float64, space Space, search, child, generation, i int) float64 {
	matrix := uint32(1)
	if space.Matrices != nil {
		matrix = space.Matrices[i]
	}
	gate := words(eng, "ec/mutation", uint32(search), uint32(child), uint32(generation), math.MaxUint32-matrix)
	switch {
	case matrix == 0 || !(unit(gate[0]) < 2*unit(gate[1])):
		return x
	case kind < 0.05:
		x += 100 * std * math.Abs(x) * noise
	case kind < 0.1:
		x = noise
	default:
		x += std * math.Abs(x) * noise
	}
	return min(max(x, -limit), limit)
}

// box returns a space with bounds that differ by dimension.
func box(members, dim int) Space {
	s := Space{Members: members, Dim: dim}
	for i := range dim {
		s.Low, s.High = append(s.Low, float32(-2-i%3)), append(s.High, float32(1+i%2))
	}
	return s
}

// ajar is box with open bounds.
func ajar(members, dim int) Space {
	s := box(members, dim)
	s.Open = true
	return s
}

// starts returns start points.
func starts(space Space) []float32 {
	out := make([]float32, space.Members*space.Dim)
	for i := range out {
		out[i] = float32(i%7)/8 - 0.3
	}
	return out
}

// checkInitial checks an initial population [M][N][dim].
func checkInitial(tr *trial, rows [][][]float32, start []float32, std float64) {
	tr.t.Helper()
	s := tr.space
	for m, population := range rows {
		for n, x := range population {
			want := make([]float64, s.Dim)
			for i := range want {
				w := words(tr.eng, "ec/initial", uint32(m), uint32(n), 0, uint32(i/4))
				want[i] = float64(start[m*s.Dim+i])
				switch {
				case n == 0 && s.Closed():
					want[i] = min(max(want[i], float64(s.Low[i])), float64(s.High[i]))
				case n == 0:
				case s.Bounded():
					want[i] = float64(s.Low[i]) + unit(w[i%4])*float64(s.High[i]-s.Low[i])
				default:
					want[i] += std * float64(normals(w)[i%4])
				}
			}
			if s.Bounded() {
				// Near 0 the rounding error of a sum is large relative to the sum, but not relative to the bounds.
				for i, v := range x {
					bound := max(math.Abs(float64(s.Low[i])), math.Abs(float64(s.High[i])))
					if d := math.Abs(float64(v)-want[i]) / bound; !(d <= 2.5e-7) {
						tr.t.Fatalf("member %d, first candidate %d, number %d: deviation %.1e of the bounds", m, n, i, d)
					}
				}
			} else if d := deviation(x, want); !(d <= 2e-6) {
				tr.t.Fatalf("member %d, first candidate %d: deviation %.1e", m, n, d)
			}
		}
	}
}

// worthOf returns the value that selection uses for a fitness.
func worthOf(f float32) float64 {
	if v := float64(f); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return -math.MaxFloat32
}

// rough returns random fitness with ties and occasional non-finite values.
func rough(eng *engine.Engine, generation int) func(m, c int, x []float32) float32 {
	return func(m, c int, x []float32) float32 {
		w := words(eng, "test", uint32(m), uint32(c), uint32(generation), 0)
		switch w[0] % 16 {
		case 0:
			return float32(math.NaN())
		case 1:
			return float32(math.Inf(int(w[1]&2) - 1))
		}
		return float32(w[1]%8) - 3.5
	}
}
