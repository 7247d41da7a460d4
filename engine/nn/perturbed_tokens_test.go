package nn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPerturbedTokens compares encoder-decoders of low rank with those whose matrices are formed in float64, over tokens that they share and tokens of
// their own, some beyond the vocabulary.
func TestPerturbedTokens(t *testing.T) {
	for _, of := range []struct {
		kind Kind
		perturbedCase
		units, vocabulary int
	}{
		{LSTM, perturbedCase{rank: 1, members: 2, each: 5, rows: 7, mirrored: true, first: 3}, 9, 6},
		{GRU, perturbedCase{rank: 3, members: 1, each: 4, rows: 5, diagonal: true}, 13, 11},
		{GRU, perturbedCase{rank: 3, members: 2, each: 4, rows: 5, mirrored: true}, 13, 12},
		{LSTM, perturbedCase{rank: 2, members: 1, each: 6, rows: 3, mirrored: true, first: 1}, 7, 8},
		{LSTM, perturbedCase{rank: 2, members: 1, each: 1, rows: 1}, 5, 4},
	} {
		t.Run(fmt.Sprintf("%v%d", of.kind, of.units), func(t *testing.T) {
			const length = 4
			c, m := of.perturbedCase, EncoderDecoder{Vocabulary: of.vocabulary, Cell: of.kind, Units: of.units}
			var parameters []Parameter
			for _, l := range m.Layers() {
				parameters = append(parameters, l.Parameters()...)
			}
			x := c.weigh(t, parameters, m.Size())
			s := x.state
			p, err := NewPerturbedTokenPass(s, m, c.rank, c.members, c.each, c.rows)
			if err != nil {
				t.Fatal(err)
			}
			for _, scratch := range []*engine.Tensor{p.memory, p.product, p.hidden, p.projections} {
				fill(t, scratch, nil)
			}
			member, network, rows := engine.Members(c.members), Networks(c.each), engine.Axis("row", c.rows)
			draw := engine.NewRng(5, 6, 0, 0, 0)
			numbers := func(name string, dims ...engine.Dim) (*engine.Tensor, []uint32) {
				x := s.Scratch(name, engine.Uint32, dims...)
				of := make([]uint32, x.Len())
				for i := range of {
					of[i] = draw.Uint32() % uint32(m.Vocabulary+1)
				}
				if err := x.WriteUint32(t.Context(), of); err != nil {
					t.Fatal(err)
				}
				return x, of
			}
			tokens, read0 := numbers("tokens", engine.Axis("time", length), member, rows)
			first, first0 := numbers("first", member, rows)
			next, next0 := numbers("next", member, network, rows)
			var logits [2]*engine.Tensor
			for i := range logits {
				logits[i] = s.Scratch(fmt.Sprint("logits_", i), engine.Float32, member, network, rows, engine.Axis("token", m.Vocabulary))
				fill(t, logits[i], nil)
			}
			record(t, s, func(r *engine.Recorder) {
				p.Encode(r, x.weights, tokens)
				p.Decode(r, x.weights, first, logits[0])
				p.Decode(r, x.weights, next, logits[1])
			})
			got := [2][]float32{read(t, logits[0]), read(t, logits[1])}
			one := func(token uint32) []float64 {
				x := make([]float64, m.Vocabulary)
				if token < uint32(m.Vocabulary) {
					x[token] = 1
				}
				return x
			}
			cell := Recurrent{In: m.Vocabulary, Out: m.Vocabulary, Cell: m.Cell, Units: m.Units} // the decoder with its linear layer
			size := m.Size() - cell.Size()
			for n := range c.members * c.each {
				of := x.formed(n/c.each, n%c.each)
				host := func(row []float64) *Host {
					h, err := NewHost(cell.Layers(), make([]float32, cell.Size()), m.Vocabulary)
					if err != nil {
						t.Fatal(err)
					}
					h.row = row
					return h
				}
				encoder, decoder := host(slices.Concat(of[:size], make([]float64, cell.Size()-size))), host(of[size:])
				for b := range c.rows {
					memory, at := make([]float64, m.Memory()), n/c.each*c.rows+b
					for i := range length {
						encoder.Evaluate(one(read0[i*c.members*c.rows+at]), memory)
					}
					for i, token := range []uint32{first0[at], next0[n*c.rows+b]} {
						closeTo(t, "logits", widened(got[i][(n*c.rows+b)*m.Vocabulary:][:m.Vocabulary]), decoder.Evaluate(one(token), memory))
					}
				}
			}
			for want, w := range map[string]Weights{"perturbed weights false": {Params: x.weights.Params}} {
				if _, err := s.Engine().Record("wrong", func(r *engine.Recorder) { p.Encode(r, w, tokens) }); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q", err, want)
				}
			}
		})
	}
}
