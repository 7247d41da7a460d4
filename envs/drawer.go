package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// drawer draws the actions of environments that kernels step and that have so many discrete actions that a lane should not hold their logits or values
// (nn.HeldLogits). A kernel of its own draws before every step, and the environments' kernel takes the action as the output of a deterministic head.
type drawer struct {
	ro      *Rollout
	drawn   *engine.Tensor // [M, E, 2]: the action; and 0, or NaN if one of a network's outputs was not finite
	logProb *engine.Tensor // [M, E]: its log-probability; nil: no trajectory
}

// drawsApart reports whether the environment's actions are drawn by a kernel of its own.
func (e *Environment) drawsApart() bool {
	return !e.outside && e.Action.IsDiscrete() && e.Action.N > nn.HeldLogits
}

func (ro *Rollout) drawsApart() bool { return ro.env.drawsApart() || ro.cfg.drawsApart }

// checkDrawn returns an error if a policy asks for a placement in which the environment's kernel would hold its outputs.
func (ro *Rollout) checkDrawn(policy *Policy) error {
	if !ro.drawsApart() || policy.Placement == Automatic || policy.Placement == PlacementStepped {
		return nil
	}
	return fmt.Errorf("envs: placement %v in %q, which has %v: more than %d actions are drawn by a kernel of their own; want %v or %v",
		policy.Placement, ro.env.Name, ro.env.Action, nn.HeldLogits, Automatic, PlacementStepped)
}

// newDrawer makes the form's tensors; nil: the environments' kernel draws.
func newDrawer(s *engine.State, ro *Rollout) *drawer {
	if !ro.drawsApart() {
		return nil
	}
	p, e := engine.Members(ro.cfg.Members), engine.Environments(ro.places())
	d := &drawer{ro: ro, drawn: s.Scratch("drawn", engine.Float32, p, e, engine.Axis("output", 2))}
	if ro.cfg.Trajectory {
		d.logProb = s.Scratch("drawn_log_prob", engine.Float32, p, e)
	}
	return d
}

// drawnHead returns the outputs and the constants of the head by which environments' kernels take the action that was drawn.
func drawnHead() (outputs uint32, h nn.HeadConstants) {
	h = nn.Head{Kind: nn.Deterministic, Size: 1}.Constants()
	h.HeadWidth = 2 // the action is the first output; that the other one is finite is looked at, too
	return h.HeadWidth, h
}

// givenHead returns the outputs and the constants of the head of environments' kernels that are given the actions, where no head acts: any will do.
func (e *Environment) givenHead() (outputs uint32, h nn.HeadConstants) {
	if e.drawsApart() {
		return drawnHead()
	}
	head := e.Action.Head()
	return uint32(head.Outputs()), head.Constants()
}

// kernel returns the kernel that draws by a policy's outputs or, if it is nil, at random.
func (d *drawer) kernel(r *engine.Recorder, policy *Policy, firstCandidate int) actLogitsKernel {
	k := d.ro.actLogits(r, policy, firstCandidate)
	k.Drawn = d.drawn.Range()
	if d.logProb != nil {
		k.LogProb = d.logProb.Range()
	}
	return k
}

// record records drawing the actions of a step, whose number is counted from the clock.
func (d *drawer) record(r *engine.Recorder, k actLogitsKernel, clock vk.Range, step uint32) {
	k.Clock, k.FirstStep = clock, step
	k.record(r, section{0, d.ro.cfg.Members * d.ro.places()})
}

// keep records that the log-probabilities of the actions of a step become those of a trajectory [T, M, E]: after the environments' kernel, which writes what
// its deterministic head has.
func (d *drawer) keep(r *engine.Recorder, logProb *engine.Tensor, step uint32) {
	r.Copy(logProb.Index(int(step)), d.logProb)
}

// actLogits returns the kernel that draws by a policy's outputs, or at random, without what it writes.
func (ro *Rollout) actLogits(r *engine.Recorder, policy *Policy, firstCandidate int) actLogitsKernel {
	c, head := ro.cfg, ro.env.Action.Head()
	k := actLogitsKernel{
		Places: uint32(c.Members * ro.places()), Environments: uint32(ro.places()), Seed: r.Engine().Seed(), ActionStream: ro.actionStream,
		ParamsPeriod: uint32(c.Members), Mode: c.Mode, Random: policy == nil, Applied: c.Actions == Applied,
	}
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = ro.draws(firstCandidate)
	if policy != nil {
		var by *engine.Tensor
		by, head = ro.stepped.chosenBy(policy)
		k.Outputs, k.ParamsPeriod = by.Range(), policy.owners()
		if head.Noise != nil {
			k.Noise = head.Noise.Range()
		}
		if policy.Rows != nil {
			k.Rows = policy.Rows.Range()
		}
		if together := ro.stepped.together; together != nil {
			k.Rows = together.rows.Range()
		}
	}
	h := head.Constants()
	k.Out, k.Head, k.HeadWidth, k.Explore, k.HeadDueling = uint32(head.Outputs()), h.Head, h.HeadWidth, h.Explore, h.HeadDueling
	return k
}

// record records the actions of a part of the environments.
func (k actLogitsKernel) record(r *engine.Recorder, of section) {
	size, groups := r.Invocations(of.count)
	k.First, k.Count, k.LocalSizeX = uint32(of.first), uint32(of.count), size
	r.Dispatch(k.call(groups, 1, 1))
}
