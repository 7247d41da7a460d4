package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// ARSConfig are the settings of augmented random search. Those marked "per member" are tensors on the device that PBT
// may vary.
type ARSConfig struct {
	Population   int     `min:"2" max:"1048576" doc:"Candidates per generation, N: an even number, two per direction."`
	Elites       int     `min:"1" max:"524288" doc:"Number of best directions that update the mean, b."`
	LearningRate float64 `min:"0" doc:"Step size, α, per member." member:""`
	NoiseStd     float64 `above:"0" doc:"Deviation of the candidates from their mean, ν, per member." member:""`
	Rank         int     `min:"0" max:"32" doc:"Candidates differ from the mean by matrices of this rank (EGGROLL), for large networks; 0: in every parameter."`
}

// DefaultARS has the settings of EvoRL's ARS (B. Zheng et al., 2025, table 3).
func DefaultARS() ARSConfig {
	return ARSConfig{Population: 128, Elites: 16, LearningRate: 0.02, NoiseStd: 0.03}
}

// Validate checks constraints across fields.
func (c ARSConfig) Validate() error {
	if err := checkPairs(c.Population); err != nil {
		return err
	}
	if c.Elites > c.Population/2 {
		return config.Invalid("elites", "%d elites of %d directions, half of the population; want at most as many", c.Elites, c.Population/2)
	}
	return nil
}

func (c ARSConfig) rank() int { return c.Rank }

// Check checks the settings against a space of candidates. It needs no device.
func (c ARSConfig) Check(space Space) error { return checkRank(c.Rank, space) }

func checkPairs(population int) error {
	if population%2 != 0 {
		return config.Invalid("population", "a population of %d cannot be mirrored; want an even number", population)
	}
	return nil
}

// ars is augmented random search (H. Mania, A. Guy, B. Recht, "Simple random search provides a competitive approach
// to reinforcement learning", 2018, algorithm 2, version V1-t). V2-t differs only in the policy, which normalizes
// observations by running statistics.
type ars struct {
	perturbed
	cfg       ARSConfig
	space     Space
	optimizer *optim.Optimizer // plain gradient ascent
	better    *engine.Tensor   // [M, N / 2]: the larger fitness of each direction
	rank      *engine.Tensor   // [M, N / 2] u32: ranks of the directions
	weights   *engine.Tensor   // [M, N]
	sums      *engine.Tensor   // [splits, M, row]
}

// Name implements Algorithm.
func (c ARSConfig) Name() string { return "ars" }

// New implements Algorithm.
func (c ARSConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	m := engine.Members(space.Members)
	directions := engine.Axis("direction", c.Population/2)
	a := &ars{cfg: c, space: space}
	a.perturbed = perturbed{noise: NewNoise(s, clock, space, c.Population, true), std: hyper.Add("noise_std", c.NoiseStd)}
	if err := a.noise.UseRank(s, c.Rank); err != nil {
		return nil, err
	}
	a.optimizer = optim.New(s, optim.Config{Rule: optim.SGD}, hyper.Add("learning_rate", c.LearningRate), space.Row())
	a.mean = a.optimizer.Params()
	a.better, a.rank = s.Scratch("better", engine.Float32, m, directions), s.Scratch("rank", engine.Uint32, m, directions)
	a.weights = s.Scratch("weights", engine.Float32, m, candidates(c.Population))
	a.sums = a.noise.Sums(s, "sums")
	return a, s.Err()
}

func (a *ars) Population() int          { return a.cfg.Population }
func (a *ars) Solution() *engine.Tensor { return a.mean }

func (a *ars) Init(ctx context.Context, start []float32) error {
	return a.mean.WriteFloat32(ctx, a.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on the mean only.
func (a *ars) Ask(*engine.Recorder) {}

// Candidates implements Strategy: θ + ν δ and θ − ν δ (line 5).
func (a *ars) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	a.noise.Candidates(r, a.mean, a.std, pick, into)
}

// Tell implements Strategy: θ + α/(b σ_R) Σ (F(+) − F(−)) δ over the b directions with the largest max(F(+), F(−)),
// where σ_R is the deviation of their fitness (lines 6, 7).
func (a *ars) Tell(r *engine.Recorder, scores Scores) {
	members, directions := a.space.Members, a.cfg.Population/2
	size, groups := r.Invocations(members * directions)
	r.Dispatch(pairsKernel{
		Fitness: scores.Fitness.Range(), Better: a.better.Range(), Pairs: uint32(members * directions), LocalSizeX: size,
	}.call(groups, 1, 1))
	engine.Rank(r, a.better, a.rank)
	r.Dispatch(arsKernel{
		Fitness: scores.Finite.Range(), Rank: a.rank.Range(), Weight: a.weights.Range(),
		Directions: uint32(directions), Elites: uint32(a.cfg.Elites), Workgroup: r.WorkgroupFor(4 * directions),
	}.call(uint32(members), 1, 1))
	a.noise.Sum(r, a.weights, -1, nil, a.sums, nil)
	a.optimizer.Step(r, a.sums)
}
