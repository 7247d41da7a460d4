package nn

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// NewPerturbed makes, for every member, networks whose matrices differ from shared ones by low rank (Perturbation), with scratch memory for rows rows
// per network at a time. It only evaluates them: all rows of a member are one product with the shared matrix, to which each network's own part is added.
// Its inputs and outputs are those of a stack (NewStack), each network with rows of its own, and with memory of its own if the model has one.
//
// Errors: a model, precision or size that the device does not support.
func NewPerturbed(s *engine.State, model Model, rank, members, networks, rows int) (*Network, error) {
	n, err := newPerturbed(s, model, rank, members, networks, networks*rows)
	if err != nil {
		return nil, err
	}
	return n, s.Err()
}

func newPerturbed(s *engine.State, model Model, rank, members, networks, rows int) (*Network, error) {
	n, err := newNetwork(model, members, networks, rows)
	if err != nil {
		return nil, err
	}
	info := s.Engine().Device().Info()
	for _, l := range model.Layers() {
		if err := l.Precision.Check(info); err != nil {
			return nil, err
		}
	}
	n.perturbed, n.stack, n.rows = networks, 1, rows
	if _, err := n.byLayers(s); err != nil {
		return nil, err
	}
	if err := n.form.(perturbable).perturb(rank, rows); err != nil {
		return nil, fmt.Errorf("nn: %v: %w", n, err)
	}
	return n, nil
}

// perturbable is a form that computes networks of low rank.
type perturbable interface {
	// perturb makes what networks of a rank need, for batches of the given number of rows of every member.
	perturb(rank, rows int) error
}

// perturb implements perturbable.
func (l *layered) perturb(rank, rows int) error {
	if l.norms && l.capacity < rows {
		return fmt.Errorf("layer normalization over %d rows; this device computes %d at once: want fewer networks or rows", rows, l.capacity)
	}
	l.projections = projections(l.state, l.networks, l.capacity*l.places(), rank)
	return nil
}

// perturb implements perturbable.
func (f *recurrent) perturb(rank, rows int) error {
	f.projections = projections(f.state, f.networks, rows, rank)
	return errors.Join(f.before.perturb(rank, rows), f.after.perturb(rank, rows))
}

func projections(s *engine.State, members, rows, rank int) *engine.Tensor {
	return s.Scratch("projections", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("component", Align(rank)))
}

// PerturbedRowBytes is RowBytes of networks of low rank, also of those with memory.
func PerturbedRowBytes(model Model, rank int, info vk.Info) int {
	before, c, after, err := cellOf(model)
	if err != nil { // no memory
		l := &layered{layers: model.Layers()}
		return RowBytes(model, info) + 4*l.places()*Align(rank)
	}
	units := c.Kind.gates() * c.Out
	return PerturbedRowBytes(before, rank, info) + PerturbedRowBytes(after, rank, info) + 4*(2*units+c.Out+c.Memory()+Align(rank))
}

// perturbation checks the perturbation of a batch's weights, and returns inputs and outputs as those of one network per member.
func (n *Network) perturbation(w Weights, in Inputs, outputs *engine.Tensor) (Inputs, *engine.Tensor, error) {
	if (w.Perturbation != nil) != (n.perturbed > 0) {
		return in, outputs, fmt.Errorf("nn: %v: perturbed weights %t; want %t", n, w.Perturbation != nil, n.perturbed > 0)
	}
	if w.Perturbation == nil {
		return in, outputs, nil
	}
	if err := w.Perturbation.Check(n, n.members, n.perturbed); err != nil {
		return in, outputs, err
	}
	if len(in.Parts) != 1 {
		return in, outputs, fmt.Errorf("nn: %v: inputs of %d parts to perturbed networks; want one", n, len(in.Parts))
	}
	if n.common {
		if in.Normalizer != nil || in.Element.Packed() {
			return in, outputs, fmt.Errorf("nn: %v: inputs %v of a batch, packed %t, normalized %t; want floats as they are",
				n, in.Parts[0], in.Element.Packed(), in.Normalizer != nil)
		}
		return in, n.together(outputs), nil
	}
	parts := []*engine.Tensor{n.together(in.Parts[0])}
	in.Parts = parts
	return in, n.together(outputs), nil
}

// together returns the rows of all networks of a member as one axis.
func (n *Network) together(t *engine.Tensor) *engine.Tensor {
	outer, members, inner, ok := t.Split(engine.MemberAxis)
	if !ok || outer != 1 || t.Size(NetworkAxis) != n.perturbed {
		return t // the batch's check reports it
	}
	return t.View(engine.Members(members), engine.Axis("row", inner))
}

// perturbed records a layer's product g of rows from `first` of every member on, with the weights of each row's network. projected: the layer's
// projections are there. It reports whether it has computed those of the next layer.
func (l *layered) perturbed(r *engine.Recorder, b batch, i int, g Gemm, first int, projected bool) (projects bool) {
	p, layer := b.weights.Perturbation, l.layers[i]
	of, err := p.product(g, layer.Weight, layer.Bias)
	if err != nil {
		r.Fail(err)
		return false
	}
	of.first, of.each, of.projections = first*layer.places(), b.inner/p.Vectors.Size(NetworkAxis)*layer.places(), l.projections
	g.Bias, g.Kept = nil, nil
	if i == 0 && l.start.known() {
		of.product = l.start.product
	}
	next, ok := l.projectsTo(p, i, g.M)
	if !ok {
		return l.complete(r, g, of, projected, nil)
	}
	return l.complete(r, g, of, projected, &next)
}

// product returns what the networks add to a product with the matrix at float `weight` of a row, and the bias at float `bias`; noBias: none.
func (p *Perturbation) product(g Gemm, weight, bias int) (*lowRankRows, error) {
	m, err := p.Layout.matrix(weight)
	of, ok := &lowRankRows{Perturbation: p, matrix: m, bias: noBias}, true
	if bias != noBias {
		of.bias, ok = p.Layout.Vector(bias)
	}
	if err == nil && (!ok || m.Rows != g.K || m.Columns != g.N) {
		err = fmt.Errorf("nn: a perturbation of a matrix of %d × %d, with bias %t, of a layer of %d × %d", m.Rows, m.Columns, ok, g.K, g.N)
	}
	return of, err
}

// complete records a product with the weights of each row's network: the projections of the rows, unless they are there (projected), and the product with
// the shared weights, which is completed where its sums are. Narrow layers take one kernel for both; forms of products that cannot complete them leave it
// to that kernel, as does a product that was computed before. It reports whether it has computed the projections of the matrix that the outputs are
// multiplied by next; nil: that is not known.
func (l *layered) complete(r *engine.Recorder, g Gemm, of *lowRankRows, projected bool, next *LowRankMatrix) (projects bool) {
	activation, product := g.Activation, g.C.Tensor
	if g.Activation = Linear; of.product != nil {
		product = of.product
	} else if !few(g.K, g.N) {
		if form, ok := l.completes(g); ok {
			whole := g
			whole.Activation, whole.lowRank = activation, of
			if !projected {
				r.Dispatch(whole.project(l.lines(g.M), l.normWidth(), l.info.SubgroupSize))
			}
			whole.record(r, form)
			return false
		}
		g.Record(r)
	}
	k := lowRankKernel{
		Inputs: g.A.Tensor.Range(), Product: product.Range(), Outputs: g.C.Tensor.Range(), OutputQuads: g.C.Tensor.Range(),
		Factors: of.Factors.Range(), Deviation: of.Deviation.Range(), K: uint32(g.K), N: uint32(g.N),
		XAt: uint32(g.A.At), XStride: uint32(g.A.Stride), XRow: uint32(g.A.Row),
		YAt: uint32(g.C.At), YStride: uint32(g.C.Stride), YRow: uint32(g.C.Row),
		Draws: uint32(of.Draws()), Component: uint32(of.Layout.Component), A: uint32(of.matrix.A), B: uint32(of.matrix.B),
		Networks: uint32(of.Vectors.Size(NetworkAxis)), Vector: uint32(of.Vectors.Size("float")),
		Rows: uint32(g.M), FirstRow: uint32(of.first), Each: uint32(of.each),
		First: uint32(of.First), Scale: float32(of.Layout.Scale()),
		Rank: uint32(of.Layout.Rank), Mirrored: of.Mirrored, Activation: uint32(activation),
		Aligned: g.C.aligned(4) && (g.N%4 == 0 || g.Padded), AlignedX: g.A.aligned(4),
		Workgroup: l.lines(g.M), Width: l.normWidth(),
	}
	k.Vectors, k.Bias = of.biases()
	k.DeviationStride, k.DeviationAt = of.deviation(of.matrix)
	if few(g.K, g.N) {
		k.Weights, k.WAt, k.WStride, k.AlignedW = g.B.Tensor.Range(), uint32(g.B.At), uint32(g.B.Stride), g.B.At%4 == 0 && g.B.Stride%4 == 0
		if g.N <= fewOutputs {
			k.FewOutputs = uint32(g.N)
		} else {
			k.AlignedW = k.AlignedW && g.N%4 == 0
		}
	}
	if next != nil {
		k.Projections, k.Next, projects = of.projections.Range(), uint32(next.A), true
		_, k.NextDeviationAt = of.deviation(*next)
	}
	groups := (k.Rows*k.Width + k.Workgroup - 1) / k.Workgroup
	call := k.call(groups, uint32(l.networks), 1)
	if engine.WideStores(l.info) {
		call = lowRankWideKernel(k).call(groups, uint32(l.networks), 1)
	}
	call.Subgroup = l.info.SubgroupSize
	r.Dispatch(call)
	return projects
}

// completes returns the form in which the device completes a layer's product for the row's networks; ok is false if a kernel of its own has to.
func (l *layered) completes(g Gemm) (form gemmForm, ok bool) {
	if few(g.K, g.N) || l.apart {
		return nil, false
	}
	return g.lowRankForm(l.info)
}

// projectsTo returns the matrix of the layer after layer i if its inputs are layer i's rows of outputs, as they are stored, and it has projections.
func (l *layered) projectsTo(p *Perturbation, i, rows int) (m LowRankMatrix, ok bool) {
	layer := l.layers[i]
	if l.apart || i+1 == len(l.layers) || layer.Kind != Dense || layer.Norms || layer.Skip > 0 || l.layers[i+1].Kind != Dense {
		return m, false
	}
	next := l.layers[i+1]
	if _, ok = (Gemm{Members: l.networks, M: rows, N: next.Out, K: next.In, Precision: next.Precision}).lowRankForm(l.info); !ok || few(next.In, next.Out) {
		return m, false
	}
	m, err := p.Layout.matrix(next.Weight)
	return m, err == nil
}

// lines returns the workgroup size of kernels of rows, each a lane or more: on software drivers small enough that few rows are work for all processors.
func (l *layered) lines(rows int) uint32 {
	if l.info.Type != vk.CPU {
		return l.line()
	}
	subgroups := rows / (4 * runtime.NumCPU() * int(l.info.SubgroupSize))
	return l.info.SubgroupSize * uint32(max(1, min(8, subgroups)))
}

// few reports whether a layer's product takes less than to store it and load it again.
func few(inputs, outputs int) bool {
	return outputs <= fewOutputs || inputs <= fewInputs && outputs > fewInputs
}

// Layers of so few inputs or outputs are computed by shaders/engine/nn/low_rank.glsl alone.
const (
	fewInputs  = 8
	fewOutputs = 4
)

// perturbNorm makes the kernel of a layer's normalization take scale and shift from the vectors of each network. All rows are there at once
// (NewPerturbed), so that those of all members' networks follow one another, or all are one network's (NewPerturbedBatch).
func (l *layered) perturbNorm(r *engine.Recorder, b batch, layer Layer, k *normKernel) (networks int) {
	p := b.weights.Perturbation
	each, floats := p.Vectors.Size(NetworkAxis), p.Vectors.Size("float")
	scale, ok := p.Layout.Vector(layer.Scale)
	shift, too := p.Layout.Vector(layer.Shift)
	if f := l.start; f != nil && ok && too { // all rows are one network's
		k.Params, k.Row, k.Scale, k.Shift = p.Vectors.Range(), uint32(each*floats), uint32(f.network*floats+scale), uint32(f.network*floats+shift)
		k.Aligned = layer.Out%4 == 0
		return l.networks
	}
	if !ok || !too || k.Rows != k.Capacity || k.Rows%uint32(each) != 0 {
		r.Fail(fmt.Errorf("nn: %d of %d rows of %d perturbed networks, with scale %t and shift %t; want all rows, scale and shift",
			k.Rows, k.Capacity, each, ok, too))
		return 1
	}
	k.Params, k.Row, k.Scale, k.Shift = p.Vectors.Range(), uint32(floats), uint32(scale), uint32(shift)
	k.Rows, k.Capacity = k.Rows/uint32(each), k.Capacity/uint32(each)
	k.Aligned = layer.Out%4 == 0
	return l.networks * each
}
