package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// rollouts evaluates policies by episodes.
type rollouts struct {
	*policy
	clock               engine.Clock
	members, population int
	window              int
	rollout             *envs.Rollout
	steps               *engine.Tensor // [M, N] u32: steps taken by each candidate
	observations        *observations  // nil: not normalized
	behaviour           *behaviour
	found               *envs.Found                        // nil: the environment has no sets
	each                *engine.Tensor                     // [M, 2] u32: environment steps of the generation, low and high word
	taken               *engine.Tensor                     // [2] u32: environment steps of the run
	length              *engine.Tensor                     // [M]: mean episode length
	diverged            *engine.Tensor                     // [M, N]: episodes that ended because the state diverged
	cap                 *engine.Tensor                     // [M] u32: the step at which the next generation's episodes are cut off
	evaluators          map[*engine.Tensor]*envs.Evaluator // by solutions tensor
	state               *engine.State
	lowRank             *nn.LowRank      // layout of the candidates' draws; nil: they are rows
	virtual             *nn.VirtualBatch // of a window's candidates; nil: their layers are not normalized
	apart               []*engine.State  // of evaluators
	alone               bool             // slices are recorded by themselves, see Slices
}

func (p *policy) New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (ec.Evaluation, error) {
	return p.newRollouts(ctx, s, clock, members, population, nil)
}

// CheckLowRank implements ec.LowRankProblem.
func (p *policy) CheckLowRank() error {
	switch place := p.cfg.Placement; {
	case p.actor != nil:
		return errors.New("actors of reinforcement learning are rows of parameters: want 0")
	case p.cfg.Coevolution:
		return errors.New("policy.coevolution evaluates candidates that are rows of parameters: want 0, or false")
	case p.network.VirtualBatchNorm > 0:
		return errors.New("network.virtual_batch_norm normalizes the layers of candidates that are rows of parameters: want 0 in one of both")
	case place != envs.Automatic && place != envs.PlacementStepped && place != envs.PlacementStream:
		return fmt.Errorf("policy.placement %v holds the network of each candidate: want %v, %v or %v", place, envs.Automatic, envs.PlacementStepped,
			envs.PlacementStream)
	}
	return nil
}

// NewLowRank implements ec.LowRankProblem.
func (p *policy) NewLowRank(
	ctx context.Context, s *engine.State, clock engine.Clock, members, population int, of *nn.LowRank,
) (ec.LowRankEvaluation, error) {
	if err := p.CheckLowRank(); err != nil {
		return nil, err
	}
	return p.newRollouts(ctx, s, clock, members, population, of)
}

// lowRankBytes returns the bytes of a candidate of low rank and its environments.
func (p *policy) lowRankBytes(of *nn.LowRank, info vk.Info) int {
	return 4*of.Draw() + p.episodes()*(nn.PerturbedRowBytes(p.model(), of.Rank, info)+4*(p.env.StateSize()+5))
}

// newRollouts is New for candidates that are rows or, with a layout, perturbations of low rank.
func (p *policy) newRollouts(ctx context.Context, s *engine.State, clock engine.Clock, members, population int, of *nn.LowRank) (*rollouts, error) {
	if err := (Parts{p.env, p.options, p.network, p.cfg}).Check(); err != nil {
		return nil, err
	}
	each := 4 * (p.Space(members).Row() + p.episodes()*(p.env.StateSize()+5)) // bytes of a candidate and its environments
	if of != nil {
		each = p.lowRankBytes(of, s.Engine().Device().Info())
	}
	seen := p.network.NormalizeObs == Running || len(p.described.observations) > 0
	if seen {
		each += 4 * p.episodes() * (1 + 2*p.env.ObsSize())
	}
	trajectory := p.actor != nil || p.described.feet
	if trajectory {
		each += 4 * p.horizon() * p.episodes() * (2*p.env.ObsSize() + p.env.ActionWords() + 3)
	}
	most := max(1, p.memory/(each*members))
	if err := p.fits(population); err != nil {
		return nil, err
	}
	group := p.together()
	if group > 1 {
		most = min(most, envs.MostPlaces(s.Engine().Device().Info())/(members*p.episodes()))
	}
	most = max(most/group*group, group)
	together := p.actor != nil || p.cfg.Group > 0
	if together {
		most = population
	}
	if together && p.slice > 0 && p.slice < population {
		return nil, fmt.Errorf("problem: %d candidates that are evaluated together, and slices of %d: want slices of all", population, p.slice)
	}
	if group := p.cfg.Group; group > 0 && population%group != 0 {
		return nil, &SettingError{"policy", "group", fmt.Sprintf("%d candidates in groups of %d; want a divisor of the population", population, group)}
	}
	windows := (population + most - 1) / most
	window := (population/group + windows - 1) / windows * group
	if p.slice > 0 {
		window = min(p.slice, population)
	}
	e := &rollouts{policy: p, clock: clock, members: members, population: population, window: window,
		state: s, evaluators: map[*engine.Tensor]*envs.Evaluator{}, lowRank: of}
	var weights nn.Weights
	if of != nil {
		weights.Perturbation = &nn.Perturbation{Layout: of}
	}
	var err error
	e.rollout, err = envs.NewRollout(ctx, s.Sub("rollout"), p.env, envs.RolloutConfig{
		Members: members * e.window / group, Environments: p.cfg.Episodes, Horizon: p.horizon(), Options: p.options,
		Mode: !p.cfg.Sample, Begin: true, Seen: seen, Trajectory: trajectory, Actions: envs.Applied, Policy: e.act(weights),
		Window: &envs.Window{Population: population / group, Count: e.window / group, Common: p.cfg.Common, Group: p.cfg.Group},
		Cap:    p.cfg.Cap, EachSeat: p.cfg.Coevolution,
	})
	if err != nil {
		return nil, err
	}
	e.steps = s.Scratch("steps", engine.Uint32, engine.Members(members), engine.Axis("candidate", population))
	e.diverged = s.Scratch("diverged", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	if e.cap = e.rollout.Cap(); e.cap == nil {
		e.cap = s.Scratch("episode_cap", engine.Uint32, engine.Members(members)) // written in any case, but not used
	}
	e.observations = newObservations(s, p, members)
	e.found = envs.NewFound(s, p.env, members)
	if p.network.VirtualBatchNorm > 0 {
		if e.virtual, err = p.newVirtual(s, members, e.window); err != nil {
			return nil, err
		}
	}
	if e.behaviour, err = newBehaviour(s, p, members*e.window); err != nil {
		return nil, err
	}
	return e, s.Err()
}

// episodes returns the episodes of a candidate: it plays every seat of each environment, or one.
func (p *policy) episodes() int { return p.cfg.Episodes * p.env.Seats() / p.together() }

func (e *rollouts) Window() int { return e.window }

// Slices implements ec.SlicedEvaluation.
func (e *rollouts) Slices() (rows, sums []*engine.Tensor) {
	e.alone = true
	if e.observations != nil && e.observations.sums != nil {
		sums = append(sums, e.observations.sums)
	}
	return []*engine.Tensor{e.steps, e.diverged}, sums
}

func (e *rollouts) Steps() (candidate, clock int) {
	horizon := e.rollout.Horizon()
	return min(horizon*e.options.Repeat(), e.limit()) * e.episodes(), horizon
}

func (e *rollouts) Init(ctx context.Context) error { return e.observations.init(ctx, e.taken) }

func (e *rollouts) Describe(descriptors *engine.Tensor) { e.behaviour.descriptors = descriptors }

// act returns the policy of networks.
func (e *rollouts) act(weights nn.Weights) *envs.Policy {
	return &envs.Policy{
		Weights: weights, Network: e.model(), Head: e.head(), Placement: e.cfg.Placement,
		Normalizer: e.observations.values(), ObsLimit: float32(e.network.ObsLimit),
	}
}

func (e *rollouts) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	e.RecordLowRank(r, nn.Weights{Params: candidates}, first, fitness)
}

// RecordLowRank implements ec.LowRankEvaluation.
func (e *rollouts) RecordLowRank(r *engine.Recorder, candidates nn.Weights, first int, fitness *engine.Tensor) {
	e.rollout.RecordWindow(r, e.clock, e.virtually(e.act(candidates), e.virtual), first/e.together())
	size, groups := r.Invocations(e.members * e.window)
	finished := e.rollout.Finished()
	r.Dispatch(returnsKernel{
		Finished: finished.Range(), Fitness: fitness.Range(), Steps: e.steps.Range(), Diverged: e.diverged.Range(),
		Members: uint32(e.members), Window: uint32(e.window),
		Episodes: uint32(e.episodes()), Population: uint32(e.population), First: uint32(first), Seats: uint32(e.together()), LocalSizeX: size,
	}.call(groups, 1, 1))
	e.observations.see(r, e, first)
	e.behaviour.record(r, e, first)
	e.found.Record(r, e.rollout)
}

func (e *rollouts) Finish(r *engine.Recorder) {
	r.Dispatch(stepsKernel{
		Steps: e.steps.Range(), Taken: e.each.Range(), Length: e.length.Range(), Cap: e.cap.Range(), Population: uint32(e.population),
		Episodes: uint32(e.episodes()), Limit: uint32(e.limit()), Workgroup: r.WorkgroupFor(e.population),
	}.call(uint32(e.members), 1, 1))
	r.Dispatch(takenKernel{Steps: e.each.Range(), Taken: e.taken.Range(), Searches: uint32(e.members)}.call(1, 1, 1))
	e.observations.learn(r)
}

func (e *rollouts) Rows(m *engine.Metrics) func(*engine.Recorder) {
	e.taken = m.CountSteps()
	row, diverged := m.Row("episode/length"), m.Row("episode/diverged")
	e.found.Rows(m)
	e.each = e.state.Scratch("generation_steps", engine.Uint32, engine.Members(e.members), engine.Axis("word", 2))
	e.length = e.state.Scratch("length", engine.Float32, engine.Members(e.members))
	return func(r *engine.Recorder) {
		r.Copy(row, e.length)
		engine.Mean(r, diverged, e.diverged, nil, float32(e.population))
	}
}

func (e *rollouts) Evaluator(ctx context.Context, solutions *engine.Tensor) (_ *envs.Evaluator, err error) {
	ev := e.evaluators[solutions]
	if ev == nil {
		policy := e.act(nn.Weights{Params: solutions})
		if e.virtual != nil {
			s := e.state.Engine().NewState()
			e.apart = append(e.apart, s)
			v, err := e.newVirtual(s, e.members, 1)
			if err != nil {
				return nil, err
			}
			policy = e.virtually(policy, v)
		}
		if ev, err = envs.NewEvaluator(ctx, e.state, e.env, e.options, policy); err != nil {
			return nil, err
		}
		e.evaluators[solutions] = ev
	}
	return ev, nil
}

func (e *rollouts) Prepare(ctx context.Context, solutions *engine.Tensor, episodes int) error {
	ev, err := e.Evaluator(ctx, solutions)
	if err != nil {
		return err
	}
	return ev.Prepare(ctx, e.clock, episodes)
}

// Evaluate implements ec.Evaluation: it runs episodes with the environment's own rewards, apart from the search's
// episodes.
func (e *rollouts) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	ev, err := e.Evaluator(ctx, solutions)
	if err != nil {
		return engine.Evaluation{}, err
	}
	return ev.Run(ctx, e.clock, episodes)
}

func (e *rollouts) Fitness(ctx context.Context, s *engine.State, solutions *engine.Tensor, episodes int) (engine.Fitness, error) {
	ev, err := e.Evaluator(ctx, solutions)
	if err != nil {
		return nil, err
	}
	return ev.Fitness(ctx, s, e.clock, episodes)
}

func (e *rollouts) Close() {
	for _, ev := range e.evaluators {
		ev.Close()
	}
	for _, s := range e.apart {
		_ = s.Close() // only frees memory
	}
	e.apart = nil
}
