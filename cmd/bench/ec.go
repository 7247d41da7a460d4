package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// evolution measures how policy search scales with its population (OpenES on EvoJAX's swing-up, one episode of 1000 steps per candidate),
// and the cost of CMA-ES in many dimensions.
func evolution() (cases []Case) {
	for _, net := range []struct {
		hidden []int
		most   int // largest number of candidates on a software driver
	}{{[]int{16, 16}, 1 << 17}, {[]int{256, 256}, 1 << 9}} {
		for exponent := 7; exponent <= 17; exponent += 2 {
			population, rank := 1<<exponent, 1
			if exponent == 9 || exponent == 17 {
				rank = 2
			}
			name := fmt.Sprintf("openes/%dx%d/p%d", net.hidden[0], net.hidden[1], population)
			cases = append(cases,
				Case{
					Name: name, Summary: fmt.Sprintf("a generation of %d candidates with %v networks", population, net.hidden), Unit: "s",
					GPU: population > net.most, Rank: rank, run: generationTime(net.hidden, population, 0),
				},
				Case{Name: name + "/memory", Summary: "the device memory that it takes", Unit: "MB", Rank: 3, run: searchMemory(net.hidden, population)})
		}
	}
	wide, widest := []int{64, 64}, []int{256, 256}
	cases = append(append(cases, placements()...), digits()...)
	for _, population := range []int{1 << 7, 1 << 10, 1 << 14} {
		cases = append(cases, Case{
			Name: fmt.Sprintf("openes/256x256/p%d/rank1", population), Unit: "s", GPU: population > 1<<10,
			Summary: fmt.Sprintf("a generation of %d candidates of rank 1 with %v networks", population, widest), run: generationTime(widest, population, 1),
		})
	}
	return append(cases,
		Case{Name: "openes/64x64/p4096", Summary: "a generation of 4096 candidates with [64, 64] networks", Unit: "s", run: generationTime(wide, 4096, 0)},
		Case{Name: "cma-es/dim1000/p128", Summary: "a generation of CMA-ES on Rosenbrock's function of 1000 numbers, 128 candidates", Unit: "s",
			run: covarianceTime},
		Case{Name: "cma-es/dim1000/p128/eigen", Summary: "the share of it that eigenvectors take", Unit: "%", Rank: 3, run: covarianceShare},
		Case{Name: "openes/64x64/p4096/start", Summary: "from opening the device to the end of its first generation, no pipeline cached", Unit: "s", Rank: 1,
			Least: 3 * time.Second, run: startSearch(wide, 4096)},
	)
}

// episodeSteps is the length of the episodes.
const episodeSteps = 1000

// newSearch makes a search whose candidates hardly move the cart, so that hardly any
// episode ends before its 1000 steps.
func newSearch(ctx context.Context, eng *engine.Engine, hidden []int, population, rank int) (*ec.Search, error) {
	env, err := envs.Lookup("CartPoleSwingUp-easy")
	if err != nil {
		return nil, err
	}
	network, cfg := problem.DefaultNetwork(), ec.DefaultOpenES()
	network.Hidden, network.OutputGain = hidden, 0
	cfg.Population, cfg.Rank, cfg.NoiseStd, cfg.LearningRate = population, rank, 1e-5, 0
	s, err := ec.NewSearch(ctx, eng, cfg, problem.Policy(env, envs.Options{TimeLimit: episodeSteps}, network, problem.DefaultPolicy()), 1)
	if err != nil {
		return nil, err
	}
	if err := s.Init(ctx); err != nil {
		return nil, fmt.Errorf("%w; %w", err, s.Close())
	}
	return s, nil
}

// generationTime measures a generation. The limit is the time of the networks' multiply-adds.
func generationTime(hidden []int, population, rank int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		s, err := newSearch(ctx, b.eng, hidden, population, rank)
		if err != nil {
			return figure{}, err
		}
		defer s.Close()
		var rate float64
		done, next := 0, steps(ctx, s)
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, 1, func() (waiter, error) { done++; return next() })
			return err
		})
		if err != nil {
			return figure{}, err
		}
		steps, err := engine.EnvSteps(ctx, s)
		if want := 0.95 * float64(done) * float64(population) * episodeSteps; err == nil && float64(steps) < want {
			err = fmt.Errorf("%d generations took %d environment steps; want at least %.0f", done, steps, want)
		}
		const in, out = 5, 1
		least := 2 * float64(in*hidden[0]+hidden[0]*hidden[1]+hidden[1]*out) * float64(steps) / float64(done) / peak
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.recorded(ctx, "generation", func(r *engine.Recorder) { s.Record(r, nil) })
		return figure{value: 1 / rate, limit: least, kernels: kernels}, err
	}
}

// searchMemory measures the device memory of a search, including its generations.
func searchMemory(hidden []int, population int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		before := b.eng.Device().Memory()
		s, err := newSearch(ctx, b.eng, hidden, population, 0)
		if err != nil {
			return figure{}, err
		}
		defer s.Close()
		after := b.eng.Device().Memory()
		return figure{value: float64(after.Used-after.Staging-before.Used+before.Staging) / 1e6}, nil
	}
}

// startSearch measures the time until the end of the first generation, including compilation.
func startSearch(hidden []int, population int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		begin := time.Now()
		dev, err := b.uncached()
		if err != nil {
			return figure{}, err
		}
		defer dev.Close()
		s, err := newSearch(ctx, engine.New(dev), hidden, population, 0)
		if err != nil {
			return figure{}, err
		}
		defer s.Close()
		if err := step(ctx, s)(); err != nil {
			return figure{}, err
		}
		return figure{value: time.Since(begin).Seconds()}, nil
	}
}

// newCovarianceSearch makes a CMA-ES search and runs it until all eigenvalues of its matrix differ.
func newCovarianceSearch(ctx context.Context, eng *engine.Engine) (*ec.Search, error) {
	cfg := ec.DefaultCMAES()
	cfg.Population = 128
	s, err := ec.NewSearch(ctx, eng, cfg, problem.Rosenbrock(1000), 1)
	if err != nil {
		return nil, err
	}
	err = s.Init(ctx)
	for one, i := step(ctx, s), 0; i < 16 && err == nil; i++ {
		err = one()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, s.Close())
	}
	return s, nil
}

// matrixGenerations is a number of generations in which a CMA-ES of this size decomposes its matrix every second
// generation.
const matrixGenerations = 4

// covarianceTime measures the mean time of a generation.
func covarianceTime(ctx context.Context, b *bench) (figure, error) {
	s, err := newCovarianceSearch(ctx, b.eng)
	if err != nil {
		return figure{}, err
	}
	defer s.Close()
	one := step(ctx, s)
	rate, err := b.rate(ctx, matrixGenerations, eachWaited(func() error {
		for range matrixGenerations {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}))
	return figure{value: 1 / rate}, err
}

// covarianceShare measures, on the device, the fraction of a generation's time spent in the eigenvector kernels.
func covarianceShare(ctx context.Context, b *bench) (figure, error) {
	s, err := newCovarianceSearch(ctx, b.eng)
	if err != nil {
		return figure{}, err
	}
	defer s.Close()
	generation, err := b.eng.Record("generation", func(r *engine.Recorder) { s.Record(r, nil) })
	if err != nil {
		return figure{}, err
	}
	defer generation.Free()
	var eigen, all time.Duration
	for range matrixGenerations {
		times, err := generation.Profile(ctx)
		if err != nil {
			return figure{}, err
		}
		for _, k := range times {
			all += k.Time
			if strings.HasPrefix(k.Label, "ec/eigen_") {
				eigen += k.Time
			}
		}
	}
	return figure{value: 100 * float64(eigen) / float64(all)}, nil
}
