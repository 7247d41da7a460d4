package problem

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// additions evaluates candidates of an Addition.
type additions struct {
	*Addition
	apart
	clock      engine.Clock
	population int
	window     int
	stream     uint32 // of the batches
	scored     *answered
	accuracy   *engine.Tensor // [M, N]
	row        *engine.Tensor // [M]: its mean
}

// answered evaluates networks on a batch of questions.
type answered struct {
	cfg       AdditionConfig
	pass      *nn.TokenPass
	members   int
	stack     int            // S: networks of a member
	questions *engine.Tensor // [question, M, B] u32
	answers   *engine.Tensor // [answer, M, B] u32
	tokens    *engine.Tensor // [M, S, B] u32: that the decoders go on by
	logits    *engine.Tensor // [M, S, B, vocabulary]
	terms     *engine.Tensor // [2, M, S, B]
}

// newAnswered makes what evaluates so many networks of every member, of low rank if that is not 0.
func (a *Addition) newAnswered(s *engine.State, members, stack, rank int) (*answered, error) {
	m, b, networks := engine.Members(members), engine.Axis("question", a.cfg.Batch), nn.Networks(stack)
	x := &answered{cfg: a.cfg, members: members, stack: stack}
	var err error
	if rank > 0 {
		x.pass, err = nn.NewPerturbedTokenPass(s, a.model(), rank, members, stack, a.cfg.Batch)
	} else {
		x.pass, err = nn.NewTokenPass(s, a.model(), members, stack, a.cfg.Batch)
	}
	if err != nil {
		return nil, err
	}
	x.questions = s.Scratch("questions", engine.Uint32, engine.Axis("token", a.cfg.question()), m, b)
	x.answers = s.Scratch("answers", engine.Uint32, engine.Axis("token", a.cfg.answer()), m, b)
	x.tokens = s.Scratch("tokens", engine.Uint32, m, networks, b)
	x.logits = s.Scratch("logits", engine.Float32, m, networks, b, engine.Axis("token", vocabulary))
	x.terms = s.Scratch("terms", engine.Float32, engine.Axis("term", 2), m, networks, b)
	return x, s.Err()
}

// draw records drawing a batch by its number [1] u32: if apart, questions of their own for every member, else the same for all.
func (x *answered) draw(r *engine.Recorder, stream uint32, number *engine.Tensor, apart bool) {
	k := additionKernel{
		Batch: number.Range(), Questions: x.questions.Range(), Answers: x.answers.Range(), Members: uint32(x.members), Rows: uint32(x.cfg.Batch),
		FirstDigits: uint32(x.cfg.first()), SecondDigits: uint32(x.cfg.second()), Seed: r.Engine().Seed(), Stream: stream, Apart: apart,
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(x.members * x.cfg.Batch)
	r.Dispatch(k.call(groups, 1, 1))
}

// scores is where a batch's fitness and accuracy [M, N] go: from candidate first on, or as many after it as a counter says. They are means times a
// factor, added to what is there with more.
type scores struct {
	fitness, accuracy *engine.Tensor
	first             int
	counter           *engine.Tensor // nil: 0
	factor            float32
	more              bool
}

// rows returns the weights of networks [M · S, row].
func (x *answered) rows(networks *engine.Tensor) nn.Weights {
	row := networks.Len() / (x.members * x.stack)
	return nn.Weights{Params: networks.View(engine.Members(x.members), nn.Networks(x.stack), engine.Axis("parameter", row))}
}

// score records evaluating S networks of every member on the batch.
func (x *answered) score(r *engine.Recorder, w nn.Weights, to scores) {
	all, rows := x.members*x.stack, x.cfg.Batch
	x.pass.Encode(r, w, x.questions)
	r.Fill(x.tokens, tokenEqual)
	size, groups := r.Invocations(all * rows)
	for i := range x.cfg.answer() {
		x.pass.Decode(r, w, x.tokens, x.logits)
		r.Dispatch(likelihoodKernel{
			Logits: x.logits.Range(), Wanted: x.answers.Range(), Terms: x.terms.Range(), Choices: x.tokens.Range(), Members: uint32(x.members),
			Networks: uint32(x.stack), Rows: uint32(rows), Classes: vocabulary, WantedAt: uint32(i * x.members * rows), LocalSizeX: size, More: i > 0,
		}.call(groups, 1, 1))
	}
	factor := to.factor / float32(rows)
	k := scoreKernel{
		Terms: x.terms.Range(), Fitness: to.fitness.Range(), Accuracy: to.accuracy.Range(), Networks: uint32(x.stack), Rows: uint32(rows),
		Population: uint32(to.accuracy.Len() / x.members), First: uint32(to.first), Factor: factor / float32(x.cfg.positions()), HitFactor: factor,
		Workgroup: r.WorkgroupFor(rows), More: to.more,
	}
	if to.counter != nil {
		k.Step = to.counter.Range()
	}
	r.Dispatch(k.call(uint32(all), 1, 1))
}

func (e *additions) Window() int { return e.window }

func (e *additions) Steps() (candidate, clock int) { return 0, 0 }

func (e *additions) Init(context.Context) error { return nil }

func (e *additions) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	e.RecordLowRank(r, e.scored.rows(candidates), first, fitness)
}

// RecordLowRank implements ec.LowRankEvaluation.
func (e *additions) RecordLowRank(r *engine.Recorder, candidates nn.Weights, first int, fitness *engine.Tensor) {
	if first == 0 {
		e.scored.draw(r, e.stream, e.clock.Tensor(), true)
	}
	e.scored.score(r, candidates, scores{fitness: fitness, accuracy: e.accuracy, first: first, factor: 1})
}

func (e *additions) Finish(*engine.Recorder) {}

// Rows adds the candidates' mean accuracy on the generation's batch.
func (e *additions) Rows(m *engine.Metrics) func(*engine.Recorder) {
	e.row = m.Row(e.Measure())
	return func(r *engine.Recorder) { engine.Mean(r, e.row, e.accuracy, nil, 1) }
}

// newExam makes, in s, what records the accuracy of solutions on each of so many batches, [M, batches], or their mean accuracy, [M].
func (e *additions) newExam(s *engine.State, solutions *engine.Tensor, stream uint32, batches int) (engine.Fitness, error) {
	x, err := e.newAnswered(s, e.members, 1, 0)
	if err != nil {
		return nil, err
	}
	likelihood := s.Scratch("likelihood", engine.Float32, engine.Members(e.members), engine.Axis("batch", batches)) // not used
	return func(r *engine.Recorder, accuracy *engine.Tensor) {
		each := accuracy.Len() / e.members
		if accuracy.Len()%e.members != 0 || each != 1 && each != batches {
			r.Fail(fmt.Errorf("problem: %s: a fitness of %v; want one value for each of %d members, or %d", e.name, accuracy, e.members, batches))
			return
		}
		r.Fill(accuracy, 0)
		r.Repeat(batches, func(r *engine.Recorder, i engine.Counter) {
			x.draw(r, stream, i.Tensor(), false)
			to := scores{fitness: likelihood, accuracy: accuracy, factor: 1 / float32(batches), more: true}
			if each > 1 {
				to.counter, to.factor = i.Tensor(), 1
			}
			x.score(r, x.rows(solutions), to)
		})
	}, s.Err()
}

// Fitness implements ec.Evaluation: the accuracy of the solutions on batches that are neither the search's nor those of evaluations.
func (e *additions) Fitness(_ context.Context, s *engine.State, solutions *engine.Tensor, episodes int) (engine.Fitness, error) {
	return e.newExam(s.Sub("selection"), solutions, e.state.Stream("selection"), episodes)
}
