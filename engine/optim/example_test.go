package optim_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

// Four networks with four learning rates learn the exclusive or of two bits. The gradient of the loss at their outputs is computed on the host;
// everything else stays on the device.
func Example() {
	errors, err := exclusiveOr(context.Background(), []float32{1e-3, 3e-3, 1e-2, 3e-2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the larger the rate, the smaller the error:", errors[0] > errors[1] && errors[1] > errors[2] && errors[2] > errors[3])
	// Output: the larger the rate, the smaller the error: true
}

func exclusiveOr(ctx context.Context, rates []float32) (errors []float32, err error) {
	dev, err := vk.Open()
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	eng := engine.New(dev, engine.Seed(7))
	s := eng.NewState()
	defer s.Close()
	members, rows := engine.Members(len(rates)), engine.Axis("row", 4)
	model := nn.MLP{In: 2, Out: 1, Hidden: []int{8}, Activation: nn.Tanh}

	net, err := nn.New(s, model, members.Size, rows.Size)
	if err != nil {
		return nil, err
	}
	pass, err := net.NewPass(s, rows.Size)
	if err != nil {
		return nil, err
	}
	rate := s.Tensor("learning_rate", engine.Float32, members)
	adam := optim.New(s, optim.DefaultAdam, rate, nn.Align(model.Size()))
	pass.Learn(s, adam.Params())
	inputs := s.Tensor("inputs", engine.Float32, members, rows, engine.Axis("bit", 2))
	outputs := s.Scratch("outputs", engine.Float32, members, rows, engine.Axis("output", 1))
	atOutputs := s.Scratch("gradient_at_outputs", engine.Float32, members, rows, engine.Axis("output", 1))
	if err := s.Zero(ctx); err != nil {
		return nil, err
	}

	params := make([]float32, adam.Params().Len())
	bits := make([]float32, 0, inputs.Len())
	for p := range rates { // all members begin with the same weights
		model.Init(params[p*nn.Align(model.Size()):], nn.Orthogonal, 1, 1, engine.NewRng(7, 0, 0, 0, 0))
		bits = append(bits, 0, 0, 0, 1, 1, 0, 1, 1)
	}
	for tensor, values := range map[*engine.Tensor][]float32{rate: rates, inputs: bits, adam.Params(): params} {
		if err := tensor.WriteFloat32(ctx, values); err != nil {
			return nil, err
		}
	}

	loss := func(ctx context.Context) error { // of (y - target)² / 2
		y, err := outputs.ReadFloat32(ctx)
		if err != nil {
			return err
		}
		errors = make([]float32, len(rates))
		for i := range y {
			y[i] -= []float32{0, 1, 1, 0}[i%4]
			errors[i/4] += y[i] * y[i]
		}
		return atOutputs.WriteFloat32(ctx, y)
	}
	weights := nn.Weights{Params: adam.Params()}
	step, err := eng.Record("steps", func(r *engine.Recorder) {
		r.Repeat(300, func(r *engine.Recorder, _ engine.Counter) {
			pass.Forward(r, weights, nn.Inputs{Parts: []*engine.Tensor{inputs}}, outputs)
			r.Host("loss", loss)
			adam.Step(r, pass.Gradient(r, atOutputs))
		})
	})
	if err != nil {
		return nil, err
	}
	defer step.Free()
	return errors, step.Run(ctx)
}
