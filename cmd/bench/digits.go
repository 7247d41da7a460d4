package bench

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// digits measures evolution of a network of convolutions, configs/mnist-pgpe.toml with drawn digits, and with more candidates that see fewer of them.
// tools/peers/mnist_jax.py is the counterpart.
func digits() (cases []Case) {
	for i, of := range []struct{ population, batch int }{{64, 1024}, {1024, 64}} {
		cases = append(cases, Case{
			Name: fmt.Sprintf("digits/p%d", of.population), Unit: "s", Rank: i,
			Summary: fmt.Sprintf("a generation of PGPE on digits with EvoJAX's network, %d candidates of %d images", of.population, of.batch),
			run:     digitsTime(of.population, of.batch),
		})
	}
	return cases
}

// digitsTime measures a generation. The limit is the time of the networks' multiply-adds.
func digitsTime(population, batch int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		network, task, cfg := problem.DefaultImageNetwork(), problem.DefaultClassification(), ec.DefaultPGPE()
		network.Preset, network.HiddenGain, network.OutputGain, task.Batch = nn.EvoJAXMNIST, 0, 0, batch
		cfg.Population, cfg.Optimizer, cfg.CorrectionInterval, cfg.LearningRate, cfg.DeviationRate, cfg.InitStd = population, optim.Adam, 1000, 0.006, 0.089, 0.039
		p, err := problem.Classify("mnist", problem.DrawnDigits(), network, task)
		if err != nil {
			return figure{}, err
		}
		s, err := ec.NewSearch(ctx, b.eng, cfg, p, 1)
		if err != nil {
			return figure{}, err
		}
		defer s.Close()
		if err := s.Init(ctx); err != nil {
			return figure{}, err
		}
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, 1, steps(ctx, s))
			return err
		})
		if err != nil {
			return figure{}, err
		}
		perImage := passOperations(network.Config.Model(nn.Shape{28, 28, 1}, 10, nn.Float32))
		kernels, err := b.recorded(ctx, "generation", func(r *engine.Recorder) { s.Record(r, nil) })
		return figure{value: 1 / rate, limit: perImage * float64(population*batch) / peak, kernels: kernels}, err
	}
}
