package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// ClassificationConfig defines how classifiers of images are evaluated.
type ClassificationConfig struct {
	Batch int `min:"1" max:"1048576" doc:"Images, drawn without replacement in every generation, on which all its candidates are evaluated."`
}

// DefaultClassification has EvoJAX's batch (Y. Tang et al., 2022).
func DefaultClassification() ClassificationConfig { return ClassificationConfig{Batch: 1024} }

// ImageNetworkConfig describes the network of a classifier of images; inputs and outputs are the images' and classes.
type ImageNetworkConfig struct {
	nn.Config

	OutputGain float64 `min:"0" doc:"Factor of the initial weights of the output."`
}

// DefaultImageNetwork is EvoJAX's network for digits, preset evojax-mnist, as long as no other is described. Searches begin at its initial weights;
// EvoJAX's begin at zeros, which a HiddenGain and OutputGain of 0 give.
func DefaultImageNetwork() ImageNetworkConfig {
	return ImageNetworkConfig{Config: nn.Config{Activation: nn.ReLU, Initializer: nn.LecunUniform, HiddenGain: 1}, OutputGain: 1}
}

// Classification is the search for a classifier of images: Y. Tang, Y. Tian, D. Ha, "EvoJAX: Hardware-Accelerated Neuroevolution", 2022, section 3.1. A
// candidate is the parameters of a network whose outputs are logits of the classes. Its fitness is the mean logarithm of the probability that it
// gives to the labels of a batch. A solution is evaluated by its accuracy on the test images. It implements ec.Problem.
type Classification struct {
	name    string
	images  *Images
	network ImageNetworkConfig
	cfg     ClassificationConfig
}

// Classify makes the search for a classifier of images a problem.
//
// Errors: settings out of range, a batch of more images than there are, a network that does not fit the images or has memory, images without labels.
func Classify(name string, images *Images, network ImageNetworkConfig, cfg ClassificationConfig) (*Classification, error) {
	if err := engine.Require(map[string]any{"images": images}); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	c := &Classification{name: name, images: images, network: network, cfg: cfg}
	if err := errors.Join(config.Check(cfg), config.Check(network)); err != nil {
		return nil, err
	}
	if err := images.check(); err != nil {
		return nil, err
	}
	if n := images.Train.Count(); cfg.Batch > n {
		return nil, &SettingError{"task", "batch", fmt.Sprintf("%d of %d images cannot be drawn without replacement: want at most %d", cfg.Batch, n, n)}
	}
	if err := c.model().Check(); err != nil {
		return nil, &SettingError{"network", c.network.Key(), err.Error()}
	}
	if c.model().Memory() > 0 {
		return nil, &SettingError{"network", c.network.Key(), fmt.Sprintf("%v has memory, and images are not a sequence: want a network without", c.model())}
	}
	return c, nil
}

// Name implements ec.Problem.
func (c *Classification) Name() string { return c.name }

// Objectives implements ec.Problem.
func (c *Classification) Objectives() int { return 1 }

// Measure is what a solution's evaluation measures.
func (c *Classification) Measure() string { return "accuracy" }

func (c *Classification) model() nn.Model {
	network := c.network.Config
	if network.Preset == nn.NoPreset && len(network.Hidden)+len(network.Layers) == 0 {
		network.Preset = nn.EvoJAXMNIST
	}
	return network.Model(nn.Shape{c.images.Height, c.images.Width, 1}, c.images.Classes, nn.Float32)
}

// Space implements ec.Problem.
func (c *Classification) Space(members int) ec.Space {
	m := c.model()
	return ec.Space{
		Members: members, Dim: m.Size(), Matrices: matrices(m, m.Size()), Neurons: neurons(m, m.Size()), Parameters: parameters(m, m.Size()),
	}
}

// Start implements ec.Problem: initial networks.
func (c *Classification) Start(seed, stream uint32, members int) []float32 {
	m := c.model()
	all := make([]float32, members*m.Size())
	for i := range members {
		rng := engine.NewRng(seed, stream, uint32(i), 0, 0)
		m.Init(all[i*m.Size():][:m.Size()], c.network.Initializer, c.network.HiddenGain, c.network.OutputGain, rng)
	}
	return all
}

// New implements ec.Problem.
func (c *Classification) New(_ context.Context, s *engine.State, clock engine.Clock, members, population int) (ec.Evaluation, error) {
	info := s.Engine().Device().Info()
	model := c.model()
	window, rows := chunk(info, nn.RowBytes(model, info)*members, population, c.cfg.Batch)
	return c.newClassifiers(s, clock, members, population, window, func(s *engine.State) (*nn.Network, error) {
		return nn.NewStack(s, model, members, window, rows)
	})
}

// CheckLowRank implements ec.LowRankProblem: all classifiers have candidates of low rank.
func (c *Classification) CheckLowRank() error { return nil }

// NewLowRank implements ec.LowRankProblem.
func (c *Classification) NewLowRank(
	_ context.Context, s *engine.State, clock engine.Clock, members, population int, of *nn.LowRank,
) (ec.LowRankEvaluation, error) {
	info := s.Engine().Device().Info()
	model := c.model()
	// Of a candidate: its draw, and of each image logits and terms. Of the images that are computed at once: the layers of one candidate.
	window, _ := chunk(info, 4*members*(of.Draw()+c.cfg.Batch*(c.images.Classes+2)), population, 1)
	_, rows := chunk(info, nn.PerturbedBatchRowBytes(model, of.Rank, info)*members, 1, c.cfg.Batch)
	return c.newClassifiers(s, clock, members, population, window, func(s *engine.State) (*nn.Network, error) {
		return nn.NewPerturbedBatch(s, model, of.Rank, members, window, rows)
	})
}

// newClassifiers makes what evaluates windows of candidates on batches, by networks of the given kind.
func (c *Classification) newClassifiers(
	s *engine.State, clock engine.Clock, members, population, window int, of func(*engine.State) (*nn.Network, error),
) (*classifiers, error) {
	e := &classifiers{
		Classification: c, apart: apart{state: s, members: members, sums: c.images.Test.Count()}, clock: clock, population: population, window: window,
		stream: s.Stream("batch"), train: newLabelled(s.Sub("train"), c.images, c.images.Train),
	}
	e.appraise = func(of *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
		return e.newTest(of, newLabelled(of, c.images, c.images.Test), solutions, c.images.Test.Count(), 1)
	}
	var err error
	if e.scored, err = c.newScored(s.Sub("scored"), e.train, members, window, c.cfg.Batch, of); err != nil {
		return nil, err
	}
	e.accuracy = s.Scratch("accuracy", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	return e, s.Err()
}
