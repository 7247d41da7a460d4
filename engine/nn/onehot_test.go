package nn

import (
	"strings"
	"testing"
)

func init() {
	referenceMaps[OneHot] = func(l Layer, x []float64) ([]float64, func(d []float64) []float64) {
		y := make([]float64, l.Units())
		for i, token := range x {
			if k := int(token); float64(k) == token && k >= 0 && k < l.Out {
				y[i*l.Out+k] = 1
			}
		}
		return y, func([]float64) []float64 { return make([]float64, len(x)) }
	}
}

// Tokens as rows of ones and zeros, and of weights, agree with float64; numbers that are no tokens have zeros.
func TestTokens(t *testing.T) {
	for _, net := range []Sequential{
		{In: Shape{3}, Out: 2, Hidden: []LayerConfig{{Kind: OneHot, Vocabulary: 7}, units(9, Tanh)}},
		{In: Shape{5}, Out: 3, Hidden: []LayerConfig{{Kind: Embedding, Vocabulary: 15, Units: 6}, units(9, ReLU)}},
	} {
		for _, chunks := range []bool{false, true} {
			c := networkCase{net: net, members: 2, stack: 2, inner: 11, splits: 2}
			if chunks {
				c.outer, c.capacity = 2, 5
			}
			tokens(t, c)
		}
	}
}

// tokens runs a case whose inputs are tokens.
func tokens(t *testing.T, c networkCase) {
	s := testState(t)
	f := c.fixture(t, s)
	for i := range f.xv[0] {
		f.xv[0][i] = float32(i*i%9 - 1) // -1 … 7
	}
	f.xv[0][3] = 2.5
	fill(t, f.inputs.Parts[0], f.xv[0])
	f.run(t, s)
}

func TestTokenErrors(t *testing.T) {
	for want, c := range map[string]LayerConfig{
		"a vocabulary of 0":     {Kind: OneHot},
		"of 0 channels":         {Kind: Embedding, Vocabulary: 3},
		"units of a one_hot":    {Kind: OneHot, Vocabulary: 3, Units: 4},
		"at most 2097152":       {Kind: OneHot, Vocabulary: 8000},
		"vocabulary of a dense": {Units: 4, Vocabulary: 3},
	} {
		net := Sequential{In: Shape{300}, Out: 1, Hidden: []LayerConfig{c}}
		if err := net.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("network %v: error %v; want one with %q", net, err, want)
		}
	}
}
