package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// TokenPass evaluates encoder-decoders, a stack of S networks of every member: Encode reads whole sequences, then every Decode takes one token and
// gives the logits of the next one. It has no backward pass. A step is the product of the states of all rows with the recurrent weights, and a
// kernel that adds the tokens' rows of weights; the first step has no product.
type TokenPass struct {
	model            EncoderDecoder
	members, stack   int
	rows             int
	encoder, decoder cell
	output           Layer
	memory           *engine.Tensor   // [networks, B, H]
	product          *engine.Tensor   // [networks, B, gates units]
	hidden           *engine.Tensor   // [networks, B, units]: the state after the last step
	encoded          *engine.Recorder // of the last Encode

	// Of low rank, all of a member's networks are one with all of their rows.
	perturbed   int      // networks of each member; 0: none
	products    *layered // records their products
	projections *engine.Tensor
}

// NewTokenPass makes a pass of S networks of every member over B rows of a network. It fails with a *vk.OutOfMemoryError if the device has too little
// memory.
func NewTokenPass(s *engine.State, model EncoderDecoder, members, networks, rows int) (*TokenPass, error) {
	info := s.Engine().Device().Info()
	if err := model.Check(); err != nil {
		return nil, err
	}
	if err := model.Precision.Check(info); err != nil {
		return nil, err
	}
	const most = 1 << 31 // products of sizes do not overflow
	if members < 1 || networks < 1 || rows < 1 || members > most/networks || rows > most {
		return nil, fmt.Errorf("nn: network %v of %d members, %d networks each, with %d rows; want at least 1 of each, and at most %d networks and rows",
			model, members, networks, rows, most)
	}
	layers, all := model.Layers(), members*networks
	p := &TokenPass{
		model: model, members: members, stack: networks, rows: rows, encoder: cell{layers[0], all}, decoder: cell{layers[1], all}, output: layers[2],
	}
	if need, have := 4*uint64(all)*uint64(rows)*uint64(p.encoder.units()), info.Limits.MaxStorageRange; need > have {
		return nil, fmt.Errorf("nn: %w", &vk.OutOfMemoryError{
			What: fmt.Sprintf("pass of %v over %d rows", model, rows), Need: need, Have: have, Why: "a kernel of this device sees no more of a tensor",
		})
	}
	n, b := engine.Members(all), engine.Axis("row", rows)
	p.memory = s.Scratch("memory", engine.Float32, n, b, engine.Axis("float", model.Memory()))
	p.product = s.Scratch("product", engine.Float32, n, b, engine.Axis("gate", p.encoder.units()))
	p.hidden = s.Scratch("hidden", engine.Float32, n, b, engine.Axis("unit", model.Units))
	return p, s.Err()
}

// NewPerturbedTokenPass is NewTokenPass for networks of low rank (Perturbation), so many of each member with B rows each.
func NewPerturbedTokenPass(s *engine.State, model EncoderDecoder, rank, members, networks, rows int) (*TokenPass, error) {
	const most = 1 << 31
	if networks < 1 || rows < 1 || networks > most/rows {
		return nil, fmt.Errorf("nn: %d networks %v of low rank with %d rows; want at least 1 of each, and at most %d rows of all", networks, model, rows, most)
	}
	p, err := NewTokenPass(s, model, members, 1, networks*rows)
	if err != nil {
		return nil, err
	}
	p.perturbed, p.products = networks, &layered{networks: members, info: s.Engine().Device().Info()}
	p.projections = projections(s, members, networks*rows, rank)
	return p, s.Err()
}

// PerturbedRowBytes is RowBytes of networks of low rank.
func (m EncoderDecoder) PerturbedRowBytes(rank int) int { return m.RowBytes() + 4*Align(rank) }

// MostRows returns how many rows all networks of low rank of a member may have: a step of theirs is one dispatch.
func (m EncoderDecoder) MostRows(info vk.Info) int {
	return int(info.Limits.MaxGroups[0]) * int(info.Limits.MaxInvocations) / m.Units
}

// each returns the rows of a network.
func (p *TokenPass) each() int { return p.rows / max(p.perturbed, 1) }

// weights checks weights and returns the floats of a network's row.
func (p *TokenPass) weights(w Weights) (row int, err error) {
	if (w.Perturbation != nil) != (p.perturbed > 0) {
		return 0, fmt.Errorf("nn: network %v: perturbed weights %t; want %t", p.model, w.Perturbation != nil, p.perturbed > 0)
	}
	if w.Perturbation != nil {
		err = w.Perturbation.Check(p.model, p.members, p.perturbed)
	}
	if err != nil {
		return 0, err
	}
	return w.row(p.model, p.members, p.stack, p.model.Size())
}

// multiply records a product with the matrix at float `weight` of a network's parameters and the bias at float `bias`; noBias: none.
func (p *TokenPass) multiply(r *engine.Recorder, b batch, g Gemm, weight, bias int) {
	w := b.weights
	if w.Perturbation == nil {
		if bias != noBias {
			g.Bias, g.BiasAt, g.BiasStride = w.Params, w.Base+bias, b.row
		}
		g.Record(r)
		return
	}
	of, err := w.Perturbation.product(g, weight, bias)
	if err != nil {
		r.Fail(err)
		return
	}
	of.each, of.projections = p.each(), p.projections
	p.products.complete(r, g, of, false, nil)
}

// Encode records reading sequences of T tokens, [T, M, B] u32, from a memory of zero. The networks of a member read the same.
func (p *TokenPass) Encode(r *engine.Recorder, w Weights, tokens *engine.Tensor) {
	row, err := p.weights(w)
	steps, members, inner, ok := tokens.Split(engine.MemberAxis)
	if err == nil && (!ok || tokens.Type() != engine.Uint32 || steps < 1 || members != p.members || inner != p.each()) {
		err = fmt.Errorf("nn: network %v reads %v; want tokens U32 [time, member %d, row %d]", p.model, tokens, p.members, p.each())
	}
	if err != nil {
		r.Fail(err)
		return
	}
	p.encoded = r
	for t := range steps {
		p.step(r, p.encoder, batch{weights: w, row: row}, tokens, t*p.members*p.each(), true, t == 0)
	}
}

// Decode records the decoder's step by a token of each row, [M, B] or for a stack [M, network, B] u32, and the logits [M, network, B, vocabulary] of the
// next one.
func (p *TokenPass) Decode(r *engine.Recorder, w Weights, tokens, logits *engine.Tensor) {
	row, err := p.weights(w)
	shared := tokens.Len() == p.members*p.each()
	switch {
	case err != nil:
	case p.encoded != r:
		err = fmt.Errorf("nn: network %v decodes before it has encoded; want Encode first, in the same recording", p.model)
	case tokens.Type() != engine.Uint32 || !shared && tokens.Len() != p.members*p.stack*p.rows:
		err = fmt.Errorf("nn: network %v goes on by %v; want tokens U32 [member %d, network %d, row %d]",
			p.model, tokens, p.members, max(p.stack, p.perturbed), p.each())
	case logits.Type() != engine.Float32 || logits.Len() != p.members*p.stack*p.rows*p.model.Vocabulary:
		err = fmt.Errorf("nn: network %v: logits %v; want [member %d, network %d, row %d, token %d]",
			p.model, logits, p.members, max(p.stack, p.perturbed), p.each(), p.model.Vocabulary)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	b := batch{weights: w, row: row}
	p.step(r, p.decoder, b, tokens, 0, shared, false)
	p.multiply(r, b, Gemm{
		Members: p.members * p.stack, M: p.rows, N: p.output.Out, K: p.output.In, A: p.decoder.rows(p.hidden, p.rows, p.model.Units),
		B: b.matrix(p.output, 0), C: p.decoder.rows(logits, p.rows, p.output.Out), Precision: p.output.Precision,
	}, p.output.Weight, p.output.Bias)
}

// step records a step of a cell by tokens, from the given element on, that a member's networks share or each has. The first one begins with a memory of zero.
func (p *TokenPass) step(r *engine.Recorder, c cell, b batch, tokens *engine.Tensor, at int, shared, first bool) {
	if !first {
		p.multiply(r, b, c.stateProduct(b, p.rows, c.rows(p.memory, p.rows, c.Memory()), c.rows(p.product, p.rows, c.units())), c.Recurrent, noBias)
	}
	k := c.kernel(r, b, p.rows, 1, p.memory, p.product, nil, p.hidden)
	if first {
		k.Product = vk.Range{}
	}
	k.Tokens, k.TokensAt, k.TokensShared, k.Vocabulary = tokens.Range(), uint32(at), 1, uint32(c.In)
	k.Weight, k.InputBias = uint32(b.weights.Base+c.Weight), uint32(b.weights.Base+c.Bias)
	if shared {
		k.TokensShared, k.TokensCommon = uint32(p.stack), p.perturbed > 0
	}
	if q := b.weights.Perturbation; q != nil {
		m, err := q.Layout.matrix(c.Weight)
		bias, ok := q.Layout.Vector(c.Bias)
		if err != nil || !ok {
			r.Fail(fmt.Errorf("nn: a perturbation of network %v without the weights or biases of its tokens", p.model))
			return
		}
		k.Factors, k.Deviation, k.Draws, k.Component = q.Factors.Range(), q.Deviation.Range(), uint32(q.Draws()), uint32(q.Layout.Component)
		k.FactorA, k.FactorB, k.InputBias, k.First, k.Scale = uint32(m.A), uint32(m.B), uint32(bias), uint32(q.First), float32(q.Layout.Scale())
		k.Rank, k.Mirrored = uint32(q.Layout.Rank), q.Mirrored
		k.DeviationStride, k.DeviationAt = q.deviation(m)
	}
	c.record(r, k)
}
