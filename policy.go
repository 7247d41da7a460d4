package evorl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
)

// Policy is a member's policy with everything that another program needs to act with it: layers applied to the
// observation in turn, x → activation(norm(x · weight + bias)), the last one without norm and activation.
// tools/peers/transfer.py is such a program. evorl export --policy writes it as JSON; ONNX and Tensors return other
// forms.
type Policy struct {
	Format    string `json:"format"` // policyFormat
	Workflow  string `json:"workflow"`
	Env       string `json:"env"`
	Iteration int    `json:"iteration"`
	Member    int    `json:"member"`
	Digest    string `json:"digest"` // of the checkpoint

	TimeLimit    int `json:"time_limit"`    // environment steps of an episode; 0: the environment's own
	ActionRepeat int `json:"action_repeat"` // environment steps for which an action is repeated

	Observation *PolicyObservation `json:"observation"` // normalization of observations; null: none
	Activation  nn.Activation      `json:"activation"`  // linear, relu, tanh, elu, swish, gelu
	Layers      []PolicyLayer      `json:"layers"`
	Action      PolicyAction       `json:"action"`
}

// policyFormat must change if programs that read the previous format would act wrongly. Policies whose layers are not all dense, or have activations
// of their own, have another one.
const (
	policyFormat = "evorl policy 2"
	imageFormat  = "evorl policy 3"
)

// inputs returns the number of the network's inputs.
func (p *Policy) inputs() int {
	if w := p.Layers[0].Window; w != nil {
		return w.Height * w.Width * w.Channels
	}
	return len(p.Layers[0].Weight)
}

// outputs returns the number of the network's outputs.
func (p *Policy) outputs() int { return len(p.Layers[len(p.Layers)-1].Bias) }

// PolicyObservation is x → clip((x - mean) · scale, ±limit).
type PolicyObservation struct {
	Mean  []float32 `json:"mean"`
	Scale []float32 `json:"scale"` // reciprocal deviations
	Limit float32   `json:"limit"`
}

// PolicyLayer is an affine map; with Scale and Shift it is followed by layer normalization. With Window it is a convolution: the map is applied at
// every place of the window to the floats under it, row by row, pixel by pixel, channel by channel, and normalization is over the channels of a place.
// Images, and the values of convolutions, are [height][width][channels], in which order a dense layer takes them.
type PolicyLayer struct {
	Weight [][]float32 `json:"weight"` // [in][out]
	Bias   []float32   `json:"bias"`   // [out]
	Scale  []float32   `json:"scale,omitempty"`
	Shift  []float32   `json:"shift,omitempty"`

	Window     *PolicyWindow  `json:"window,omitempty"`
	Activation *nn.Activation `json:"activation,omitempty"` // if it is not the policy's
}

// PolicyWindow is how a convolution goes over its image: see nn.Window.
type PolicyWindow struct {
	Height    int `json:"height"` // of the image
	Width     int `json:"width"`
	Channels  int `json:"channels"`
	Kernel    int `json:"kernel"` // rows and columns of the window
	Stride    int `json:"stride"`
	Top       int `json:"top"` // rows and columns of zeros around the image
	Left      int `json:"left"`
	Bottom    int `json:"bottom"`
	Right     int `json:"right"`
	OutHeight int `json:"out_height"` // places of the window
	OutWidth  int `json:"out_width"`
}

// activation returns the activation after a hidden layer.
func (p *Policy) activation(l PolicyLayer) nn.Activation {
	if l.Activation != nil {
		return *l.Activation
	}
	return p.Activation
}

// PolicyAction turns the outputs y into the most likely action, of Size choices or dimensions.
//
// Discrete: the index of the largest of the first Size outputs. With Atoms above 1 each action has that many outputs;
// its value is the mean atom index under their softmax, and the action is that of the largest value. With Dueling the
// outputs of actions are advantages, followed by the outputs of the state value, as many as one action has; each
// action's outputs are the state's plus its own minus their mean over the actions.
//
// Continuous: (low + high) / 2 + (high - low) / 2 · y, where y passes tanh first if Squash; y itself in a dimension
// without bounds. With Bins above 1 every dimension has Bins outputs; the index i of the largest gives y = 2 i /
// (bins - 1) - 1. Otherwise outputs after the first Size are log standard deviations.
type PolicyAction struct {
	Head     string    `json:"head"` // nn.HeadKind: categorical, gaussian, deterministic, epsilon_greedy, binned
	Discrete bool      `json:"discrete"`
	Size     int       `json:"size"`
	Low      []Number  `json:"low,omitempty"` // null: unbounded
	High     []Number  `json:"high,omitempty"`
	Squash   bool      `json:"squash"`
	Bins     int       `json:"bins"`
	Atoms    int       `json:"atoms"`
	Dueling  bool      `json:"dueling"`
	LogStd   []float32 `json:"log_std,omitempty"` // of the exploration of a Gaussian head, if they do not depend on the state
}

// scales returns the middle and half width of the range of each dimension; 0 and 1 if unbounded.
func (a PolicyAction) scales() (middle, half []float32) {
	for i, low := range a.Low {
		m, h := float32(0), float32(1)
		if width := float64(a.High[i] - low); !math.IsInf(width, 0) {
			m, h = float32(low+a.High[i])/2, float32(a.High[i]-low)/2
		}
		middle, half = append(middle, m), append(half, h)
	}
	return middle, half
}

// Policy reads the policy of a member.
func (r *Restored) Policy(ctx context.Context, member int) (*Policy, error) {
	if err := r.check(member); err != nil {
		return nil, err
	}
	ev, err := r.evaluator(ctx)
	if err != nil {
		return nil, err
	}
	of := ev.Policy()
	params, normalizer, err := of.Member(ctx, member)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		Format: policyFormat, Workflow: r.cfg.Run.Workflow, Env: r.cfg.Run.Env, Iteration: r.Iteration(), Member: member,
		Digest: r.checkpoint.Manifest.Digest, TimeLimit: r.cfg.Environment.TimeLimit, ActionRepeat: max(1, r.cfg.Environment.ActionRepeat),
		Activation: of.Network.Layers()[0].Activation, Action: PolicyAction{
			Head: of.Head.Kind.String(), Size: of.Head.Size, Squash: of.Head.Squash && of.Head.Kind != nn.Binned,
			Bins: of.Head.Bins, Atoms: of.Head.Atoms, Dueling: of.Head.Dueling,
		},
	}
	if n := of.Head.Parameters(); n > 0 {
		p.Action.LogStd = params[of.Network.Size():][:n]
	}
	if n := of.Network.Inputs().Size(); normalizer != nil {
		p.Observation = &PolicyObservation{normalizer[:n], normalizer[n:], of.ObsLimit}
	}
	for i, l := range of.Network.Layers() {
		layer := PolicyLayer{Bias: params[l.Bias : l.Bias+l.Out]}
		switch l.Kind {
		case nn.Dense:
		case nn.Convolution:
			w := l.Window
			layer.Window = &PolicyWindow{
				w.Height, w.Width, w.Channels, w.Kernel, w.Stride, w.Top, w.Left, w.Bottom(), w.Right(), w.OutHeight, w.OutWidth,
			}
			p.Format = imageFormat
		default:
			return nil, fmt.Errorf("evorl: layer %d of network %v is %v; want dense layers and convolutions, which alone can be exported", i+1, of.Network, l.Kind)
		}
		if l.Hidden && l.Activation != p.Activation {
			layer.Activation, p.Format = &l.Activation, imageFormat
		}
		for i := range l.In {
			layer.Weight = append(layer.Weight, params[l.Weight+i*l.Out:l.Weight+(i+1)*l.Out])
		}
		if l.Norms {
			layer.Scale, layer.Shift = params[l.Scale:l.Scale+l.Out], params[l.Shift:l.Shift+l.Out]
		}
		p.Layers = append(p.Layers, layer)
	}
	space := r.cfg.Env().Action
	p.Action.Discrete = space.IsDiscrete()
	p.Action.Low, p.Action.High = bounds(space.Low), bounds(space.High)
	return p, nil
}

func bounds(of []float32) []Number {
	var out []Number
	for _, v := range of {
		out = append(out, Number(v))
	}
	return out
}

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
