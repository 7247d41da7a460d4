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

// Tokens of addition: 0 to 9 are digits. The vocabulary is EvoJAX's; questions and answers of one length need neither its space nor its padding.
const (
	tokenPlus  = 10
	tokenEqual = 11
	tokenEnd   = 14 // EOS
	vocabulary = 15
)

// AdditionConfig defines the questions of addition.
type AdditionConfig struct {
	Batch  int   `min:"1" max:"1048576" doc:"Questions, drawn anew in every generation, on which all its candidates are evaluated."`
	Digits []int `min:"1" max:"6" doc:"Digits of the first operand and of the second."`
}

// DefaultAddition has the questions of EvoJAX (Y. Tang et al., 2022).
func DefaultAddition() AdditionConfig { return AdditionConfig{Batch: 128, Digits: []int{2, 3}} }

// first and second return the digits of the operands, longer the greater of them.
func (c AdditionConfig) first() int  { return c.Digits[0] }
func (c AdditionConfig) second() int { return c.Digits[1] }
func (c AdditionConfig) longer() int { return max(c.Digits[0], c.Digits[1]) }

// question and answer return how many tokens there are of each.
func (c AdditionConfig) question() int { return c.first() + 1 + c.second() + 1 }
func (c AdditionConfig) answer() int   { return c.longer() + 1 }

// positions returns over how many tokens of an answer the loss is a mean: EvoJAX's has one after EOS, which counts as right.
func (c AdditionConfig) positions() int { return c.answer() + 1 }

// AdditionNetworkConfig describes the encoder and decoder of addition, two LSTMs.
type AdditionNetworkConfig struct {
	Hidden      int            `min:"1" max:"8192" doc:"Units of the encoder's LSTM, and of the decoder's."`
	Initializer nn.Initializer `doc:"Distribution of the initial weights of inputs and outputs: orthogonal, lecun_uniform, kaiming_uniform or fan_in_uniform."`
	Gain        float64        `min:"0" doc:"Factor of all initial weights; 0: the search begins at zeros, as EvoJAX's."`
}

// DefaultAdditionNetwork has the units of EvoJAX's example.
func DefaultAdditionNetwork() AdditionNetworkConfig {
	return AdditionNetworkConfig{Hidden: 128, Initializer: nn.LecunUniform}
}

// Addition is the search for a network that adds decimal numbers, from a sequence of tokens to another: Y. Tang, Y. Tian, D. Ha, "EvoJAX:
// Hardware-Accelerated Neuroevolution", 2022, after the example seq2seq of Flax. A candidate is the parameters of an nn.EncoderDecoder of LSTMs.
//
// A question is the digits of both operands, with leading zeros, as in 0 7 + 3 4 5 EOS. Operands are uniform. The decoder begins at '=' and goes on by
// the token that it has found most likely. The answer is as many digits as the longer operand has, of the sum modulo the power of ten that they can
// show, as EvoJAX's, and EOS.
//
// Fitness is the mean logarithm of the probabilities that the network gives to the answer's tokens, over all questions of a batch and over a token more
// than the answer has: EvoJAX's labels have one after EOS, whose loss is masked. Hence the decoder takes a step less than EvoJAX's. The encoder's
// state would stay as it is after EOS, which is the last token of all questions.
//
// A solution is evaluated by batches of questions that are drawn apart from the search's, one for each episode, the same for all solutions: by the share
// of answers that are right in every token. It implements ec.Problem.
type Addition struct {
	name    string
	network AdditionNetworkConfig
	cfg     AdditionConfig
}

// Add makes the search for a network that adds a problem.
//
// Errors: settings out of range.
func Add(name string, network AdditionNetworkConfig, cfg AdditionConfig) (*Addition, error) {
	if err := errors.Join(config.Check(cfg), config.Check(network)); err != nil {
		return nil, err
	}
	if len(cfg.Digits) != 2 {
		return nil, &SettingError{"task", "digits", fmt.Sprintf("%d numbers: want two, the digits of the first operand and of the second", len(cfg.Digits))}
	}
	a := &Addition{name: name, network: network, cfg: cfg}
	return a, a.model().Check()
}

// Name implements ec.Problem.
func (a *Addition) Name() string { return a.name }

// Objectives implements ec.Problem.
func (a *Addition) Objectives() int { return 1 }

// Measure is what a solution's evaluation measures.
func (a *Addition) Measure() string { return "accuracy" }

func (a *Addition) model() nn.EncoderDecoder {
	return nn.EncoderDecoder{Vocabulary: vocabulary, Cell: nn.LSTM, Units: a.network.Hidden}
}

// Space implements ec.Problem.
func (a *Addition) Space(members int) ec.Space {
	m := a.model()
	return ec.Space{
		Members: members, Dim: m.Size(), Matrices: matrices(m, m.Size()), Neurons: neurons(m, m.Size()), Parameters: parameters(m, m.Size()),
	}
}

// Start implements ec.Problem: initial networks.
func (a *Addition) Start(seed, stream uint32, members int) []float32 {
	m, gain := a.model(), float32(a.network.Gain)
	all := make([]float32, members*m.Size())
	if gain == 0 {
		return all
	}
	for i := range members {
		m.Init(all[i*m.Size():][:m.Size()], a.network.Initializer, 1, engine.NewRng(seed, stream, uint32(i), 0, 0))
	}
	for i := range all {
		all[i] *= gain
	}
	return all
}

// New implements ec.Problem.
func (a *Addition) New(_ context.Context, s *engine.State, clock engine.Clock, members, population int) (ec.Evaluation, error) {
	info, bytes := s.Engine().Device().Info(), a.model().RowBytes()*members*a.cfg.Batch
	window, _ := chunk(info, bytes, population, 1)
	window = max(1, min(window, int(info.Limits.MaxStorageRange)/bytes, int(info.Limits.MaxGroups[1])/members))
	return a.newAdditions(s, clock, members, population, window, 0)
}

// CheckLowRank implements ec.LowRankProblem: networks that add have candidates of low rank.
func (a *Addition) CheckLowRank() error { return nil }

// NewLowRank implements ec.LowRankProblem.
func (a *Addition) NewLowRank(
	_ context.Context, s *engine.State, clock engine.Clock, members, population int, of *nn.LowRank,
) (ec.LowRankEvaluation, error) {
	info, m := s.Engine().Device().Info(), a.model()
	bytes := m.PerturbedRowBytes(of.Rank) * members * a.cfg.Batch
	window, _ := chunk(info, bytes+4*members*of.Draw(), population, 1)
	window = max(1, min(window, int(info.Limits.MaxStorageRange)/bytes, m.MostRows(info)/a.cfg.Batch))
	return a.newAdditions(s, clock, members, population, window, of.Rank)
}

// newAdditions makes what evaluates windows of candidates: rows or, with a rank, perturbations.
func (a *Addition) newAdditions(s *engine.State, clock engine.Clock, members, population, window, rank int) (*additions, error) {
	e := &additions{
		Addition: a, apart: apart{state: s, members: members, batches: true}, clock: clock, population: population, window: window, stream: s.Stream("batch"),
	}
	e.appraise = func(of *engine.State, solutions *engine.Tensor, batches int) (engine.Fitness, error) {
		return e.newExam(of, solutions, s.Stream("test"), batches)
	}
	var err error
	if e.scored, err = a.newAnswered(s.Sub("answered"), members, window, rank); err != nil {
		return nil, err
	}
	e.accuracy = s.Scratch("accuracy", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	return e, s.Err()
}
