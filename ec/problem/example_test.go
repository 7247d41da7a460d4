package problem_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// styblinskiTang is to be minimised; its negative is the fitness.
const styblinskiTang = `
void evaluate(inout float f[OBJECTIVES]) {
    for (uint i = 0u; i < DIM; i++) {
        float x2 = x(i) * x(i);
        f[0] -= 0.5 * (x2 * x2 - 16.0 * x2 + 5.0 * x(i));
    }
}
`

// A user-defined function is a few lines of GLSL: all candidates of all searches are evaluated at once, on the
// device.
func ExampleGLSL() {
	ctx := context.Background()
	spec := problem.GLSLSpec{Name: "styblinski-tang", Space: ec.Space{Dim: 2, Low: []float32{-5, -5}, High: []float32{5, 5}}, Iterations: 2}
	function, err := problem.GLSL(ctx, spec, styblinskiTang)
	if errors.Is(err, shaders.ErrNoCompiler) {
		log.Fatal("functions of one's own need a GLSL compiler: ", err)
	}
	if err != nil {
		log.Fatal(err) // a mistake in the GLSL is a *shaders.CompileError with line and column
	}
	dev, err := vk.Open() // the first GPU, else the software driver
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	search, err := ec.NewSearch(ctx, engine.New(dev, engine.Seed(1)), ec.DefaultDE(), function, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(100)); err != nil {
		log.Fatal(err)
	}
	fitness, x, err := search.ReadBest(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for member := range x {
		fmt.Printf("%.1f at %.2f\n", -fitness[member], x[member])
	}
	// Output:
	// -78.3 at [-2.90 -2.90]
	// -78.3 at [-2.90 -2.90]
	// -78.3 at [-2.90 -2.90]
}
