package evorl

import (
	"fmt"
	"strconv"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/onnx"
	"github.com/evorl/evorl/engine/rundir"
)

// ONNX returns the policy as a model for onnxruntime and similar runtimes, including the normalization of
// observations and the head.
//
// Its input is obs, float [batch, observations], in the environment's units; an image in the order
// [height, width, channels]. Its first output is action: int64
// [batch] for discrete actions, else float [batch, dimensions] in the environment's units, before the environment
// clips it to its bounds. Discrete actions have a second output, float [batch, actions]: logits of categorical heads,
// otherwise values, the expected returns. Distributional values are mean atom indices, which order actions equally.
//
// A policy with memory has a second input memory, float [batch, H], zeros at the beginning of an episode, and a last output next_memory for the next step.
func (p *Policy) ONNX() onnx.Model {
	g := &policyGraph{}
	g.Name = p.Workflow + " on " + p.Env
	batch := onnx.Dim{Name: "batch"}
	g.Inputs = []onnx.Value{{Name: "obs", Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: p.inputs()}}}}
	memory := ""
	if floats := p.memory(); floats > 0 {
		memory = "memory"
		g.Inputs = append(g.Inputs, onnx.Value{Name: memory, Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: floats}}})
	}
	layers, row := p.network()
	y, next := nn.Export(&g.Builder, layers, row, g.observation(p.Observation), memory)
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
	if memory != "" {
		g.Named("next_memory", "Identity", []string{next})
		g.Outputs = append(g.Outputs, onnx.Value{Name: "next_memory", Type: onnx.Float32, Shape: []onnx.Dim{batch, {Size: p.memory()}}})
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
type policyGraph struct{ onnx.Builder }

// observation normalizes observations.
func (g *policyGraph) observation(o *PolicyObservation) string {
	if o == nil {
		return "obs"
	}
	n := len(o.Mean)
	x := g.Node("Sub", []string{"obs", g.Floats("observation.mean", o.Mean, n)})
	x = g.Node("Mul", []string{x, g.Floats("observation.scale", o.Scale, n)})
	return g.Node("Clip", []string{x, g.Floats("observation.low", []float32{-o.Limit}), g.Floats("observation.high", []float32{o.Limit})})
}

// argMax adds the index of the largest value along the last axis, the first among equals.
func (g *policyGraph) argMax(result, x string) string {
	return g.Named(result, "ArgMax", []string{x}, onnx.Int("axis", -1), onnx.Int("keepdims", 0))
}

// choose adds a discrete action, the one with the highest score, and the scores of all actions.
func (g *policyGraph) choose(a PolicyAction, y string) (action, scores string) {
	if a.Head != nn.EpsilonGreedy.String() {
		scores = g.Named("logits", "Identity", []string{y})
		return g.argMax("action", scores), scores
	}
	if a.Atoms > 1 {
		outputs := int64(a.Size)
		if a.Dueling {
			outputs++
		}
		y = g.Node("Reshape", []string{y, g.Ints("atoms.shape", 0, outputs, int64(a.Atoms))}) // 0: the batch size
	}
	ordered := y // orders actions as the device does, without the rounding of the state value
	if a.Dueling {
		along, start, split, end := g.Ints("axis", 1), g.Ints("first", 0), g.Ints("actions", int64(a.Size)), g.Ints("outputs", int64(a.Size)+1)
		advantages := g.Node("Slice", []string{y, start, split, along})
		state := g.Node("Slice", []string{y, split, end, along})
		mean := g.Node("ReduceMean", []string{advantages}, onnx.Ints("axes", 1))
		ordered = advantages
		y = g.Node("Add", []string{advantages, g.Node("Sub", []string{state, mean})})
	}
	if a.Atoms > 1 {
		numbers := make([]float32, a.Atoms)
		for i := range numbers {
			numbers[i] = float32(i)
		}
		y = g.Node("Mul", []string{g.Node("Softmax", []string{y}, onnx.Int("axis", -1)), g.Floats("atoms", numbers, a.Atoms)})
		y = g.Node("ReduceSum", []string{y, g.Ints("atoms.axis", -1)}, onnx.Int("keepdims", 0))
		ordered = y
	}
	scores = g.Named("values", "Identity", []string{y})
	return g.argMax("action", ordered), scores
}

// control adds a continuous action in the environment's units.
func (g *policyGraph) control(a PolicyAction, outputs int, y string) string {
	switch {
	case a.Bins > 1:
		y = g.Node("Reshape", []string{y, g.Ints("bins.shape", 0, int64(a.Size), int64(a.Bins))})
		y = g.Node("Cast", []string{g.argMax("bins", y)}, onnx.Int("to", int64(onnx.Float32)))
		y = g.Node("Mul", []string{y, g.Floats("bins.width", []float32{2 / float32(a.Bins-1)})})
		y = g.Node("Sub", []string{y, g.Floats("bins.middle", []float32{1})})
	case outputs > a.Size: // log standard deviations follow the means
		y = g.Node("Slice", []string{y, g.Ints("first", 0), g.Ints("dimensions", int64(a.Size)), g.Ints("axis", 1)})
	}
	if a.Squash {
		y = g.Node("Tanh", []string{y})
	}
	middle, half := a.scales()
	y = g.Node("Mul", []string{y, g.Floats("action.half", half, a.Size)})
	return g.Named("action", "Add", []string{y, g.Floats("action.middle", middle, a.Size)})
}
