package problem

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// lowRankDigits is a classifier of images of an odd size by a convolution, on batches of so many.
func lowRankDigits(t *testing.T, batch int) *Classification {
	t.Helper()
	network, cfg := DefaultImageNetwork(), ClassificationConfig{Batch: batch}
	network.Layers = []nn.LayerConfig{{Kind: nn.Convolution, Channels: 6, Kernel: 3, Stride: 1, Padding: nn.Same}, {Units: 9}}
	p, err := Classify("digits", madeImages(rand.New(rand.NewPCG(1, 2)), 41, 20), network, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLowRankClassifiers: the fitness of classifiers of low rank is that of their rows, formed whole and evaluated each as a network of its own.
func TestLowRankClassifiers(t *testing.T) {
	p := lowRankDigits(t, 23)
	compareLowRank(t, p, p, lowRankES(6, 2, true), 6)
	compareLowRank(t, p, p, lowRankES(5, 1, false), 5)
	compareLowRank(t, p, p, lowRankPGPE(6, 3), 6)
}

// TestLowRankAddition: the fitness of networks of low rank that add is that of their rows, formed whole and evaluated each as a network of its own.
func TestLowRankAddition(t *testing.T) {
	p := adder(t, 9, 11, 1, 1)
	compareLowRank(t, p, p, lowRankES(6, 2, true), 6)
	compareLowRank(t, p, p, lowRankSNES(5, 1), 5)
}

// TestLowRankClassifierWindows: the same bits whatever part of a population is evaluated at once, and whatever part of the batch.
func TestLowRankClassifierWindows(t *testing.T) {
	const members, population, batch = 2, 8, 23
	var want []float32
	for _, at := range [][2]int{{population, batch}, {population, batch}, {3, batch}, {1, 5}, {population, 1}} {
		window, rows := at[0], at[1]
		p := lowRankDigits(t, batch)
		eng := engine.New(open(t), engine.Seed(7))
		s := eng.NewState()
		defer func() { _ = s.Close() }()
		clock, hyper := engine.NewClock(s), engine.NewHyper(s, members)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		g, err := ec.NewGeneration(s, clock, hyper, lowRankES(population, 2, true), p.Space(members))
		must(err)
		of := g.Strategy().(ec.LowRankStrategy)
		e, err := p.newClassifiers(s.Sub("problem"), clock, members, population, window, func(s *engine.State) (*nn.Network, error) {
			return nn.NewPerturbedBatch(s, p.model(), 2, members, window, rows)
		})
		must(err)
		fitness, into := g.NewFitness("fitness"), of.NewPerturbation(s, window)
		must(s.Zero(t.Context()))
		must(s.Poison(t.Context()))
		must(hyper.Init(t.Context()))
		must(g.Init(t.Context(), p.Start(7, 1, members)))
		program, err := eng.Record("generation", func(r *engine.Recorder) {
			g.Ask(r)
			for first := 0; first < population; first += window {
				first := min(first, population-window)
				e.RecordLowRank(r, of.Perturb(r, first, into), first, fitness)
			}
		})
		must(err)
		defer program.Free()
		must(program.Run(t.Context()))
		got, err := fitness.ReadFloat32(t.Context())
		must(err)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("windows of %d, %d images at once: fitness %v; want %v", window, rows, got, want)
		}
	}
}

// TestLowRankDigitsLearn: PGPE of rank 1 tells drawn digits apart by a dense layer.
func TestLowRankDigitsLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("learns for seconds; make validate runs it")
	}
	network := DefaultImageNetwork()
	network.Hidden = []int{32}
	algorithm := ec.DefaultPGPE()
	algorithm.Optimizer, algorithm.LearningRate, algorithm.Rank = optim.Adam, 0.02, 1
	if before, after := learnDigits(t, network, algorithm, 150); before > 0.3 || after < 0.6 {
		t.Errorf("accuracy %g after learning, %g before; want at least 0.6", after, before)
	}
}
