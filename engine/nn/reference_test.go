package nn

import "math"

// reference evaluates a perceptron in float64 and back-propagates through it.
type reference struct {
	net Model
	row []float64 // parameters
	// of the last sample, by layer: inputs, affine outputs before and after normalization, inputs of the activation
	in, n, z [][]float64
	rstd     []float64
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
	r.in, r.n, r.z, r.rstd = nil, nil, nil, nil
	for _, l := range r.net.Layers() {
		z := make([]float64, l.Out)
		for j := range z {
			z[j] = r.row[l.Bias+j]
			for k, v := range x {
				z[j] += v * r.row[l.Weight+k*l.Out+j]
			}
		}
		n, rstd := make([]float64, l.Out), 0.0
		if l.Norms {
			mean, square := 0.0, 0.0
			for _, v := range z {
				mean += v / float64(l.Out)
			}
			for _, v := range z {
				square += (v - mean) * (v - mean) / float64(l.Out)
			}
			rstd = 1 / math.Sqrt(square+1e-6)
			for j := range z {
				n[j] = (z[j] - mean) * rstd
				z[j] = r.row[l.Scale+j]*n[j] + r.row[l.Shift+j]
			}
		}
		r.in, r.n, r.z, r.rstd = append(r.in, x), append(r.n, n), append(r.z, z), append(r.rstd, rstd)
		h := make([]float64, l.Out)
		for j := range z {
			h[j] = z[j]
			if l.Hidden {
				h[j], _ = activate(l.Activation, z[j])
			}
		}
		x = h
	}
	return x
}

// backward adds the gradient of the last sample's parameters to sum and returns that of its inputs.
func (r *reference) backward(d []float64, sum []float64) []float64 {
	layers := r.net.Layers()
	for i := len(layers) - 1; i >= 0; i-- {
		l := layers[i]
		d = append([]float64(nil), d...)
		if l.Hidden {
			for j := range d {
				_, slope := activate(l.Activation, r.z[i][j])
				d[j] *= slope
			}
		}
		if l.Norms {
			mean, dot := 0.0, 0.0
			for j := range d {
				sum[l.Scale+j] += d[j] * r.n[i][j]
				sum[l.Shift+j] += d[j]
				d[j] *= r.row[l.Scale+j]
				mean += d[j] / float64(l.Out)
				dot += d[j] * r.n[i][j] / float64(l.Out)
			}
			for j := range d {
				d[j] = r.rstd[i] * (d[j] - mean - r.n[i][j]*dot)
			}
		}
		below := make([]float64, l.In)
		for j := range d {
			sum[l.Bias+j] += d[j]
			for k, x := range r.in[i] {
				sum[l.Weight+k*l.Out+j] += x * d[j]
				below[k] += d[j] * r.row[l.Weight+k*l.Out+j]
			}
		}
		d = below
	}
	return d
}
