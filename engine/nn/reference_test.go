package nn

import "math"

// reference evaluates a network in float64 and back-propagates through it.
type reference struct {
	net Model
	row []float64 // parameters
	// of the last sample, by layer: inputs, affine outputs before and after normalization, inputs of the activation
	in, n, z [][]float64
	rstd     [][]float64 // by place
	back     []func(d []float64) []float64
}

// referenceMaps compute layers of kinds that are no matrix products, by their definition: from inputs x the affine outputs, and from the gradient d
// there that at the inputs.
var referenceMaps = map[Kind]func(l Layer, x []float64) (y []float64, back func(d []float64) []float64){}

// affine calls f for every product of an affine map: input in times the weight at offset weight of the row, added to output out. Both are
// places of the layer's inputs and of its affine outputs. A convolution is computed as it is defined, by its window.
func affine(l Layer, f func(in, weight, out int)) {
	if l.Kind != Convolution {
		for k := range l.In {
			for j := range l.Out {
				f(k, l.Weight+k*l.Out+j, j)
			}
		}
		return
	}
	w := l.Window
	for y := range w.OutHeight {
		for x := range w.OutWidth {
			for ky := range w.Kernel {
				for kx := range w.Kernel {
					row, column := y*w.Stride+ky-w.Top, x*w.Stride+kx-w.Left
					if row < 0 || row >= w.Height || column < 0 || column >= w.Width {
						continue
					}
					for c := range w.Channels {
						for o := range l.Out {
							f((row*w.Width+column)*w.Channels+c, l.Weight+((ky*w.Kernel+kx)*w.Channels+c)*l.Out+o, (y*w.OutWidth+x)*l.Out+o)
						}
					}
				}
			}
		}
	}
}

func newReference(net Model, row []float32) *reference {
	r := &reference{net: net}
	for _, x := range row[:net.Size()] {
		r.row = append(r.row, float64(x))
	}
	return r
}

func activate(a Activation, z float64) (h, slope float64) {
	s := 1 / (1 + math.Exp(-z))
	switch {
	case a == ReLU && z <= 0:
		return 0, 0
	case a == Tanh:
		h = math.Tanh(z)
		return h, 1 - h*h
	case a == ELU && z <= 0:
		return math.Expm1(z), math.Exp(z)
	case a == Swish:
		return z * s, s + z*s*(1-s)
	case a == GELU:
		t, du := math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)), math.Sqrt(2/math.Pi)*(1+3*0.044715*z*z)
		return 0.5 * z * (1 + t), 0.5*(1+t) + 0.5*z*(1-t*t)*du
	}
	return z, 1
}

func (r *reference) forward(x []float64) []float64 {
	r.in, r.n, r.z, r.rstd, r.back = nil, nil, nil, nil, nil
	var values [][]float64
	for i, l := range r.net.Layers() {
		z, back := r.mapped(l, x)
		if l.Skip > 0 {
			for j, v := range values[i-l.Skip] {
				z[j] += v
			}
		}
		n, rstd := make([]float64, len(z)), make([]float64, len(z)/l.Out)
		for p := range rstd {
			if !l.Norms {
				break
			}
			z, n := z[p*l.Out:][:l.Out], n[p*l.Out:][:l.Out]
			mean, square := 0.0, 0.0
			for _, v := range z {
				mean += v / float64(l.Out)
			}
			for _, v := range z {
				square += (v - mean) * (v - mean) / float64(l.Out)
			}
			rstd[p] = 1 / math.Sqrt(square+1e-6)
			for j := range z {
				n[j] = (z[j] - mean) * rstd[p]
				z[j] = r.row[l.Scale+j]*n[j] + r.row[l.Shift+j]
			}
		}
		r.back = append(r.back, back)
		r.in, r.n, r.z, r.rstd = append(r.in, x), append(r.n, n), append(r.z, z), append(r.rstd, rstd)
		h := make([]float64, len(z))
		for j := range z {
			h[j] = z[j]
			if l.Hidden {
				h[j], _ = activate(l.Activation, z[j])
			}
		}
		x = h
		values = append(values, h)
	}
	return x
}

// mapped returns a layer's affine outputs, and what computes the gradient at its inputs, nil for matrix products.
func (r *reference) mapped(l Layer, x []float64) ([]float64, func(d []float64) []float64) {
	if of := referenceMaps[l.Kind]; of != nil {
		return of(l, x)
	}
	z := make([]float64, l.Units())
	for j := range z {
		z[j] = r.row[l.Bias+j%l.Out]
	}
	affine(l, func(in, weight, out int) { z[out] += x[in] * r.row[weight] })
	return z, nil
}

// backward adds the gradient of the last sample's parameters to sum and returns its inputs'.
func (r *reference) backward(d []float64, sum []float64) []float64 {
	layers := r.net.Layers()
	at := make([][]float64, len(layers)) // gradients at values that later layers add
	for i := len(layers) - 1; i >= 0; i-- {
		l := layers[i]
		d = append([]float64(nil), d...)
		for j, v := range at[i] {
			d[j] += v
		}
		if l.Hidden {
			for j := range d {
				_, slope := activate(l.Activation, r.z[i][j])
				d[j] *= slope
			}
		}
		for p := range r.rstd[i] {
			if !l.Norms {
				break
			}
			d, n := d[p*l.Out:][:l.Out], r.n[i][p*l.Out:][:l.Out]
			mean, dot := 0.0, 0.0
			for j := range d {
				sum[l.Scale+j] += d[j] * n[j]
				sum[l.Shift+j] += d[j]
				d[j] *= r.row[l.Scale+j]
				mean += d[j] / float64(l.Out)
				dot += d[j] * n[j] / float64(l.Out)
			}
			for j := range d {
				d[j] = r.rstd[i][p] * (d[j] - mean - n[j]*dot)
			}
		}
		if l.Skip > 0 {
			at[i-l.Skip] = d
		}
		if back := r.back[i]; back != nil {
			d = back(d)
			continue
		}
		below := make([]float64, len(r.in[i]))
		for j := range d {
			sum[l.Bias+j%l.Out] += d[j]
		}
		affine(l, func(in, weight, out int) {
			sum[weight] += r.in[i][in] * d[out]
			below[in] += d[out] * r.row[weight]
		})
		d = below
	}
	return d
}
