package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// VirtualBatch computes networks with virtual batch normalization, as evolution strategies have it (T. Salimans et al., 2017, section 2.1; "Improved
// Techniques for Training GANs", 2016, section 3.4): before the activation of every layer, each unit or channel is normalized by the mean and the
// variance that it has over a fixed reference batch, multiplied by a scale and shifted. The moments do not depend on the input at hand. A network is
// therefore equal to one without normalization and with other weights, which Record computes; whatever acts takes those.
//
// A network's row is that of its model, with the shift of each unit in the place of its bias and the output as it is; what else belongs to the row, such
// as the parameters of a head; and a scale for each unit or channel (VirtualScales).
type VirtualBatch struct {
	model             Model
	members, networks int // networks of each member, which share its reference batch
	rows, others      int // of the reference batch; parameters behind the model's that are copied
	at                int // of the first scale in a row

	layers  *layered       // of together networks
	inputs  *engine.Tensor // [M, rows, In]: the reference batch, normalized
	factors *engine.Tensor // [together, most channels]: of the layer at work
	folded  *engine.Tensor // [M · networks, row]
}

// virtualBytes bounds the scratch memory of networks that are computed at once: enough to keep a device busy.
const virtualBytes = 64 << 20

// CheckVirtualBatch returns an error if a model's layers cannot be normalized by a reference batch: those with matrices are, pools and activations may be
// between them.
func CheckVirtualBatch(model Model) error {
	for i, l := range model.Layers() {
		switch l.Kind {
		case Dense, Convolution, MaxPool, AveragePool, Activated:
		default:
			return fmt.Errorf("nn: layer %d of network %v is of type %v; virtual batch normalization is of networks of %v, %v, %v, %v and %v",
				i+1, model, l.Kind, Dense, Convolution, MaxPool, AveragePool, Activated)
		}
		if l.Norms || l.Skip > 0 {
			return fmt.Errorf("nn: layer %d of network %v has layer normalization or a skip connection; want neither with virtual batch normalization", i+1, model)
		}
	}
	return nil
}

// VirtualScales returns how many scales virtual batch normalization adds to a model's row.
func VirtualScales(model Model) (n int) {
	for _, l := range model.Layers() {
		if l.virtual() {
			n += l.Out
		}
	}
	return n
}

// virtual reports whether virtual batch normalization normalizes the layer.
func (l Layer) virtual() bool { return l.Hidden && l.In > 0 }

// NewVirtualBatch makes the tensors for the given number of networks of every member, with a reference batch of so many rows. others is the number of
// parameters between the model's and the scales.
//
// Errors: a model that CheckVirtualBatch refuses; *vk.OutOfMemoryError; a reference batch that the device cannot compute at once.
func NewVirtualBatch(s *engine.State, model Model, members, networks, rows, others int) (*VirtualBatch, error) {
	if err := CheckVirtualBatch(model); err != nil {
		return nil, err
	}
	if _, err := newNetwork(model, members, networks, rows); err != nil {
		return nil, err
	}
	info := s.Engine().Device().Info()
	together := max(1, min(networks, virtualBytes/(rows*RowBytes(model, info))))
	v := &VirtualBatch{model: model, members: members, networks: networks, rows: rows, others: others, at: model.Size() + others}
	for ; ; together /= 2 {
		probe := layered{layers: model.Layers(), in: model.Inputs().Size(), out: model.Outputs(), networks: together, info: info}
		if probe.most() >= rows {
			break
		}
		if together == 1 {
			return nil, fmt.Errorf("nn: a reference batch of %d inputs of network %v; this device computes %d at once", rows, model, probe.most())
		}
	}
	s = s.Sub("virtual_batch")
	v.layers = newLayered(s, model, together, rows)
	channels := 1
	for _, l := range v.layers.hidden() {
		channels = max(channels, l.Out)
	}
	v.inputs = s.Scratch("reference_inputs", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("feature", model.Inputs().Size()))
	v.factors = s.Scratch("factors", engine.Float32, Networks(together), engine.Axis("channel", channels))
	v.folded = s.Scratch("folded", engine.Float32, engine.Members(members*networks), engine.Axis("parameter", Align(v.at)))
	return v, s.Err()
}

// Folded returns the rows [M · networks, row] that Record computes, of networks without normalization: of member m from row m · networks on.
func (v *VirtualBatch) Folded() *engine.Tensor { return v.folded }

// Record records computing the folded rows of the networks in params, [M · networks, row], with the reference batch in inputs, [M, rows, In].
func (v *VirtualBatch) Record(r *engine.Recorder, params *engine.Tensor, in Inputs) {
	all := v.members * v.networks
	row := params.Len() / all
	if size := v.at + VirtualScales(v.model); params.Len()%all != 0 || row < size {
		r.Fail(fmt.Errorf("nn: networks %v with virtual batch normalization in %v; want %d rows of at least %d floats", v.model, params, all, size))
		return
	}
	features := v.model.Inputs().Size()
	if len(in.Parts) != 1 || in.Parts[0].Len() != v.members*v.rows*in.Element.Words(features) || in.Parts[0].Type() != in.Element.Word() {
		r.Fail(fmt.Errorf("nn: a reference batch %v of %v; want one part, [member %d, row %d, %d features]", in.Parts, in.Element, v.members, v.rows, features))
		return
	}
	k := rowsKernel{
		Source: in.Parts[0].Range(), Rows: v.inputs.Range(), Inner: uint32(v.rows), Features: uint32(features), Width: uint32(features),
		SharedBy: 1, NormalizerShared: 1, Count: uint32(v.rows), Capacity: uint32(v.rows), Limit: in.Limit, Element: uint32(in.Element),
	}
	if in.Normalizer != nil {
		k.Normalizer = in.Normalizer.Range()
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(v.rows * features)
	r.Dispatch(k.call(groups, 1, uint32(v.members)))
	together := v.layers.networks
	for m := range v.members {
		for first := 0; first < v.networks; first += together {
			v.fold(r, params, row, m, m*v.networks+min(first, v.networks-together)) // the last ones again, so that all are as many
		}
	}
}

// fold records computing the rows of networks of member m, from the one with index first on.
func (v *VirtualBatch) fold(r *engine.Recorder, params *engine.Tensor, row, m, first int) {
	l := v.layers
	kept, features := l.passing(nil), l.in
	inputs := Matrix{
		Tensor: v.inputs, At: m * v.rows * features, Stride: v.rows * features, Row: features, Shared: l.networks,
	}
	b := batch{weights: Weights{Params: params, Base: first * row}, row: row, outer: 1, inner: v.rows, stack: l.networks}
	scale := v.at
	for i, layer := range l.hidden() {
		if k, ok := layer.Kind.mapped(); ok {
			k.forward(r, l, kept.mapping(i, v.rows, inputs))
			inputs = kept.matrix(kept.hidden[i], layer)
			continue
		}
		z := kept.matrix(kept.hidden[i], layer).byPlace(layer)
		g := Gemm{
			Members: l.networks, M: v.rows * layer.places(), N: layer.Out, K: layer.In, A: inputs, B: b.matrix(layer, 0), C: z, Padded: l.pads(layer),
			Precision: layer.Precision,
		}
		if layer.Kind == Convolution {
			if whole, ok := l.implicit(r, g, layer, inputs); ok {
				g = whole
			} else {
				g.A = l.gather(r, kept, layer, inputs, v.rows)
			}
		}
		g.Record(r)
		v.norm(r, layer, z, params, row, first, scale)
		v.copy(r, params, row, first, layer.Weight, layer.Bias-layer.Weight, layer.Out)
		inputs = kept.matrix(kept.hidden[i], layer)
		scale += layer.Out
	}
	output := l.layers[len(l.layers)-1]
	v.copy(r, params, row, first, output.Weight, v.at-output.Weight, 0)
}

// norm records normalizing a layer's products z, with its folded biases, and the factors of its channels.
func (v *VirtualBatch) norm(r *engine.Recorder, layer Layer, z Matrix, params *engine.Tensor, row, first, scale int) {
	k := virtualNormKernel{
		Products: z.Tensor.Range(), Values: z.Tensor.Range(), Params: params.Range(), Factors: v.factors.Range(), Folded: v.folded.Range(),
		Channels: uint32(layer.Out), Rows: uint32(v.rows * layer.places()), Stride: uint32(z.Stride), Pitch: uint32(z.Row),
		ParamAt: uint32(first * row), ParamRow: uint32(row), Bias: uint32(layer.Bias), Scale: uint32(scale),
		FoldedAt: uint32(first * v.row()), FoldedRow: uint32(v.row()), FactorRow: uint32(v.factorRow()), Activation: uint32(layer.Activation),
	}
	const channels = 16 // of a workgroup
	r.Dispatch(k.call(uint32(ceil(layer.Out, channels)), uint32(v.layers.networks), 1))
}

// copy records copying count parameters from offset `at` of the rows on, times the factors of their channels; channels 0: as they are.
func (v *VirtualBatch) copy(r *engine.Recorder, params *engine.Tensor, row, first, at, count, channels int) {
	k := virtualFoldKernel{
		Params: params.Range(), Folded: v.folded.Range(), First: uint32(at), Count: uint32(count), Channels: uint32(channels),
		ParamAt: uint32(first * row), ParamRow: uint32(row), FoldedAt: uint32(first * v.row()), FoldedRow: uint32(v.row()), FactorRow: uint32(v.factorRow()),
	}
	if channels > 0 {
		k.Factors = v.factors.Range()
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(count)
	r.Dispatch(k.call(groups, uint32(v.layers.networks), 1))
}

// row returns the floats of a folded row.
func (v *VirtualBatch) row() int { return v.folded.Len() / (v.members * v.networks) }

func (v *VirtualBatch) factorRow() int { return v.factors.Len() / v.layers.networks }
