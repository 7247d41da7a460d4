package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// EncoderDecoder describes a network that turns a sequence of tokens into another one: I. Sutskever, O. Vinyals, Q. V. Le, "Sequence to Sequence
// Learning with Neural Networks", 2014. Tokens are whole numbers below Vocabulary. A cell, the encoder, reads one sequence from a memory of zero. Another
// of the same size, the decoder, goes on from its memory; a linear layer turns the decoder's state into the logits of the next token.
//
// It is no Model, since its two cells do not follow each other in one step; a TokenPass evaluates it. The cells are as in Recurrent, with one-hot tokens
// as inputs: a product with W is a row of it. The parameters are one row: the encoder's, the decoder's, the linear layer's.
type EncoderDecoder struct {
	Vocabulary int
	Cell       Kind      // LSTM or GRU
	Units      int       // of each cell
	Precision  Precision // of matrix products
}

// Layers lists the encoder, the decoder and the linear layer, with the places of their parameters.
func (m EncoderDecoder) Layers() []Layer {
	layers, _ := m.layout()
	return layers
}

// Size returns the number of parameters.
func (m EncoderDecoder) Size() int {
	_, size := m.layout()
	return size
}

func (m EncoderDecoder) layout() ([]Layer, int) {
	cell := Layer{Kind: m.Cell, In: m.Vocabulary, Out: m.Units, Hidden: true, Precision: m.Precision}
	layers := []Layer{cell, cell, {In: m.Units, Out: m.Vocabulary, Precision: m.Precision}}
	return layers, layout(layers)
}

// Memory returns the number of floats that a cell carries from token to token.
func (m EncoderDecoder) Memory() int { return m.Layers()[0].Memory() }

// RowBytes returns the bytes of scratch memory that a network takes for each of the rows that it is made for.
func (m EncoderDecoder) RowBytes() int { return 4 * (m.Cell.gates()*m.Units + m.Memory() + m.Units) }

// Init fills a row with initial parameters: cells as Recurrent.Init does, the weights of the linear layer by `how` with the given gain.
func (m EncoderDecoder) Init(row []float32, how Initializer, outputGain float64, rng *engine.Rng) {
	initialize(m.Layers(), row, how, 1, outputGain, rng)
}

// Check validates the description.
func (m EncoderDecoder) Check() error {
	switch {
	case !m.Cell.cell():
		return fmt.Errorf("nn: an encoder and decoder whose cell is %v; want %v or %v", m.Cell, LSTM, GRU)
	case m.Units < 1 || m.Units > maxUnits:
		return fmt.Errorf("nn: an encoder and decoder of %d units; want 1 to %d", m.Units, maxUnits)
	case m.Vocabulary < 1 || m.Vocabulary > maxUnits:
		return fmt.Errorf("nn: an encoder and decoder of a vocabulary of %d; want 1 to %d", m.Vocabulary, maxUnits)
	}
	return nil
}

// String formats the network as, for example, "15-lstm128-lstm128-15".
func (m EncoderDecoder) String() string {
	return fmt.Sprintf("%d-%v%d-%v%d-%d", m.Vocabulary, m.Cell, m.Units, m.Cell, m.Units, m.Vocabulary)
}
