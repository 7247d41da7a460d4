package rl

import (
	"math"

	"github.com/evorl/evorl/engine/nn"
)

// What the kernels compute, in float64 and from the definitions, for the tests to compare with.

// forward is the output of a network with parameters from row[0] on.
func forward(m nn.Model, row, x []float64) []float64 {
	for _, l := range m.Layers() {
		var y []float64
		for place := range max(1, l.Window.OutHeight*l.Window.OutWidth) {
			under := x
			if l.Kind == nn.Convolution {
				under = patch(l.Window, x, place)
			}
			for o := range l.Out {
				sum := row[l.Bias+o]
				for i, v := range under {
					sum += v * row[l.Weight+i*l.Out+o]
				}
				y = append(y, sum)
			}
		}
		if l.Norms {
			mean, variance := moments(y)
			for o, v := range y {
				y[o] = row[l.Scale+o]*(v-mean)/math.Sqrt(variance+1e-6) + row[l.Shift+o]
			}
		}
		if l.Hidden {
			for o, v := range y {
				y[o] = activation(l.Activation, v)
			}
		}
		x = y
	}
	return x
}

// patch is the part of an image under a window at a place.
func patch(w nn.Window, image []float64, place int) (under []float64) {
	for ky := range w.Kernel {
		for kx := range w.Kernel {
			y, x := place/w.OutWidth*w.Stride+ky-w.Top, place%w.OutWidth*w.Stride+kx-w.Left
			for c := range w.Channels {
				v := 0.0
				if y >= 0 && y < w.Height && x >= 0 && x < w.Width {
					v = image[(y*w.Width+x)*w.Channels+c]
				}
				under = append(under, v)
			}
		}
	}
	return under
}

func activation(kind nn.Activation, z float64) float64 {
	switch kind {
	case nn.ReLU:
		return max(z, 0)
	case nn.Tanh:
		return math.Tanh(z)
	case nn.ELU:
		if z < 0 {
			return math.Expm1(z)
		}
		return z
	case nn.Swish:
		return z / (1 + math.Exp(-z))
	case nn.GELU:
		return 0.5 * z * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
	}
	return z
}

// moments are mean and population variance.
func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, variance
}

// logSoftmax are the log-probabilities of logits.
func logSoftmax(logits []float64) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, l := range logits {
		top = max(top, l)
	}
	for _, l := range logits {
		sum += math.Exp(l - top)
	}
	out := make([]float64, len(logits))
	for i, l := range logits {
		out[i] = l - top - math.Log(sum)
	}
	return out
}

// logProb is the log-probability of an action as sampled, given the network's outputs y and the log standard deviations that are parameters; and the
// entropy, of squashed Gaussians that before tanh.
func logProb(h nn.Head, y, logStd, action []float64) (logProb, entropy float64) {
	for i, a := range action {
		if h.Kind != nn.Gaussian {
			logs := logSoftmax(y[i*h.Width() : (i+1)*h.Width()])
			for _, l := range logs {
				entropy -= math.Exp(l) * l
			}
			logProb += logs[int(a)]
			continue
		}
		var s float64
		if h.StateDependent {
			low, high := float64(h.LogStdLow), float64(h.LogStdHigh)
			s = low + (high-low)*(math.Tanh(y[h.Size+i])+1)/2
		} else {
			s = logStd[i]
		}
		z := (a - y[i]) / math.Exp(s)
		logProb -= z*z/2 + s + math.Log(2*math.Pi)/2
		entropy += s + (1+math.Log(2*math.Pi))/2
	}
	return logProb, entropy
}

// normalized is an observation as the networks take it; values is mean and reciprocal deviation, [2, O], nil for none.
func normalized(obs, values []float64, limit float64) []float64 {
	out := append([]float64(nil), obs...)
	if values == nil {
		return out
	}
	for i, v := range obs {
		out[i] = min(max((v-values[i])*values[len(obs)+i], -limit), limit)
	}
	return out
}

// remember is a step of a network with memory, and the memory after it.
func remember(m nn.Model, row, x, memory []float64) (y, next []float64) {
	for _, l := range m.Layers() {
		if l.Memory() == 0 {
			x = forward(oneLayer{m, l}, row, x)
			continue
		}
		u, gates := l.Out, 4
		if l.Kind == nn.GRU {
			gates = 3
		}
		product := func(x []float64, at, gate, j int) (sum float64) {
			for i, v := range x {
				sum += v * row[at+i*gates*u+gate*u+j]
			}
			return sum
		}
		input := func(gate, j int) float64 { return product(x, l.Weight, gate, j) + row[l.Bias+gate*u+j] }
		state := func(gate, j int) float64 { return product(memory[:u], l.Recurrent, gate, j) }
		sigmoid := func(gate, j int) float64 { return 1 / (1 + math.Exp(-input(gate, j)-state(gate, j))) }
		next = make([]float64, len(memory))
		for j := range u {
			if l.Kind == nn.GRU {
				n := math.Tanh(input(2, j) + sigmoid(0, j)*(state(2, j)+row[l.RecurrentBias+j]))
				z := sigmoid(1, j)
				next[j] = (1-z)*n + z*memory[j]
				continue
			}
			next[u+j] = sigmoid(1, j)*memory[u+j] + sigmoid(0, j)*math.Tanh(input(2, j)+state(2, j))
			next[j] = sigmoid(3, j) * math.Tanh(next[u+j])
		}
		x = next[:u]
	}
	return x, next
}

// oneLayer is a layer of a model.
type oneLayer struct {
	nn.Model
	layer nn.Layer
}

func (m oneLayer) Layers() []nn.Layer { return []nn.Layer{m.layer} }
