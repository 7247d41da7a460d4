package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestTokenPass compares sequences and the tokens that follow them with float64: of stacks, of sizes that fill no tile, with tokens beyond the vocabulary,
// and with decoders that go on by tokens of a member or of each network.
func TestTokenPass(t *testing.T) {
	for _, c := range []struct {
		kind                              Kind
		members, stack, rows, units, base int
	}{
		{LSTM, 2, 3, 5, 7, 4},
		{GRU, 2, 3, 5, 7, 0},
		{GRU, 2, 3, 5, 8, 0},
		{LSTM, 1, 2, 33, 36, 0},
	} {
		t.Run(fmt.Sprintf("%v%d", c.kind, c.units), func(t *testing.T) {
			const vocabulary, length, decoded = 6, 4, 3
			m := EncoderDecoder{Vocabulary: vocabulary, Cell: c.kind, Units: c.units}
			s := testState(t)
			p, err := NewTokenPass(s, m, c.members, c.stack, c.rows)
			if err != nil {
				t.Fatal(err)
			}
			row := (c.base + m.Size() + 3) / 4 * 4
			member, network, rows := engine.Members(c.members), Networks(c.stack), engine.Axis("row", c.rows)
			params := s.Scratch("params", engine.Float32, member, network, engine.Axis("parameter", row))
			tokens := s.Scratch("tokens", engine.Uint32, engine.Axis("time", length), member, rows)
			first, next := s.Scratch("first", engine.Uint32, member, rows), s.Scratch("next", engine.Uint32, member, network, rows)
			logits := make([]*engine.Tensor, decoded)
			for i := range logits {
				logits[i] = s.Scratch(fmt.Sprint("logits_", i), engine.Float32, member, network, rows, engine.Axis("token", vocabulary))
			}
			if err := s.Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			weights, draw := normals(params.Len()), engine.NewRng(5, 6, 0, 0, 0)
			fill(t, params, weights)
			numbers := func(x *engine.Tensor) []uint32 {
				of := make([]uint32, x.Len())
				for i := range of {
					of[i] = draw.Uint32() % (vocabulary + 1)
				}
				if err := x.WriteUint32(t.Context(), of); err != nil {
					t.Fatal(err)
				}
				return of
			}
			read0, first0, next0 := numbers(tokens), numbers(first), numbers(next)
			record(t, s, func(r *engine.Recorder) {
				w := Weights{Params: params, Base: c.base}
				p.Encode(r, w, tokens)
				p.Decode(r, w, first, logits[0])
				p.Decode(r, w, next, logits[1])
				p.Decode(r, w, next, logits[2])
			})
			one := func(token uint32) []float64 {
				x := make([]float64, vocabulary)
				if token < vocabulary {
					x[token] = 1
				}
				return x
			}
			cell := Recurrent{In: vocabulary, Out: vocabulary, Cell: c.kind, Units: c.units} // the decoder with its linear layer
			size := m.Size() - cell.Size()
			for n := range c.members * c.stack {
				of := weights[n*row+c.base:][:m.Size()]
				encoder := newRecurrentReference(t, cell, slices.Concat(of[:size], make([]float32, cell.Size()-size)))
				decoder := newRecurrentReference(t, cell, of[size:])
				decoder.after.row = decoder.row
				for b := range c.rows {
					memory, at := make([]float64, m.Memory()), n/c.stack*c.rows+b
					for i := range length {
						_, memory = encoder.step(one(read0[i*c.members*c.rows+at]), memory, false)
					}
					for i, token := range []uint32{first0[at], next0[n*c.rows+b], next0[n*c.rows+b]} {
						var want []float64
						want, memory = decoder.step(one(token), memory, false)
						got := read(t, logits[i])[(n*c.rows+b)*vocabulary:][:vocabulary]
						for k := range want {
							if !(math.Abs(float64(got[k])-want[k]) <= 2e-5*(1+math.Abs(want[k]))) {
								t.Fatalf("network %d, row %d, step %d: logit %d is %g; want %g", n, b, i, k, got[k], want[k])
							}
						}
					}
				}
			}
		})
	}
}

// TestEncoderDecoder: EvoJAX's seq2seq has its number of parameters, and every parameter has its place; what cannot be evaluated is an error.
func TestEncoderDecoder(t *testing.T) {
	m := EncoderDecoder{Vocabulary: 15, Cell: LSTM, Units: 128}
	if m.Size() != 149_391 || m.String() != "15-lstm128-lstm128-15" {
		t.Errorf("%v has %d parameters; want 149391", m, m.Size())
	}
	at := 0
	for _, l := range m.Layers() {
		for _, p := range l.Parameters() {
			if p.At != at {
				t.Errorf("%s begins at %d; want %d", p.Name, p.At, at)
			}
			at += p.Len()
		}
	}
	if at != m.Size() {
		t.Errorf("%d parameters have a place; want %d", at, m.Size())
	}
	s := testState(t)
	for want, m := range map[string]EncoderDecoder{
		"want lstm or gru": {Vocabulary: 3, Units: 4}, "of 0 units": {Vocabulary: 3, Cell: LSTM}, "a vocabulary of 0": {Cell: GRU, Units: 3},
	} {
		if _, err := NewTokenPass(s, m, 1, 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", m, err, want)
		}
	}
	p, err := NewTokenPass(s, EncoderDecoder{Vocabulary: 3, Cell: LSTM, Units: 4}, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	row := engine.Axis("parameter", Align(p.model.Size()))
	w := Weights{Params: s.Scratch("params", engine.Float32, engine.Members(1), row)}
	tokens := s.Scratch("tokens", engine.Uint32, engine.Axis("time", 1), engine.Members(1), engine.Axis("row", 2))
	logits := s.Scratch("logits", engine.Float32, engine.Members(1), engine.Axis("row", 2), engine.Axis("token", 3))
	for want, f := range map[string]func(*engine.Recorder){
		"want Encode first":   func(r *engine.Recorder) { p.Decode(r, w, tokens, logits) },
		"want tokens U32":     func(r *engine.Recorder) { p.Encode(r, w, logits) },
		"want multiples of 4": func(r *engine.Recorder) { p.Encode(r, Weights{Params: w.Params, Base: 2}, tokens) },
		"logits tokens": func(r *engine.Recorder) {
			p.Encode(r, w, tokens)
			p.Decode(r, w, tokens, tokens)
		},
	} {
		if _, err := s.Engine().Record("wrong", f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
