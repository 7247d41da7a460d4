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
// shapes are those of PyTorch's linear and normalizing layers:
//
//	observation.mean, observation.scale           [observations], if normalized
//	layers.0.weight, layers.0.bias                [out, in], [out]
//	layers.0.norm.weight, layers.0.norm.bias      [out], of hidden layers with layer normalization
//	action.middle, action.half                    [dimensions], of continuous actions
//	log_std                                       [dimensions], of Gaussian heads whose deviations do not depend on the state
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
		add(name+"weight", l.byOutput(), n, len(l.Weight))
		add(name+"bias", l.Bias, n)
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

// byOutput returns the weights as [out][in], row-major.
func (l PolicyLayer) byOutput() []float32 {
	out := make([]float32, 0, len(l.Weight)*len(l.Bias))
	for o := range l.Bias {
		for _, row := range l.Weight {
			out = append(out, row[o])
		}
	}
	return out
}
