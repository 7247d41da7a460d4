package evorl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/evorl/evorl/engine/checkpoint"
)

// Tensors returns the policy's arrays, by layer, and its metadata, for checkpoint.WriteSafetensors. The names and
// shapes are those of PyTorch's linear, convolutional and normalizing layers:
//
//	observation.mean, observation.scale           [observations], if normalized
//	layers.0.weight, layers.0.bias                [out, in], [out]
//	layers.0.weight                               [channels, channels of the image, rows, columns], of a convolution
//	layers.0.norm.weight, layers.0.norm.bias      [out], of hidden layers with layer normalization
//	action.middle, action.half                    [dimensions], of continuous actions
//	log_std                                       [dimensions], of Gaussian heads whose deviations do not depend on the state
//
// Convolutions are over images [channels, height, width], and a dense layer after one takes its values in that order. The observation's moments stay in
// the order of the observation, [height, width, channels]. The metadata have layers.0.stride, and layers.0.padding: the zeros to the left and the right of
// the image, above and below it, as torch.nn.functional.pad takes them; and layers.0.activation, if it is not the policy's.
//
// The metadata are the fields of Policy and PolicyAction as text, by their names in JSON, and observation_limit.
func (p *Policy) Tensors() ([]checkpoint.Tensor, map[string]string) {
	var tensors []checkpoint.Tensor
	add := func(name string, values []float32, shape ...int) {
		data := make([]byte, 0, 4*len(values))
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		tensors = append(tensors, checkpoint.Tensor{Name: name, DType: checkpoint.F32, Shape: shape, Data: bytes.NewReader(data)})
	}
	facts := p.facts()
	if o := p.Observation; o != nil {
		add("observation.mean", o.Mean, len(o.Mean))
		add("observation.scale", o.Scale, len(o.Scale))
		facts["observation_limit"] = strconv.FormatFloat(float64(o.Limit), 'g', -1, 32)
	}
	for i, l := range p.Layers {
		name := fmt.Sprintf("layers.%d.", i)
		n := len(l.Bias)
		add(name+"weight", p.byOutput(i), p.weightShape(i)...)
		add(name+"bias", l.Bias, n)
		if w := l.Window; w != nil {
			facts[name+"stride"] = strconv.Itoa(w.Stride)
			facts[name+"padding"] = fmt.Sprintf("%d,%d,%d,%d", w.Left, w.Right, w.Top, w.Bottom)
		}
		if l.Activation != nil {
			facts[name+"activation"] = l.Activation.String()
		}
		if l.Scale != nil {
			add(name+"norm.weight", l.Scale, n)
			add(name+"norm.bias", l.Shift, n)
		}
	}
	a := p.Action
	if middle, half := a.scales(); middle != nil {
		add("action.middle", middle, a.Size)
		add("action.half", half, a.Size)
	}
	if a.LogStd != nil {
		add("log_std", a.LogStd, a.Size)
	}
	facts["layers"], facts["activation"], facts["head"] = strconv.Itoa(len(p.Layers)), p.Activation.String(), a.Head
	facts["discrete"], facts["size"], facts["squash"] = strconv.FormatBool(a.Discrete), strconv.Itoa(a.Size), strconv.FormatBool(a.Squash)
	facts["bins"], facts["atoms"], facts["dueling"] = strconv.Itoa(a.Bins), strconv.Itoa(a.Atoms), strconv.FormatBool(a.Dueling)
	return tensors, facts
}

// weightShape returns the shape of byOutput: [out, in], of a convolution [out, channels, rows, columns].
func (p *Policy) weightShape(layer int) []int {
	l := p.Layers[layer]
	if w := l.Window; w != nil {
		return []int{len(l.Bias), w.Channels, w.Kernel, w.Kernel}
	}
	return []int{len(l.Bias), len(l.Weight)}
}

// byOutput returns a layer's weights by output, row-major: of a convolution, and of a dense layer after one, with the channel as the slowest axis of
// the inputs.
func (p *Policy) byOutput(layer int) []float32 {
	l := p.Layers[layer]
	pixels, channels := len(l.Weight), 1
	if w := l.Window; w != nil {
		pixels, channels = w.Kernel*w.Kernel, w.Channels
	} else if layer > 0 && p.Layers[layer-1].Window != nil {
		w := p.Layers[layer-1].Window
		pixels, channels = w.OutHeight*w.OutWidth, len(p.Layers[layer-1].Bias)
	}
	out := make([]float32, 0, len(l.Weight)*len(l.Bias))
	for o := range l.Bias {
		for c := range channels {
			for i := range pixels {
				out = append(out, l.Weight[i*channels+c][o])
			}
		}
	}
	return out
}
