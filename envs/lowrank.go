package envs

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// rankForm is the form of a rollout in which networks of low rank act (nn.Perturbation): many steps of them and of their environments in one dispatch. A
// subgroup has rows of one member, each an environment of one of its candidates.
type rankForm struct {
	*Rollout
	rows   nn.RankRows
	groups int            // workgroups
	units  *engine.Tensor // [workgroups, 2, rows, record]; nil: activations are in shared memory
}

// rankPanels lets tests take the form of GPUs on software drivers.
var rankPanels = true

// rank plans the form for a policy of low rank.
//
// Errors: what it is not made for, which steps (stepped).
func (ro *Rollout) rank(policy *Policy, info vk.Info) (nn.RankRows, error) {
	switch c := ro.cfg; {
	case ro.env.outside || ro.env.seated() || ro.env.bits() || ro.mapping != Lane || !ro.env.ranks():
		return nn.RankRows{}, fmt.Errorf("%q has no kernel with networks of low rank", ro.env.Name)
	case c.Trajectory || !c.Begin || ro.options.AutoReset != Disabled || ro.skip != nil:
		return nn.RankRows{}, errors.New("networks of low rank act in single episodes, without trajectories")
	case policy.Head.Noise != nil || policy.Rows != nil:
		return nn.RankRows{}, errors.New("networks of low rank explore by their own perturbation only")
	case ro.env.ObsSize() > mostRankInputs:
		return nn.RankRows{}, fmt.Errorf("%d observations; want up to %d", ro.env.ObsSize(), mostRankInputs)
	}
	rows, err := nn.RankRowsOf(policy.Network, policy.Perturbation.Layout.Rank, info, ro.cfg.Members*ro.cfg.Environments, !info.Type.GPU() && rankPanels)
	if err == nil && ro.rankIterations(rows) > maxIterations {
		err = fmt.Errorf("a step of %q with network %v takes an invocation %d loop iterations; want at most %d", ro.env.Name, policy.Network,
			ro.rankIterations(rows), maxIterations)
	}
	return rows, err
}

// mostRankInputs bounds the code that stores a row's observations.
const mostRankInputs = 128

// ranks reports whether there is a kernel with networks of low rank: for environments without a robot's dynamics, and for those of one's own.
func (e *Environment) ranks() bool {
	_, ok := lowRankRolloutShader[e.Name]
	return ok || !e.IsBuiltIn()
}

// rankIterations returns a bound on the loop iterations of an invocation for a step, its begin and its end.
func (ro *Rollout) rankIterations(rows nn.RankRows) int {
	const each = 4 // of a group's loops, once a step or dispatch
	return rows.Iterations + rows.Groups*(each+ro.options.ActionRepeat*(1+ro.env.Iterations)+ro.env.transfers()+ro.env.ObsSize()/4)
}

// fuses reports whether a policy of low rank takes its environments through many steps in a dispatch. On GPUs, where that has not been measured, only if
// PlacementStream asks for it.
func (ro *Rollout) fuses(policy *Policy, info vk.Info) bool {
	if policy == nil || policy.Perturbation == nil || policy.Placement == PlacementStepped || policy.Placement == Automatic && info.Type.GPU() ||
		ro.drawsApart() {
		return false
	}
	_, err := ro.rank(policy, info)
	return err == nil
}

// newRank makes the form's tensors.
func (ro *Rollout) newRank(s *engine.State) (*rankForm, error) {
	rows, err := ro.rank(ro.cfg.Policy, s.Engine().Device().Info())
	if err != nil {
		return nil, err
	}
	f := &rankForm{Rollout: ro, rows: rows}
	searches := ro.cfg.Members / ro.share()
	f.groups = searches * ((ro.share()*ro.cfg.Environments + int(rows.Rows) - 1) / int(rows.Rows))
	if n := rows.Floats(); n > 0 {
		f.units = s.Scratch("units", engine.Float32, engine.Axis("workgroup", f.groups), engine.Axis("float", n))
	}
	return f, s.Err()
}

// record records steps of all environments, as Rollout.record.
func (f *rankForm) record(r *engine.Recorder, clock engine.Clock, policy *Policy, s seatSteps) {
	k, err := f.kernel(r, clock, policy, s.firstCandidate)
	if err != nil {
		r.Fail(err)
		return
	}
	most := f.dispatchSteps(r.Engine().Device().Info(), policy, f.rankIterations(f.rows))
	k.Begin = s.begin
	for done := 0; done < s.steps; done += most {
		k.First, k.Steps = uint32(s.before+done), uint32(min(most, s.steps-done))
		call := k.call(f.shader, uint32(f.groups), 1, 1)
		call.Subgroup = k.Lanes
		r.Dispatch(call)
		k.Begin = false
	}
}

// kernel returns the kernel of a number of steps.
func (f *rankForm) kernel(r *engine.Recorder, clock engine.Clock, policy *Policy, firstCandidate int) (k lowRankRolloutKernel, err error) {
	if policy == nil || policy.Perturbation == nil || f.skip != nil {
		return k, fmt.Errorf("envs: a rollout of %q for networks of low rank in all environments, and others act, or not in all", f.env.Name)
	}
	if err = policy.check(f.env); err != nil {
		return k, err
	}
	c, rows, p := f.cfg, f.rows, policy.Perturbation
	if networks := p.Vectors.Len() / p.Vectors.Size("float"); networks != c.Members || policy.Params.Size(engine.MemberAxis) != c.Members/f.share() {
		return k, fmt.Errorf("envs: %d networks of low rank about parameters %v act in %q for %d candidates in windows of %d", networks, policy.Params,
			f.env.Name, c.Members, f.share())
	}
	if err = p.Check(policy.Network, c.Members/f.share(), f.share()); err != nil {
		return k, err
	}
	k = lowRankRolloutKernel{
		ActionScale: f.scale.Range(), Clock: clock.Tensor().Range(), EnvState: f.state.Range(), EpisodeStep: f.step.Range(),
		EpisodeReturn: f.ret.Range(), Finished: f.finished.Range(),
		Weights: policy.Params.Range(), Factors: p.Factors.Range(), Vectors: p.Vectors.Range(), Deviation: p.Deviation.Range(),
		Members: uint32(c.Members), Seed: r.Engine().Seed(), EnvStream: f.stream, ActionStream: f.actionStream,
		ObsLimit: policy.ObsLimit, Share: uint32(f.share()),
		Row: uint32(policy.Row()), Component: uint32(p.Layout.Component), Left: uint32(p.Layout.Left), Vector: uint32(p.Vectors.Size("float")),
		Draws: uint32(p.Draws()), Candidate: uint32(p.First), Layers: rows.Layers, Hidden: rows.Hidden,
		Lanes: r.Engine().Device().Info().SubgroupSize, Mode: c.Mode, LowEach: uint32(c.Environments),
		LowRank: uint32(p.Layout.Rank), LowMirrored: p.Mirrored, LowRankScale: float32(p.Layout.Scale()), LowDeviations: p.Deviation.Len() > c.Members/f.share(),
		LowRows: rows.Rows, LowWidth: rows.Width, LowPanels: rows.Panels, LowDepth: rows.Depth, LowColumns: rows.Columns, LowShallow: rows.Shallow,
		Activation: rows.Activation, LowAlignedW: rows.Aligned,
	}
	_, _, k.HeadBase = policy.head()
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = f.draws(firstCandidate)
	k.setOptions(f.env, f.options)
	k.setHead(policy.Head)
	if f.units != nil {
		k.Units, k.UnitQuads, k.UnitEights = f.units.Range(), f.units.Range(), f.units.Range()
	}
	if policy.Normalizer != nil {
		k.Normalizer = policy.Normalizer.Range()
	}
	if f.cap != nil {
		k.Cap = f.cap.Range()
	}
	if f.seen != nil {
		k.Seen = f.seen.Range()
	}
	return k, nil
}

func (k *lowRankRolloutKernel) setHead(head nn.Head) {
	h := head.Constants()
	k.Out, k.Head, k.HeadWidth, k.Squash, k.Explore = uint32(head.Outputs()), h.Head, h.HeadWidth, h.Squash, h.Explore
	k.LogStdLow, k.LogStdHigh, k.NoiseLimit = h.LogStdLow, h.LogStdHigh, h.NoiseLimit
	k.HeadAtoms, k.HeadDueling = h.HeadAtoms, h.HeadDueling
}

func (k *lowRankRolloutKernel) setOptions(env *Environment, options Options) {
	o := options.constants()
	k.TimeLimit, k.ActionRepeat, k.AutoReset = o.timeLimit, o.actionRepeat, o.autoReset
	k.SparseReward, k.RewardScale = o.sparseReward, o.rewardScale
	env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
}
