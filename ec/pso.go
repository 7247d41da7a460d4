package ec

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// PSOConfig are the settings of particle swarm optimization.
type PSOConfig struct {
	Population int     `min:"1" max:"1048576" doc:"Particles, N."`
	Inertia    float64 `min:"0" doc:"Inertia weight w of a particle's velocity, per member." member:""`
	Cognitive  float64 `min:"0" doc:"Attraction c1 by a particle's own best position, per member." member:""`
	Social     float64 `min:"0" doc:"Attraction c2 by the swarm's best position, per member." member:""`
	InitialStd float64 `min:"0" doc:"Deviation of the initial positions from the start, without bounds."`
}

// DefaultPSO has EvoX's settings (B. Huang et al., 2024).
func DefaultPSO() PSOConfig {
	return PSOConfig{Population: 100, Inertia: 0.6, Cognitive: 2.5, Social: 0.8, InitialStd: 1}
}

// Name implements Algorithm.
func (c PSOConfig) Name() string { return "pso" }

// pso is particle swarm optimization: J. Kennedy, R. Eberhart, "Particle Swarm Optimization", 1995, with the inertia
// weight of Y. Shi, R. Eberhart, "A Modified Particle Swarm Optimizer", 1998. All particles are neighbours (global
// best).
type pso struct {
	*stored                    // each particle's best position
	cfg                        PSOConfig
	clock                      engine.Clock
	position                   *population
	velocity                   *engine.Tensor // [M, N, row]
	inertia, cognitive, social *engine.Tensor // [M]
	best                       *engine.Tensor // [M, row]
}

// New implements Algorithm.
func (c PSOConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	b := newBounds(s, space)
	p := &pso{
		cfg: c, clock: clock, stored: newStored(s, "own_best", b, c.Population, c.InitialStd), position: newPopulation(s, "position", b,
			c.Population, c.InitialStd),
		inertia: hyper.Add("inertia", c.Inertia), cognitive: hyper.Add("cognitive", c.Cognitive), social: hyper.Add("social", c.Social),
		best: space.Tensor(s, "best"),
	}
	p.velocity = s.Tensor("velocity", engine.Float32, p.rows.Dims()...)
	return p, s.Err()
}

func (p *pso) Population() int          { return p.cfg.Population }
func (p *pso) Solution() *engine.Tensor { return p.best }

// Init implements Strategy: particles start at rest.
func (p *pso) Init(ctx context.Context, start []float32) error {
	return errors.Join(p.stored.init(ctx, start), p.position.init(ctx, start), p.best.WriteFloat32(ctx, p.space.Pad(start)))
}

// Ask implements Strategy. It records nothing: Tell has already moved the particles.
func (p *pso) Ask(*engine.Recorder) {}

func (p *pso) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	p.space.PickRows(r, p.position.rows, pick, into)
}

// TellCandidates implements CandidateStrategy: the particles move to the given candidates and keep their velocities.
func (p *pso) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	r.Copy(p.position.rows, injected.Candidates)
	p.Tell(r, scores)
}

func (p *pso) Tell(r *engine.Recorder, scores Scores) {
	p.compare(r, scores.Fitness)
	p.replace(r, p.position.rows, nil, nil)
	r.Copy(p.best, scores.Fittest)
	count := p.size * p.space.Row() / 4
	groups := r.Share(p.space.Members, count)
	r.Dispatch(psoKernel{
		Best: p.rows.Range(), SwarmBest: p.best.Range(), Inertia: p.inertia.Range(),
		Cognitive: p.cognitive.Range(), Social: p.social.Range(), Clock: p.clock.Tensor().Range(), Position: p.position.rows.Range(),
		Velocity: p.velocity.Range(),
		Low:      p.low.Range(), High: p.high.Range(), Seed: r.Engine().Seed(), Stream: p.scope.Stream("pso"),
		Dim: uint32(p.space.Dim), Population: uint32(p.size), Bounded: p.space.Bounded(), Open: p.space.Open, LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, uint32(p.space.Members), 1))
}
