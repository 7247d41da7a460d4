package nn

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/evorl/evorl/engine"
)

// torchSequence is a sequence of a cell and a linear layer in PyTorch: see tools/reference/recurrent.py.
type torchSequence struct {
	Cell                                string
	Inputs, Units, Outputs, Steps, Rows int
	Params, X, Memory, Slopes           []float32
	Done                                []float64
	Y, Last                             []float64
	AtParams                            []float64 `json:"at_params"`
	AtX                                 []float64 `json:"at_x"`
	AtMemory                            []float64 `json:"at_memory"`
}

// TestRecurrentTorch compares sequences with ends in the middle with PyTorch's LSTM and GRU in float64: outputs, the last memory, and gradients of
// parameters, at the inputs and at the first memory, within 1e-6 of the largest value of each.
func TestRecurrentTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/recurrent.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []torchSequence }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 2 {
		t.Fatalf("%d cases; want those of two cells", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Cell, c.run)
	}
}

func (c torchSequence) run(t *testing.T) {
	model := Recurrent{In: c.Inputs, Out: c.Outputs, Cell: map[string]Kind{"lstm": LSTM, "gru": GRU}[c.Cell], Units: c.Units, Activation: Tanh}
	if len(c.Params) != model.Size() {
		t.Fatalf("%d parameters; want %d", len(c.Params), model.Size())
	}
	s := testState(t)
	net, err := New(s, model, 1, c.Rows)
	if err != nil {
		t.Fatal(err)
	}
	q, err := net.NewSequence(s.Sub("sequence"), c.Steps, c.Rows)
	if err != nil {
		t.Fatal(err)
	}
	p, b, row := engine.Members(1), engine.Environments(c.Rows), Align(model.Size())
	over := func(name string, size int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, engine.Time(c.Steps), p, b, engine.Axis("feature", size))
	}
	x, atX, y, slopes := over("x", c.Inputs), over("at_x", c.Inputs), over("y", c.Outputs), over("slopes", c.Outputs)
	memory := s.Tensor("memory", engine.Float32, p, b, engine.Axis("float", model.Memory()))
	atMemory := s.Tensor("at_memory", engine.Float32, memory.Dims()...)
	params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", row))
	atParams := s.Tensor("at_params", engine.Float32, engine.Axis("split", 1), p, engine.Axis("parameter", row))
	done := s.Tensor("done", engine.Uint32, engine.Time(c.Steps), p, b)
	fill(t, params, append(append([]float32(nil), c.Params...), make([]float32, row-len(c.Params))...))
	for to, values := range map[*engine.Tensor][]float32{x: c.X, slopes: c.Slopes, memory: c.Memory, y: nil, atX: nil, atMemory: nil, atParams: nil} {
		fill(t, to, values)
	}
	words := make([]uint32, len(c.Done))
	for i, v := range c.Done {
		words[i] = uint32(v)
	}
	if err := done.WriteUint32(t.Context(), words); err != nil {
		t.Fatal(err)
	}
	record(t, s, func(r *engine.Recorder) {
		q.Forward(r, Weights{Params: params}, Inputs{Parts: []*engine.Tensor{x}, Memory: memory}, done, y)
		q.Backward(r, slopes, SequenceGradients{Gradients: Gradients{Params: atParams, Inputs: []*engine.Tensor{atX}}, Memory: atMemory})
	})
	for _, of := range []struct {
		name string
		got  []float32
		want []float64
	}{
		{"outputs", read(t, y), c.Y}, {"last memory", read(t, q.Memory()), c.Last}, {"gradient of parameters", read(t, atParams)[:model.Size()], c.AtParams},
		{"gradient at inputs", read(t, atX), c.AtX}, {"gradient at the memory", read(t, atMemory), c.AtMemory},
	} {
		if len(of.got) != len(of.want) {
			t.Fatalf("%s: %d values; want %d", of.name, len(of.got), len(of.want))
		}
		worst, largest := 0.0, 0.0
		for i, v := range of.want {
			worst, largest = max(worst, math.Abs(float64(of.got[i])-v)), max(largest, math.Abs(v))
		}
		if t.Logf("%s: largest deviation %.1e of %.1f", of.name, worst, largest); !(worst <= 1e-6*largest) {
			t.Errorf("%s deviate from PyTorch's by %g of %g", of.name, worst, largest)
		}
	}
}
