package nn_test

import (
	"fmt"

	"github.com/evorl/evorl/engine/nn"
)

// A model is a description: it needs no device. Its parameters are one row of floats, in the order of its layers.
func ExampleMLP() {
	model := nn.MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: nn.Tanh}
	fmt.Println(model, "has", model.Size(), "parameters")
	for _, l := range model.Layers() {
		fmt.Printf("%d x %d weights at %d, biases at %d\n", l.In, l.Out, l.Weight, l.Bias)
	}
	model.Hidden = []int{0}
	fmt.Println(model.Check())
	// Output:
	// 4-64-64-2 tanh has 4610 parameters
	// 4 x 64 weights at 0, biases at 256
	// 64 x 64 weights at 320, biases at 4416
	// 64 x 2 weights at 4480, biases at 4608
	// nn: hidden layer 1 has 0 units; want 1 to 8192
}
