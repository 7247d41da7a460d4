package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// stepped is the form of a rollout in which any model can act: at each step the model is evaluated for all environments, as batched products, and a
// second kernel turns its outputs into actions and steps the environments.
type stepped struct {
	network  *nn.Network    // nil: parts have theirs
	parts    []actingPart   // of a rollout whose environments act in halves; nil: all act at once
	indexed  *nn.Indexed    // instead of network, for a policy with Rows
	together *together      // of policies that play together; nil: a policy plays all seats
	observed *engine.Tensor // [populations, share, E, O or words]: what to act on next
	element  nn.Element     // of observed
	outputs  *engine.Tensor // [populations, share, E, Out]
	values   *engine.Tensor // [populations, share, E, actions]: of a head with atoms, from which actions are chosen instead of outputs; else nil
	memory   *engine.Tensor // [populations, share, E, H], of a model with memory; else nil
	begins   nn.Begins      // where an episode begins
	share    int
}

// laneFloats is the largest number of floats of state and observation beside which a GPU's lane is given a network: beyond a lane's registers the
// fused rollouts of Humanoid-v5 take RADV (Mesa 22.3) more memory than 16 GB to compile, and without a network 1.3 GB.
const laneFloats = 255

// steps reports whether a policy acts step by step.
func (ro *Rollout) steps(policy *Policy, info vk.Info) bool {
	switch {
	case policy == nil:
		return false
	case policy.Perturbation != nil:
		return !ro.fuses(policy, info)
	case ro.env.outside || ro.env.bits() || ro.env.stored || ro.drawsApart():
		return true
	case policy.Placement == Automatic && ro.env.Seats() > 1:
		return !ro.streams(policy, info)
	case policy.Placement == Automatic:
		_, err := nn.StreamOf(policy.Network, info, ro.cfg.Environments)
		return err != nil || info.Type.GPU() && ro.crowds(policy, info)
	}
	return policy.Placement == PlacementStepped
}

// crowds reports whether a network would crowd a GPU's lane that steps the environment: where one of these takes more than two thirds of the registers,
// Mesa's compilers spill hundreds, and ten at most without the network. They are a policy's outputs, such as the 93 of Rainbow in CartPole-v1 on Intel's
// GPUs, and state and observation, such as those of FaultMaze-v0 there; but not a robot's, since what its solver needs spills without a network as well.
func (ro *Rollout) crowds(policy *Policy, info vk.Info) bool {
	room, floats := 2*nn.Registers(info)/3, ro.env.StateSize()+ro.env.ObsSize()
	return policy.Network.Outputs() > room || floats > laneFloats || ro.env.Iterations == 0 && floats > room
}

// newStepped makes the form's tensors and its network, with a row of weights for each of the kernel's members.
func newStepped(s *engine.State, ro *Rollout) (*stepped, error) {
	c, model := ro.cfg, ro.cfg.Policy.Network
	c.Environments *= ro.env.Seats()
	st := &stepped{share: ro.share()}
	s = s.Sub("stepped")
	var err error
	switch {
	case c.Policy.Rows != nil:
		st.indexed, err = nn.NewIndexed(s, model, c.Members*c.Environments)
	case c.EachSeat:
		st.network, st.together, err = newTogether(s, ro)
	case c.Policy.Perturbation != nil:
		st.network, err = nn.NewPerturbed(s, model, c.Policy.Perturbation.Layout.Rank, c.Members/st.share, st.share, c.Environments)
	case ro.split > 0:
		st.parts, err = newActingParts(s, ro)
	default:
		st.network, err = nn.NewStack(s, model, c.Members/st.share, st.share, c.Environments)
	}
	if err != nil {
		return nil, fmt.Errorf("envs: stepping %q: %w", ro.env.Name, err)
	}
	rows := func(name, axis string, size int, typ engine.DType) *engine.Tensor {
		members, networks := engine.Members(c.Members/st.share), nn.Networks(st.share)
		return s.Scratch(name, typ, members, networks, engine.Environments(c.Environments), engine.Axis(axis, size))
	}
	if h := model.Memory(); h > 0 {
		tensor := s.Tensor
		if c.Begin {
			tensor = s.Scratch
		}
		members, environments := engine.Members(c.Members), engine.Environments(c.Environments)
		memory := tensor("memory", engine.Float32, members, environments, engine.Axis("float", h))
		if ro.env.KeepsEpisodes() {
			memory.Own()
		}
		st.memory = memory.View(engine.Members(c.Members/st.share), nn.Networks(st.share), environments, engine.Axis("float", h))
		if c.Trajectory {
			ro.Trajectory.Memory = s.Scratch("first_memory", engine.Float32, members, environments, engine.Axis("float", h))
			ro.Trajectory.Begins = beginning(s.Scratch("first_step", engine.Uint32, members, environments))
		}
		st.begins = beginning(ro.step)
	}
	if (ro.env.bits() || ro.env.Framed) && st.layered() {
		st.element = ro.env.Observation.Element
	}
	st.observed = rows("observed", "feature", st.element.Words(ro.env.ObsSize()), st.element.Word())
	st.outputs = rows("outputs", "output", model.Outputs(), engine.Float32)
	if head := c.Policy.Head; head.Atoms > 1 {
		st.values = rows("values", "action", head.Size, engine.Float32)
	}
	return st, nil
}

// layered reports whether all networks are computed layer by layer.
func (st *stepped) layered() bool {
	for _, p := range st.parts {
		if !p.network.Layered() {
			return false
		}
	}
	return len(st.parts) > 0 || st.network != nil && st.network.Layered()
}

// beginning returns where an episode begins by its words: after its last step an episode's word has flags, and its successor's first observation is to
// be acted on.
func beginning(words *engine.Tensor) nn.Begins {
	return nn.Begins{Words: words, Bits: maxEpisodeSteps, Zero: true, Also: ^uint32(maxEpisodeSteps)}
}

// remember records what a trajectory keeps of the memory before its first step.
func (st *stepped) remember(r *engine.Recorder, ro *Rollout) {
	if st == nil || st.memory == nil || ro.Trajectory.Memory == nil {
		return
	}
	first := ro.Trajectory.Memory
	r.Copy(ro.Trajectory.Begins.Words, ro.step)
	size, groups := r.Invocations(first.Len())
	r.Dispatch(memoryKernel{
		Memory: st.memory.Range(), EpisodeStep: ro.step.Range(), First: first.Range(),
		Count: uint32(ro.step.Len()), Floats: uint32(first.Size("float")), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// evaluate records what the policy puts out for the current observations.
func (st *stepped) evaluate(r *engine.Recorder, policy *Policy) {
	st.forward(r, policy)
	st.expect(r, policy)
}

// expect records the values of actions.
func (st *stepped) expect(r *engine.Recorder, policy *Policy) {
	if st.values != nil {
		policy.Head.Expect(r, st.outputs, st.values)
	}
}

// chosenBy returns what actions are chosen by, and the head that does it.
func (st *stepped) chosenBy(policy *Policy) (*engine.Tensor, nn.Head) {
	if st.values != nil {
		return st.values, policy.Head.Expected()
	}
	return st.outputs, policy.Head
}

// forward records the outputs for the current observations.
func (st *stepped) forward(r *engine.Recorder, policy *Policy) {
	if st.indexed != nil {
		st.indexed.Evaluate(r, policy.Weights, policy.Rows, policy.Normalizer, policy.ObsLimit, st.observed, st.outputs)
		return
	}
	members, share, weights := st.observed.Size(engine.MemberAxis), st.share, policy.Weights
	observed, outputs := st.observed, st.outputs
	if g := st.together; g != nil {
		share, observed, outputs = share*g.seats, g.observed, g.outputs
		g.collect(r, st.observed)
		defer g.spread(r, st.outputs)
	}
	if weights.Perturbation == nil {
		if rows := policy.Params.Size(engine.MemberAxis); rows != members*share {
			r.Fail(fmt.Errorf("envs: placement %v: parameters %v; want a row for each of %d members", PlacementStepped, policy.Params, members*share))
			return
		}
		weights.Params = policy.Params.View(engine.Members(members), nn.Networks(share), engine.Axis("parameter", policy.Row()))
	}
	inputs := nn.Inputs{Parts: []*engine.Tensor{observed}, Element: st.element, Limit: policy.ObsLimit, Memory: st.memory, Begins: st.begins}
	if v := policy.Normalizer; v != nil {
		inputs.Normalizer = v.View(engine.Members(members), engine.Axis("moment", 2), engine.Axis("feature", policy.Network.Inputs().Size()))
	}
	st.network.Evaluate(r, weights, inputs, outputs)
}
