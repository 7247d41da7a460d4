package hybrid

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/rl"
)

// DefaultEMOGI is DefaultPBT with two objectives that every agent has, the return and the steadiness. The paper's are Styles.
func DefaultEMOGI() PBTConfig {
	c := DefaultPBT()
	c.Objective = Steadiness
	return c
}

// NewEMOGI makes EMOGI over a workflow, which it owns: NSGA-II over agents (R. Shen et al., "Generating Behavior-Diverse Game AIs with Evolutionary
// Multi-Objective Deep Reinforcement Learning", 2020; as H. Bai et al. describe it in "Lamarckian Platform", 2022, section V.A, with Pong). The M members are
// children, which their workflow trains for an interval. Then children and parents, 2 M, are ranked by fronts of two objectives and crowding distance, and
// the best M become the parents (K. Deb et al., 2002). Before the next iteration, pairs of parents are chosen by tournaments of two. Two children each are
// copies of the better one, or one of each with layers of the other (Crossover), which go on learning, and have genes from both: the searched
// hyperparameters, such as the weight of motion in the reward (rl.OnPolicyConfig.MotionWeight), by SBX and polynomial mutation with distribution indices of 20.
//
// After a selection the members are the parents, so that a run that ends with one has the front's policies.
//
// Differences from the platform's code: generations are synchronous; a child takes everything else from its mother, also the state of its optimizer; weights
// of networks are not mutated; a gene mutates with the probability 1 / number of genes, as in K. Deb et al., instead of 0.01.
//
// Warmup, Interval, Episodes, Objective and its settings, Renew, Crossover, and Search of the configuration apply; Top, Bottom, Perturb and Resample have no
// effect.
//
// Errors: those of NewPBT; no second objective; an Exploit, Explore or Inherit other than the default; members that hold more than their own tensors, as in
// worlds of several seats.
func NewEMOGI(ctx context.Context, inner engine.Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, s *engine.State) (exchange, error) {
		switch {
		case cfg.Exploit != Truncation || cfg.Explore != Perturbation || cfg.Inherit != Everything:
			return exchange{}, config.Invalid("exploit", "emogi has its own exchange; want neither exploit, nor explore, nor inherit")
		case cfg.Objective == NoObjective:
			return exchange{}, config.Invalid("objective", "emogi selects by two objectives; want steadiness, coverage or styles")
		case inner.State().Follows():
			return exchange{}, errors.New("emogi keeps parents apart, and these members refer to each other by number; want a world of one seat")
		}
		p.emogi = &emogi{}
		return exchange{name: "emogi"}, nil
	})
}

// emogi is the part of a PBT that selects as in NSGA-II.
type emogi struct {
	carried  []pair         // what a member is: the child's tensor and the parents'
	source   *engine.Tensor // [M] u32: the child that takes a parent's place
	standing *engine.Tensor // [M] u32: the parents' ranks
	mate     *engine.Tensor // [M] u32: the other parent; PBT.parent is the mother
	both     *engine.Tensor // [2, M, 2]: objectives of parents and children
	rank     *engine.Tensor // [2 M] u32
	fronts   *ec.Fronts
	crossed  []crossed
	kept     *engine.Tensor // [M, 2]: the parents' objectives; -math.MaxFloat32 before the first selection
	front    *front
}

// pair is a tensor of the children and that of the parents.
type pair struct{ child, parent *engine.Tensor }

// crossed is a tensor of networks' rows that are crossed at a layer.
type crossed struct {
	pair
	begins *engine.Tensor // [layers] u32: the layers' first words in a row
	layers []uint32       // the same
}

const (
	geneIndex = 20  // distribution index of crossover and mutation, Lamarckian's
	geneRate  = 0.5 // probability that a gene is crossed, of K. Deb et al.
)

// build makes the parents' tensors, when all others of the state are made.
func (e *emogi) build(p *PBT, s *engine.State) (err error) {
	n := p.fitness.Len()
	members := engine.Members(n)
	s = s.Sub("emogi")
	for _, t := range append(p.State().Inherited(), p.ranking.second(), p.fitness) {
		e.carried = append(e.carried, pair{t, s.Sub("parents").Tensor(t.Name(), t.Type(), t.Dims()...).Own()})
	}
	e.kept = s.Tensor("objectives", engine.Float32, members, engine.Axis("objective", 2)).Own()
	e.standing = s.Tensor("standing", engine.Uint32, members).Own()
	e.source, e.mate = s.Scratch("source", engine.Uint32, members), s.Scratch("mate", engine.Uint32, members)
	e.both = s.Scratch("both", engine.Float32, engine.Axis("generation", 2), engine.Axis("candidate", n), engine.Axis("objective", 2))
	e.rank = s.Scratch("rank", engine.Uint32, engine.Axis("candidate", 2*n))
	if p.cfg.Crossover == LayerCrossover {
		if err := e.cross(p, s.Sub("layers")); err != nil {
			return err
		}
	}
	e.front = newFront(p, s.Sub("front"))
	e.fronts, err = ec.NewFronts(s.Sub("fronts"), 2*n, 2)
	return err
}

// layered is implemented by workflows whose members are an rl.Agent each.
type layered interface{ Agent() *rl.Agent }

// cross finds the tensors that are crossed.
func (e *emogi) cross(p *PBT, s *engine.State) error {
	of, ok := p.inner.(layered)
	if !ok {
		return config.Invalid("pbt.crossover", "layers of actors and critics are crossed, and %s has other networks; want best, or an on-policy agent such as ppo",
			p.inner.Describe().Workflow)
	}
	for i, n := range of.Agent().Networks() {
		if len(n.Layers) < 2 {
			return config.Invalid("pbt.crossover", "networks of one layer have no place for a cut; want best, or hidden layers")
		}
		begins, layers := s.Tensor([]string{"actor", "critic"}[i], engine.Uint32, engine.Axis("layer", len(n.Layers))).Own(), []uint32(nil)
		for _, at := range n.Layers {
			layers = append(layers, uint32(at))
		}
		for _, t := range n.Rows {
			if at := slices.IndexFunc(e.carried, func(c pair) bool { return c.child == t }); at >= 0 {
				e.crossed = append(e.crossed, crossed{e.carried[at], begins, layers})
			}
		}
	}
	return nil
}

// init makes the first members the parents, which rank behind all that are evaluated.
func (e *emogi) init(ctx context.Context, p *PBT, self []uint32) error {
	begin, err := p.State().Engine().Record("emogi: first parents", e.keep)
	if err != nil {
		return err
	}
	defer begin.Free()
	for _, c := range e.crossed {
		err = errors.Join(err, c.begins.WriteUint32(ctx, c.layers))
	}
	return errors.Join(err, begin.Run(ctx), e.kept.Fill(ctx, -math.MaxFloat32), e.standing.WriteUint32(ctx, self), e.front.init(ctx))
}

// keep records making the children the parents.
func (e *emogi) keep(r *engine.Recorder) {
	for _, t := range e.carried {
		r.Copy(t.parent, t.child)
	}
}

// recordPrograms records the iteration that a selection follows, and the breeding before the next.
func (e *emogi) recordPrograms(p *PBT, eng *engine.Engine) (err error) {
	p.settled, err = eng.Record("emogi: "+p.inner.Describe().Workflow, func(r *engine.Recorder) {
		p.inner.Record(r, func(r *engine.Recorder) {
			p.ranking.recordFitness(r, p)
			e.settle(r, p)
			p.recordRows(r)
		})
	})
	if err != nil {
		return err
	}
	p.exchanged, err = eng.Record("emogi: children", func(r *engine.Recorder) { e.breed(r, p) })
	return err
}

// settle records the selection of the best of parents and evaluated children, who become the members.
func (e *emogi) settle(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	r.Copy(e.both.Index(0), e.kept)
	r.Copy(e.both.Index(1), p.ranking.objectives)
	e.fronts.Rank(r, e.both, e.rank)
	r.Dispatch(emogiSettleKernel{
		Rank: e.rank.Range(), Source: e.source.Range(), Standing: e.standing.Range(), Members: n,
	}.call((n+7)/8, 1, 1))
	for _, t := range append(slices.Clone(e.carried), pair{p.ranking.objectives.View(e.kept.Dims()...), e.kept}) {
		engine.Take(r, e.source, t.parent, t.child)
	}
	for _, t := range e.carried {
		r.Copy(t.child, t.parent)
	}
	e.front.record(r, e.kept)
}

// renew records another evaluation of the members while they are the parents. The tournaments that follow go by the ranks of the selection.
func (e *emogi) renew(r *engine.Recorder, p *PBT) {
	p.ranking.recordFitness(r, p)
	r.Copy(e.kept, p.ranking.objectives)
	for _, t := range e.carried {
		if t.child == p.fitness || t.child == p.ranking.second() {
			r.Copy(t.parent, t.child)
		}
	}
}

// breed records the choice of parents and the formation of children.
func (e *emogi) breed(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	if p.cfg.Renew {
		e.renew(r, p)
	}
	r.Dispatch(emogiMateKernel{
		Standing: e.standing.Range(), Clock: p.Clock().Tensor().Range(), Mother: p.parent.Range(), Mate: e.mate.Range(),
		Members: n, Seed: r.Engine().Seed(), Stream: p.stream("mate", ""), Alternate: e.crossed != nil,
	}.call(((n+1)/2+7)/8, 1, 1))
	for _, t := range e.carried {
		engine.Take(r, p.parent, t.child, t.parent)
	}
	p.State().Revive(r) // parents may be of any earlier selection
	for _, c := range e.crossed {
		width := c.child.Len() / int(n)
		groups := r.Share(int(n), width)
		r.Dispatch(emogiCrossKernel{
			Mate: e.mate.Range(), Clock: p.Clock().Tensor().Range(), Begins: c.begins.Range(), Parents: c.parent.Range(), Values: c.child.Range(),
			Width: uint32(width), Layers: uint32(len(c.layers)), Seed: r.Engine().Seed(), Stream: p.stream("cut", ""),
			LocalSizeX: r.WorkgroupFor(width / int(groups)),
		}.call(groups, n, 1))
	}
	for _, name := range p.names {
		gene := p.inner.Hyper().Lookup(name)
		at := slices.IndexFunc(e.carried, func(t pair) bool { return t.child == gene })
		prior := p.cfg.Search[name]
		low, high := prior.coordinates()
		r.Dispatch(emogiBreedKernel{
			Mother: p.parent.Range(), Mate: e.mate.Range(), Clock: p.Clock().Tensor().Range(),
			Genes: e.carried[at].parent.Range(), Values: gene.Range(),
			Members: n, Seed: r.Engine().Seed(), Stream: p.stream("breed", name), Prior: uint32(prior.Prior), Low: float32(low), High: float32(high),
			CrossoverIndex: geneIndex, MutationIndex: geneIndex, ExchangeRate: geneRate, MutationRate: float32(1 / float64(len(p.names))),
			Alternate: e.crossed != nil,
		}.call((n+7)/8, 1, 1))
	}
}
