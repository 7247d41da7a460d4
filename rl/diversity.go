package rl

import "github.com/evorl/evorl/engine"

// maxDiverse is the largest number of agents whose kernel matrix a workgroup can hold, AGENTS of
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
// Learning", 2020, equations 2 and 5). φ_i holds agent i's actions in D states, N = D · A numbers:
//
//	K_ij = (1 − jitter) exp(−‖φ_i − φ_j‖² / (2 N width²)) + jitter [i = j]                                        (1)
//	∂ log det K / ∂φ_k = −2 (1 − jitter) / (N width²) Σ_j (K⁻¹)_kj exp(−‖φ_k − φ_j‖² / (2 N width²)) (φ_k − φ_j)  (2)
//
// Division by N keeps K away from the identity for any N; the jitter keeps K regular if agents agree.
type diversity struct {
	cfg           diversityConfig
	agents, batch int
	size          int // N
	environments  int // of all agents
	clock         engine.Clock

	schedule    *engine.Tensor // [2, S]: environment steps of all agents from which a weight holds, as float32, and the weight
	distance    *engine.Tensor // [P, P]: mean squared differences, where i < j
	coefficient *engine.Tensor // [P, P]: coefficients of φ_k − φ_j in the gradient of the loss with respect to φ_k
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

// record records adding the gradient of the term with respect to actions to atActions, that of the loss; both are [1,
// P · B, A].
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
