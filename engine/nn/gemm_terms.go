package nn

// within returns products with sums of at most so many terms, a multiple of four, which make the whole one in order: each but a split's first adds to
// what the one before has left in C. 0: any number of terms.
func (g Gemm) within(terms int) (parts []Gemm) {
	if terms == 0 || g.chunk() <= terms {
		return []Gemm{g}
	}
	for split := range g.splits() {
		begin := min(split*g.chunk(), g.K)
		rest := g.between(begin, min(begin+g.chunk(), g.K))
		rest.Splits, rest.C.At = 1, g.C.At+split*g.SplitStride
		for ; rest.K > terms; rest = rest.between(terms, rest.K) {
			part := rest.between(0, terms)
			part.Bias, part.Activation, part.Kept, part.Slope = nil, Linear, nil, Linear
			parts, rest.Addend = append(parts, part), g.C.Tensor
		}
		parts = append(parts, rest)
	}
	return parts
}

// between returns the product with the terms of its sums from begin to end only. If begin is a multiple of four, A and B are aligned as before.
func (g Gemm) between(begin, end int) Gemm {
	a, b := 1, g.B.Row // floats from term to term
	if g.TransposeA {
		a = g.A.Row
	}
	if g.TransposeB {
		b = 1
	}
	g.A.At, g.B.At, g.K = g.A.At+begin*a, g.B.At+begin*b, end-begin
	return g
}
