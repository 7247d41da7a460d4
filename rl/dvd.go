package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// DvDConfig holds the settings of DvD: TD3's, where members are the agents of the population, and settings for the
// diversity of their actions.
type DvDConfig struct {
	TD3Config

	States        int       `min:"1" max:"32768" doc:"Number of states of an update's batch in which the agents' actions are compared."`
	KernelWidth   float64   `above:"0" doc:"Width of the kernel, in units of the root mean square difference of actions."`
	Jitter        float64   `above:"0" max:"1" doc:"Weight of the identity in the kernel matrix, which keeps its determinant above 0."`
	Diversity     []float64 `min:"0" doc:"Weights of the diversity in the actors' loss, one per stage."`
	DiversityFrom []int     `min:"0" doc:"Environment steps of all members at which each stage begins, rising from 0."`
}

// DefaultDvD is DefaultTD3 for five agents with fastpbrl's weights (A. Flajolet et al., 2022) and the paper's states
// (J. Parker-Holder et al., 2020, appendix B). Width and jitter are this library's; without a jitter, equal agents
// make the determinant 0.
func DefaultDvD() DvDConfig {
	c := DvDConfig{
		TD3Config: DefaultTD3(), States: 20, KernelWidth: 1, Jitter: 0.01, Diversity: []float64{0, 0.3, 0.5, 0.2}, DiversityFrom: []int{0, 50000, 300000, 700000},
	}
	c.Members = 5
	return c
}

// DefaultDvDReplay is DefaultReplay with one ring for all members.
func DefaultDvDReplay() ReplayConfig {
	c := DefaultReplay()
	c.Shared = true
	return c
}

// Validate checks constraints across fields.
func (c DvDConfig) Validate() error {
	if err := c.TD3Config.Validate(); err != nil {
		return err
	}
	if c.Atoms != 0 {
		return config.Invalid("atoms", "%d atoms of the critics; want 0: diversity needs critics that output values", c.Atoms)
	}
	if c.Members < 2 || c.Members > maxDiverse {
		return config.Invalid("members", "a population of %d agents; want 2 to %d", c.Members, maxDiverse)
	}
	if len(c.Diversity) == 0 || len(c.DiversityFrom) != len(c.Diversity) {
		return config.Invalid("diversity_from", "%d steps for %d weights; want one per weight, and at least one", len(c.DiversityFrom), len(c.Diversity))
	}
	for i, steps := range c.DiversityFrom {
		if i == 0 && steps != 0 || i > 0 && steps <= c.DiversityFrom[i-1] {
			return config.Invalid("diversity_from", "%v; want 0, followed by increasing numbers", c.DiversityFrom)
		}
	}
	return nil
}

// maxBehaviour bounds the loops over a behaviour, the actions in all states (vk.Limits.MaxLoopIterations).
const maxBehaviour = 60000

// Check implements Algorithm.
func (c DvDConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	switch size := c.States * with.Env.Action.Size(); {
	case !with.Replay.Shared:
		return config.Invalid("replay.shared", "agents learn from each other's episodes; want true")
	case with.Network.NormalizeObs:
		return config.Invalid("network.normalize_obs", "agents would have separate moments, but share critics; want false")
	case c.States > with.Replay.Batch:
		return config.Invalid("dvd.states", "%d states of a batch of %d; want at most the batch", c.States, with.Replay.Batch)
	case size > maxBehaviour:
		return config.Invalid("dvd.states", "%d numbers of an action × %d states; want a product of at most %d", with.Env.Action.Size(), c.States, maxBehaviour)
	}
	return c.checkDeterministic("dvd", with, c.Atoms)
}

// NewDvD makes a workflow of diversity via determinants over TD3 (J. Parker-Holder et al., "Effective Diversity in
// Population Based Reinforcement Learning", 2020, section 4.2), with critics shared by all agents (A. Flajolet et al.,
// "Fast Population-Based Reinforcement Learning on a Single Machine", 2022, section 4.3). Members are the agents of
// one population. Each explores separately, and all transitions go into one ring. The critics' loss is the mean over
// the agents' batches. An actor's loss is minus the critics' value of its actions, minus a weight times log det K,
// where K is the kernel matrix of all agents' actions in common states. Hyperparameters are the same for all members.
// Close it after use.
//
// Errors: as NewDDPG, a population of less than 2 or more than 32, and a replay that is not shared.
func NewDvD(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg DvDConfig, opts ...Option) (*OffPolicy, error) {
	with := newSettings(dvdSettings(), opts)
	return newOffPolicy(ctx, "dvd", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		if err := parts.oneActor(); err != nil {
			return nil, err
		}
		parts.together = true
		return newTD3(o, parts, cfg.TD3Config, &diversityConfig{
			states: cfg.States, width: cfg.KernelWidth, jitter: cfg.Jitter, weights: cfg.Diversity, from: cfg.DiversityFrom,
		})
	})
}

func dvdSettings() settings {
	replay := DefaultDvDReplay()
	return settings{network: DefaultOffPolicyNetwork(), replay: &replay}
}

// maxDiverse is the largest number of agents for which a workgroup can hold the kernel matrix, AGENTS of
// shaders/rl/diversity_factor.comp.
const maxDiverse = 32

// diversityConfig holds the settings of a diversity.
type diversityConfig struct {
	states        int
	width, jitter float64
	weights       []float64
	from          []int
}

// diversity is DvD's term in the loss of agents that learn together: -weight · log det K, where K is the kernel matrix
// of their actions in common states (J. Parker-Holder et al., "Effective Diversity in Population Based Reinforcement
// Learning", 2020, equations 2 and 5). φ_i holds agent i's actions in the states, n numbers:
//
//	K_ij = (1 − jitter) exp(−‖φ_i − φ_j‖² / (2 n width²)) + jitter [i = j]                                        (1)
//	∂ log det K / ∂φ_k = −2 (1 − jitter) / (n width²) Σ_j (K⁻¹)_kj exp(−‖φ_k − φ_j‖² / (2 n width²)) (φ_k − φ_j)  (2)
//
// Division by n keeps K away from the identity for any n; the jitter keeps K regular if agents agree.
type diversity struct {
	cfg           diversityConfig
	agents, batch int
	size          int // n
	environments  int // of all agents
	clock         engine.Clock

	schedule    *engine.Tensor // [2, S]: environment steps of all agents from which a weight holds, as float32, and the weight
	distance    *engine.Tensor // [M, M]: mean squared differences, where i < j
	coefficient *engine.Tensor // [M, M]: coefficients of φ_k − φ_j in the gradient of the loss with respect to φ_k
	logDet      *engine.Tensor // [1]
	weight      *engine.Tensor // [1]
	rows        [2]*engine.Tensor
}

func newDiversity(s *engine.State, o *OffPolicy, a *actorCritic, c diversityConfig) *diversity {
	s = s.Sub("diversity")
	d := &diversity{
		cfg: c, agents: a.actors, batch: a.batch, size: c.states * a.head.Size, environments: o.cfg.Members * o.cfg.Environments, clock: o.Clock(),
	}
	schedule := func() (all []float32) {
		for _, steps := range c.from {
			all = append(all, float32(steps))
		}
		for _, weight := range c.weights {
			all = append(all, float32(weight))
		}
		return all
	}
	d.schedule = engine.Constant(s, "schedule", schedule, engine.Axis("column", 2), engine.Axis("stage", len(c.weights)))
	pairs := []engine.Dim{engine.Axis("agent", d.agents), engine.Axis("other", d.agents)}
	d.distance, d.coefficient = s.Scratch("distance", engine.Float32, pairs...), s.Scratch("coefficient", engine.Float32, pairs...)
	d.logDet, d.weight = s.Scratch("log_determinant", engine.Float32, engine.Members(1)), s.Scratch("weight", engine.Float32, engine.Members(1))
	d.rows = [2]*engine.Tensor{a.metrics.Row("diversity/log_determinant"), a.metrics.Row("diversity/weight")}
	return d
}

// record records adding the gradient of the term with respect to actions to atActions, the loss's; both are
// [1, M · B, D].
func (d *diversity) record(r *engine.Recorder, actions, atActions *engine.Tensor) {
	stride := uint32(actions.Len() / d.agents)
	size, groups := r.Invocations(d.distance.Len())
	r.Dispatch(diversityDistanceKernel{
		Action: actions.Range(), Distance: d.distance.Range(), Agents: uint32(d.agents), Size: uint32(d.size), Stride: stride, LocalSizeX: size,
	}.call(groups, 1, 1))
	scale := 1 / (d.cfg.width * d.cfg.width)
	r.Dispatch(diversityFactorKernel{
		Distance: d.distance.Range(), Schedule: d.schedule.Range(), Clock: d.clock.Tensor().Range(), Coefficient: d.coefficient.Range(),
		LogDeterminant: d.logDet.Range(), Weight: d.weight.Range(), Agents: uint32(d.agents), Stages: uint32(len(d.cfg.weights)),
		Environments: uint32(d.environments), Scale: float32(scale), Jitter: float32(d.cfg.jitter), Gain: float32(2 * scale / float64(d.size)),
		Workgroup: r.Workgroup(),
	}.call(1, 1, 1))
	size, groups = r.Invocations(d.agents * d.size)
	r.Dispatch(diversityGradientKernel{
		Action: actions.Range(), Coefficient: d.coefficient.Range(), AtAction: atActions.Range(),
		Agents: uint32(d.agents), Size: uint32(d.size), Stride: stride, LocalSizeX: size,
	}.call(groups, 1, 1))
}

// recordMetrics records log det K and its weight in the loss.
func (d *diversity) recordMetrics(r *engine.Recorder) {
	r.Copy(d.rows[0], d.logDet)
	r.Copy(d.rows[1], d.weight)
}
