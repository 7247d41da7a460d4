package bench

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// convolutions measures published networks over images, each member with weights of its own: forward passes, and forward passes with
// the gradients of all parameters and of the images.
func convolutions() (cases []Case) {
	for _, of := range []struct {
		name                string
		preset              nn.Preset
		image               nn.Shape
		outputs             int
		members, rows, rank int
	}{
		{"minatar", nn.MinAtar, nn.Shape{10, 10, 4}, 6, 16, 64, 1},
		{"nature", nn.Nature, nn.Shape{84, 84, 4}, 6, 1, 32, 1},
		{"evojax-mnist", nn.EvoJAXMNIST, nn.Shape{28, 28, 1}, 10, 16, 32, 1},
	} {
		for _, learns := range []bool{false, true} {
			c := Case{
				Name: fmt.Sprintf("conv/%s/p%d", of.name, of.members), Unit: "GFLOP/s", Rank: of.rank,
				Summary: fmt.Sprintf("network %v over %d images of %v for each of %d members", of.preset, of.rows, of.image, of.members),
				run:     convolution(of.preset, of.image, of.outputs, of.members, of.rows, learns),
			}
			if learns {
				c.Name, c.Summary = c.Name+"/gradients", "the same, with gradients of parameters and images"
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// convolution measures passes in GFLOP/s. The limit is the multiply-add peak.
func convolution(preset nn.Preset, image nn.Shape, outputs, members, rows int, learns bool) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		s := b.eng.NewState()
		defer s.Close()
		model := nn.Config{Preset: preset}.Model(image, outputs, nn.Float32)
		net, err := nn.New(s, model, members, rows)
		if err != nil {
			return figure{}, err
		}
		pass, err := net.NewPass(s, rows)
		if err != nil {
			return figure{}, err
		}
		tensor := func(name string, dims ...engine.Dim) *engine.Tensor {
			return s.Tensor(name, engine.Float32, append([]engine.Dim{engine.Members(members)}, dims...)...)
		}
		batch := engine.Axis("batch", rows)
		row := nn.Align(model.Size())
		w := nn.Weights{Params: tensor("params", engine.Axis("parameter", row))}
		images := tensor("images", batch, engine.Axis("feature", image.Size()))
		values, slopes := tensor("values", batch, engine.Axis("output", outputs)), tensor("slopes", batch, engine.Axis("output", outputs))
		at := tensor("image_gradient", batch, engine.Axis("feature", image.Size()))
		pass.Learn(s, w.Params)
		if err := s.Zero(ctx); err != nil {
			return figure{}, err
		}
		params := make([]float32, members*row)
		for p := range members {
			model.Init(params[p*row:], nn.Orthogonal, 1, 1, engine.NewRng(1, engine.Stream("init"), uint32(p), 0, 0))
		}
		if err := w.Params.WriteFloat32(ctx, params); err != nil {
			return figure{}, err
		}
		for _, t := range []*engine.Tensor{images, slopes} {
			if err := t.Fill(ctx, 0.5); err != nil {
				return figure{}, err
			}
		}
		p, err := b.eng.Record("convolution", func(r *engine.Recorder) {
			in := nn.Inputs{Parts: []*engine.Tensor{images}}
			if !learns {
				net.Evaluate(r, w, in, values)
				return
			}
			pass.Forward(r, w, in, values)
			pass.Backward(r, slopes, nn.Gradients{Params: pass.Into(), Inputs: []*engine.Tensor{at}})
		})
		if err != nil {
			return figure{}, err
		}
		defer p.Free()
		operations := float64(members*rows) * passOperations(model)
		if learns {
			operations *= 3
		}
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, operations/1e9, submitted(ctx, p))
			return err
		})
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.kernels(ctx, p)
		return figure{value: rate, limit: peak / 1e9, kernels: kernels}, err
	}
}

// passOperations returns the multiplications and additions of a model's products for one input. Each of both gradients costs as many.
func passOperations(model nn.Model) float64 {
	sum := 0
	for _, l := range model.Layers() {
		places := 1
		if l.Kind == nn.Convolution {
			places = l.Window.OutHeight * l.Window.OutWidth
		}
		for _, p := range l.Parameters() {
			if p.Rows > 0 {
				sum += 2 * places * p.Len()
			}
		}
	}
	return float64(sum)
}
