package ec

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// CSOConfig are the settings of competitive swarm optimization.
type CSOConfig struct {
	Population int     `min:"1" max:"16384" doc:"Candidates per generation, N; the swarm has twice as many particles."`
	Attraction float64 `min:"0" doc:"Attraction phi of losers by the swarm's center, per member." member:""`
	InitialStd float64 `min:"0" doc:"Deviation of the initial positions from the start, without bounds."`
}

// DefaultCSO has EvoX's settings (B. Huang et al., 2024) and the paper's for swarms of at most 100: no attraction by
// the center.
func DefaultCSO() CSOConfig { return CSOConfig{Population: 50, InitialStd: 1} }

// Name implements Algorithm.
func (c CSOConfig) Name() string { return "cso" }

// cso is competitive swarm optimization: R. Cheng, Y. Jin, "A Competitive Swarm Optimizer for Large Scale
// Optimization", 2015. Only losers move and are evaluated. The first two generations evaluate the initial swarm.
type cso struct {
	*population // the swarm
	cfg         CSOConfig
	clock       engine.Clock
	velocity    *engine.Tensor // [M, 2 N, row]
	fitness     *engine.Tensor // [M, 2 N]: NaN: not evaluated
	attraction  *engine.Tensor // [M]
	pair        *engine.Tensor // [M, N, 2] u32: loser, winner
	center      *engine.Tensor // [M, row]
	moved       *engine.Tensor // [M, N, row]
	speed       *engine.Tensor // [M, N, row]
	best        *engine.Tensor // [M, row]
}

// New implements Algorithm.
func (c CSOConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	m, p, row := engine.Members(space.Members), candidates(c.Population), engine.Axis("parameter", space.Row())
	w := &cso{
		cfg: c, clock: clock, population: newPopulation(s, "swarm", newBounds(s, space), 2*c.Population, c.InitialStd),
		fitness: s.Tensor("fitness", engine.Float32, m, candidates(2*c.Population)), attraction: hyper.Add("attraction", c.Attraction),
		pair: s.Scratch("pair", engine.Uint32, m, p, engine.Axis("role", 2)), center: s.Scratch("center", engine.Float32, m, row),
		moved: s.Scratch("moved", engine.Float32, m, p, row), speed: s.Scratch("speed", engine.Float32, m, p, row), best: space.Tensor(s, "best"),
	}
	w.velocity = s.Tensor("velocity", engine.Float32, w.rows.Dims()...)
	return w, s.Err()
}

func (w *cso) Population() int          { return w.cfg.Population }
func (w *cso) Solution() *engine.Tensor { return w.best }

// Init implements Strategy: particles start at rest and are not evaluated.
func (w *cso) Init(ctx context.Context, start []float32) error {
	return errors.Join(w.init(ctx, start), w.fitness.Fill(ctx, notEvaluated), w.best.WriteFloat32(ctx, w.space.Pad(start)))
}

// Ask implements Strategy: it records the competitions and the update of the losers (equations 6 and 7).
func (w *cso) Ask(r *engine.Recorder) {
	members, row, p := w.space.Members, w.space.Row(), w.cfg.Population
	size, pairs := r.Invocations(p)
	r.Dispatch(csoPairKernel{
		Fitness: w.fitness.Range(), Clock: w.clock.Tensor().Range(), Pair: w.pair.Range(), Seed: r.Engine().Seed(), Stream: w.scope.Stream("pair"),
		Population: uint32(p), LocalSizeX: size,
	}.call(pairs, uint32(members), 1))
	r.Dispatch(centerKernel{
		Population: w.rows.Range(), Center: w.center.Range(), Row: uint32(row), Size: uint32(w.size), LocalSizeX: size,
	}.call((uint32(row/4)+size-1)/size, uint32(members), 1))
	count := p * row / 4
	groups := r.Share(members, count)
	r.Dispatch(csoKernel{
		Swarm: w.rows.Range(), Velocity: w.velocity.Range(), Center: w.center.Range(),
		Pair: w.pair.Range(), Attraction: w.attraction.Range(), Clock: w.clock.Tensor().Range(), Moved: w.moved.Range(),
		Speed: w.speed.Range(), Low: w.low.Range(), High: w.high.Range(), Seed: r.Engine().Seed(),
		Stream: w.scope.Stream("learn"), Dim: uint32(w.space.Dim), Population: uint32(p), Bounded: w.space.Bounded(), Open: w.space.Open,
		LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, uint32(members), 1))
}

func (w *cso) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	w.space.PickRows(r, w.moved, pick, into)
}

// TellCandidates implements CandidateStrategy: the losers move to the given candidates and keep their velocities.
func (w *cso) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	r.Copy(w.moved, injected.Candidates)
	w.Tell(r, scores)
}

func (w *cso) Tell(r *engine.Recorder, scores Scores) {
	count := w.cfg.Population * w.space.Row() / 4
	groups := r.Share(w.space.Members, count)
	r.Dispatch(csoSettleKernel{
		CandidateFitness: scores.Fitness.Range(), Pair: w.pair.Range(), Moved: w.moved.Range(), Speed: w.speed.Range(),
		Swarm: w.rows.Range(), Velocity: w.velocity.Range(), Fitness: w.fitness.Range(), Row: uint32(w.space.Row()), Population: uint32(w.cfg.Population),
		LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, uint32(w.space.Members), 1))
	r.Copy(w.best, scores.Fittest)
}
