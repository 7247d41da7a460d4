package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// noisy holds the parameters of noisy networks (M. Fortunato et al., "Noisy Networks for Exploration", 2018): every
// weight and bias of a dense layer is a learned mean plus a learned deviation times factorized noise. A row has the means
// followed by the deviations; convolutions, and scales and shifts of layer normalization, have no noise. Networks act and
// learn with rows of the means plus noise.
type noisy struct {
	clock      engine.Clock
	model      nn.Model
	first      float64        // sigma_0: the initial deviation is sigma_0 / sqrt(inputs of the layer)
	row, units int            // floats of a network; noise factors of a network
	table      *engine.Tensor // [row, 2] u32: the two factors of each parameter

	learning, acting             *engine.Tensor // [3, M, units], [1, M, units]: noise factors of updates, of a rollout
	learningStream, actingStream uint32
	online, target, choice       *engine.Tensor // [M, row]: noisy parameters for an update's losses, for its targets, for choosing the next actions
	actor                        *engine.Tensor // [M, row]: noisy parameters of a rollout
}

// Constant factors at the start of every row of factors (shaders/rl/noisy_draw.comp).
const (
	noisyOne = iota
	noisyNone
	noisyUnits
)

// widestAlignment is the largest alignment that a device may demand of a binding in Vulkan, 256 bytes, in float32.
const widestAlignment = 64

func newNoisy(s *engine.State, clock engine.Clock, model nn.Model, members int, first float64) *noisy {
	y := &noisy{
		clock: clock, model: model, first: first, row: nn.Align(model.Size()), units: noisyUnits,
		learningStream: s.Stream("noise"), actingStream: s.Stream("acting_noise"),
	}
	for _, a := range y.affine() {
		y.units += a.weight.Rows + a.weight.Columns
	}
	y.units = (y.units + widestAlignment - 1) / widestAlignment * widestAlignment // each set is bound separately
	p, row, unit := engine.Members(members), engine.Axis("parameter", y.row), engine.Axis("unit", y.units)
	y.table = engine.Constant(s, "factors_of_parameters", y.factors, row, engine.Axis("factor", 2))
	y.learning = s.Scratch("learning", engine.Float32, engine.Axis("set", 3), p, unit)
	y.acting = s.Scratch("acting", engine.Float32, engine.Axis("set", 1), p, unit)
	y.online, y.target = s.Scratch("online", engine.Float32, p, row), s.Scratch("target", engine.Float32, p, row)
	y.choice, y.actor = s.Scratch("choice", engine.Float32, p, row), s.Scratch("actor", engine.Float32, p, row)
	return y
}

// affine is a layer's weights and biases.
type affine struct{ weight, bias nn.Parameter }

// affine lists the weights and biases of all dense layers.
func (y *noisy) affine() (all []affine) {
	for _, l := range y.model.Layers() {
		if l.Kind != nn.Dense {
			continue
		}
		var a affine
		for _, p := range l.Parameters() {
			switch p.Name {
			case "weight":
				a.weight = p
			case "bias":
				a.bias = p
			}
		}
		all = append(all, a)
	}
	return all
}

// factors returns the indices of the two noise factors of every parameter.
func (y *noisy) factors() []uint32 {
	table := make([]uint32, 2*y.row)
	for k := range table {
		table[k] = noisyNone
	}
	at := uint32(noisyUnits)
	for _, a := range y.affine() {
		outputs := at + uint32(a.weight.Rows)
		for k := range a.weight.Len() {
			table[2*(a.weight.At+k)], table[2*(a.weight.At+k)+1] = at+uint32(k/a.weight.Columns), outputs+uint32(k%a.weight.Columns)
		}
		for o := range a.bias.Columns {
			table[2*(a.bias.At+o)], table[2*(a.bias.At+o)+1] = noisyOne, outputs+uint32(o)
		}
		at = outputs + uint32(a.weight.Columns)
	}
	return table
}

// init sets the initial deviations, which follow a row's means.
func (y *noisy) init(row []float32) {
	for _, a := range y.affine() {
		for k := a.weight.At; k < a.bias.At+a.bias.Columns; k++ {
			row[y.row+k] = float32(y.first / math.Sqrt(float64(a.weight.Rows)))
		}
	}
}

// draw records drawing noise factors; update is nil for a rollout's.
func (y *noisy) draw(r *engine.Recorder, factors, update *engine.Tensor, stream uint32) {
	sets, members, _, _ := factors.Split(engine.MemberAxis)
	size, groups := r.Invocations(y.units)
	k := noisyDrawKernel{
		Clock: y.clock.Tensor().Range(), Factor: factors.Range(), Members: uint32(members), Units: uint32(y.units), Seed: r.Engine().Seed(), Stream: stream,
		LocalSizeX: size,
	}
	if update != nil {
		k.Update = update.Range()
	}
	r.Dispatch(k.call(groups, uint32(sets*members), 1))
}

// weights records adding the noise of factors [M, units] to parameters [M, row].
func (y *noisy) weights(r *engine.Recorder, params, factors, to *engine.Tensor) {
	members := to.Size(engine.MemberAxis)
	groups := r.Share(members, y.row)
	r.Dispatch(noisyWeightsKernel{
		Params: params.Range(), Factor: factors.Range(), Table: y.table.Range(), Weight: to.Range(), Row: uint32(y.row), Units: uint32(y.units),
		LocalSizeX: r.WorkgroupFor(y.row / int(groups)),
	}.call(groups, uint32(members), 1))
}

// act records the noisy parameters of a rollout.
func (y *noisy) act(r *engine.Recorder, params *engine.Tensor) {
	y.draw(r, y.acting, nil, y.actingStream)
	y.weights(r, params, y.acting, y.actor)
}

// learn records the noisy parameters of an update, with independent noise (algorithm 1, lines 13 to 18).
func (y *noisy) learn(r *engine.Recorder, params, target, update *engine.Tensor, chooses bool) {
	y.draw(r, y.learning, update, y.learningStream)
	y.weights(r, params, y.learning.Index(0), y.online)
	y.weights(r, target, y.learning.Index(1), y.target)
	if chooses {
		y.weights(r, params, y.learning.Index(2), y.choice)
	}
}

// back records the gradient `to` [1, M, 2 row] with respect to means and deviations, from that with respect to an update's
// noisy parameters, [splits, M, row].
func (y *noisy) back(r *engine.Recorder, gradient, to *engine.Tensor) {
	splits, members, _, _ := gradient.Split(engine.MemberAxis)
	groups := r.Share(members, y.row)
	r.Dispatch(noisyGradientKernel{
		Gradient: gradient.Range(), Factor: y.learning.Index(0).Range(), Table: y.table.Range(), AtParams: to.Range(),
		Splits: uint32(splits), Row: uint32(y.row), Units: uint32(y.units), LocalSizeX: r.WorkgroupFor(y.row / int(groups)),
	}.call(groups, uint32(members), 1))
}
