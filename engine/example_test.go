package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// A program is recorded once and runs as often as wanted. Here it doubles a number of each of two members eight times, on the host for the sake of
// the example: a host stage in a repeated block.
func Example() {
	ctx := context.Background()
	dev, err := vk.Open() // the first GPU, or else the software driver
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng := engine.New(dev, engine.Seed(7))
	state := eng.NewState()
	defer state.Close()
	x := state.Tensor("x", engine.Float32, engine.Members(2), engine.Axis("feature", 3))
	mean := state.Tensor("mean", engine.Float32, engine.Members(2))
	if err := state.Zero(ctx); err != nil {
		log.Fatal(err)
	}
	program, err := eng.Record("means", func(r *engine.Recorder) {
		r.Repeat(8, func(r *engine.Recorder, i engine.Counter) {
			r.Host("double", func(ctx context.Context) error {
				v, err := x.ReadFloat32(ctx)
				if err != nil {
					return err
				}
				for i := range v {
					v[i] *= 2
				}
				return x.WriteFloat32(ctx, v)
			})
		})
		engine.Mean(r, mean, x, nil, 1)
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	if err := x.WriteFloat32(ctx, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		log.Fatal(err)
	}
	if err := program.Run(ctx); err != nil {
		log.Fatal(err)
	}
	means, err := mean.ReadFloat32(ctx)
	fmt.Println(means, err)
	// Output: [512 1280] <nil>
}
