package evorl

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/onnx"
	"github.com/evorl/evorl/engine/rundir"
)

// normEpsilon is added to the variance by layer normalization (shaders/engine/nn/mlp.glsl).
const normEpsilon = 1e-6

// ONNX returns the policy as a model for onnxruntime and similar runtimes, including the normalization of
// observations and the head.
//
// Its input is obs, float [batch, observations], in the environment's units; those of an image in the order
// [height, width, channels]. Its first output is action: int64
// [batch] for discrete actions, else float [batch, dimensions] in the environment's units, before the environment
// clips it to its bounds. Discrete actions have a second output, float [batch, actions]: logits of categorical heads,
// otherwise values, the expected returns. Distributional values are mean atom indices, which order actions equally.
func (p *Policy) ONNX() onnx.Model {
	g := &policyGraph{}
	g.Name = p.Workflow + " on " + p.Env
	batch := onnx.Dim{Name: "batch"}
	g.Inputs = []onnx.Value{{Name: "obs", Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: p.inputs()}}}}
	y := g.network(p, g.observation(p.Observation))
	if a := p.Action; a.Discrete {
		action, scores := g.choose(a, y)
		g.Outputs = []onnx.Value{
			{Name: action, Type: onnx.Int64, Shape: []onnx.Dim{batch}},
			{Name: scores, Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: a.Size}}},
		}
	} else {
		action := g.control(a, p.outputs(), y)
		g.Outputs = []onnx.Value{{Name: action, Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: a.Size}}}}
	}
	return onnx.Model{
		Producer: "evorl", ProducerVersion: rundir.Version(), Metadata: p.facts(), Graph: g.Graph,
		Doc: fmt.Sprintf("The likeliest actions of member %d of %s on %s after %d iterations.", p.Member, p.Workflow, p.Env, p.Iteration),
	}
}

// facts describes the policy to programs, as text.
func (p *Policy) facts() map[string]string {
	return map[string]string{
		"format": p.Format, "workflow": p.Workflow, "env": p.Env, "iteration": strconv.Itoa(p.Iteration), "member": strconv.Itoa(p.Member),
		"digest": p.Digest, "time_limit": strconv.Itoa(p.TimeLimit), "action_repeat": strconv.Itoa(p.ActionRepeat),
	}
}

// policyGraph is a graph under construction. Its methods add nodes and return the names of their results.
type policyGraph struct {
	onnx.Graph
	count int
}

// node adds a node whose result has a unique name.
func (g *policyGraph) node(op string, inputs []string, attributes ...onnx.Attribute) string {
	g.count++
	return g.named(op+strconv.Itoa(g.count), op, inputs, attributes...)
}

func (g *policyGraph) named(result, op string, inputs []string, attributes ...onnx.Attribute) string {
	g.Nodes = append(g.Nodes, onnx.Node{Op: op, Inputs: inputs, Outputs: []string{result}, Attributes: attributes})
	return result
}

// floats adds a constant.
func (g *policyGraph) floats(name string, values []float32, shape ...int) string {
	g.Initializers = append(g.Initializers, onnx.Tensor{Name: name, Shape: shape, Floats: values})
	return name
}

// constant adds a number, once for all layers.
func (g *policyGraph) constant(name string, value float64) string {
	if slices.ContainsFunc(g.Initializers, func(t onnx.Tensor) bool { return t.Name == name }) {
		return name
	}
	return g.floats(name, []float32{float32(value)}, 1)
}

func (g *policyGraph) ints(name string, values ...int64) string {
	g.Initializers = append(g.Initializers, onnx.Tensor{Name: name, Shape: []int{len(values)}, Ints: values})
	return name
}

// observation normalizes observations.
func (g *policyGraph) observation(o *PolicyObservation) string {
	if o == nil {
		return "obs"
	}
	n := len(o.Mean)
	x := g.node("Sub", []string{"obs", g.floats("observation.mean", o.Mean, n)})
	x = g.node("Mul", []string{x, g.floats("observation.scale", o.Scale, n)})
	return g.node("Clip", []string{x, g.floats("observation.low", []float32{-o.Limit}), g.floats("observation.high", []float32{o.Limit})})
}

// network adds the layers and returns their outputs.
func (g *policyGraph) network(p *Policy, x string) string {
	if w := p.Layers[0].Window; w != nil {
		x = g.node("Reshape", []string{x, g.ints("image.shape", 0, int64(w.Height), int64(w.Width), int64(w.Channels))})
		x = g.node("Transpose", []string{x}, onnx.Ints("perm", channelsFirst...))
	}
	for i, l := range p.Layers {
		name := fmt.Sprintf("layers.%d.", i)
		n := len(l.Bias)
		if w := l.Window; w == nil && i > 0 && p.Layers[i-1].Window != nil {
			x = g.node("Reshape", []string{x, g.ints("flat.shape", 0, int64(len(l.Weight)))})
		}
		inputs := []string{x, g.floats(name+"weight", p.byOutput(i), p.weightShape(i)...), g.floats(name+"bias", l.Bias, n)}
		if w := l.Window; w != nil {
			k, s := int64(w.Kernel), int64(w.Stride)
			x = g.node("Conv", inputs, onnx.Ints("kernel_shape", k, k), onnx.Ints("strides", s, s),
				onnx.Ints("pads", int64(w.Top), int64(w.Left), int64(w.Bottom), int64(w.Right)))
		} else {
			x = g.node("Gemm", inputs, onnx.Int("transB", 1))
		}
		if i == len(p.Layers)-1 {
			break
		}
		if l.Scale != nil {
			x = g.norm(l, name, x)
		}
		x = g.activate(p.activation(l), x)
	}
	return x
}

// The orders of the axes of images: ONNX has the channel before height and width, evorl after them.
var channelsFirst, channelsLast = []int64{0, 3, 1, 2}, []int64{0, 2, 3, 1}

// norm adds a layer's normalization: of a convolution, over the channels of each place.
func (g *policyGraph) norm(l PolicyLayer, name, x string) string {
	if l.Window != nil {
		x = g.node("Transpose", []string{x}, onnx.Ints("perm", channelsLast...))
	}
	n := len(l.Bias)
	x = g.node("LayerNormalization", []string{x, g.floats(name+"norm.weight", l.Scale, n), g.floats(name+"norm.bias", l.Shift, n)},
		onnx.Float("epsilon", normEpsilon))
	if l.Window != nil {
		x = g.node("Transpose", []string{x}, onnx.Ints("perm", channelsFirst...))
	}
	return x
}

func (g *policyGraph) activate(of nn.Activation, x string) string {
	switch of {
	case nn.ReLU:
		return g.node("Relu", []string{x})
	case nn.Tanh:
		return g.node("Tanh", []string{x})
	case nn.ELU:
		return g.node("Elu", []string{x})
	case nn.Swish:
		return g.node("Mul", []string{x, g.node("Sigmoid", []string{x})})
	case nn.GELU: // operator set 20 is the first with Gelu; x sigmoid(2 u) is its approximation with tanh(u)
		cubic := g.node("Mul", []string{g.constant("gelu.cubic", 2*math.Sqrt(2/math.Pi)*0.044715), g.node("Mul", []string{x, x})})
		slope := g.node("Add", []string{g.constant("gelu.linear", 2*math.Sqrt(2/math.Pi)), cubic})
		return g.node("Mul", []string{x, g.node("Sigmoid", []string{g.node("Mul", []string{x, slope})})})
	}
	return x
}

// argMax adds the index of the largest value along the last axis, the first among equals.
func (g *policyGraph) argMax(result, x string) string {
	return g.named(result, "ArgMax", []string{x}, onnx.Int("axis", -1), onnx.Int("keepdims", 0))
}

// choose adds a discrete action, and the scores of all actions, of which it has the highest.
func (g *policyGraph) choose(a PolicyAction, y string) (action, scores string) {
	if a.Head != nn.EpsilonGreedy.String() {
		scores = g.named("logits", "Identity", []string{y})
		return g.argMax("action", scores), scores
	}
	if a.Atoms > 1 {
		outputs := int64(a.Size)
		if a.Dueling {
			outputs++
		}
		y = g.node("Reshape", []string{y, g.ints("atoms.shape", 0, outputs, int64(a.Atoms))}) // 0: the batch size
	}
	ordered := y // orders actions as the device does, without the rounding of the state value
	if a.Dueling {
		along, start, split, end := g.ints("axis", 1), g.ints("first", 0), g.ints("actions", int64(a.Size)), g.ints("outputs", int64(a.Size)+1)
		advantages := g.node("Slice", []string{y, start, split, along})
		state := g.node("Slice", []string{y, split, end, along})
		mean := g.node("ReduceMean", []string{advantages}, onnx.Ints("axes", 1))
		ordered = advantages
		y = g.node("Add", []string{advantages, g.node("Sub", []string{state, mean})})
	}
	if a.Atoms > 1 {
		numbers := make([]float32, a.Atoms)
		for i := range numbers {
			numbers[i] = float32(i)
		}
		y = g.node("Mul", []string{g.node("Softmax", []string{y}, onnx.Int("axis", -1)), g.floats("atoms", numbers, a.Atoms)})
		y = g.node("ReduceSum", []string{y, g.ints("atoms.axis", -1)}, onnx.Int("keepdims", 0))
		ordered = y
	}
	scores = g.named("values", "Identity", []string{y})
	return g.argMax("action", ordered), scores
}

// control adds a continuous action in the environment's units.
func (g *policyGraph) control(a PolicyAction, outputs int, y string) string {
	switch {
	case a.Bins > 1:
		y = g.node("Reshape", []string{y, g.ints("bins.shape", 0, int64(a.Size), int64(a.Bins))})
		y = g.node("Cast", []string{g.argMax("bins", y)}, onnx.Int("to", int64(onnx.Float32)))
		y = g.node("Mul", []string{y, g.floats("bins.width", []float32{2 / float32(a.Bins-1)})})
		y = g.node("Sub", []string{y, g.floats("bins.middle", []float32{1})})
	case outputs > a.Size: // log standard deviations follow the means
		y = g.node("Slice", []string{y, g.ints("first", 0), g.ints("dimensions", int64(a.Size)), g.ints("axis", 1)})
	}
	if a.Squash {
		y = g.node("Tanh", []string{y})
	}
	middle, half := a.scales()
	y = g.node("Mul", []string{y, g.floats("action.half", half, a.Size)})
	return g.named("action", "Add", []string{y, g.floats("action.middle", middle, a.Size)})
}
