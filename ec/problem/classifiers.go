package problem

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// classifiers evaluates candidates of a Classification.
type classifiers struct {
	*Classification
	apart
	clock      engine.Clock
	population int
	window     int
	stream     uint32 // of the batches
	train      labelled
	scored     *scored
	accuracy   *engine.Tensor // [M, N]
	row        *engine.Tensor // [M]: its mean
}

// chunk divides a population, of which each candidate takes so many bytes for every image that is computed at once: into windows of candidates and
// chunks of a batch. The memory suffices to keep a device busy; on software drivers more of it would not stay in the caches. A candidate's weights are read
// once for a chunk, and products of few rows are slow, so that a batch is divided only where the memory does not suffice for that of a single candidate.
func chunk(info vk.Info, bytes, population, batch int) (window, rows int) {
	const software, hardware = 64 << 20, 1 << 30
	budget := software
	if info.Type != vk.CPU {
		budget = min(hardware, int(info.MemoryBytes/4))
	}
	all := max(1, budget/bytes)
	rows = min(batch, all)
	windows := (population + all/rows - 1) / (all / rows)
	return (population + windows - 1) / windows, rows
}

// labelled is images on the device.
type labelled struct {
	images *engine.Tensor // [images, words] u32
	labels *engine.Tensor // [images] u32
	pixels int
}

func newLabelled(s *engine.State, of *Images, l Labelled) labelled {
	pixels := of.Height * of.Width
	n := engine.Axis("image", l.Count())
	return labelled{
		images: engine.Constant(s, "images", func() []uint32 { return l.words(pixels) }, n, engine.Axis("word", (pixels+3)/4)),
		labels: engine.Constant(s, "labels", l.classes, n),
		pixels: pixels,
	}
}

// scored evaluates networks on a batch of images.
type scored struct {
	of      labelled
	network *nn.Network
	members int
	stack   int            // S: networks of a member
	inputs  *engine.Tensor // [M, B, pixels]
	wanted  *engine.Tensor // [M, B] u32
	logits  *engine.Tensor // [M, S, B, classes]
	terms   *engine.Tensor // [2, M, S, B]
}

// newScored makes what evaluates stack networks of every member on batches of the given number of images.
func (c *Classification) newScored(
	s *engine.State, of labelled, members, stack, batch int, networks func(*engine.State) (*nn.Network, error),
) (*scored, error) {
	m, b := engine.Members(members), engine.Axis("image", batch)
	x := &scored{of: of, members: members, stack: stack}
	var err error
	if x.network, err = networks(s); err != nil {
		return nil, err
	}
	x.inputs = s.Scratch("images", engine.Float32, m, b, engine.Axis("pixel", of.pixels))
	x.wanted = s.Scratch("wanted", engine.Uint32, m, b)
	x.logits = s.Scratch("logits", engine.Float32, m, nn.Networks(stack), b, engine.Axis("class", c.images.Classes))
	x.terms = s.Scratch("terms", engine.Float32, engine.Axis("term", 2), m, nn.Networks(stack), b)
	return x, s.Err()
}

// draw records copying a batch of images that every iteration draws anew.
func (x *scored) draw(r *engine.Recorder, clock engine.Clock, stream uint32) {
	k := x.copying(0, x.of.labels.Len())
	k.Clock, k.Seed, k.Stream, k.Keyed = clock.Tensor().Range(), r.Engine().Seed(), stream, true
	x.copy(r, k)
}

// batch records copying images from the first one on, of so many in all.
func (x *scored) batch(r *engine.Recorder, first, images int) { x.copy(r, x.copying(first, images)) }

func (x *scored) copying(first, images int) batchKernel {
	return batchKernel{
		Images: x.of.images.Range(), Labels: x.of.labels.Range(), Clock: x.of.labels.Range(), Inputs: x.inputs.Range(), Wanted: x.wanted.Range(),
		Members: uint32(x.members), Rows: uint32(x.wanted.Len() / x.members), Pixels: uint32(x.of.pixels), Count: uint32(images), First: uint32(first),
	}
}

func (x *scored) copy(r *engine.Recorder, k batchKernel) {
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(x.wanted.Len() * ((x.of.pixels + 3) / 4))
	r.Dispatch(k.call(groups, 1, 1))
}

// rows returns the weights of networks [M · S, row].
func (x *scored) rows(networks *engine.Tensor) nn.Weights {
	row := networks.Len() / (x.members * x.stack)
	return nn.Weights{Params: networks.View(engine.Members(x.members), nn.Networks(x.stack), engine.Axis("parameter", row))}
}

// score records evaluating S networks of every member on the batch, into fitness and accuracy [M, N] from candidate first on: means, or what a factor
// makes of them, added with more.
func (x *scored) score(r *engine.Recorder, networks nn.Weights, first int, fitness, accuracy *engine.Tensor, factor float32, more bool) {
	rows := x.wanted.Len() / x.members
	x.network.Evaluate(r, networks, nn.Inputs{Parts: []*engine.Tensor{x.inputs}}, x.logits)
	size, groups := r.Invocations(x.members * x.stack * rows)
	r.Dispatch(likelihoodKernel{
		Logits: x.logits.Range(), Wanted: x.wanted.Range(), Terms: x.terms.Range(), Members: uint32(x.members), Networks: uint32(x.stack), Rows: uint32(rows),
		Classes: uint32(x.logits.Len() / (x.members * x.stack * rows)), LocalSizeX: size,
	}.call(groups, 1, 1))
	r.Dispatch(scoreKernel{
		Terms: x.terms.Range(), Fitness: fitness.Range(), Accuracy: accuracy.Range(), Networks: uint32(x.stack), Rows: uint32(rows),
		Population: uint32(fitness.Len() / x.members), First: uint32(first), Factor: factor, HitFactor: factor, Workgroup: r.WorkgroupFor(rows), More: more,
	}.call(uint32(x.members*x.stack), 1, 1))
}

func (e *classifiers) Window() int { return e.window }

func (e *classifiers) Steps() (candidate, clock int) { return 0, 0 }

func (e *classifiers) Init(context.Context) error { return nil }

func (e *classifiers) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	e.RecordLowRank(r, e.scored.rows(candidates), first, fitness)
}

// RecordLowRank implements ec.LowRankEvaluation.
func (e *classifiers) RecordLowRank(r *engine.Recorder, candidates nn.Weights, first int, fitness *engine.Tensor) {
	if first == 0 {
		e.scored.draw(r, e.clock, e.stream)
	}
	e.scored.score(r, candidates, first, fitness, e.accuracy, 1/float32(e.cfg.Batch), false)
}

func (e *classifiers) Finish(*engine.Recorder) {}

// Rows adds the candidates' mean accuracy on the generation's batch.
func (e *classifiers) Rows(m *engine.Metrics) func(*engine.Recorder) {
	e.row = m.Row(e.Measure())
	return func(r *engine.Recorder) { engine.Mean(r, e.row, e.accuracy, nil, 1) }
}

// testBlock is the number of images that an evaluation copies at once.
const testBlock = 1000

// newTest makes, in s, what records the hits of solutions among the first images of a list, [M], times a factor.
func (e *classifiers) newTest(s *engine.State, of labelled, solutions *engine.Tensor, images int, factor float32) (engine.Fitness, error) {
	block := min(testBlock, images)
	info := s.Engine().Device().Info()
	_, rows := chunk(info, nn.RowBytes(e.model(), info)*e.members, 1, block)
	x, err := e.newScored(s, of, e.members, 1, block, func(s *engine.State) (*nn.Network, error) {
		return nn.NewStack(s, e.model(), e.members, 1, rows)
	})
	if err != nil {
		return nil, err
	}
	likelihood := s.Scratch("likelihood", engine.Float32, engine.Members(e.members)) // not used
	return func(r *engine.Recorder, hits *engine.Tensor) {
		if err := e.one(e.name, hits); err != nil {
			r.Fail(err)
			return
		}
		for first := 0; first < images; first += block {
			x.batch(r, first, images)
			x.score(r, x.rows(solutions), 0, likelihood, hits, factor, first > 0)
		}
	}, s.Err()
}

// selected is the most training images by which Fitness compares members.
const selected = 10000

// Fitness implements ec.Evaluation: the accuracy of the solutions on the first training images, up to 10,000. So the test images have no part in a
// choice among members.
func (e *classifiers) Fitness(_ context.Context, s *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
	images := min(selected, e.images.Train.Count())
	return e.newTest(s.Sub("selection"), e.train, solutions, images, 1/float32(images))
}
